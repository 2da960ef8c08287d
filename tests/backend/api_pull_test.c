/* Pulls of Replicache clients: one pinned version, as a difference. */
#include "tests/backend/api_world.h"

#include <stdlib.h>
#include <string.h>

static const char *lost_lineage = "ffffffffffffffffffffffffffffffff";

static void run(api_world *world, const char *client, int id, const char *name, const char *args)
{
    api_post(world, "push",
             api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":"
                        "\"%s\",\"id\":%d,\"name\":\"%s\",\"args\":%s,\"timestamp\":1}]}",
                        client, id, name, args));
    assert_string_equal(api_text(world), "{}");
}

static void test_a_first_pull_of_nothing_is_a_clear_and_a_cookie(void **state)
{
    api_world *world = api_world_new();
    api_pull(world, "g", "null");
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "cookie.order"), 0);
    assert_int_equal(strlen(api_string(world, "cookie.lineage")), 32);
    assert_string_equal(api_patch(world), "[{\"op\":\"clear\"}]");
    assert_int_equal(api_count(world, "lastMutationIDChanges"), 0);
    assert_null(api_at(world, "kedge"));
    api_world_free(world);
    (void)state;
}

static void test_a_first_pull_has_every_item_in_key_order(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "b/x", "1");
    api_put(world, "c1", 2, "a-b/x", "2");
    api_put(world, "c1", 3, "a/z", "3");
    api_put(world, "c1", 4, "a/", "4");
    api_put(world, "c1", 5, "_/plain", "5");
    api_put(world, "c1", 6, "_/a/b", "6");
    api_put(world, "c1", 7, "_/project", "7");
    api_put(world, "c1", 8, "_/", "8");
    run(world, "c2", 1, "kedge.project", "{\"name\":\"n\"}");
    api_pull(world, "g", "null");
    assert_string_equal(api_patch(world),
                        "[{\"op\":\"clear\"},"
                        "{\"op\":\"put\",\"key\":\"project\",\"value\":{\"name\":\"n\"}},"
                        "{\"op\":\"put\",\"key\":\"_/\",\"value\":8},"
                        "{\"op\":\"put\",\"key\":\"_/a/b\",\"value\":6},"
                        "{\"op\":\"put\",\"key\":\"plain\",\"value\":5},"
                        "{\"op\":\"put\",\"key\":\"_/project\",\"value\":7},"
                        "{\"op\":\"put\",\"key\":\"a/\",\"value\":4},"
                        "{\"op\":\"put\",\"key\":\"a/z\",\"value\":3},"
                        "{\"op\":\"put\",\"key\":\"a-b/x\",\"value\":2},"
                        "{\"op\":\"put\",\"key\":\"b/x\",\"value\":1}]");
    assert_int_equal(api_number(world, "lastMutationIDChanges.c1"), 8);
    assert_int_equal(api_number(world, "lastMutationIDChanges.c2"), 1);
    api_world_free(world);
    (void)state;
}

static void test_a_delta_has_each_changed_key_once(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_put(world, "c1", 2, "d/b", "1");
    api_put(world, "c1", 3, "d/c", "1");
    api_pull(world, "g", "null");
    const char *cookie = api_cookie(world);
    api_put(world, "c1", 4, "d/c", "2");
    api_put(world, "c1", 5, "d/a", "2");
    api_put(world, "c1", 6, "d/a", "3");
    run(world, "c2", 1, "kedge.delete", "{\"collection\":\"d\",\"id\":\"b\"}");
    run(world, "c2", 2, "kedge.project", "{\"name\":\"n\"}");
    api_pull(world, "g", cookie);
    assert_string_equal(api_patch(world),
                        "[{\"op\":\"put\",\"key\":\"project\",\"value\":{\"name\":\"n\"}},"
                        "{\"op\":\"put\",\"key\":\"d/a\",\"value\":3},"
                        "{\"op\":\"del\",\"key\":\"d/b\"},"
                        "{\"op\":\"put\",\"key\":\"d/c\",\"value\":2}]");
    assert_int_equal(api_number(world, "cookie.order"), 8);
    assert_int_equal(api_count(world, "lastMutationIDChanges"), 2);
    assert_int_equal(api_number(world, "lastMutationIDChanges.c1"), 6);
    api_world_free(world);
    (void)state;
}

static void test_an_equal_cookie_gets_an_empty_patch(void **state)
{
    api_world *world = api_world_new();
    api_pull(world, "g", "null");
    const char *zero = api_cookie(world);
    api_pull(world, "g", zero);
    assert_string_equal(api_patch(world), "[]");
    assert_string_equal(api_cookie(world), zero);
    api_put(world, "c1", 1, "d/a", "1");
    api_pull(world, "g", "null");
    const char *cookie = api_cookie(world);
    api_pull(world, "g", cookie);
    assert_string_equal(api_patch(world), "[]");
    assert_int_equal(api_count(world, "lastMutationIDChanges"), 0);
    assert_string_equal(api_cookie(world), cookie);
    api_world_free(world);
    (void)state;
}

static void test_the_cookie_from_before_the_first_version_gets_a_delta(void **state)
{
    api_world *world = api_world_new();
    api_pull(world, "g", "null");
    const char *zero = api_cookie(world);
    api_put(world, "c1", 1, "d/a", "1");
    api_put(world, "c1", 2, "d/b", "2");
    api_pull(world, "g", zero);
    assert_string_equal(api_patch(world), "[{\"op\":\"put\",\"key\":\"d/a\",\"value\":1},"
                                          "{\"op\":\"put\",\"key\":\"d/b\",\"value\":2}]");
    api_world_free(world);
    (void)state;
}

/* A response whose cookie is equal to the client's is dropped whole: an lmid may not change without
 * one. */
static void test_a_changed_lmid_always_comes_with_a_higher_cookie(void **state)
{
    api_world *world = api_world_new();
    int64_t order = -1;
    int64_t lmid = 0;
    const char *cookie = "null";
    static const char *const names[] = {"kedge.noop", "no.such.one", "kedge.put", "kedge.delete"};
    for (int id = 1; id <= 12; id++) {
        run(world, "c1", id, names[id % 4], "{\"collection\":\"d\",\"id\":\"gone\"}");
        api_pull(world, "g", cookie);
        assert_true(api_number(world, "cookie.order") > order);
        assert_int_equal(api_number(world, "lastMutationIDChanges.c1"), lmid + 1);
        order = api_number(world, "cookie.order");
        lmid = api_number(world, "lastMutationIDChanges.c1");
        cookie = api_cookie(world);
    }
    api_world_free(world);
    (void)state;
}

static void test_a_forked_group_with_an_old_cookie_gets_the_right_delta(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_pull(world, "g", "null");
    const char *cookie = api_cookie(world);
    api_put(world, "c1", 2, "d/b", "2");
    api_pull(world, "forked", cookie);
    assert_string_equal(api_patch(world), "[{\"op\":\"put\",\"key\":\"d/b\",\"value\":2}]");
    assert_int_equal(api_count(world, "lastMutationIDChanges"), 0);
    cookie = api_cookie(world);
    api_post(world, "push",
             "{\"pushVersion\":1,\"clientGroupID\":\"forked\",\"mutations\":[{\"clientID\":\"f1\","
             "\"id\":1,\"name\":\"kedge.noop\",\"args\":null,\"timestamp\":1}]}");
    api_pull(world, "forked", cookie);
    assert_string_equal(api_patch(world), "[]");
    assert_int_equal(api_count(world, "lastMutationIDChanges"), 1);
    assert_int_equal(api_number(world, "lastMutationIDChanges.f1"), 1);
    api_world_free(world);
    (void)state;
}

static const char *lost_cookie(int order)
{
    return api_format("{\"order\":%d,\"lineage\":\"%s\"}", order, lost_lineage);
}

static void test_a_lost_cookie_gets_clear_and_everything(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_put(world, "c1", 2, "d/b", "2");
    api_pull(world, "forked", lost_cookie(1));
    assert_string_equal(api_patch(world), "[{\"op\":\"clear\"},"
                                          "{\"op\":\"put\",\"key\":\"d/a\",\"value\":1},"
                                          "{\"op\":\"put\",\"key\":\"d/b\",\"value\":2}]");
    assert_int_equal(api_count(world, "lastMutationIDChanges"), 0);
    assert_int_equal(api_number(world, "cookie.order"), 2);
    assert_null(api_at(world, "cookie.version"));
    api_pull(world, "forked", lost_cookie(0));
    assert_string_equal(api_string(world, "patch.0.op"), "clear");
    api_world_free(world);
    (void)state;
}

/* It would refuse an lmid below the one that it has seen. */
static void test_a_group_with_clients_and_a_lost_cookie_starts_anew(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_put(world, "c1", 2, "d/b", "2");
    for (int order = 0; order < 4; order++) {
        api_pull(world, "g", lost_cookie(order));
        assert_string_equal(api_text(world), "{\"error\":\"ClientStateNotFound\"}");
    }
    api_world_free(world);
    (void)state;
}

/* It would drop or refuse an order that is not above its own. */
static void test_the_order_goes_on_above_a_lost_cookie(void **state)
{
    static const char *const others[] = {"7", "7.9", "{\"order\":7}", "{\"order\":7.5}"};
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    for (size_t at = 0; at < sizeof others / sizeof others[0]; at++) {
        api_pull(world, "forked", others[at]);
        assert_string_equal(api_string(world, "patch.0.op"), "clear");
        assert_int_equal(api_number(world, "cookie.order"), 8);
    }
    api_pull(world, "forked", lost_cookie(7));
    assert_int_equal(api_number(world, "cookie.order"), 8);
    assert_int_equal(api_number(world, "cookie.version"), 1);
    const char *cookie = api_cookie(world);
    api_pull(world, "forked", cookie);
    assert_string_equal(api_patch(world), "[]");
    assert_string_equal(api_cookie(world), cookie);
    api_put(world, "c1", 2, "d/b", "2");
    api_pull(world, "forked", cookie);
    assert_string_equal(api_patch(world), "[{\"op\":\"put\",\"key\":\"d/b\",\"value\":2}]");
    assert_int_equal(api_number(world, "cookie.order"), 9);
    assert_int_equal(api_number(world, "cookie.version"), 2);
    api_world_free(world);
    (void)state;
}

static void test_a_cookie_whose_order_cannot_be_passed_starts_anew(void **state)
{
    static const char *const cookies[] = {
        "\"a\"", "{}", "{\"order\":\"1\"}", "4503599627370496", "1e300", "{\"order\":-1e300}"};
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    for (size_t at = 0; at < sizeof cookies / sizeof cookies[0]; at++) {
        api_pull(world, "forked", cookies[at]);
        assert_string_equal(api_text(world), "{\"error\":\"ClientStateNotFound\"}");
    }
    api_world_free(world);
    (void)state;
}

static void test_another_pull_version_is_told_as_unsupported(void **state)
{
    api_world *world = api_world_new();
    api_post(world, "pull", "{\"pullVersion\":0}");
    assert_string_equal(api_text(world),
                        "{\"error\":\"VersionNotSupported\",\"versionType\":\"pull\"}");
    assert_int_equal(world->response.status, 200);
    api_world_free(world);
    (void)state;
}

static void test_a_group_of_another_user_looks_empty(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_post_as(world, &bob, "pull",
                "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{\"client\":"
                "\"c1\",\"lowest_pending\":1,\"highest_id\":9}}");
    assert_response_is(world, 200, "");
    assert_int_equal(api_count(world, "lastMutationIDChanges"), 0);
    assert_int_equal(api_number(world, "kedge.lmid"), 0);
    assert_true(cJSON_IsFalse(api_at(world, "kedge.known")));
    assert_int_equal(api_count(world, "kedge.outcomes"), 0);
    const char *foreign = api_format("%s", api_text(world));
    api_post_as(world, &bob, "pull",
                "{\"pullVersion\":1,\"clientGroupID\":\"none\",\"cookie\":null,\"kedge\":{"
                "\"client\":\"none\",\"lowest_pending\":1,\"highest_id\":9}}");
    assert_string_equal(api_text(world), foreign);
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_first_pull_of_nothing_is_a_clear_and_a_cookie),
        cmocka_unit_test(test_a_first_pull_has_every_item_in_key_order),
        cmocka_unit_test(test_a_delta_has_each_changed_key_once),
        cmocka_unit_test(test_an_equal_cookie_gets_an_empty_patch),
        cmocka_unit_test(test_the_cookie_from_before_the_first_version_gets_a_delta),
        cmocka_unit_test(test_a_changed_lmid_always_comes_with_a_higher_cookie),
        cmocka_unit_test(test_a_forked_group_with_an_old_cookie_gets_the_right_delta),
        cmocka_unit_test(test_a_lost_cookie_gets_clear_and_everything),
        cmocka_unit_test(test_a_group_with_clients_and_a_lost_cookie_starts_anew),
        cmocka_unit_test(test_the_order_goes_on_above_a_lost_cookie),
        cmocka_unit_test(test_a_cookie_whose_order_cannot_be_passed_starts_anew),
        cmocka_unit_test(test_another_pull_version_is_told_as_unsupported),
        cmocka_unit_test(test_a_group_of_another_user_looks_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
