/* Pulls whose response is made in parts: together they are the whole response, of one version. And
 * responses that are made whole, which end where there is no room for them. */
#include "tests/backend/api_world.h"

#include "backend/front/body.h"
#include "backend/versioned/model/layout.h"
#include "common/gzip.h"

#include <stdio.h>
#include <string.h>

#define ITEMS       40
#define VALUE_BYTES 100000
#define CHANGES     90

static const kedge_project_ref ref = {{"acme", 4}, {"notes", 5}};

static int64_t next_id;

static const char *value(int number)
{
    static char text[VALUE_BYTES + 1];
    char digits[16];
    memset(text, 'v', VALUE_BYTES);
    (void)snprintf(digits, sizeof digits, "%08d", number);
    memcpy(text + 1, digits, 8);
    text[0] = text[VALUE_BYTES - 1] = '"';
    return text;
}

static void put(api_world *world, int item, const char *text)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(
        &body,
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c1\",\"id\":%"
        "lld,"
        "\"name\":\"kedge.put\",\"args\":{\"collection\":\"%c\",\"id\":\"%04d\",\"value\":%s},"
        "\"timestamp\":1}]}",
        (long long)next_id++, item % 2 ? 'd' : 'e', item, text);
    assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                             kedge_buffer_bytes(&body)),
                     200);
    kedge_buffer_free(&body);
}

static api_world *make_world(void)
{
    api_world *world = api_world_new();
    next_id = 1;
    for (int item = 0; item < ITEMS; item++)
        put(world, item, value(item));
    return world;
}

/* A pull whose response may come in parts. */
static kedge_api_response begin(api_world *world, const char *cookie)
{
    const char *body =
        api_format("{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":%s}", cookie);
    kedge_api_request request = {.method = KEDGE_BYTES("POST"),
                                 .path = KEDGE_BYTES("/v1/orgs/acme/projects/notes/pull"),
                                 .body = kedge_bytes_of(body),
                                 .takes_parts = true,
                                 .identity = &ann};
    kedge_api_response response = {.body = kedge_buffer_make(&kedge_allocator_default)};
    kedge_backend_handle(world->backend, &request, &response);
    assert_int_equal(response.status, 200);
    return response;
}

/* One part more, in the place of the one before, and after `all`. */
static kedge_status go_on(kedge_api_response *response, kedge_buffer *all)
{
    kedge_error error = {0};
    kedge_buffer_clear(&response->body);
    kedge_status status = kedge_api_go_on(response, KEDGE_API_PART_BYTES, &error);
    if (status == KEDGE_OK) kedge_buffer_append_bytes(all, kedge_buffer_bytes(&response->body));
    return status;
}

/* How many parts there are; `all` gets them. */
static int read_all(kedge_api_response *response, size_t most, kedge_buffer *all)
{
    int count = 1;
    kedge_buffer_append_bytes(all, kedge_buffer_bytes(&response->body));
    assert_true(response->body.size <= most);
    for (; response->rest.context != NULL; count++) {
        assert_int_equal(go_on(response, all), KEDGE_OK);
        assert_true(response->body.size > 0 && response->body.size <= most && count < 100);
    }
    return count;
}

static void assert_is_last_response(const api_world *world, const kedge_buffer *all)
{
    assert_int_equal(all->size, world->response.body.size);
    assert_memory_equal(all->data, world->response.body.data, all->size);
}

static void end(api_world *world, kedge_api_response *response, kedge_buffer *all)
{
    kedge_api_rest_free(response);
    kedge_buffer_free(&response->body);
    kedge_buffer_free(all);
    api_world_free(world);
}

static void test_the_parts_of_a_first_pull_are_the_whole(void **state)
{
    (void)state;
    api_world *world = make_world();
    kedge_buffer all = kedge_buffer_make(&kedge_allocator_default);
    kedge_api_response response = begin(world, "null");
    assert_true(read_all(&response, KEDGE_API_PART_BYTES + VALUE_BYTES + 1000, &all) > 6);
    api_pull(world, "g", "null");
    assert_int_equal(api_count(world, "patch"), ITEMS + 1);
    assert_is_last_response(world, &all);
    end(world, &response, &all);
}

static void test_the_parts_are_of_one_version_whatever_is_committed_and_forgotten(void **state)
{
    (void)state;
    api_world *world = make_world();
    api_pull(world, "g", "null");
    kedge_buffer whole = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer all = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_bytes(&whole, kedge_buffer_bytes(&world->response.body));
    kedge_api_response response = begin(world, "null");
    kedge_buffer_append_bytes(&all, kedge_buffer_bytes(&response.body));
    while (response.rest.context != NULL) {
        for (int item = 0; item < ITEMS; item++) /* more versions than are kept in memory */
            put(world, item, "\"changed\"");
        assert_int_equal(go_on(&response, &all), KEDGE_OK);
    }
    assert_int_equal(all.size, whole.size);
    assert_memory_equal(all.data, whole.data, all.size);
    kedge_buffer_free(&whole);
    end(world, &response, &all);
}

static void test_the_parts_of_a_delta_are_the_whole(void **state)
{
    (void)state;
    api_world *world = make_world();
    api_pull(world, "g", "null");
    const char *cookie = api_format("%s", api_cookie(world));
    for (int item = 0; item < CHANGES; item++)
        put(world, item, value(1000 + item));
    kedge_buffer all = kedge_buffer_make(&kedge_allocator_default);
    kedge_api_response response = begin(world, cookie);
    assert_int_equal(read_all(&response, 8388608 + VALUE_BYTES + 1000, &all), 2);
    api_pull(world, "g", cookie);
    assert_int_equal(api_count(world, "patch"), CHANGES);
    assert_is_last_response(world, &all);
    end(world, &response, &all);
}

static void test_packed_parts_are_one_gzip_stream(void **state)
{
    (void)state;
    api_world *world = make_world();
    kedge_buffer all = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    kedge_api_response response = begin(world, "null");
    kedge_body_compress(&response);
    assert_string_equal(response.content_encoding, "gzip");
    assert_true(read_all(&response, KEDGE_API_PART_BYTES, &all) > 6);
    assert_int_equal(kedge_gunzip(kedge_buffer_bytes(&all), SIZE_MAX, &plain, NULL), KEDGE_OK);
    api_pull(world, "g", "null");
    assert_is_last_response(world, &plain);
    kedge_buffer_free(&plain);
    end(world, &response, &all);
}

static void test_a_packed_response_that_is_given_up_holds_nothing(void **state)
{
    (void)state;
    api_world *world = make_world();
    kedge_buffer all = kedge_buffer_make(&kedge_allocator_default);
    kedge_api_response response = begin(world, "null");
    kedge_body_compress(&response);
    assert_int_equal(go_on(&response, &all), KEDGE_OK);
    assert_non_null(response.rest.context);
    end(world, &response, &all);
}

static void lose_value(api_world *world, const char *collection, int number)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256((kedge_bytes){value(number), VALUE_BYTES}, hash);
    kedge_key key = kedge_key_body(&ref, kedge_bytes_of(collection), hash);
    assert_int_equal(world->blobs.vtable->remove(world->blobs.self, kedge_key_bytes(&key), NULL),
                     KEDGE_OK);
}

static void test_lost_items_of_later_parts_are_left_out_and_told_at_the_end(void **state)
{
    (void)state;
    api_world *world = make_world();
    kedge_buffer all = kedge_buffer_make(&kedge_allocator_default);
    kedge_api_response response = begin(world, "null");
    lose_value(world, "d", ITEMS - 1);
    lose_value(world, "e", ITEMS - 2);
    read_all(&response, KEDGE_API_PART_BYTES + VALUE_BYTES + 1000, &all);
    assert_int_equal(response.damaged_items, 2);
    assert_string_equal(response.cause.code, "item-body-missing");
    api_pull(world, "g", "null");
    assert_int_equal(api_count(world, "patch"), ITEMS - 1);
    assert_is_last_response(world, &all);
    end(world, &response, &all);
}

/* What is missing is not taken for lost. */
static void test_a_version_that_is_removed_meanwhile_ends_the_response(void **state)
{
    (void)state;
    api_world *world = make_world();
    kedge_buffer all = kedge_buffer_make(&kedge_allocator_default);
    kedge_api_response response = begin(world, "null");
    kedge_key partition = kedge_key_partition(&ref);
    kedge_key version = kedge_key_version(ITEMS);
    const kedge_record_write gone = {
        .kind = KEDGE_WRITE_DELETE,
        .record.key = {kedge_key_bytes(&partition), kedge_key_bytes(&version)}};
    assert_int_equal(world->records.vtable->write(world->records.self, &gone, NULL), KEDGE_OK);
    lose_value(world, "e", ITEMS - 2);
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && response.rest.context != NULL)
        status = go_on(&response, &all);
    assert_int_equal(status, KEDGE_UNAVAILABLE);
    assert_null(response.rest.context);
    assert_string_equal(response.cause.code, "version-gone");
    assert_int_equal(response.damaged_items, 0);
    end(world, &response, &all);
}

/* ---- responses that are made whole ---- */

static void put_many(api_world *world, int count)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&body, "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[");
    for (int item = 1; item <= count; item++)
        kedge_buffer_append_format(
            &body,
            "%s{\"clientID\":\"c2\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{\"collection\":"
            "\"small\",\"id\":\"%05d\",\"value\":1},\"timestamp\":1}",
            item == 1 ? "" : ",", item, item);
    kedge_buffer_append_text(&body, "]}");
    assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                             kedge_buffer_bytes(&body)),
                     200);
    kedge_buffer_free(&body);
}

static void test_a_response_that_is_made_whole_ends_where_there_is_no_room(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t step; /* written at most between two questions */
    } rows[] = {{"versions/latest", 70000},
                {"versions/latest?items=0", 70000},
                {"versions/latest/collections/small?limit=1000", 70000},
                {"versions/41", 140000 + 2 * VALUE_BYTES},
                {"versions", 2 * VALUE_BYTES}};
    const size_t room = 60000;
    api_world *world = make_world();
    put_many(world, 3000);
    put(world, 1, value(1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        api_get(world, rows[i].path);
        assert_response_is(world, 200, "");
        size_t whole = world->response.body.size;
        assert_true(whole > room);
        world->room = room;
        api_get(world, rows[i].path);
        world->room = 0;
        assert_response_is(world, 503, "unavailable");
        assert_string_equal(world->response.cause.code, "no-room");
        assert_in_range(world->asked, room + 1, room + rows[i].step);
    }
    api_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_parts_of_a_first_pull_are_the_whole),
        cmocka_unit_test(test_the_parts_are_of_one_version_whatever_is_committed_and_forgotten),
        cmocka_unit_test(test_the_parts_of_a_delta_are_the_whole),
        cmocka_unit_test(test_packed_parts_are_one_gzip_stream),
        cmocka_unit_test(test_a_packed_response_that_is_given_up_holds_nothing),
        cmocka_unit_test(test_lost_items_of_later_parts_are_left_out_and_told_at_the_end),
        cmocka_unit_test(test_a_version_that_is_removed_meanwhile_ends_the_response),
        cmocka_unit_test(test_a_response_that_is_made_whole_ends_where_there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
