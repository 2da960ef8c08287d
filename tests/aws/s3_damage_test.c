/* The blobs port on S3 with damaged responses and with failing memory: every call ends, nothing is
 * given that was not asked for, and no effect is denied. */
#include "backend/ports/blobs_support.h"
#include "tests/aws/damage.h"
#include "tests/aws/scripted_s3.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 3000

static const s3_step damaged = {S3_DAMAGED, 0, NULL, NULL}, good = {S3_GOOD, 0, NULL, NULL};

/* ---- damage ---- */

static bool list_is_sound(const kedge_blob_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kedge_bytes key = kedge_bytes_of(list->blobs[i].key);
        if (kedge_blob_key_check(key, NULL) != KEDGE_OK ||
            kedge_bytes_compare(key, KEDGE_BYTES("j")) <= 0 || list->blobs[i].size_bytes < 0)
            return false;
    }
    return list->count <= 10 && (list->count > 0 || !list->more);
}

static void test_no_damaged_listing_does_more_than_fail(void **state)
{
    (void)state;
    scripted_s3 s3;
    size_t fine = 0;
    S3_BEGIN(&s3, damaged);
    s3.seed = 11;
    for (int round = 0; round < ROUNDS; round++) {
        kedge_blob_list list = {0};
        kedge_status status =
            S3_CALL(&s3, s3.blobs.vtable->list(s3.blobs.self, (kedge_bytes){0}, KEDGE_BYTES("j"),
                                               10, &list, &s3.error));
        fine += status == KEDGE_OK;
        assert_true(status == KEDGE_OK || status == KEDGE_UNAVAILABLE);
        assert_true(list_is_sound(&list));
        kedge_blob_list_free(&list);
    }
    print_message("%zu of %d listings went well\n", fine, ROUNDS);
    assert_true(fine > ROUNDS / 10 && fine < ROUNDS);
    scripted_s3_end(&s3);
}

static void test_no_damaged_set_of_tags_does_more_than_fail(void **state)
{
    (void)state;
    scripted_s3 s3;
    size_t fine = 0;
    const kedge_bytes key = KEDGE_BYTES("k"), name = KEDGE_BYTES("name");
    S3_BEGIN(&s3, good);
    scripted_s3_put(&s3, "x", 1);
    assert_int_equal(S3_CALL(&s3, s3.blobs.vtable->tag(s3.blobs.self, key, name,
                                                       KEDGE_BYTES("a<&b"), &s3.error)),
                     KEDGE_OK);
    s3.steps[0] = damaged;
    for (int round = 0; round < ROUNDS; round++) {
        kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
        kedge_status status =
            S3_CALL(&s3, s3.blobs.vtable->get_tag(s3.blobs.self, key, name, &value, &s3.error));
        fine += status == KEDGE_OK;
        assert_true(status == KEDGE_OK || status == KEDGE_NOT_FOUND || status == KEDGE_UNAVAILABLE);
        assert_int_equal(value.size > 0, status == KEDGE_OK);
        kedge_buffer_free(&value);
    }
    print_message("%zu of %d reads of a tag went well\n", fine, ROUNDS);
    assert_true(fine > ROUNDS / 10 && fine < ROUNDS);
    scripted_s3_end(&s3);
}

static void test_a_damaged_upload_is_whole_or_not_there(void **state)
{
    (void)state;
    scripted_s3 s3;
    size_t size = KEDGE_S3_MULTIPART_BYTES, fine = 0;
    char *bytes = calloc(1, size);
    assert_non_null(bytes);
    /* Two responses of an upload have a body: of its second request, and of the completion. */
    S3_BEGIN(&s3, good, good, good, good, good, damaged, good);
    s3.seed = 13;
    for (int round = 0; round < 20; round++) {
        s3.requests = 0;
        s3.steps[1] = round % 2 == 0 ? good : damaged;
        kedge_status status =
            S3_CALL(&s3, s3.blobs.vtable->put_if_absent(s3.blobs.self, KEDGE_BYTES("k"),
                                                        (kedge_bytes){bytes, size}, &s3.error));
        fine += status == KEDGE_OK;
        if (status == KEDGE_OK) assert_int_equal(s3.object.size, size);
        assert_true(status == KEDGE_OK || s3.object.bytes == NULL);
        assert_int_equal(
            S3_CALL(&s3, s3.blobs.vtable->remove(s3.blobs.self, KEDGE_BYTES("k"), &s3.error)),
            KEDGE_OK);
    }
    print_message("%zu of 20 uploads went well\n", fine);
    assert_true(fine > 2 && fine < 20);
    free(bytes);
    scripted_s3_end(&s3);
}

/* ---- memory ---- */

/* A port whose client and all else has this allocator; false: there was no memory for it. */
typedef struct strained {
    kedge_environment environment;
    kedge_aws_client *client;
    kedge_blobs blobs;
} strained;

static bool strained_open(strained *self, scripted_s3 *s3, const kedge_allocator *allocator)
{
    self->environment = s3->world.environment;
    self->environment.allocator = allocator;
    const kedge_aws_client_options options = {
        .environment = &self->environment,
        .credentials = s3->world.credentials,
        .region = "eu-west-1",
        .endpoints = {[KEDGE_AWS_S3] = scripted_server_url(s3->server)}};
    if (kedge_aws_client_new(&options, &self->client, NULL) != KEDGE_OK) return false;
    kedge_s3_options port = s3->options;
    port.client = self->client;
    if (kedge_s3_blobs_open(&port, &self->blobs, NULL) == KEDGE_OK) return true;
    kedge_aws_client_free(self->client);
    return false;
}

static void strained_close(strained *self)
{
    self->blobs.vtable->close(self->blobs.self);
    kedge_aws_client_free(self->client);
}

/* The object is there exactly when the put says so; who is told "unknown" may find either. */
static bool put_with(scripted_s3 *s3, const kedge_allocator *allocator, kedge_bytes bytes)
{
    strained self;
    kedge_error error = {0};
    free(s3->object.bytes);
    s3->object = (s3_object){0};
    if (!strained_open(&self, s3, allocator)) return false;
    kedge_status status = S3_CALL(
        s3, self.blobs.vtable->put_if_absent(self.blobs.self, KEDGE_BYTES("k"), bytes, &error));
    if (status != KEDGE_OK) assert_int_equal(error.status, status);
    if (status == KEDGE_OK) assert_int_equal(s3->object.size, bytes.size);
    if (status == KEDGE_NO_MEMORY) assert_null(s3->object.bytes);
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY || status == KEDGE_UNAVAILABLE);
    strained_close(&self);
    return status == KEDGE_OK;
}

static bool put_small(const kedge_allocator *allocator, void *context)
{
    return put_with(context, allocator, KEDGE_BYTES("bytes"));
}

static bool put_large(const kedge_allocator *allocator, void *context)
{
    static char bytes[KEDGE_S3_MULTIPART_BYTES];
    return put_with(context, allocator, (kedge_bytes){bytes, sizeof bytes});
}

/* Reads, a change of a tag, a listing: each well or not at all. */
static bool read_all(const kedge_allocator *allocator, void *context)
{
    scripted_s3 *s3 = context;
    strained self;
    const kedge_bytes key = KEDGE_BYTES("k"), name = KEDGE_BYTES("n");
    kedge_blob_list list = {0};
    if (!strained_open(&self, s3, allocator)) return false;
    scripted_s3_serve(s3);
    const kedge_blobs_vtable *calls = self.blobs.vtable;
    kedge_buffer body = kedge_buffer_make(allocator), value = kedge_buffer_make(allocator);
    bool read = calls->get(self.blobs.self, key, &body, NULL) == KEDGE_OK;
    assert_int_equal(body.size, read ? 5 : 0);
    bool tagged = calls->tag(self.blobs.self, key, name, KEDGE_BYTES("v"), NULL) == KEDGE_OK;
    bool told = calls->get_tag(self.blobs.self, key, name, &value, NULL) == KEDGE_OK;
    assert_int_equal(value.size, told ? 1 : 0);
    bool untagged = calls->tag(self.blobs.self, key, name, (kedge_bytes){0}, NULL) == KEDGE_OK;
    bool listed = calls->list(self.blobs.self, (kedge_bytes){0}, KEDGE_BYTES("j"), 10, &list,
                              NULL) == KEDGE_OK;
    assert_int_equal(list.count, listed ? 3 : 0);
    scripted_s3_halt(s3, KEDGE_OK);
    kedge_blob_list_free(&list);
    kedge_buffer_free(&body);
    kedge_buffer_free(&value);
    strained_close(&self);
    return read && tagged && told && untagged && listed;
}

static void test_failing_memory_denies_no_effect_of_a_put(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, good);
    assert_true(failing_allocator_try_every_call(put_small, &s3, 200) > 10);
    scripted_s3_end(&s3);
}

/* The last calls one by one: among them those that read the response of the completion. */
static void test_failing_memory_denies_no_effect_of_an_upload(void **state)
{
    (void)state;
    scripted_s3 s3;
    failing_allocator failing;
    S3_BEGIN(&s3, good);
    failing_allocator_init(&failing);
    assert_true(put_large(&failing.allocator, &s3));
    uint64_t calls = failing.calls;
    for (uint64_t i = 0; i < 24; i++) {
        failing_allocator_arm(&failing, calls - i, true);
        put_large(&failing.allocator, &s3);
        assert_int_equal(failing.living, 0);
    }
    scripted_s3_end(&s3);
}

static void test_failing_memory_reads_well_or_not_at_all(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, good);
    scripted_s3_put(&s3, "bytes", 5);
    assert_true(failing_allocator_try_every_call(read_all, &s3, 200) > 10);
    scripted_s3_end(&s3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_damaged_listing_does_more_than_fail),
        cmocka_unit_test(test_no_damaged_set_of_tags_does_more_than_fail),
        cmocka_unit_test(test_a_damaged_upload_is_whole_or_not_there),
        cmocka_unit_test(test_failing_memory_denies_no_effect_of_a_put),
        cmocka_unit_test(test_failing_memory_denies_no_effect_of_an_upload),
        cmocka_unit_test(test_failing_memory_reads_well_or_not_at_all),
    };
    return cmocka_run_group_tests_name("S3, damaged", tests, NULL, NULL);
}
