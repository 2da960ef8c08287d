/* No memory is given back with a secret in it: neither by the sources of credentials nor by
 * signatures. */
#include "backend/aws/sigv4.h"
#include "tests/aws/credentials_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TARGET "/creds"
#define RESPONSE                                                                                   \
    "{\"AccessKeyId\":\"ASIA-1\",\"SecretAccessKey\":\"" MARK "\",\"Token\":\"" MARK "-token\"}"

/* An allocator that looks at what it gets back. */
typedef struct watch {
    kedge_allocator allocator;
    int blocks;
    int leaks; /* blocks that came back with the mark in them */
} watch;

typedef union front {
    size_t size;
    max_align_t align;
} front;

static void *watch_allocate(void *context, size_t size)
{
    watch *self = context;
    front *block = malloc(sizeof *block + size);
    if (block == NULL) return NULL;
    block->size = size;
    self->blocks++;
    return block + 1;
}

static void watch_release(void *context, void *block)
{
    watch *self = context;
    if (block == NULL) return;
    front *whole = (front *)block - 1;
    if (memmem(block, whole->size, MARK, strlen(MARK)) != NULL) self->leaks++;
    free(whole);
}

static void *watch_reallocate(void *context, void *block, size_t size)
{
    void *grown = watch_allocate(context, size);
    if (grown == NULL || block == NULL) return grown;
    size_t had = ((front *)block - 1)->size;
    memcpy(grown, block, had < size ? had : size);
    watch_release(context, block);
    return grown;
}

static void watch_init(watch *watched)
{
    *watched = (watch){.allocator = {watch_allocate, watch_reallocate, watch_release, watched}};
}

static void get_with(world *w, watch *watched)
{
    kedge_aws_credentials got = {0};
    kedge_aws_credentials_provider *provider = NULL;
    kedge_environment environment = w->environment;
    environment.allocator = &watched->allocator;
    kedge_aws_credentials_options options = {
        .environment = &environment, .variable = world_variable_of, .variable_context = w};
    assert_int_equal(kedge_aws_credentials_provider_new(&options, &provider, NULL), KEDGE_OK);
    kedge_aws_credentials_provider_redirect(provider, scripted_server_url(w->server), WORLD_TRY_MS);
    assert_int_equal(kedge_aws_credentials_get(provider, &got, NULL), KEDGE_OK);
    assert_string_equal(got.secret, MARK);
    kedge_aws_credentials_provider_free(provider);
    assert_true(watched->blocks > 3);
    assert_int_equal(watched->leaks, 0);
}

static void test_a_container_leaves_no_secret_behind(void **state)
{
    world *w = *state;
    watch watched;
    watch_init(&watched);
    world_set(w, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", TARGET);
    world_set(w, "AWS_CONTAINER_AUTHORIZATION_TOKEN", MARK "-authorization");
    world_route_add(
        w, (world_route){.method = "GET", .target = TARGET, .status = 200, .body = RESPONSE});
    get_with(w, &watched);
}

static void test_a_profile_leaves_no_secret_behind(void **state)
{
    world *w = *state;
    watch watched;
    watch_init(&watched);
    world_write(w, "credentials",
                "[default]\naws_access_key_id = A\naws_secret_access_key = " MARK "\n");
    get_with(w, &watched);
    char region[64];
    kedge_environment environment = w->environment;
    environment.allocator = &watched.allocator;
    kedge_aws_credentials_options options = {
        .environment = &environment, .variable = world_variable_of, .variable_context = w};
    assert_int_equal(kedge_aws_region_find(&options, region, NULL), KEDGE_NOT_FOUND);
    assert_int_equal(watched.leaks, 0);
}

static void test_a_signature_leaves_no_token_behind(void **state)
{
    const kedge_aws_credentials credentials = {"A", MARK, MARK "-token", 0};
    const kedge_aws_signing signing = {
        .credentials = &credentials, .region = "us-east-1", .service = "s3"};
    const kedge_aws_signed_request request = {
        .method = "GET", .host = "h", .path = KEDGE_BYTES("/")};
    watch watched;
    kedge_aws_signature signature;
    kedge_buffer query = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    watch_init(&watched);
    kedge_aws_signature_make(&watched.allocator, &signature);
    assert_int_equal(kedge_aws_sign(&watched.allocator, &signing, &request, &signature, NULL),
                     KEDGE_OK);
    assert_non_null(strstr(signature.canonical_request.data, MARK));
    assert_int_equal(
        kedge_aws_sign_query(&watched.allocator, &signing, &request, 60, &signature, &query, NULL),
        KEDGE_OK);
    kedge_aws_signature_free(&signature);
    kedge_buffer_free(&query);
    assert_true(watched.blocks > 10);
    assert_int_equal(watched.leaks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_container_leaves_no_secret_behind, world_begin,
                                        world_end),
        cmocka_unit_test_setup_teardown(test_a_profile_leaves_no_secret_behind, world_begin,
                                        world_end),
        cmocka_unit_test(test_a_signature_leaves_no_token_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
