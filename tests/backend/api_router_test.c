/* Addresses, methods, names, who may see what, projects, limits. */
#include "tests/backend/api_world.h"

#include <string.h>

static const kedge_bytes none = {NULL, 0};

static void ask(api_world *world, const kedge_identity *who, const char *method, const char *path)
{
    api_ask(world, who, method, path, none);
}

/* ---- addresses ---- */

static void test_a_path_that_is_no_route_is_not_found(void **state)
{
    static const char *const paths[] = {
        "",
        "/",
        "v1/limits",
        "/v1",
        "/v1/",
        "/v1/limits/",
        "//v1/limits",
        "/v2/limits",
        "/v1/orgs",
        "/v1/orgs/acme",
        "/v1/orgs/acme/projects/notes/",
        "/v1/orgs/acme/projects/notes/pushes",
        "/v1/orgs/acme/projects/notes/versions/1/collections",
        "/v1/orgs/acme/projects/notes/versions/1/collections/c/a/b",
        "/v1/orgs/acme/projects/notes/./push",
        "/v1/orgs/acme/projects/x/../notes/push",
        "/v1/orgs/acme/projects/notes/%70ush",
        "/v1/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o",
    };
    api_world *world = api_world_new();
    for (size_t at = 0; at < sizeof paths / sizeof paths[0]; at++) {
        ask(world, &ann, "GET", paths[at]);
        if (world->response.status != 404) fail_msg("%s is found", paths[at]);
        assert_response_is(world, 404, "route-not-found");
    }
    api_world_free(world);
    (void)state;
}

static void test_a_path_of_any_length_is_answered(void **state)
{
    static char path[70000];
    api_world *world = api_world_new();
    memset(path, 'a', sizeof path - 1);
    memcpy(path, "/v1/orgs/", 9);
    ask(world, &ann, "GET", path);
    assert_response_is(world, 404, "route-not-found");
    memset(path, '/', sizeof path - 1);
    ask(world, &ann, "GET", path);
    assert_response_is(world, 404, "route-not-found");
    api_world_free(world);
    (void)state;
}

static void test_another_method_on_a_known_path_is_not_allowed(void **state)
{
    api_world *world = api_world_new();
    ask(world, &ann, "GET", "/v1/orgs/acme/projects/notes/push");
    assert_response_is(world, 405, "method-not-allowed");
    ask(world, &ann, "DELETE", "/v1/orgs/acme/projects/notes");
    assert_response_is(world, 405, "method-not-allowed");
    ask(world, &ann, "POST", "/v1/limits");
    assert_response_is(world, 405, "method-not-allowed");
    ask(world, &ann, "get", "/v1/limits");
    assert_response_is(world, 405, "method-not-allowed");
    ask(world, &ann, "", "/v1/limits");
    assert_response_is(world, 405, "method-not-allowed");
    api_world_free(world);
    (void)state;
}

static void test_a_part_of_a_path_that_is_no_name_is_told(void **state)
{
    static const char *const paths[] = {
        "/v1/orgs//projects/notes",
        "/v1/orgs/../projects/notes",
        "/v1/orgs/%2E%2E/projects/notes",
        "/v1/orgs/acme/projects/..",
        "/v1/orgs/acme/projects/%2e%2e%2fother",
        "/v1/orgs/ac%2Fme/projects/notes",
        "/v1/orgs/acme/projects/not%00es",
        "/v1/orgs/acme/projects/notes%",
        "/v1/orgs/acme/projects/notes%4",
        "/v1/orgs/acme/projects/notes%zz",
        "/v1/orgs/acme/projects/%C3%28",
        "/v1/orgs/acme/projects/%ED%A0%80",
        "/v1/orgs/acme/projects/n%C3%B6tes",
        "/v1/orgs/acme/projects/aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff12345",
        "/v1/orgs/acme/projects/notes/versions/0",
        "/v1/orgs/acme/projects/notes/versions/-1",
        "/v1/orgs/acme/projects/notes/versions/1.5",
        "/v1/orgs/acme/projects/notes/versions/one",
        "/v1/orgs/acme/projects/notes/versions/99999999999999999999",
        "/v1/orgs/acme/projects/notes/versions/1/collections/a%20b",
        "/v1/orgs/acme/projects/notes/versions/1/collections/c/%FF",
        "/v1/orgs/acme/projects/notes/versions/1/collections/c/%00",
        "/v1/orgs/acme/projects/notes/clients/a.b/mutations/1",
        "/v1/orgs/acme/projects/notes/clients/a/mutations/0",
        "/v1/orgs/acme/projects/notes/clients/a/mutations/x",
        "/v1/orgs/acme/projects/notes/collections/c/bodies/abc",
        "/v1/orgs/acme/projects/notes/collections/c/bodies/"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };
    api_world *world = api_world_new();
    for (size_t at = 0; at < sizeof paths / sizeof paths[0]; at++) {
        ask(world, &root, "GET", paths[at]);
        if (world->response.status != 400) fail_msg("%s: %s", paths[at], api_text(world));
        assert_response_is(world, 400, "name-invalid");
    }
    api_world_free(world);
    (void)state;
}

static void test_an_item_id_may_hold_anything_when_it_is_encoded(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "docs/..", "1");
    api_put(world, "c1", 2, "docs/a/b%", "2");
    api_put(world, "c1", 3, "docs/", "3");
    api_put(world, "c1", 4, "docs/+ ü", "4");
    api_get(world, "versions/latest/collections/docs/%2E%2e");
    assert_int_equal(api_number(world, "value"), 1);
    api_get(world, "versions/latest/collections/docs/..");
    assert_int_equal(api_number(world, "value"), 1);
    api_get(world, "versions/latest/collections/docs/a%2Fb%25");
    assert_int_equal(api_number(world, "value"), 2);
    api_get(world, "versions/latest/collections/docs/");
    assert_int_equal(api_number(world, "value"), 3);
    api_get(world, "versions/latest/collections/docs/+%20%C3%BC");
    assert_int_equal(api_number(world, "value"), 4);
    assert_string_equal(api_string(world, "id"), "+ ü");
    api_world_free(world);
    (void)state;
}

static void test_a_query_is_strict(void **state)
{
    static const char *const paths[] = {
        "versions?limit=0",
        "versions?limit=101",
        "versions?limit=",
        "versions?limit=1&limit=1",
        "versions?limit=1e1",
        "versions?limit=%31",
        "versions?before=0",
        "versions?before=-1",
        "versions?limit=99999999999999999999",
        "versions/latest?items=2",
        "snapshot?version=x",
        "snapshot?version=0",
        "snapshot?after=%",
        "snapshot?after=%FF",
        "snapshot?after=%00",
        "snapshot?limit_bytes=0",
        "snapshot?limit_bytes=4194305",
        "clients/c/mutations?from=x",
        "clients/c/mutations?to=1.5",
        "clients/c/mutations?version=0",
        "versions/latest/collections/c?limit=1001",
        "versions/latest/collections/c?after=%C3",
    };
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "c/a", "1");
    for (size_t at = 0; at < sizeof paths / sizeof paths[0]; at++) {
        api_get(world, paths[at]);
        if (world->response.status != 400) fail_msg("%s: %s", paths[at], api_text(world));
        assert_response_is(world, 400, "query-invalid");
    }
    assert_int_equal(api_get(world, "versions?other=%zz&&=&limit=1&"), 200);
    api_world_free(world);
    (void)state;
}

/* ---- who may see what ---- */

static void test_without_an_identity_only_the_limits_are_told(void **state)
{
    api_world *world = api_world_new();
    ask(world, NULL, "GET", "/v1/limits");
    assert_int_equal(world->response.status, 200);
    assert_int_equal(api_number(world, "push_bytes"), 16777216);
    assert_int_equal(api_number(world, "push_mutations"), 10000);
    assert_int_equal(api_number(world, "project_record_bytes"), 1536);
    assert_int_equal(api_number(world, "request_deadline_ms"), 30000);
    ask(world, NULL, "GET", "/v1/orgs/acme/projects/notes");
    assert_response_is(world, 401, "token-missing");
    ask(world, NULL, "PUT", "/v1/orgs/acme/projects/other");
    assert_response_is(world, 401, "token-missing");
    api_world_free(world);
    (void)state;
}

/* Every route that names a project. */
static const struct {
    const char *method;
    const char *path;
    const char *body;
} routes[] = {
    {"PUT", "", ""},
    {"GET", "", ""},
    {"POST", "/push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c1\",\"id\":1,"
     "\"name\":\"kedge.noop\",\"args\":null,\"timestamp\":1}]}"},
    {"POST", "/push", "no json"},
    {"POST", "/pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null}"},
    {"GET", "/snapshot", ""},
    {"GET", "/snapshot?version=1", ""},
    {"GET",
     "/collections/docs/bodies/"
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
     ""},
    {"POST", "/clients/c1/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":1}"},
    {"GET", "/clients/c1/mutations", ""},
    {"GET", "/clients/c1/mutations/1", ""},
    {"GET", "/clients/c1/mutations/latest", ""},
    {"GET", "/versions", ""},
    {"GET", "/versions/1", ""},
    {"GET", "/versions/latest/collections/docs", ""},
    {"GET", "/versions/latest/collections/docs/a", ""},
};

/* I19: the responses to what is another's and to what does not exist differ in nothing. */
static void test_nothing_of_another_organization_can_be_told_from_nothing(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "docs/a", "1");
    int64_t head = api_head(world);
    for (size_t at = 0; at < sizeof routes / sizeof routes[0]; at++) {
        kedge_bytes body = kedge_bytes_of(routes[at].body);
        const char *path = api_format("/v1/orgs/acme/projects/notes%s", routes[at].path);
        const char *empty = api_format("/v1/orgs/acme/projects/empty%s", routes[at].path);
        api_ask(world, &eve, routes[at].method, path, body);
        assert_response_is(world, 404, "project-not-found");
        const char *there = api_format("%s", api_text(world));
        api_ask(world, &eve, routes[at].method, empty, body);
        assert_response_is(world, 404, "project-not-found");
        assert_int_equal(strlen(there), strlen(api_text(world)));
        assert_non_null(strstr(there, "there is no project acme/notes"));
        assert_non_null(strstr(api_text(world), "there is no project acme/empty"));
    }
    assert_int_equal(api_head(world), head);
    api_world_free(world);
    (void)state;
}

static void test_an_identity_bound_to_projects_sees_no_others(void **state)
{
    api_world *world = api_world_new();
    ask(world, &ann, "PUT", "/v1/orgs/acme/projects/hidden");
    assert_int_equal(world->response.status, 201);
    ask(world, &rob, "GET", "/v1/orgs/acme/projects/notes");
    assert_int_equal(world->response.status, 200);
    ask(world, &rob, "GET", "/v1/orgs/acme/projects/hidden");
    assert_response_is(world, 404, "project-not-found");
    ask(world, &rob, "PUT", "/v1/orgs/acme/projects/more");
    assert_response_is(world, 404, "project-not-found");
    ask(world, &ann, "GET", "/v1/orgs/acme/projects/more");
    assert_response_is(world, 404, "project-not-found");
    api_world_free(world);
    (void)state;
}

static void test_the_current_version_is_told_only_to_who_may_see_it(void **state)
{
    api_world *world = api_world_new();
    int64_t version = -1;
    kedge_error error = {0};
    api_put(world, "c1", 1, "docs/a", "1");
    assert_int_equal(kedge_backend_current_version(world->backend, &ann, KEDGE_BYTES("acme"),
                                                   KEDGE_BYTES("notes"), &version, &error),
                     KEDGE_OK);
    assert_int_equal(version, 1);
    assert_int_equal(kedge_backend_current_version(world->backend, &eve, KEDGE_BYTES("acme"),
                                                   KEDGE_BYTES("notes"), &version, &error),
                     KEDGE_NOT_FOUND);
    assert_int_equal(kedge_backend_current_version(world->backend, &ann, KEDGE_BYTES("acme"),
                                                   KEDGE_BYTES("other"), &version, &error),
                     KEDGE_NOT_FOUND);
    assert_int_equal(kedge_backend_current_version(world->backend, &ann, KEDGE_BYTES(".."),
                                                   KEDGE_BYTES("notes"), &version, &error),
                     KEDGE_NOT_FOUND);
    api_world_free(world);
    (void)state;
}

/* ---- projects ---- */

static void test_creating_a_project_is_idempotent(void **state)
{
    api_world *world = api_world_new();
    ask(world, &ann, "PUT", "/v1/orgs/acme/projects/p1");
    assert_int_equal(world->response.status, 201);
    assert_string_equal(api_string(world, "organization"), "acme");
    assert_string_equal(api_string(world, "project"), "p1");
    assert_int_equal(api_number(world, "version"), 0);
    int64_t created = api_number(world, "created");
    assert_true(created > 0);
    ask(world, &ann, "PUT", "/v1/orgs/acme/projects/p1");
    assert_int_equal(world->response.status, 200);
    assert_int_equal(api_number(world, "created"), created);
    ask(world, &bob, "GET", "/v1/orgs/acme/projects/p1");
    assert_int_equal(world->response.status, 200);
    assert_int_equal(api_number(world, "created"), created);
    api_world_free(world);
    (void)state;
}

static void test_a_project_that_was_not_created_is_not_found(void **state)
{
    api_world *world = api_world_new();
    for (size_t at = 1; at < sizeof routes / sizeof routes[0]; at++) {
        if (strcmp(routes[at].body, "no json") == 0) continue;
        api_ask(world, &ann, routes[at].method,
                api_format("/v1/orgs/acme/projects/none%s", routes[at].path),
                kedge_bytes_of(routes[at].body));
        assert_response_is(world, 404, "project-not-found");
    }
    ask(world, &ann, "GET", "/v1/orgs/acme/projects/none");
    assert_response_is(world, 404, "project-not-found");
    api_world_free(world);
    (void)state;
}

static void test_in_open_mode_a_project_is_made_by_its_first_use(void **state)
{
    api_world *world = api_world_new_open();
    int64_t version = -1;
    kedge_error error = {0};
    api_ask(world, &root, "POST", "/v1/orgs/o/projects/pushed/push",
            kedge_bytes_of(routes[2].body));
    assert_int_equal(world->response.status, 200);
    api_ask(world, &root, "POST", "/v1/orgs/o/projects/pulled/pull",
            kedge_bytes_of(routes[4].body));
    assert_int_equal(world->response.status, 200);
    assert_int_equal(kedge_backend_newest_version(world->backend, &root, KEDGE_BYTES("o"),
                                                  KEDGE_BYTES("looked-at"), &version, &error),
                     KEDGE_NOT_FOUND);
    assert_int_equal(kedge_backend_current_version(world->backend, &root, KEDGE_BYTES("o"),
                                                   KEDGE_BYTES("watched"), &version, &error),
                     KEDGE_OK);
    assert_int_equal(version, 0);
    version = -1;
    assert_int_equal(kedge_backend_newest_version(world->backend, &root, KEDGE_BYTES("o"),
                                                  KEDGE_BYTES("watched"), &version, &error),
                     KEDGE_OK);
    assert_int_equal(version, 0);
    ask(world, &root, "GET", "/v1/orgs/o/projects");
    assert_int_equal(api_count(world, "projects"), 3);
    assert_string_equal(api_string(world, "projects.0.project"), "pulled");
    assert_string_equal(api_string(world, "projects.1.project"), "pushed");
    assert_string_equal(api_string(world, "projects.2.project"), "watched");
    ask(world, &eve, "GET", "/v1/orgs/o/projects/other");
    assert_response_is(world, 404, "project-not-found");
    ask(world, &root, "GET", "/v1/orgs/o/projects");
    assert_int_equal(api_count(world, "projects"), 3);
    api_world_free(world);
    (void)state;
}

static void test_projects_are_listed_by_name_and_in_pages(void **state)
{
    api_world *world = api_world_new();
    for (int at = 0; at < 250; at++) {
        ask(world, &ann, "PUT", api_format("/v1/orgs/acme/projects/p%03d", at));
        assert_int_equal(world->response.status, 201);
    }
    int seen = 0;
    const char *after = "";
    for (int page = 0; page < 10; page++) {
        ask(world, &ann, "GET", api_format("/v1/orgs/acme/projects?limit=70&after=%s", after));
        assert_int_equal(world->response.status, 200);
        seen += api_count(world, "projects");
        if (cJSON_IsNull(api_at(world, "next"))) break;
        assert_int_equal(api_count(world, "projects"), 70);
        after = api_format("%s", api_string(world, "next"));
        assert_string_equal(after, api_string(world, "projects.69.project"));
    }
    assert_int_equal(seen, 251);
    ask(world, &ann, "GET", "/v1/orgs/acme/projects");
    assert_int_equal(api_count(world, "projects"), 100);
    api_world_free(world);
    (void)state;
}

static void test_a_list_of_projects_names_only_those_that_may_be_seen(void **state)
{
    api_world *world = api_world_new();
    for (int at = 0; at < 120; at++) {
        ask(world, &ann, "PUT", api_format("/v1/orgs/acme/projects/a%03d", at));
    }
    ask(world, &ann, "PUT", "/v1/orgs/acme/projects/zzz");
    ask(world, &rob, "GET", "/v1/orgs/acme/projects?limit=1");
    assert_int_equal(api_count(world, "projects"), 1);
    assert_string_equal(api_string(world, "projects.0.project"), "notes");
    assert_true(cJSON_IsNull(api_at(world, "next")));
    static const char *both[] = {"a010", "notes"};
    const kedge_identity two = {.user = "two",
                                .role = "member",
                                .organization = "acme",
                                .projects = both,
                                .project_count = 2};
    ask(world, &two, "GET", "/v1/orgs/acme/projects?limit=1");
    assert_string_equal(api_string(world, "projects.0.project"), "a010");
    assert_string_equal(api_string(world, "next"), "a010");
    ask(world, &two, "GET", "/v1/orgs/acme/projects?limit=1&after=a010");
    assert_string_equal(api_string(world, "projects.0.project"), "notes");
    assert_true(cJSON_IsNull(api_at(world, "next")));
    /* What is no name is no place in a list of names, however long it is. */
    kedge_buffer path = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&path, "/v1/orgs/acme/projects?after=");
    for (int i = 0; i < 250; i++)
        kedge_buffer_append_text(&path, "%C3%A4");
    ask(world, &ann, "GET", path.data);
    kedge_buffer_free(&path);
    assert_response_is(world, 400, "query-invalid");
    ask(world, &ann, "GET", "/v1/orgs/acme/projects?after=");
    assert_response_is(world, 200, "");
    ask(world, &eve, "GET", "/v1/orgs/acme/projects");
    assert_response_is(world, 404, "organization-not-found");
    ask(world, &eve, "GET", "/v1/orgs/evil/projects");
    assert_int_equal(world->response.status, 200);
    assert_int_equal(api_count(world, "projects"), 0);
    api_world_free(world);
    (void)state;
}

static void test_the_organizations_of_a_project_are_told_to_admins(void **state)
{
    static const kedge_identity acme_admin = {
        .user = "al", .role = "admin", .organization = "acme", .admin = true};
    api_world *world = api_world_new();
    ask(world, &eve, "PUT", "/v1/orgs/evil/projects/notes");
    ask(world, &eve, "PUT", "/v1/orgs/evil/projects/plans");
    ask(world, &root, "GET", "/v1/projects/notes");
    assert_int_equal(api_count(world, "organizations"), 2);
    assert_string_equal(api_string(world, "organizations.0"), "acme");
    assert_string_equal(api_string(world, "organizations.1"), "evil");
    ask(world, &acme_admin, "GET", "/v1/projects/notes");
    assert_int_equal(api_count(world, "organizations"), 1);
    assert_string_equal(api_string(world, "organizations.0"), "acme");
    ask(world, &acme_admin, "GET", "/v1/projects/plans");
    assert_response_is(world, 404, "project-not-found");
    ask(world, &acme_admin, "GET", "/v1/projects/nothing");
    assert_response_is(world, 404, "project-not-found");
    ask(world, &ann, "GET", "/v1/projects/notes");
    assert_response_is(world, 403, "not-allowed");
    ask(world, &ann, "GET", "/v1/projects/nothing");
    assert_response_is(world, 403, "not-allowed");
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_that_is_no_route_is_not_found),
        cmocka_unit_test(test_a_path_of_any_length_is_answered),
        cmocka_unit_test(test_another_method_on_a_known_path_is_not_allowed),
        cmocka_unit_test(test_a_part_of_a_path_that_is_no_name_is_told),
        cmocka_unit_test(test_an_item_id_may_hold_anything_when_it_is_encoded),
        cmocka_unit_test(test_a_query_is_strict),
        cmocka_unit_test(test_without_an_identity_only_the_limits_are_told),
        cmocka_unit_test(test_nothing_of_another_organization_can_be_told_from_nothing),
        cmocka_unit_test(test_an_identity_bound_to_projects_sees_no_others),
        cmocka_unit_test(test_the_current_version_is_told_only_to_who_may_see_it),
        cmocka_unit_test(test_creating_a_project_is_idempotent),
        cmocka_unit_test(test_a_project_that_was_not_created_is_not_found),
        cmocka_unit_test(test_in_open_mode_a_project_is_made_by_its_first_use),
        cmocka_unit_test(test_projects_are_listed_by_name_and_in_pages),
        cmocka_unit_test(test_a_list_of_projects_names_only_those_that_may_be_seen),
        cmocka_unit_test(test_the_organizations_of_a_project_are_told_to_admins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
