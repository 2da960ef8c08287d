/* Pulls of native clients: what they know of versions and lineages, snapshots, bodies by hash,
 * outcomes. */
#include "tests/backend/api_world.h"

#include <stdlib.h>
#include <string.h>

static const char *lost_lineage = "ffffffffffffffffffffffffffffffff";

static void pull_native(api_world *world, const char *client, const char *cookie, int lowest,
                        int highest)
{
    api_post(world, "pull",
             api_format("{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":%s,\"kedge\":{"
                        "\"client\":\"%s\",\"lowest_pending\":%d,\"highest_id\":%d}}",
                        cookie, client, lowest, highest));
}

/* A retire, or a page, may have told it of a version that a restore took back. */
static void test_a_client_that_knows_of_a_version_of_another_lineage_has_lost(void **state)
{
    static const struct {
        int order;
        bool own;
        bool lost;
    } cases[] = {{2, true, false}, {2, false, true}, {3, false, true}, {0, false, true}};
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    pull_native(world, "c1", "null", 1, 1);
    const char *cookie = api_cookie(world);
    api_put(world, "c1", 2, "d/b", "2");
    pull_native(world, "c1", "null", 1, 2);
    const char *lineage = api_format("%s", api_string(world, "kedge.lineage"));
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        const char *seen = cases[at].own ? lineage : "00000000000000000000000000000000";
        const char *body = api_format(
            "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":%s,\"kedge\":{\"client\":\"c1\","
            "\"lowest_pending\":1,\"highest_id\":2,\"seen\":{\"order\":%d,\"lineage\":\"%s\"}}}",
            cookie, cases[at].order, seen);
        api_post(world, "pull", body);
        assert_response_is(world, 200, "");
        assert_int_equal(cJSON_IsTrue(api_at(world, "kedge.lost")), cases[at].lost);
        assert_int_equal(api_number(world, "kedge.from"), cases[at].lost ? 0 : 1);
    }
    api_world_free(world);
    (void)state;
}

static void test_a_small_project_comes_whole_with_the_first_pull(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    pull_native(world, "c1", "null", 1, 1);
    assert_response_is(world, 200, "");
    assert_string_equal(api_patch(world), "[{\"op\":\"clear\"},"
                                          "{\"op\":\"put\",\"key\":\"d/a\",\"value\":1}]");
    assert_int_equal(api_number(world, "kedge.from"), 0);
    assert_int_equal(api_number(world, "kedge.version"), 1);
    assert_string_equal(api_string(world, "kedge.lineage"), api_string(world, "cookie.lineage"));
    assert_int_equal(api_number(world, "kedge.lmid"), 1);
    assert_true(cJSON_IsTrue(api_at(world, "kedge.known")));
    assert_true(cJSON_IsFalse(api_at(world, "kedge.retired")));
    assert_true(cJSON_IsFalse(api_at(world, "kedge.lost")));
    assert_true(cJSON_IsNull(api_at(world, "kedge.snapshot")));
    assert_true(cJSON_IsNull(api_at(world, "kedge.outcomes_next")));
    assert_int_equal(api_count(world, "kedge.outcomes"), 1);
    assert_int_equal(api_number(world, "kedge.outcomes.0.id"), 1);
    assert_int_equal(api_number(world, "kedge.outcomes.0.version"), 1);
    assert_string_equal(api_string(world, "kedge.outcomes.0.outcome"), "applied");
    assert_int_equal(strlen(api_string(world, "kedge.outcomes.0.digest")), 32);
    api_world_free(world);
    (void)state;
}

static void test_a_large_project_comes_as_a_snapshot(void **state)
{
    static char value[60003];
    memset(value, 'v', sizeof value - 1);
    value[0] = value[60001] = '"';
    value[60002] = '\0';
    api_world *world = api_world_new();
    for (int id = 1; id <= 6; id++) {
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer_append_format(&body,
                                   "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
                                   "\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
                                   "\"collection\":\"d\",\"id\":\"%d\",\"value\":%s},"
                                   "\"timestamp\":1}]}",
                                   id, id, value);
        assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                                 kedge_buffer_bytes(&body)),
                         200);
        kedge_buffer_free(&body);
    }
    pull_native(world, "c1", "null", 1, 6);
    assert_string_equal(api_patch(world), "[]");
    assert_int_equal(api_number(world, "kedge.snapshot.version"), 6);
    assert_string_equal(api_string(world, "kedge.snapshot.lineage"),
                        api_string(world, "cookie.lineage"));
    assert_int_equal(api_number(world, "kedge.from"), 0);
    assert_int_equal(api_count(world, "kedge.outcomes"), 6);
    api_pull(world, "g", "null");
    assert_int_equal(api_count(world, "patch"), 7);
    api_world_free(world);
    (void)state;
}

static void test_a_native_delta_that_is_too_long_becomes_a_snapshot(void **state)
{
    static char value[60003];
    memset(value, 'v', sizeof value - 1);
    value[0] = value[60001] = '"';
    value[60002] = '\0';
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    pull_native(world, "c1", "null", 1, 1);
    const char *cookie = api_cookie(world);
    for (int id = 1; id <= 150; id++) {
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer_append_format(&body,
                                   "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
                                   "\"clientID\":\"c2\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
                                   "\"collection\":\"d\",\"id\":\"%d\",\"value\":%s},"
                                   "\"timestamp\":1}]}",
                                   id, id, value);
        assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                                 kedge_buffer_bytes(&body)),
                         200);
        kedge_buffer_free(&body);
    }
    pull_native(world, "c1", cookie, 2, 1);
    assert_response_is(world, 200, "");
    assert_string_equal(api_patch(world), "[]");
    assert_int_equal(api_number(world, "kedge.snapshot.version"), 151);
    assert_int_equal(api_number(world, "kedge.from"), 0);
    assert_true(cJSON_IsFalse(api_at(world, "kedge.lost")));
    api_pull(world, "g", cookie);
    assert_int_equal(api_count(world, "patch"), 150);
    api_world_free(world);
    (void)state;
}

static void test_a_native_delta_names_a_large_value_by_its_hash(void **state)
{
    static char value[70003];
    memset(value, 'v', sizeof value - 1);
    value[0] = value[70001] = '"';
    value[70002] = '\0';
    api_world *world = api_world_new();
    api_pull(world, "g", "null");
    const char *cookie = api_cookie(world);
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&body,
                               "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
                               "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{"
                               "\"collection\":\"d\",\"id\":\"a\",\"value\":%s},\"timestamp\":1}]}",
                               value);
    assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                             kedge_buffer_bytes(&body)),
                     200);
    kedge_buffer_free(&body);
    pull_native(world, "c1", cookie, 1, 1);
    assert_int_equal(api_count(world, "patch"), 1);
    assert_null(api_at(world, "patch.0.value"));
    assert_int_equal(api_number(world, "patch.0.size"), 70002);
    const char *hash = api_format("%s", api_string(world, "patch.0.hash"));
    assert_int_equal(strlen(hash), 64);
    assert_int_equal(api_get(world, api_format("collections/d/bodies/%s", hash)), 200);
    assert_string_equal(api_text(world), value);
    api_pull(world, "g", cookie);
    assert_string_equal(api_string(world, "patch.0.key"), "d/a");
    assert_int_equal(strlen(api_string(world, "patch.0.value")), 70000);
    api_world_free(world);
    (void)state;
}

static void test_a_lost_cookie_is_told_from_a_first_one(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    for (int order = 0; order < 4; order++) {
        pull_native(world, "c1",
                    api_format("{\"order\":%d,\"lineage\":\"%s\"}", order, lost_lineage), 1, 1);
        assert_response_is(world, 200, "");
        assert_true(cJSON_IsTrue(api_at(world, "kedge.lost")));
        assert_string_equal(api_string(world, "patch.0.op"), "clear");
        assert_int_equal(api_number(world, "kedge.from"), 0);
        assert_int_equal(api_number(world, "lastMutationIDChanges.c1"), 1);
    }
    pull_native(world, "c1", "null", 1, 1);
    assert_true(cJSON_IsFalse(api_at(world, "kedge.lost")));
    api_world_free(world);
    (void)state;
}

static void test_a_delta_says_from_where_it_leads(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    pull_native(world, "c1", "null", 1, 1);
    const char *cookie = api_cookie(world);
    api_put(world, "c1", 2, "d/b", "2");
    pull_native(world, "c1", cookie, 2, 2);
    assert_int_equal(api_number(world, "kedge.from"), 1);
    assert_int_equal(api_number(world, "kedge.version"), 2);
    assert_int_equal(api_count(world, "patch"), 1);
    assert_int_equal(api_count(world, "kedge.outcomes"), 1);
    assert_int_equal(api_number(world, "kedge.outcomes.0.id"), 2);
    api_world_free(world);
    (void)state;
}

static void test_a_client_that_never_pushed_is_not_known(void **state)
{
    api_world *world = api_world_new();
    pull_native(world, "new", "null", 1, 0);
    assert_true(cJSON_IsFalse(api_at(world, "kedge.known")));
    assert_int_equal(api_number(world, "kedge.lmid"), 0);
    assert_int_equal(api_count(world, "kedge.outcomes"), 0);
    api_world_free(world);
    (void)state;
}

/* ---- outcomes ---- */

static void push_noops(api_world *world, int first, int last)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&body, "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[");
    for (int id = first; id <= last; id++) {
        kedge_buffer_append_format(
            &body, "%s{\"clientID\":\"c1\",\"id\":%d,\"name\":\"%s\",\"timestamp\":1}",
            id == first ? "" : ",", id, id % 10 == 0 ? "no.such.one" : "kedge.noop");
    }
    kedge_buffer_append_text(&body, "]}");
    assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                             kedge_buffer_bytes(&body)),
                     200);
    kedge_buffer_free(&body);
}

static void check_outcomes(api_world *world, const char *list, int first, int count)
{
    assert_int_equal(api_count(world, list), count);
    for (int at = 0; at < count; at++) {
        assert_int_equal(api_number(world, api_format("%s.%d.id", list, at)), first + at);
        assert_string_equal(api_string(world, api_format("%s.%d.outcome", list, at)),
                            (first + at) % 10 == 0 ? "rejected" : "applied");
    }
}

static void test_outcomes_come_a_thousand_at_a_time(void **state)
{
    api_world *world = api_world_new();
    push_noops(world, 1, 700);
    push_noops(world, 701, 2500);
    pull_native(world, "c1", "null", 1, 9999);
    check_outcomes(world, "kedge.outcomes", 1, 1000);
    assert_int_equal(api_number(world, "kedge.outcomes_next"), 1001);
    int64_t version = api_number(world, "kedge.version");
    push_noops(world, 2501, 2600);
    api_get(world,
            api_format("clients/c1/mutations?from=1001&to=9999&version=%lld", (long long)version));
    check_outcomes(world, "outcomes", 1001, 1000);
    assert_int_equal(api_number(world, "outcomes_next"), 2001);
    api_get(world,
            api_format("clients/c1/mutations?from=2001&to=9999&version=%lld", (long long)version));
    check_outcomes(world, "outcomes", 2001, 500);
    assert_true(cJSON_IsNull(api_at(world, "outcomes_next")));
    api_world_free(world);
    (void)state;
}

static void test_outcomes_are_those_that_were_asked_for(void **state)
{
    api_world *world = api_world_new();
    push_noops(world, 1, 20);
    pull_native(world, "c1", "null", 5, 7);
    check_outcomes(world, "kedge.outcomes", 5, 3);
    assert_true(cJSON_IsNull(api_at(world, "kedge.outcomes_next")));
    pull_native(world, "c1", "null", 19, 99);
    check_outcomes(world, "kedge.outcomes", 19, 2);
    pull_native(world, "c1", "null", 21, 20);
    check_outcomes(world, "kedge.outcomes", 21, 0);
    pull_native(world, "c1", "null", 0, 0);
    check_outcomes(world, "kedge.outcomes", 1, 0);
    pull_native(world, "c1", "null", 7, 3);
    check_outcomes(world, "kedge.outcomes", 1, 0);
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_project_comes_whole_with_the_first_pull),
        cmocka_unit_test(test_a_large_project_comes_as_a_snapshot),
        cmocka_unit_test(test_a_native_delta_that_is_too_long_becomes_a_snapshot),
        cmocka_unit_test(test_a_native_delta_names_a_large_value_by_its_hash),
        cmocka_unit_test(test_a_lost_cookie_is_told_from_a_first_one),
        cmocka_unit_test(test_a_delta_says_from_where_it_leads),
        cmocka_unit_test(test_a_client_that_never_pushed_is_not_known),
        cmocka_unit_test(test_outcomes_come_a_thousand_at_a_time),
        cmocka_unit_test(test_a_client_that_knows_of_a_version_of_another_lineage_has_lost),
        cmocka_unit_test(test_outcomes_are_those_that_were_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
