/* Pulls of a project that has lost something: what is left is answered, and what
 * is gone is named. */
#include "tests/backend/api_world.h"

#include "backend/versioned/model/layout.h"
#include "common/hash.h"
#include "tests/backend/project_records.h"

#include <stdio.h>
#include <string.h>

static const kedge_project_ref ref = {{"acme", 4}, {"notes", 5}};

static void pull_native(api_world *world, const char *cookie)
{
    api_post(world, "pull",
             api_format("{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":%s,\"kedge\":{"
                        "\"client\":\"c2\",\"lowest_pending\":1,\"highest_id\":0}}",
                        cookie));
    assert_response_is(world, 200, "");
}

/* The value number `n`, too large to stand in the version itself. */
static const char *large_value(int n)
{
    static char text[10002 + 1];
    char number[16];
    memset(text, 'v', sizeof text - 1);
    (void)snprintf(number, sizeof number, "%08d", n);
    memcpy(text + 1, number, 8);
    text[0] = text[sizeof text - 2] = '"';
    return text;
}

static void put_large(api_world *world, int id, const char *item, int n)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(
        &body,
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
        "\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
        "\"collection\":\"d\",\"id\":\"%s\",\"value\":%s},\"timestamp\":1}]}",
        id, item, large_value(n));
    assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                             kedge_buffer_bytes(&body)),
                     200);
    kedge_buffer_free(&body);
}

static void lose_value(api_world *world, int n)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(kedge_bytes_of(large_value(n)), hash);
    kedge_key key = kedge_key_body(&ref, KEDGE_BYTES("d"), hash);
    assert_int_equal(world->blobs.vtable->remove(world->blobs.self, kedge_key_bytes(&key), NULL),
                     KEDGE_OK);
    api_world_restart(world);
}

static void test_a_first_pull_leaves_a_lost_item_out_and_names_it(void **state)
{
    api_world *world = api_world_new();
    put_large(world, 1, "a", 'a');
    put_large(world, 2, "b", 'b');
    lose_value(world, 'a');
    pull_native(world, "null");
    assert_int_equal(api_count(world, "patch"), 2);
    assert_string_equal(api_string(world, "patch.0.op"), "clear");
    assert_string_equal(api_string(world, "patch.1.key"), "d/b");
    assert_string_equal(api_string(world, "kedge.damaged.code"), "items-damaged");
    assert_int_equal(api_number(world, "kedge.damaged.count"), 1);
    assert_string_equal(api_string(world, "kedge.damaged.keys.0"), "d/a");
    assert_int_equal(api_count(world, "kedge.damaged.collections"), 0);
    assert_int_equal(world->response.damaged_items, 1);
    assert_string_equal(world->response.cause.code, "item-body-missing");
    api_world_free(world);
    (void)state;
}

static void test_a_pull_of_a_sound_project_says_nothing_of_damage(void **state)
{
    api_world *world = api_world_new();
    put_large(world, 1, "a", 'a');
    pull_native(world, "null");
    assert_null(api_at(world, "kedge.damaged"));
    assert_int_equal(world->response.damaged_items, 0);
    api_world_free(world);
    (void)state;
}

static void test_a_replicache_client_gets_what_is_left(void **state)
{
    api_world *world = api_world_new();
    put_large(world, 1, "a", 'a');
    put_large(world, 2, "b", 'b');
    lose_value(world, 'a');
    api_pull(world, "g", "null");
    assert_response_is(world, 200, "");
    assert_int_equal(api_count(world, "patch"), 2);
    assert_string_equal(api_string(world, "patch.1.key"), "d/b");
    assert_null(api_at(world, "kedge"));
    assert_int_equal(world->response.damaged_items, 1);
    api_world_free(world);
    (void)state;
}

static void test_a_delta_leaves_a_lost_item_out_until_it_is_written_again(void **state)
{
    api_world *world = api_world_new();
    put_large(world, 1, "a", 'a');
    pull_native(world, "null");
    const char *cookie = api_format("%s", api_cookie(world));
    put_large(world, 2, "a", 'x');
    put_large(world, 3, "b", 'b');
    lose_value(world, 'x');
    pull_native(world, cookie);
    assert_int_equal(api_number(world, "kedge.from"), 1);
    assert_int_equal(api_count(world, "patch"), 1);
    assert_string_equal(api_string(world, "patch.0.key"), "d/b");
    assert_string_equal(api_string(world, "kedge.damaged.keys.0"), "d/a");
    cookie = api_format("%s", api_cookie(world));
    put_large(world, 4, "a", 'y');
    pull_native(world, cookie);
    assert_int_equal(api_count(world, "patch"), 1);
    assert_string_equal(api_string(world, "patch.0.key"), "d/a");
    assert_null(api_at(world, "kedge.damaged"));
    api_world_free(world);
    (void)state;
}

typedef struct rewrite {
    const char *sort;
    const char *delta; /* NULL: the record is deleted */
} rewrite;

static void rewrite_record(const kedge_records *records, const kedge_record *record, void *context)
{
    const rewrite *wanted = context;
    kedge_attribute attributes[KEDGE_RECORD_ATTRIBUTES_MAX];
    if (!kedge_bytes_equal_text(record->key.sort, wanted->sort)) return;
    for (size_t i = 0; i < record->attribute_count; i++) {
        attributes[i] = record->attributes[i];
        if (strcmp(attributes[i].name, "delta") != 0) continue;
        attributes[i].type = KEDGE_ATTRIBUTE_TEXT;
        attributes[i].bytes = kedge_bytes_of(wanted->delta == NULL ? "" : wanted->delta);
    }
    kedge_record_write write = {
        .kind = wanted->delta == NULL ? KEDGE_WRITE_DELETE : KEDGE_WRITE_PUT,
        .record = {record->key, attributes, wanted->delta == NULL ? 0 : record->attribute_count}};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
}

static void test_a_small_value_that_is_not_what_its_hash_says_is_left_out(void **state)
{
    char hex[KEDGE_SHA256_HEX];
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "12");
    api_put(world, "c1", 2, "d/b", "2");
    kedge_sha256_hex(KEDGE_BYTES("12"), hex);
    rewrite wanted = {"ProjectVersion#pv_000000000001",
                      api_format("{\"d\":{\"a\":{\"hash\":\"%s\",\"body\":13}}}", hex)};
    project_records_visit(&world->records, &ref, rewrite_record, &wanted);
    api_world_restart(world);
    pull_native(world, "null");
    assert_int_equal(api_count(world, "patch"), 2);
    assert_string_equal(api_string(world, "patch.1.key"), "d/b");
    assert_string_equal(api_string(world, "kedge.damaged.keys.0"), "d/a");
    api_world_free(world);
    (void)state;
}

/* What items it has, nobody knows any more; how many, the version tells. */
static void test_a_collection_that_cannot_be_read_is_named_as_a_whole(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_put(world, "c1", 2, "e/b", "2");
    pull_native(world, "null");
    const char *cookie = api_format("%s", api_cookie(world));
    rewrite wanted = {"ProjectVersion#pv_000000000001", NULL};
    project_records_visit(&world->records, &ref, rewrite_record, &wanted);
    api_world_restart(world);
    pull_native(world, "null");
    assert_int_equal(api_count(world, "patch"), 2);
    assert_string_equal(api_string(world, "patch.1.key"), "e/b");
    assert_int_equal(api_number(world, "kedge.damaged.count"), 1);
    assert_int_equal(api_count(world, "kedge.damaged.keys"), 0);
    assert_string_equal(api_string(world, "kedge.damaged.collections.0"), "d");
    api_get(world, "snapshot");
    assert_response_is(world, 200, "");
    assert_int_equal(api_count(world, "items"), 1);
    assert_string_equal(api_string(world, "damaged.collections.0"), "d");
    api_put(world, "c1", 3, "e/c", "3");
    pull_native(world, cookie);
    assert_int_equal(api_number(world, "kedge.from"), 2);
    assert_int_equal(api_count(world, "patch"), 1);
    assert_null(api_at(world, "kedge.damaged"));
    api_world_free(world);
    (void)state;
}

/* ---- pages and lists ---- */

/* However the lost ones lie between the others, and however many they are. */
static void test_pages_of_any_size_tell_each_lost_item_once(void **state)
{
    static const int limits[] = {1, 21000, 45000, 4000000};
    api_world *world = api_world_new();
    for (int id = 1; id <= 130; id++)
        put_large(world, id, api_format("%03d", id), id);
    for (int id = 1; id <= 130; id++) {
        if (id % 13 != 0) lose_value(world, id);
    }
    for (size_t at = 0; at < sizeof limits / sizeof *limits; at++) {
        int items = 0;
        int lost = 0;
        const char *after = "";
        bool more = true;
        while (more) {
            api_get(world, api_format("snapshot?limit_bytes=%d&after=%s", limits[at], after));
            assert_response_is(world, 200, "");
            items += api_count(world, "items");
            if (api_at(world, "damaged") != NULL) {
                lost += (int)api_number(world, "damaged.count");
                assert_int_equal(api_count(world, "damaged.keys"),
                                 api_number(world, "damaged.count"));
            }
            more = cJSON_IsString(api_at(world, "next"));
            if (more) after = api_format("d%%2F%s", api_string(world, "next") + strlen("d/"));
        }
        assert_int_equal(items, 10);
        assert_int_equal(lost, 120);
    }
    api_world_free(world);
    (void)state;
}

static void test_a_list_of_items_has_no_value_of_a_lost_one(void **state)
{
    api_world *world = api_world_new();
    put_large(world, 1, "a", 'a');
    put_large(world, 2, "b", 'b');
    lose_value(world, 'a');
    api_get(world, "versions/2?items=1");
    assert_response_is(world, 200, "");
    assert_string_equal(api_string(world, "collections.d.0.id"), "a");
    assert_null(api_at(world, "collections.d.0.value"));
    assert_non_null(api_at(world, "collections.d.1.value"));
    api_get(world, "versions/2/collections/d/a");
    assert_response_is(world, 500, "item-body-missing");
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_first_pull_leaves_a_lost_item_out_and_names_it),
        cmocka_unit_test(test_a_pull_of_a_sound_project_says_nothing_of_damage),
        cmocka_unit_test(test_a_replicache_client_gets_what_is_left),
        cmocka_unit_test(test_a_delta_leaves_a_lost_item_out_until_it_is_written_again),
        cmocka_unit_test(test_a_small_value_that_is_not_what_its_hash_says_is_left_out),
        cmocka_unit_test(test_a_collection_that_cannot_be_read_is_named_as_a_whole),
        cmocka_unit_test(test_pages_of_any_size_tell_each_lost_item_once),
        cmocka_unit_test(test_a_list_of_items_has_no_value_of_a_lost_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
