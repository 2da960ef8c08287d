/* What requests are answered about versions that retention has removed, and about those that it has
 * kept. */
#include "tests/backend/api_world.h"

#include "backend/jobs/retention.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

#define OLDEST 8

static const kedge_project_ref notes = {{"acme", 4}, {"notes", 5}};

static kedge_status drop_line(void *context, kedge_bytes line, kedge_error *error)
{
    (void)context, (void)line, (void)error;
    return KEDGE_OK;
}

static void retain(api_world *world, int64_t versions)
{
    kedge_lines lines = {drop_line, NULL};
    kedge_retention_rule rule = {.versions = versions};
    kedge_retention_result result;
    assert_int_equal(kedge_retention_run(NOTES(world), &rule, true, &lines, &result, NULL),
                     KEDGE_OK);
}

/* Ten versions, of which the last three are kept. */
static int set_up(void **state)
{
    api_world *world = api_world_new();
    for (int i = 1; i <= 5; i++) {
        api_put(world, "c1", i, "docs/a", api_format("{\"n\":%d}", i));
        api_put(world, "c2", i, api_format("docs/b%d", i), "\"text\"");
    }
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    api_world_free(*state);
    return 0;
}

static const char *pull_of(const char *client, const char *cookie)
{
    return api_format("{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":%s,\"kedge\":{"
                      "\"client\":\"%s\",\"lowest_pending\":1,\"highest_id\":9}}",
                      cookie, client);
}

/* The cookie of version `number`. */
static const char *cookie_of(api_world *world, int number)
{
    assert_int_equal(api_get(world, api_format("versions/%d", number)), 200);
    return api_format("{\"order\":%d,\"lineage\":\"%s\"}", number, api_string(world, "lineage"));
}

/* ---- queries ---- */

static void test_queries_of_removed_versions_are_told_so(void **state)
{
    static const char *const paths[] = {"versions/7", "versions/1", "versions/7/collections/docs",
                                        "versions/2/collections/docs/a",
                                        "clients/c1/mutations?version=3"};
    api_world *world = *state;
    retain(world, 3);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        api_get(world, paths[i]);
        assert_response_is(world, 404, "version-not-retained");
        assert_non_null(strstr(api_string(world, "detail"), "the oldest is 8"));
    }
    api_get(world, "snapshot?version=7");
    assert_response_is(world, 410, "version-gone");
    api_get(world, "versions/11");
    assert_response_is(world, 404, "version-not-found");
}

static void test_all_six_queries_answer_about_kept_versions_as_before(void **state)
{
    static const char *const paths[] = {
        "versions/8?items=1",
        "versions/9?items=1",
        "versions/latest?items=1",
        "versions/8/collections/docs",
        "versions/8/collections/docs/a",
        "versions?limit=3",
        "clients/c1/mutations/5",
        "clients/c2/mutations/latest",
        "clients/c1/mutations?version=8",
        "clients/c1/mutations",
        "snapshot?version=9",
    };
    api_world *world = *state;
    char before[sizeof paths / sizeof paths[0]][4096];
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(api_get(world, paths[i]), 200);
        /* The list of versions ends where retention ends it. */
        const char *next = strstr(api_text(world), ",\"next\":8}");
        size_t size = next == NULL ? strlen(api_text(world)) : (size_t)(next - api_text(world));
        snprintf(before[i], sizeof before[i], "%.*s", (int)size, api_text(world));
    }
    retain(world, 3);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(api_get(world, paths[i]), 200);
        assert_memory_equal(api_text(world), before[i], strlen(before[i]));
    }
}

static void test_the_list_of_versions_ends_at_the_oldest(void **state)
{
    api_world *world = *state;
    retain(world, 3);
    assert_int_equal(api_get(world, "versions"), 200);
    assert_int_equal(api_count(world, "versions"), 3);
    assert_int_equal(api_number(world, "versions.2.version"), OLDEST);
    assert_true(cJSON_IsNull(api_at(world, "next")));
    assert_int_equal(api_get(world, "versions?limit=2"), 200);
    assert_int_equal(api_number(world, "next"), 9);
    assert_int_equal(api_get(world, "versions?before=8"), 200);
    assert_int_equal(api_count(world, "versions"), 0);
    assert_true(cJSON_IsNull(api_at(world, "next")));
}

static void test_a_mutation_of_a_removed_version_keeps_its_outcome(void **state)
{
    api_world *world = *state;
    retain(world, 3);
    assert_int_equal(api_get(world, "clients/c1/mutations/2"), 200);
    assert_int_equal(api_number(world, "version"), 3);
    assert_string_equal(api_string(world, "outcome"), "applied");
    assert_int_equal(strlen(api_string(world, "digest")), 32);
    assert_true(cJSON_IsNull(api_at(world, "args")));
    assert_int_equal(api_get(world, "clients/c1/mutations?from=1&to=5"), 200);
    assert_int_equal(api_count(world, "outcomes"), 5);
}

/* ---- pulls ---- */

static void test_a_native_cookie_below_the_oldest_is_known_and_gets_everything(void **state)
{
    api_world *world = *state;
    const char *cookie = cookie_of(world, 4);
    retain(world, 3);
    assert_int_equal(api_post(world, "pull", pull_of("c1", cookie)), 200);
    assert_true(cJSON_IsFalse(api_at(world, "kedge.lost")));
    assert_true(cJSON_IsTrue(api_at(world, "kedge.known")));
    assert_int_equal(api_number(world, "kedge.from"), 0);
    assert_int_equal(api_number(world, "kedge.lmid"), 5);
    assert_int_equal(api_count(world, "kedge.outcomes"), 5);
    assert_string_equal(api_string(world, "patch.0.op"), "clear");
    assert_int_equal(api_count(world, "patch"), 7);
    assert_int_equal(api_number(world, "lastMutationIDChanges.c1"), 5);
}

static void test_a_replicache_cookie_below_the_oldest_gets_everything_in_its_place(void **state)
{
    api_world *world = *state;
    const char *cookie = cookie_of(world, 4);
    retain(world, 3);
    assert_int_equal(api_post(world, "pull",
                              api_format("{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":"
                                         "%s}",
                                         cookie)),
                     200);
    assert_null(api_at(world, "error"));
    assert_string_equal(api_string(world, "patch.0.op"), "clear");
    assert_int_equal(api_number(world, "cookie.order"), 10);
    assert_int_equal(api_number(world, "lastMutationIDChanges.c2"), 5);
}

static void test_a_cookie_of_another_lineage_below_the_oldest_is_lost(void **state)
{
    api_world *world = *state;
    retain(world, 3);
    const char *cookie = "{\"order\":4,\"lineage\":\"0123456789abcdef0123456789abcdef\"}";
    assert_int_equal(api_post(world, "pull", pull_of("c1", cookie)), 200);
    assert_true(cJSON_IsTrue(api_at(world, "kedge.lost")));
}

static void test_a_kept_cookie_gets_the_difference(void **state)
{
    api_world *world = *state;
    const char *oldest = cookie_of(world, OLDEST);
    retain(world, 3);
    assert_int_equal(api_post(world, "pull", pull_of("c1", oldest)), 200);
    assert_int_equal(api_number(world, "kedge.from"), OLDEST);
    assert_int_equal(api_count(world, "patch"), 2);
}

/* ---- jobs of others ---- */

static void test_removed_versions_are_neither_forked_nor_rebased(void **state)
{
    api_world *world = *state;
    assert_int_equal(api_post_as(world, &root, "fork", "{\"version\":5,\"to\":\"copy\"}"), 201);
    retain(world, 3);
    api_post_as(world, &root, "fork", "{\"version\":5,\"to\":\"other\"}");
    assert_response_is(world, 404, "version-not-retained");
    const char *path = "/v1/orgs/acme/projects/copy/rebase";
    const char *body = "{\"from_project\":\"notes\",\"from_version\":6,\"to_version\":10,"
                       "\"job\":\"j\"}";
    api_ask(world, &root, "POST", path, kedge_bytes_of(body));
    assert_response_is(world, 404, "version-not-retained");
    assert_int_equal(api_post_as(world, &root, "fork", "{\"version\":8,\"to\":\"kept\"}"), 201);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_queries_of_removed_versions_are_told_so),
        TEST(test_all_six_queries_answer_about_kept_versions_as_before),
        TEST(test_the_list_of_versions_ends_at_the_oldest),
        TEST(test_a_mutation_of_a_removed_version_keeps_its_outcome),
        TEST(test_a_native_cookie_below_the_oldest_is_known_and_gets_everything),
        TEST(test_a_replicache_cookie_below_the_oldest_gets_everything_in_its_place),
        TEST(test_a_cookie_of_another_lineage_below_the_oldest_is_lost),
        TEST(test_a_kept_cookie_gets_the_difference),
        TEST(test_removed_versions_are_neither_forked_nor_rebased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
