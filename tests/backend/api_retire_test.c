/* Retiring a client. */
#include "tests/backend/api_world.h"

#include <stdio.h>
#include <string.h>

static const char *const retire = "{\"clientGroupID\":\"g\",\"lowest_pending\":2}";

static void test_retiring_is_a_version_and_idempotent(void **state)
{
    api_world *world = api_world_new();
    for (int id = 1; id <= 3; id++)
        api_put(world, "c1", id, "d/a", "1");
    api_post(world, "clients/c1/retire", retire);
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "version"), 4);
    assert_int_equal(api_number(world, "lmid"), 3);
    assert_int_equal(api_count(world, "outcomes"), 2);
    assert_int_equal(api_number(world, "outcomes.0.id"), 2);
    assert_true(cJSON_IsNull(api_at(world, "outcomes_next")));
    assert_int_equal(strlen(api_string(world, "lineage")), 32);
    const char *first = api_format("%s", api_text(world));
    api_post(world, "clients/c1/retire", retire);
    assert_string_equal(api_text(world), first);
    assert_int_equal(api_head(world), 4);
    api_get(world, "versions/4");
    assert_string_equal(api_string(world, "retired"), "c1");
    assert_int_equal(api_count(world, "mutations"), 0);
    api_post(world, "pull",
             "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{\"client\":"
             "\"c1\",\"lowest_pending\":1,\"highest_id\":9}}");
    assert_true(cJSON_IsTrue(api_at(world, "kedge.retired")));
    assert_true(cJSON_IsTrue(api_at(world, "kedge.known")));
    assert_int_equal(api_number(world, "kedge.lmid"), 3);
    assert_int_equal(api_count(world, "kedge.outcomes"), 3);
    api_world_free(world);
    (void)state;
}

static void test_a_client_that_was_never_seen_is_retired_as_well(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "clients/new/retire", retire);
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "lmid"), 0);
    assert_int_equal(api_count(world, "outcomes"), 0);
    api_post(world, "push",
             "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"new\"},"
             "\"mutations\":[{\"clientID\":\"new\",\"id\":1,\"name\":\"kedge.noop\",\"args\":null,"
             "\"timestamp\":1}]}");
    assert_response_is(world, 409, "client-retired");
    api_world_free(world);
    (void)state;
}

/* What a copy asks after a restore of the backend: how much of its earlier clients is left. */
static void test_retiring_tells_the_lmids_of_earlier_clients(void **state)
{
    api_world *world = api_world_new();
    for (int id = 1; id <= 3; id++)
        api_put(world, "c1", id, "d/a", "1");
    api_put(world, "c2", 1, "d/b", "1");
    api_post(world, "clients/c3/retire",
             "{\"clientGroupID\":\"g\",\"lowest_pending\":1,\"earlier\":[\"c1\",\"none\",\"c2\"]}");
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "earlier.c1"), 3);
    assert_int_equal(api_number(world, "earlier.c2"), 1);
    assert_int_equal(api_number(world, "earlier.none"), 0);
    assert_int_equal(api_count(world, "earlier"), 3);
    api_post_as(world, &bob, "clients/b1/retire",
                "{\"clientGroupID\":\"b\",\"lowest_pending\":1,\"earlier\":[\"c1\"]}");
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "earlier.c1"), 0);
    api_world_free(world);
    (void)state;
}

static void test_wrong_earlier_clients_are_refused(void **state)
{
    api_world *world = api_world_new();
    char many[65 * 6 + 2];
    for (size_t i = 0; i < 65; i++)
        snprintf(many + i * 6, 7, "%c\"n%02zu\"", i == 0 ? '[' : ',', i);
    snprintf(many + 65 * 6, 2, "]");
    const char *const wrong[] = {"7",      "{}",        "\"c1\"",          "[7]",
                                 "[\"\"]", "[\"a b\"]", "[\"c1\",\"c1\"]", many};
    int64_t head = api_head(world);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        api_post(
            world, "clients/c1/retire",
            api_format("{\"clientGroupID\":\"g\",\"lowest_pending\":1,\"earlier\":%s}", wrong[i]));
        assert_response_is(world, 400, "body-invalid");
        assert_non_null(strstr(api_string(world, "detail"), "earlier must be an array of at most"));
    }
    assert_int_equal(api_head(world), head);
    api_world_free(world);
    (void)state;
}

/* The client has the state of a backend that was restored once more since. */
static void test_a_client_with_the_state_of_another_lineage_is_not_retired(void **state)
{
    static const char *const unknown[] = {
        "{\"order\":1,\"lineage\":\"%s\"}", "{\"order\":2,\"lineage\":\"%s\"}",
        "{\"order\":3,\"lineage\":\"%s\"}", "{\"order\":0,\"lineage\":\"%s\"}"};
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_get(world, "versions/1");
    const char *first = api_format("%s", api_string(world, "lineage"));
    api_put(world, "c1", 2, "d/a", "2");
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        const char *lineage = i == 0 ? "ffffffffffffffffffffffffffffffff" : first;
        const char *cookie = api_format(unknown[i], lineage);
        api_post(
            world, "clients/c1/retire",
            api_format("{\"clientGroupID\":\"g\",\"lowest_pending\":2,\"cookie\":%s}", cookie));
        assert_response_is(world, 410, "version-gone");
        assert_int_equal(api_head(world), 2);
    }
    api_post(world, "clients/c1/retire",
             api_format("{\"clientGroupID\":\"g\",\"lowest_pending\":2,\"cookie\":{\"order\":1,"
                        "\"lineage\":\"%s\"}}",
                        first));
    assert_response_is(world, 200, "");
    assert_int_equal(api_head(world), 3);
    api_world_free(world);
    (void)state;
}

static void test_a_client_of_somebody_else_is_not_retired(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_post_as(world, &bob, "clients/c1/retire", retire);
    assert_response_is(world, 404, "client-not-found");
    api_post(world, "clients/c1/retire", "{\"clientGroupID\":\"other\",\"lowest_pending\":1}");
    assert_response_is(world, 404, "client-not-found");
    api_put(world, "c1", 2, "d/a", "2");
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retiring_is_a_version_and_idempotent),
        cmocka_unit_test(test_a_client_that_was_never_seen_is_retired_as_well),
        cmocka_unit_test(test_a_client_of_somebody_else_is_not_retired),
        cmocka_unit_test(test_a_client_with_the_state_of_another_lineage_is_not_retired),
        cmocka_unit_test(test_retiring_tells_the_lmids_of_earlier_clients),
        cmocka_unit_test(test_wrong_earlier_clients_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
