/* POST fork: what it answers, who may ask, and how queries show where a project came from. */
#include "tests/backend/api_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY "/v1/orgs/acme/projects/copy"

static const kedge_bytes none = {NULL, 0};

static int set_up(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "docs/a", "{\"n\":1}");
    api_put(world, "c1", 2, "docs/b", "2");
    api_put(world, "c1", 3, "docs/a", "{\"n\":3}");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    api_world_free(*state);
    return 0;
}

static int fork_as(api_world *world, const kedge_identity *who, const char *body)
{
    return api_post_as(world, who, "fork", body);
}

static void check_origin(api_world *world, const char *path, const char *lineage)
{
    assert_string_equal(api_string(world, api_format("%sforked.project", path)), "notes");
    assert_int_equal(api_number(world, api_format("%sforked.version", path)), 2);
    assert_string_equal(api_string(world, api_format("%sforked.lineage", path)), lineage);
}

static void test_a_fork_is_created_once_and_tells_where_it_came_from(void **state)
{
    api_world *world = *state;
    assert_int_equal(api_get(world, "versions/2"), 200);
    const char *lineage = api_format("%s", api_string(world, "lineage"));
    assert_int_equal(fork_as(world, &root, "{\"version\":2,\"to\":\"copy\"}"), 201);
    assert_true(cJSON_IsTrue(api_at(world, "done")));
    assert_string_equal(api_string(world, "project"), "copy");
    check_origin(world, "", lineage);
    int64_t created = api_number(world, "created");
    assert_int_equal(fork_as(world, &root, "{\"version\":2,\"to\":\"copy\"}"), 200);
    assert_int_equal(api_number(world, "created"), created);
    assert_int_equal(api_ask(world, &ann, "GET", COPY, none), 200);
    assert_int_equal(api_number(world, "version"), 1);
    check_origin(world, "", lineage);
    assert_int_equal(api_ask(world, &ann, "GET", COPY "/versions/1?items=1", none), 200);
    check_origin(world, "", lineage);
    assert_int_equal(api_number(world, "collections.docs.0.value.n"), 1);
    assert_int_equal(api_count(world, "mutations"), 0);
    assert_int_equal(api_ask(world, &ann, "GET", COPY "/versions", none), 200);
    check_origin(world, "versions.0.", lineage);
    assert_int_equal(api_get(world, "versions/1"), 200);
    assert_null(api_at(world, "forked"));
}

static void test_clients_of_the_source_are_unknown_in_the_fork(void **state)
{
    api_world *world = *state;
    assert_int_equal(fork_as(world, &root, "{\"version\":3,\"to\":\"copy\"}"), 201);
    assert_int_equal(api_ask(world, &ann, "GET", COPY "/clients/c1/mutations/latest", none), 404);
    assert_response_is(world, 404, "mutation-not-found");
    assert_int_equal(
        api_post(world, "pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null}"),
        200);
    const char *pull = api_format("{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":%s,"
                                  "\"kedge\":{\"client\":\"c1\",\"lowest_pending\":4,"
                                  "\"highest_id\":4}}",
                                  api_cookie(world));
    assert_int_equal(api_ask(world, &ann, "POST", COPY "/pull", kedge_bytes_of(pull)), 200);
    assert_true(cJSON_IsTrue(api_at(world, "kedge.lost")));
    assert_true(cJSON_IsFalse(api_at(world, "kedge.known")));
    assert_int_equal(api_number(world, "kedge.lmid"), 0);
}

static void test_only_an_admin_forks(void **state)
{
    api_world *world = *state;
    const kedge_identity *const others[] = {&ann, &rob};
    for (size_t i = 0; i < 2; i++) {
        fork_as(world, others[i], "{\"version\":2,\"to\":\"copy\"}");
        assert_response_is(world, 403, "not-allowed");
    }
    fork_as(world, &eve, "{\"version\":2,\"to\":\"copy\"}");
    assert_response_is(world, 404, "project-not-found");
    const char *projects[] = {"notes"};
    kedge_identity bounded = root;
    bounded.projects = projects;
    bounded.project_count = 1;
    fork_as(world, &bounded, "{\"version\":2,\"to\":\"copy\"}");
    assert_response_is(world, 403, "not-allowed");
}

static void test_what_is_wrong_with_a_request_is_named(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *code;
        const char *named;
    } rows[] = {
        {"[]", 400, "body-invalid", "object"},
        {"{\"to\":\"copy\"}", 400, "body-invalid", "version is missing"},
        {"{\"version\":0,\"to\":\"copy\"}", 400, "body-invalid", "version must be"},
        {"{\"version\":\"latest\",\"to\":\"copy\"}", 400, "body-invalid", "version must be"},
        {"{\"version\":1}", 400, "body-invalid", "to is missing"},
        {"{\"version\":1,\"to\":\"a/b\"}", 400, "body-invalid", "to must be"},
        {"{\"version\":4,\"to\":\"copy\"}", 404, "version-not-found", "no version 4"},
        {"{\"version\":1,\"to\":\"notes\"}", 409, "project-exists", "notes"},
    };
    api_world *world = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fork_as(world, &root, rows[i].body);
        assert_response_is(world, rows[i].status, rows[i].code);
        assert_non_null(strstr(api_string(world, "detail"), rows[i].named));
    }
    assert_int_equal(api_ask(world, &root, "POST", COPY "/fork",
                             kedge_bytes_of("{\"version\":1,\"to\":\"other\"}")),
                     404);
    assert_response_is(world, 404, "project-not-found");
}

static void test_a_fork_that_is_not_ready_tells_how_much_is_left(void **state)
{
    api_world *world = *state;
    char *value = malloc(10001);
    assert_non_null(value);
    for (int i = 0; i < 260; i++) {
        char *body = malloc(11000);
        assert_non_null(body);
        memset(value, 'x', 10000);
        value[10000] = '\0';
        snprintf(body, 11000,
                 "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c2\"},"
                 "\"mutations\":[{\"clientID\":\"c2\",\"id\":%d,\"name\":\"kedge.put\",\"args\":"
                 "{\"collection\":\"big\",\"id\":\"%d\",\"value\":\"%d%s\"},\"timestamp\":1,"
                 "\"uid\":\"%032x\"}]}",
                 i + 1, i, i, value, i);
        assert_int_equal(api_post(world, "push", body), 200);
        free(body);
    }
    free(value);
    int64_t head = api_head(world);
    const char *body = api_format("{\"version\":%lld,\"to\":\"copy\"}", (long long)head);
    assert_int_equal(fork_as(world, &root, body), 202);
    assert_true(cJSON_IsFalse(api_at(world, "done")));
    assert_int_equal(api_number(world, "copied"), 256);
    int64_t left = api_number(world, "left");
    assert_true(left >= 4 && left <= 6); /* the seed cadence has small bodies among them */
    assert_int_equal(api_ask(world, &root, "GET", COPY, none), 404);
    assert_int_equal(fork_as(world, &root, body), 201);
    assert_int_equal(api_number(world, "copied"), left);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_fork_is_created_once_and_tells_where_it_came_from),
        TEST(test_clients_of_the_source_are_unknown_in_the_fork),
        TEST(test_only_an_admin_forks),
        TEST(test_what_is_wrong_with_a_request_is_named),
        TEST(test_a_fork_that_is_not_ready_tells_how_much_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
