/* Pushes whose body was uploaded into the blobs: the grant, and the push that names it. */
#include "tests/backend/api_world.h"

#include "backend/versioned/model/layout.h"
#include "common/error.h"
#include "common/gzip.h"

#include <stdlib.h>
#include <string.h>

static kedge_key key_of(const uint8_t hash[KEDGE_SHA256_SIZE])
{
    const kedge_project_ref notes = {KEDGE_BYTES("acme"), KEDGE_BYTES("notes")};
    return kedge_key_upload(&notes, hash);
}

/* ---- blobs that grant uploads ---- */

static kedge_blobs_vtable granting;
static kedge_status grant_status;
static kedge_blob_upload granted;

static kedge_status presign_put(void *self, const kedge_blob_upload *upload,
                                kedge_blob_grant *grant, kedge_error *error)
{
    (void)self;
    if (grant_status != KEDGE_OK) {
        return kedge_fail(error, grant_status, "no-credentials", "as the test says");
    }
    granted = *upload;
    granted.key = (kedge_bytes){NULL, 0};
    kedge_buffer_append_text(&grant->url, "http://blobs/");
    kedge_buffer_append_bytes(&grant->url, upload->key);
    grant->headers[0].name = "x-sum";
    memcpy(grant->headers[0].value, "a\"b", 4);
    grant->header_count = 1;
    return KEDGE_OK;
}

static void wrap(api_world *world)
{
    granting = *world->blobs.vtable;
    granting.presign_put = presign_put;
    world->blobs.vtable = &granting;
    grant_status = KEDGE_OK;
}

static api_world *granting_world(void)
{
    return api_world_new_with(NULL, wrap);
}

/* ---- uploads ---- */

typedef struct upload {
    kedge_buffer packed;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_key key;
    const char *reference; /* the body of the push */
} upload;

static upload make_upload(const char *body)
{
    char hex[KEDGE_SHA256_HEX];
    upload made = {.packed = kedge_buffer_make(&kedge_allocator_default)};
    assert_int_equal(kedge_gzip(kedge_bytes_of(body), &made.packed, NULL), KEDGE_OK);
    kedge_sha256(kedge_buffer_bytes(&made.packed), made.hash);
    kedge_hex_encode(made.hash, sizeof made.hash, hex);
    made.key = key_of(made.hash);
    made.reference = api_format("{\"pushVersion\":1,\"upload\":\"%s\"}", hex);
    return made;
}

static void store(const api_world *world, const upload *made, kedge_bytes bytes)
{
    const kedge_blobs *blobs = &world->blobs;
    assert_int_equal(
        blobs->vtable->put_if_absent(blobs->self, kedge_key_bytes(&made->key), bytes, NULL),
        KEDGE_OK);
}

static bool is_stored(const api_world *world, const upload *made)
{
    const kedge_blobs *blobs = &world->blobs;
    kedge_buffer found = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status =
        blobs->vtable->get(blobs->self, kedge_key_bytes(&made->key), &found, NULL);
    kedge_buffer_free(&found);
    return status == KEDGE_OK;
}

static const char *push_of_one(int id)
{
    return api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},"
                      "\"mutations\":[{\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\","
                      "\"args\":{\"collection\":\"docs\",\"id\":\"a\",\"value\":%d},"
                      "\"timestamp\":1,\"uid\":\"%032x\"}]}",
                      id, id, (unsigned)id);
}

/* ---- the grant ---- */

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void test_a_grant_names_the_bytes_and_where_they_go(void **state)
{
    (void)state;
    api_world *world = granting_world();
    assert_int_equal(api_post(world, "push/upload", "{\"sha256\":\"" HASH "\",\"bytes\":77}"), 200);
    assert_string_equal(api_string(world, "url"),
                        "http://blobs/acme/projects/notes/uploads/" HASH ".json.gz");
    assert_string_equal(api_string(world, "headers.x-sum"), "a\"b");
    assert_int_equal(api_number(world, "expires_in_ms"), 300000);
    assert_int_equal(granted.size_bytes, 77);
    assert_int_equal(granted.sha256[1], 0x11);
    assert_int_equal(granted.lifetime_ms, 300000);
    api_world_free(world);
}

static void test_what_is_asked_wrongly_is_not_granted(void **state)
{
    (void)state;
    api_world *world = granting_world();
    static const char *const wrong[] = {"[]",
                                        "{}",
                                        "{\"sha256\":\"" HASH "\"}",
                                        "{\"sha256\":\"" HASH "\",\"bytes\":0}",
                                        "{\"sha256\":\"00\",\"bytes\":5}",
                                        "{\"sha256\":5,\"bytes\":5}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        api_post(world, "push/upload", wrong[i]);
        assert_response_is(world, 400, "body-invalid");
    }
    const char *fine = "{\"sha256\":\"" HASH "\",\"bytes\":16777216}";
    api_post(world, "push/upload", "{\"sha256\":\"" HASH "\",\"bytes\":16777217}");
    assert_response_is(world, 413, "push-too-large");
    assert_int_equal(api_post(world, "push/upload", fine), 200);
    grant_status = KEDGE_UNAVAILABLE;
    api_post(world, "push/upload", fine);
    assert_response_is(world, 503, "unavailable");
    api_world_free(world);
}

static void test_who_may_not_push_is_granted_nothing(void **state)
{
    (void)state;
    api_world *world = granting_world();
    kedge_bytes fine = KEDGE_BYTES("{\"sha256\":\"" HASH "\",\"bytes\":5}");
    api_post_as(world, &eve, "push/upload", fine.data);
    assert_response_is(world, 404, "project-not-found");
    api_post_as(world, NULL, "push/upload", fine.data);
    assert_response_is(world, 401, "token-missing");
    api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/nowhere/push/upload", fine);
    assert_response_is(world, 404, "project-not-found");
    api_world_free(world);
}

static void test_where_the_store_grants_nothing_the_server_says_so(void **state)
{
    (void)state;
    api_world *world = api_world_new();
    api_post(world, "push/upload", "{\"sha256\":\"" HASH "\",\"bytes\":5}");
    assert_response_is(world, 501, "uploads-not-served");
    api_ask(world, NULL, "GET", "/v1/limits", (kedge_bytes){NULL, 0});
    assert_true(cJSON_IsFalse(api_at(world, "upload")));
    api_world_free(world);
    world = granting_world();
    api_ask(world, NULL, "GET", "/v1/limits", (kedge_bytes){NULL, 0});
    assert_true(cJSON_IsTrue(api_at(world, "upload")));
    api_world_free(world);
}

/* ---- the push ---- */

static void test_an_uploaded_push_is_decided_and_its_upload_removed(void **state)
{
    (void)state;
    api_world *world = api_world_new();
    upload made = make_upload(push_of_one(1));
    for (int time = 0; time < 2; time++) { /* the first response was lost */
        store(world, &made, kedge_buffer_bytes(&made.packed));
        assert_int_equal(api_post(world, "push", made.reference), 200);
        assert_string_equal(api_text(world), "{\"kedge\":{\"version\":1}}");
        assert_false(is_stored(world, &made));
    }
    api_get(world, "versions/latest/collections/docs/a");
    assert_int_equal(api_number(world, "value"), 1);
    kedge_buffer_free(&made.packed);
    api_world_free(world);
}

static kedge_blobs_vtable keeping;

static kedge_status fail_to_remove(void *self, kedge_bytes key, kedge_error *error)
{
    (void)self;
    (void)key;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "away", "as the test says");
}

static void wrap_keeping(api_world *world)
{
    keeping = *world->blobs.vtable;
    keeping.remove = fail_to_remove;
    world->blobs.vtable = &keeping;
}

static void test_an_upload_that_cannot_be_removed_is_told_and_its_push_is_decided(void **state)
{
    (void)state;
    api_world *world = api_world_new_with(NULL, wrap_keeping);
    upload made = make_upload(push_of_one(1));
    store(world, &made, kedge_buffer_bytes(&made.packed));
    assert_int_equal(api_post(world, "push", made.reference), 200);
    assert_true(is_stored(world, &made));
    assert_int_equal(world->background_failures[KEDGE_BACKGROUND_UPLOAD_REMOVAL], 1);
    kedge_buffer_free(&made.packed);
    api_world_free(world);
}

static void test_a_refused_push_keeps_its_upload(void **state)
{
    (void)state;
    api_world *world = api_world_new();
    upload made = make_upload(push_of_one(2));
    store(world, &made, kedge_buffer_bytes(&made.packed));
    api_post(world, "push", made.reference);
    assert_response_is(world, 409, "client-unknown");
    assert_true(is_stored(world, &made));
    kedge_buffer_free(&made.packed);
    api_world_free(world);
}

static void test_in_queued_mode_it_is_queued_as_if_it_had_come_in_one_request(void **state)
{
    (void)state;
    api_world *world = api_world_new_queued();
    upload made = make_upload(push_of_one(1));
    store(world, &made, kedge_buffer_bytes(&made.packed));
    assert_int_equal(api_post(world, "push", made.reference), 200);
    assert_string_equal(api_text(world), "{\"kedge\":{\"queued\":true}}");
    assert_int_equal(world->enqueued, 1);
    assert_non_null(strstr(world->last_enqueued.data, "\"mutations\":[{\"clientID\":\"c1\""));
    assert_false(is_stored(world, &made));
    kedge_buffer_free(&made.packed);
    api_world_free(world);
}

static void test_an_upload_that_is_not_there_or_not_itself_is_refused(void **state)
{
    (void)state;
    api_world *world = api_world_new();
    upload made = make_upload(push_of_one(1));
    api_post(world, "push", made.reference);
    assert_response_is(world, 409, "upload-missing");
    upload another = make_upload(push_of_one(7)); /* a push, but not this one */
    store(world, &made, kedge_buffer_bytes(&another.packed));
    api_post(world, "push", made.reference);
    assert_response_is(world, 409, "upload-damaged");
    kedge_buffer_free(&another.packed);
    kedge_buffer_free(&made.packed);

    upload plain = {.packed = kedge_buffer_make(&kedge_allocator_default)};
    char hex[KEDGE_SHA256_HEX];
    kedge_sha256(KEDGE_BYTES("no gzip"), plain.hash);
    kedge_hex_encode(plain.hash, sizeof plain.hash, hex);
    plain.key = key_of(plain.hash);
    store(world, &plain, KEDGE_BYTES("no gzip"));
    api_post(world, "push", api_format("{\"pushVersion\":1,\"upload\":\"%s\"}", hex));
    assert_response_is(world, 409, "upload-damaged");
    api_post(world, "push", "{\"pushVersion\":1,\"upload\":\"../x\"}");
    assert_response_is(world, 400, "body-invalid");
    api_post(world, "push", "{\"pushVersion\":2,\"upload\":\"" HASH "\"}");
    assert_string_equal(api_text(world),
                        "{\"error\":\"VersionNotSupported\",\"versionType\":\"push\"}");
    assert_int_equal(api_head(world), 0);
    api_world_free(world);
}

/* Gzip of 17 MiB has 17 KiB. */
static void test_an_upload_that_unpacks_to_more_than_a_push_may_have_is_refused(void **state)
{
    (void)state;
    api_world *world = api_world_new();
    size_t size = 17u << 20;
    char *body = malloc(size + 1);
    assert_non_null(body);
    memset(body, ' ', size);
    body[size] = '\0';
    upload made = make_upload(body);
    store(world, &made, kedge_buffer_bytes(&made.packed));
    api_post(world, "push", made.reference);
    assert_response_is(world, 413, "body-too-large");
    kedge_buffer_free(&made.packed);
    free(body);
    api_world_free(world);
}

/* Not more than it tells is unpacked, so that no more than that is asked for. */
static void test_an_upload_that_holds_more_than_it_tells_is_refused(void **state)
{
    (void)state;
    api_world *world = api_world_new();
    upload made = make_upload(push_of_one(1));
    char hex[KEDGE_SHA256_HEX];
    made.packed.data[made.packed.size - 4]--;
    kedge_sha256(kedge_buffer_bytes(&made.packed), made.hash);
    kedge_hex_encode(made.hash, sizeof made.hash, hex);
    made.key = key_of(made.hash);
    store(world, &made, kedge_buffer_bytes(&made.packed));
    api_post(world, "push", api_format("{\"pushVersion\":1,\"upload\":\"%s\"}", hex));
    assert_response_is(world, 409, "upload-damaged");
    assert_int_equal(world->asked, made.packed.size + strlen(push_of_one(1)) - 1);
    kedge_buffer_free(&made.packed);
    api_world_free(world);
}

static void test_an_upload_is_unpacked_where_there_is_room_for_it(void **state)
{
    (void)state;
    api_world *world = api_world_new();
    const char *push = push_of_one(1);
    upload made = make_upload(push);
    store(world, &made, kedge_buffer_bytes(&made.packed));
    world->room = made.packed.size + strlen(push) - 1;
    api_post(world, "push", made.reference);
    assert_response_is(world, 503, "unavailable");
    assert_true(is_stored(world, &made));
    assert_int_equal(api_head(world), 0);
    world->room++;
    assert_int_equal(api_post(world, "push", made.reference), 200);
    assert_int_equal(world->asked, world->room);
    kedge_buffer_free(&made.packed);
    api_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_grant_names_the_bytes_and_where_they_go),
        cmocka_unit_test(test_what_is_asked_wrongly_is_not_granted),
        cmocka_unit_test(test_who_may_not_push_is_granted_nothing),
        cmocka_unit_test(test_where_the_store_grants_nothing_the_server_says_so),
        cmocka_unit_test(test_an_uploaded_push_is_decided_and_its_upload_removed),
        cmocka_unit_test(test_an_upload_that_cannot_be_removed_is_told_and_its_push_is_decided),
        cmocka_unit_test(test_a_refused_push_keeps_its_upload),
        cmocka_unit_test(test_in_queued_mode_it_is_queued_as_if_it_had_come_in_one_request),
        cmocka_unit_test(test_an_upload_that_is_not_there_or_not_itself_is_refused),
        cmocka_unit_test(test_an_upload_that_unpacks_to_more_than_a_push_may_have_is_refused),
        cmocka_unit_test(test_an_upload_that_holds_more_than_it_tells_is_refused),
        cmocka_unit_test(test_an_upload_is_unpacked_where_there_is_room_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
