/* A client that has pulled around a lost item gets it when the body is repaired: the driver over a
 * real store, answered by a real backend. */
#include "tests/backend/api_world.h"
#include "tests/core/scripted.h"

#include "backend/jobs/verify.h"
#include "backend/versioned/model/layout.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

#define PROJECT     "/v1/orgs/acme/projects/notes/"
#define LARGE_BYTES 10000 /* too large to stand in a version itself */

static const kedge_project_ref ref = {{"acme", 4}, {"notes", 5}};

static const char *large_value(char letter)
{
    static char text[LARGE_BYTES + 1];
    memset(text, letter, sizeof text - 1);
    text[0] = text[sizeof text - 2] = '"';
    return text;
}

static void put(api_world *world, int id, const char *item, const char *value)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(
        &body,
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
        "\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
        "\"collection\":\"notes\",\"id\":\"%s\",\"value\":%s},\"timestamp\":1}]}",
        id, item, value);
    assert_int_equal(api_ask(world, &ann, "POST", PROJECT "push", kedge_buffer_bytes(&body)), 200);
    kedge_buffer_free(&body);
}

static void lose_value(api_world *world, const char *value)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(kedge_bytes_of(value), hash);
    kedge_key key = kedge_key_body(&ref, KEDGE_BYTES("notes"), hash);
    assert_int_equal(world->blobs.vtable->remove(world->blobs.self, kedge_key_bytes(&key), NULL),
                     KEDGE_OK);
    api_world_restart(world);
}

static kedge_status ignore_line(void *context, kedge_bytes line, kedge_error *error)
{
    (void)context;
    (void)line;
    (void)error;
    return KEDGE_OK;
}

/* As kedge-admin does: by a backend of its own. */
static void repair(api_world *world)
{
    kedge_lines lines = {.take = ignore_line};
    kedge_verify_summary summary;
    api_world_restart(world);
    assert_int_equal(kedge_repair_project(HANDLE(world->backend, &ref), &lines, &summary, NULL),
                     KEDGE_OK);
    assert_int_equal(summary.repaired, 1);
    assert_int_equal(kedge_verify_project(HANDLE(world->backend, &ref), &lines, &summary, NULL),
                     KEDGE_OK);
    assert_int_equal(summary.findings, 0);
}

/* The backend answers what the client has asked last. */
static void response(api_world *world, scripted *s)
{
    assert_true(s->pull.number != 0);
    const char *path = api_format("%s%s", PROJECT, s->pull.path);
    api_ask(world, &ann, s->pull.method, path, kedge_bytes_of(s->pull.body));
    assert_response_is(world, 200, "");
    scripted_respond_pull(s, 200, api_text(world));
}

static void poke(api_world *world, scripted *s)
{
    const char *text = api_format("{\"version\":%lld}", (long long)api_head(world));
    kedge_driver_stream_up(s->driver);
    kedge_driver_stream_event(s->driver, KEDGE_BYTES("poke"), kedge_bytes_of(text));
}

static void test_a_client_that_has_pulled_around_an_item_gets_it_when_it_is_repaired(void **state)
{
    scripted *s = *state;
    char text[LARGE_BYTES + 1];
    api_world *world = api_world_new();
    put(world, 1, "a", large_value('a'));
    put(world, 2, "b", "2");
    lose_value(world, large_value('a'));
    response(world, s);
    assert_string_equal(s->error.code, "items-damaged");
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "");
    assert_string_equal(scripted_get(s, "b", text, sizeof text), "2");
    repair(world);
    poke(world, s);
    response(world, s);
    assert_int_equal(api_number(world, "kedge.from"), 2);
    assert_string_equal(s->error.code, "");
    assert_string_equal(scripted_get(s, "a", text, sizeof text), large_value('a'));
    assert_int_equal(s->pull.number, 0);
    api_world_free(world);
}

/* Its delta brings a value that it has. */
static void test_a_client_that_has_the_item_takes_it_again(void **state)
{
    scripted *s = *state;
    char text[LARGE_BYTES + 1];
    api_world *world = api_world_new();
    put(world, 1, "a", large_value('a'));
    response(world, s);
    assert_string_equal(scripted_get(s, "a", text, sizeof text), large_value('a'));
    lose_value(world, large_value('a'));
    repair(world);
    poke(world, s);
    response(world, s);
    assert_int_equal(api_count(world, "patch"), 1);
    assert_string_equal(s->error.code, "");
    assert_int_equal(s->connection, KEDGE_ONLINE);
    assert_string_equal(scripted_get(s, "a", text, sizeof text), large_value('a'));
    put(world, 2, "a", "3");
    poke(world, s);
    response(world, s);
    assert_string_equal(scripted_get(s, "a", text, sizeof text), "3");
    api_world_free(world);
}

static void test_a_replicache_client_gets_it_too(void **state)
{
    api_world *world = api_world_new();
    put(world, 1, "a", large_value('a'));
    put(world, 2, "b", "2");
    lose_value(world, large_value('a'));
    api_pull(world, "g", "null");
    assert_int_equal(api_count(world, "patch"), 2);
    const char *cookie = api_format("%s", api_cookie(world));
    repair(world);
    api_pull(world, "g", cookie);
    assert_response_is(world, 200, "");
    assert_int_equal(api_count(world, "patch"), 1);
    assert_string_equal(api_string(world, "patch.0.key"), "notes/a");
    assert_string_equal(api_string(world, "patch.0.op"), "put");
    cookie = api_format("%s", api_cookie(world));
    api_pull(world, "g", cookie);
    assert_int_equal(api_count(world, "patch"), 0);
    api_world_free(world);
    (void)state;
}

#define OVER_CLIENT(test) cmocka_unit_test_setup_teardown(test, scripted_setup, scripted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_CLIENT(test_a_client_that_has_pulled_around_an_item_gets_it_when_it_is_repaired),
        OVER_CLIENT(test_a_client_that_has_the_item_takes_it_again),
        cmocka_unit_test(test_a_replicache_client_gets_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
