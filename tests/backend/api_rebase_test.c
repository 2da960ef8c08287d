/* POST rebase: a part at each request, its outcomes, who may ask, and what is refused. */
#include "tests/backend/api_world.h"

#include <string.h>

#define COPY "/v1/orgs/acme/projects/copy"

static int set_up(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "docs/a", "{\"n\":1}");
    api_put(world, "c1", 2, "docs/a", "{\"n\":2}");
    api_put(world, "c2", 1, "docs/b", "3");
    assert_int_equal(api_post_as(world, &root, "fork", "{\"version\":1,\"to\":\"copy\"}"), 201);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    api_world_free(*state);
    return 0;
}

static int rebase_as(api_world *world, const kedge_identity *who, const char *body)
{
    return api_ask(world, who, "POST", COPY "/rebase", kedge_bytes_of(body));
}

#define JOB                                                                                        \
    "{\"from_project\":\"notes\",\"from_version\":2,\"to_version\":3,\"job\":\"j1\",\"next\":"     \
    "null}"

static void test_the_outcome_of_every_mutation_is_told(void **state)
{
    api_world *world = *state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rebase_as(world, &root, JOB), 200);
        assert_true(cJSON_IsTrue(api_at(world, "done")));
        assert_true(cJSON_IsNull(api_at(world, "next")));
        assert_string_equal(api_string(world, "job"), "j1");
        assert_int_equal(api_number(world, "version"), 2);
        assert_int_equal(api_count(world, "mutations"), 2);
        assert_string_equal(api_string(world, "mutations.0.outcome"), "applied");
        assert_int_equal(api_number(world, "mutations.1.id"), 2);
        assert_int_equal(api_number(world, "mutations.1.version"), 2);
        assert_string_equal(api_string(world, "mutations.1.from.client"), "c2");
        assert_int_equal(api_number(world, "mutations.1.from.id"), 1);
        assert_int_equal(api_number(world, "mutations.1.from.version"), 3);
        assert_string_equal(api_string(world, "mutations.1.from.outcome"), "applied");
        assert_string_equal(api_string(world, "mutations.1.from.name"), "kedge.put");
    }
    kedge_bytes none = {NULL, 0};
    assert_int_equal(api_ask(world, &ann, "GET", COPY "/clients/rebase-j1/mutations/2", none), 200);
    assert_string_equal(api_string(world, "origin.client"), "c2");
    assert_string_equal(api_string(world, "user"), "ann");
    assert_int_equal(api_ask(world, &ann, "GET", COPY "/versions/latest/collections/docs/a", none),
                     200);
    assert_int_equal(api_number(world, "value.n"), 2);
}

static void test_a_long_job_tells_where_to_go_on(void **state)
{
    api_world *world = *state;
    for (int i = 2; i <= 80; i++)
        api_put(world, "c2", i, "docs/b", api_format("%d", i));
    int64_t head = api_head(world);
    const char *next = "null";
    int64_t seen = 0;
    for (int part = 1;; part++) {
        const char *body = api_format("{\"from_project\":\"notes\",\"from_version\":2,"
                                      "\"to_version\":%lld,\"job\":\"long\",\"next\":%s}",
                                      (long long)head, next);
        assert_int_equal(rebase_as(world, &root, body), 200);
        seen += api_count(world, "mutations");
        if (cJSON_IsTrue(api_at(world, "done"))) break;
        assert_int_equal(part, 1);
        assert_int_equal(api_number(world, "next.version"), 66);
        assert_int_equal(api_number(world, "next.id"), 65);
        next = "{\"version\":66,\"id\":65}";
    }
    assert_int_equal(seen, head - 1);
}

static void test_what_was_left_out_has_no_id(void **state)
{
    api_world *world = *state;
    const char *again = "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c3\"},"
                        "\"mutations\":[{\"clientID\":\"c3\",\"id\":1,\"name\":\"kedge.put\","
                        "\"args\":{\"collection\":\"docs\",\"id\":\"b\",\"value\":3},"
                        "\"timestamp\":1,\"uid\":\"00000000000000000000000000000001\","
                        "\"origin\":{\"client\":\"c2\",\"id\":1}}]}";
    assert_int_equal(api_post(world, "push", again), 200);
    assert_int_equal(api_head(world), 4);
    assert_int_equal(rebase_as(world, &root,
                               "{\"from_project\":\"notes\",\"from_version\":2,\"to_version\":4,"
                               "\"job\":\"j1\"}"),
                     200);
    assert_int_equal(api_count(world, "mutations"), 3);
    assert_string_equal(api_string(world, "mutations.2.outcome"), "left-out");
    assert_string_equal(api_string(world, "mutations.2.from.outcome"), "duplicate");
    assert_null(api_at(world, "mutations.2.id"));
}

static void test_only_an_admin_rebases(void **state)
{
    api_world *world = *state;
    rebase_as(world, &ann, JOB);
    assert_response_is(world, 403, "not-allowed");
    rebase_as(world, &eve, JOB);
    assert_response_is(world, 404, "project-not-found");
    const char *projects[] = {"copy"};
    kedge_identity bounded = root;
    bounded.projects = projects;
    bounded.project_count = 1;
    rebase_as(world, &bounded, JOB);
    assert_response_is(world, 404, "project-not-found");
}

static void test_what_is_wrong_with_a_request_is_named(void **state)
{
    static const struct {
        const char *members; /* besides "from_project" and "job" */
        int status;
        const char *code;
        const char *named;
    } rows[] = {
        {"\"to_version\":3", 400, "body-invalid", "from_version is missing"},
        {"\"from_version\":2", 400, "body-invalid", "to_version is missing"},
        {"\"from_version\":3,\"to_version\":2", 400, "rebase-invalid", "range"},
        {"\"from_version\":2,\"to_version\":3,\"next\":{\"version\":4,\"id\":1}", 400,
         "rebase-invalid", "inside"},
        {"\"from_version\":2,\"to_version\":3,\"next\":{\"version\":3}", 400, "body-invalid",
         "next.id"},
        {"\"from_version\":2,\"to_version\":3,\"next\":7", 400, "body-invalid", "next.version"},
        {"\"from_version\":2,\"to_version\":3,\"next\":{\"version\":3,\"id\":2}", 400,
         "rebase-invalid", "has not replayed"}, /* clients may be retired by then */
        {"\"from_version\":2,\"to_version\":9", 404, "version-not-found", "no version 9"},
        {"\"from_version\":1,\"to_version\":3", 409, "rebase-range-in-base", "version 2"},
    };
    api_world *world = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rebase_as(world, &root,
                  api_format("{\"from_project\":\"notes\",\"job\":\"j1\",%s}", rows[i].members));
        assert_response_is(world, rows[i].status, rows[i].code);
        assert_non_null(strstr(api_string(world, "detail"), rows[i].named));
        bool late = strcmp(rows[i].named, "has not replayed") == 0;
        if (strstr(rows[i].named, "inside") == NULL)
            assert_int_equal(world->response.changed, late);
    }
    rebase_as(world, &root, "{\"from_version\":2,\"to_version\":3,\"job\":\"j1\"}");
    assert_response_is(world, 400, "body-invalid");
    rebase_as(world, &root,
              "{\"from_project\":\"notes\",\"from_version\":2,\"to_version\":3,\"job\":\"a/b\"}");
    assert_response_is(world, 400, "body-invalid");
    rebase_as(world, &root,
              "{\"from_project\":\"none\",\"from_version\":2,\"to_version\":3,\"job\":\"j1\"}");
    assert_response_is(world, 404, "project-not-found");
    assert_int_equal(rebase_as(world, &root, JOB), 200);
    rebase_as(world, &root,
              "{\"from_project\":\"notes\",\"from_version\":3,\"to_version\":3,\"job\":\"j1\"}");
    assert_response_is(world, 409, "job-mismatch");
    assert_true(world->response.changed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_outcome_of_every_mutation_is_told),
        TEST(test_a_long_job_tells_where_to_go_on),
        TEST(test_what_was_left_out_has_no_id),
        TEST(test_only_an_admin_rebases),
        TEST(test_what_is_wrong_with_a_request_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
