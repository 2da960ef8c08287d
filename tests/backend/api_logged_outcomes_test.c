/* What the server of a log project tells of outcomes: what was decided when it was appended, and
 * what a snapshot has decided. Nothing else, since only replays know it. */
#include "tests/backend/api_world.h"

#include "backend/versioned/model/layout.h"
#include "common/hash.h"

#include <stdio.h>
#include <string.h>

#define BASE "/v1/orgs/acme/projects/sheet"

static const kedge_project_ref ref = {{"acme", 4}, {"sheet", 5}};

static int ask_as(api_world *world, const kedge_identity *who, const char *method, const char *path,
                  const char *body)
{
    return api_ask(world, who, method, api_format(BASE "%s", path), kedge_bytes_of(body));
}

static api_world *new_world(void)
{
    api_world *world = api_world_new();
    assert_int_equal(ask_as(world, &ann, "PUT", "", "{\"kind\":\"log\"}"), 201);
    return world;
}

static void push(api_world *world, const char *client, const char *mutations)
{
    ask_as(world, &ann, "POST", "/push",
           api_format("{\"pushVersion\":1,\"clientGroupID\":\"%s\",\"mutations\":[%s],"
                      "\"kedge\":{\"client\":\"%s\"}}",
                      client, mutations, client));
    assert_response_is(world, 200, "");
}

/* A put, or a patch of an item that is not there: replays reject it. */
static const char *edit(const char *client, int id, bool rejected, const char *more)
{
    return api_format(
        "{\"clientID\":\"%s\",\"id\":%d,\"name\":\"%s\",\"args\":{\"collection\":\"d\","
        "\"id\":\"%s\",%s},\"timestamp\":7%s}",
        client, id, rejected ? "kedge.patch" : "kedge.put", rejected ? "nothing" : "a",
        rejected ? "\"patch\":[]" : "\"value\":1", more);
}

static const char *unknown(const char *client, int id)
{
    return api_format("{\"clientID\":\"%s\",\"id\":%d,\"name\":\"kedge.unheard-of\",\"args\":{},"
                      "\"timestamp\":7}",
                      client, id);
}

static void snap(api_world *world)
{
    ask_as(world, &root, "POST", "/snapshot", "");
    assert_response_is(world, 200, "");
}

static void pull(api_world *world, const char *client, const char *cookie)
{
    ask_as(world, &ann, "POST", "/pull",
           api_format("{\"pullVersion\":1,\"clientGroupID\":\"%s\",\"cookie\":%s,\"kedge\":{"
                      "\"client\":\"%s\",\"lowest_pending\":1,\"highest_id\":9}}",
                      client, cookie, client));
    assert_response_is(world, 200, "");
}

static void retire(api_world *world, const char *client)
{
    ask_as(world, &ann, "POST", api_format("/clients/%s/retire", client),
           api_format("{\"clientGroupID\":\"%s\",\"lowest_pending\":1,\"earlier\":[]}", client));
    assert_response_is(world, 200, "");
}

/* The row of the list of outcomes. */
static void expect_row(api_world *world, int row, int id, const char *outcome, const char *code)
{
    const char *at = api_format("outcomes.%d", row);
    assert_int_equal(api_number(world, api_format("%s.id", at)), id);
    assert_string_equal(api_string(world, api_format("%s.outcome", at)), outcome);
    if (code)
        assert_string_equal(api_string(world, api_format("%s.code", at)), code);
    else
        assert_null(api_at(world, api_format("%s.code", at)));
}

static void test_a_retire_tells_only_what_is_decided(void **state)
{
    (void)state;
    for (int snapshot = 0; snapshot <= 1; snapshot++) {
        api_world *world = new_world();
        push(world, "c1", edit("c1", 1, false, ""));
        push(world, "c1", edit("c1", 2, true, ""));
        if (snapshot) snap(world);
        push(world, "c1", unknown("c1", 3));
        push(world, "c1", edit("c1", 4, false, ""));
        retire(world, "c1");
        assert_int_equal(api_number(world, "lmid"), 4);
        assert_int_equal(api_count(world, "outcomes"), snapshot ? 3 : 1);
        if (snapshot) expect_row(world, 0, 1, "applied", NULL);
        if (snapshot) expect_row(world, 1, 2, "rejected", "item-not-found");
        expect_row(world, snapshot ? 2 : 0, 3, "rejected", "mutator-unknown");
        api_world_free(world);
    }
}

static void test_the_outcomes_of_a_client_are_those_that_are_decided(void **state)
{
    api_world *world = new_world();
    (void)state;
    push(world, "c1", edit("c1", 1, false, ""));
    push(world, "c1", edit("c1", 2, true, ""));
    ask_as(world, &ann, "GET", "/clients/c1/mutations?from=1&to=9", "");
    assert_response_is(world, 200, "");
    assert_int_equal(api_count(world, "outcomes"), 0);
    snap(world);
    push(world, "c1", edit("c1", 3, false, ""));
    ask_as(world, &ann, "GET", "/clients/c1/mutations?from=1&to=9", "");
    assert_int_equal(api_count(world, "outcomes"), 2);
    expect_row(world, 1, 2, "rejected", "item-not-found");
    ask_as(world, &ann, "GET", "/clients/c1/mutations?from=1&to=9&version=1", "");
    assert_int_equal(api_count(world, "outcomes"), 1);
    expect_row(world, 0, 1, "applied", NULL);
    api_world_free(world);
}

/* c2 sends as duplicates what c1 has appended, and c3 what c2 has. A replay decides those of c2, a
 * snapshot those of c3. */
static void test_a_duplicate_of_what_was_rejected_is_told_to_be_rejected(void **state)
{
    static const char origin[] = ",\"origin\":{\"client\":\"c1\",\"id\":%d}";
    (void)state;
    api_world *world = new_world();
    push(world, "c1", edit("c1", 1, false, ""));
    push(world, "c1", edit("c1", 2, true, ""));
    pull(world, "c2", "null");
    const char *cookie = api_cookie(world);
    for (int c = 2; c <= 3; c++) {
        for (int id = 1; id <= 2; id++)
            push(world, api_format("c%d", c),
                 edit(api_format("c%d", c), id, id == 2, api_format(origin, id)));
        pull(world, api_format("c%d", c), cookie);
        int last = api_count(world, "kedge.log.entries") - 1;
        for (int back = 0; back <= 1; back++) {
            const char *at = api_format("kedge.log.entries.%d.mutations.0", last - back);
            assert_string_equal(api_string(world, api_format("%s.outcome", at)), "duplicate");
            if (back == 0)
                assert_string_equal(api_string(world, api_format("%s.code", at)), "item-not-found");
            else
                assert_null(api_at(world, api_format("%s.code", at)));
        }
        if (c == 3) break;
        snap(world);
        pull(world, "c3", cookie); /* up to the snapshot */
        cookie = api_cookie(world);
    }
    /* The snapshot has the first duplicate, too. */
    retire(world, "c2");
    assert_int_equal(api_count(world, "outcomes"), 2);
    expect_row(world, 0, 1, "duplicate", NULL);
    expect_row(world, 1, 2, "duplicate", "item-not-found");
    api_world_free(world);
}

/* Nobody knows then what the snapshot has decided: replays from the start tell it. */
static void test_a_snapshot_that_is_damaged_has_decided_nothing(void **state)
{
    static const char origin[] = ",\"origin\":{\"client\":\"c1\",\"id\":2}";
    (void)state;
    api_world *world = new_world();
    push(world, "c1", edit("c1", 1, false, ""));
    push(world, "c1", edit("c1", 2, true, ""));
    push(world, "c2", edit("c2", 1, true, origin));
    snap(world);
    api_world_lose_blobs(world, "acme/projects/sheet/versions/", true);
    pull(world, "c2", "null");
    assert_int_equal(api_count(world, "kedge.log.entries"), 3);
    assert_string_equal(api_string(world, "kedge.log.entries.2.mutations.0.outcome"), "duplicate");
    assert_null(api_at(world, "kedge.log.entries.2.mutations.0.code"));
    ask_as(world, &ann, "GET", "/clients/c1/mutations?from=1&to=9", "");
    assert_response_is(world, 200, "");
    assert_int_equal(api_count(world, "outcomes"), 0);
    retire(world, "c1");
    assert_int_equal(api_number(world, "lmid"), 2);
    assert_int_equal(api_count(world, "outcomes"), 0);
    assert_true(world->background_failures[KEDGE_BACKGROUND_LOG_SNAPSHOTS] >= 3);
    api_world_free(world);
}

/* A replay on a state that lacks an item would decide otherwise than all the others. */
static void test_a_snapshot_that_lacks_a_body_is_gone(void **state)
{
    api_world *world = new_world();
    char text[10003];
    uint8_t hash[KEDGE_SHA256_SIZE];
    (void)state;
    memset(text, 'v', sizeof text - 1);
    text[0] = text[sizeof text - 2] = '"';
    text[sizeof text - 1] = '\0';
    kedge_buffer put = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&put,
                               "{\"pushVersion\":1,\"clientGroupID\":\"c1\",\"mutations\":[{"
                               "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{"
                               "\"collection\":\"d\",\"id\":\"a\",\"value\":%s},\"timestamp\":7}],"
                               "\"kedge\":{\"client\":\"c1\"}}",
                               text);
    api_ask(world, &ann, "POST", BASE "/push", kedge_buffer_bytes(&put));
    assert_response_is(world, 200, "");
    kedge_buffer_free(&put);
    snap(world);
    ask_as(world, &ann, "GET", "/snapshot", "");
    assert_response_is(world, 200, "");
    kedge_sha256(kedge_bytes_of(text), hash);
    kedge_key key = kedge_key_body(&ref, KEDGE_BYTES("d"), hash);
    assert_int_equal(world->blobs.vtable->remove(world->blobs.self, kedge_key_bytes(&key), NULL),
                     KEDGE_OK);
    api_world_restart(world);
    ask_as(world, &ann, "GET", "/snapshot", "");
    assert_response_is(world, 410, "version-gone");
    api_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_retire_tells_only_what_is_decided),
        cmocka_unit_test(test_the_outcomes_of_a_client_are_those_that_are_decided),
        cmocka_unit_test(test_a_duplicate_of_what_was_rejected_is_told_to_be_rejected),
        cmocka_unit_test(test_a_snapshot_that_is_damaged_has_decided_nothing),
        cmocka_unit_test(test_a_snapshot_that_lacks_a_body_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
