/* Resources, settings and access lists over the API: the responses, and who may ask. */
#include "tests/backend/api_world.h"

#include <kedge/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN "/v1/orgs/acme/resources/plan/p%2F1"
#define UID  "0123456789abcdef0123456789abcdef"
#define UID2 "1123456789abcdef0123456789abcdef"

static const kedge_identity chief = {
    .user = "cid", .role = "admin", .organization = "acme", .admin = true};

static int set_up(void **state)
{
    *state = api_world_new();
    return 0;
}

static int tear_down(void **state)
{
    api_world_free(*state);
    return 0;
}

static int ask(api_world *world, const kedge_identity *who, const char *method, const char *path,
               const char *body)
{
    return api_ask(world, who, method, path, kedge_bytes_of(body));
}

/* Of PLAN, by the admin of acme. */
static int put(api_world *world, int expected, const char *value)
{
    return ask(world, &chief, "PUT", PLAN,
               api_format("{\"expected\":%d,\"value\":%s}", expected, value));
}

/* The text with the times that it cannot know made 0. */
static const char *text_without_times(api_world *world)
{
    const char *text = api_format("%s", api_text(world));
    char *at = strstr(text, "\"created\":");
    for (; at != NULL; at = strstr(at + 1, "\"created\":")) {
        char *digits = at + strlen("\"created\":");
        size_t size = strspn(digits, "0123456789");
        assert_true(size > 1);
        digits[0] = '0';
        memmove(digits + 1, digits + size, strlen(digits + size) + 1);
    }
    return text;
}

static void test_a_resource_is_created_updated_and_read(void **state)
{
    api_world *world = *state;
    assert_int_equal(
        ask(world, &chief, "PUT", PLAN, "{\"expected\":0,\"uid\":\"" UID "\",\"value\":{\"n\":1}}"),
        201);
    assert_string_equal(api_text(world), "{\"kind\":\"plan\",\"id\":\"p/1\",\"version\":1}");
    assert_int_equal(ask(world, &chief, "PUT", PLAN,
                         "{\"expected\":1,\"uid\":\"" UID2 "\",\"value\":{\"n\":2}}"),
                     200);
    assert_string_equal(api_text(world), "{\"kind\":\"plan\",\"id\":\"p/1\",\"version\":2}");
    assert_int_equal(ask(world, &ann, "GET", PLAN, ""), 200);
    assert_string_equal(text_without_times(world),
                        "{\"kind\":\"plan\",\"id\":\"p/1\",\"version\":2,\"created\":0,"
                        "\"user\":\"cid\",\"uid\":\"" UID2 "\",\"value\":{\"n\":2}}");
    assert_int_equal(ask(world, &ann, "GET", PLAN "?version=1", ""), 200);
    assert_string_equal(text_without_times(world),
                        "{\"kind\":\"plan\",\"id\":\"p/1\",\"version\":1,\"created\":0,"
                        "\"user\":\"cid\",\"uid\":\"" UID "\",\"value\":{\"n\":1}}");
    assert_int_equal(ask(world, &ann, "GET", PLAN "?version=latest", ""), 200);
    assert_int_equal(api_number(world, "version"), 2);
}

static void test_a_rollback_and_the_versions(void **state)
{
    api_world *world = *state;
    put(world, 0, "\"a\"");
    put(world, 1, "\"bb\"");
    assert_int_equal(ask(world, &chief, "POST", PLAN "/rollback",
                         "{\"expected\":2,\"uid\":\"" UID "\",\"to\":1}"),
                     200);
    assert_int_equal(api_number(world, "version"), 3);
    assert_int_equal(ask(world, &ann, "GET", PLAN, ""), 200);
    assert_int_equal(api_number(world, "restored"), 1);
    assert_string_equal(api_string(world, "value"), "a");
    assert_int_equal(ask(world, &ann, "GET", PLAN "/versions?limit=1", ""), 200);
    assert_string_equal(text_without_times(world),
                        "{\"kind\":\"plan\",\"id\":\"p/1\",\"versions\":[{\"version\":3,"
                        "\"created\":0,\"user\":\"cid\",\"uid\":\"" UID "\",\"restored\":1,"
                        "\"size\":3}],\"latest\":3,\"next\":3}");
    assert_int_equal(ask(world, &ann, "GET", PLAN "/versions?before=3", ""), 200);
    assert_int_equal(api_count(world, "versions"), 2);
    assert_int_equal(api_number(world, "versions.0.version"), 2);
    assert_int_equal(api_number(world, "versions.0.size"), 4);
    assert_true(cJSON_IsNull(api_at(world, "next")));
}

static void test_a_resource_is_deleted_and_restored(void **state)
{
    api_world *world = *state;
    put(world, 0, "1");
    put(world, 1, "2");
    ask(world, &chief, "DELETE", PLAN "?expected=1", "");
    assert_response_is(world, 409, "resource-conflict");
    assert_int_equal(ask(world, &chief, "DELETE", PLAN "?expected=2", ""), 200);
    assert_string_equal(api_text(world), "{\"kind\":\"plan\",\"id\":\"p/1\",\"deleted\":2}");
    ask(world, &ann, "GET", PLAN, "");
    assert_response_is(world, 404, "resource-not-found");
    assert_int_equal(ask(world, &ann, "GET", PLAN "?version=2", ""), 200);
    assert_int_equal(ask(world, &ann, "GET", PLAN "/versions", ""), 200);
    assert_true(cJSON_IsNull(api_at(world, "latest")));
    assert_int_equal(ask(world, &chief, "POST", PLAN "/rollback", "{\"expected\":0,\"to\":1}"),
                     201);
    assert_int_equal(api_number(world, "version"), 3);
    assert_int_equal(ask(world, &ann, "GET", PLAN, ""), 200);
    assert_int_equal(api_number(world, "value"), 1);
}

static void test_the_resources_of_a_kind_are_listed(void **state)
{
    api_world *world = *state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(world, &chief, "PUT",
                             api_format("/v1/orgs/acme/resources/plan/r%d", i),
                             "{\"expected\":0,\"uid\":\"" UID "\",\"value\":[]}"),
                         201);
    }
    assert_int_equal(ask(world, &ann, "GET", "/v1/orgs/acme/resources/plan?limit=2", ""), 200);
    assert_string_equal(
        text_without_times(world),
        "{\"kind\":\"plan\",\"resources\":[{\"id\":\"r0\",\"version\":1,\"created\":0,"
        "\"user\":\"cid\",\"uid\":\"" UID "\",\"size\":2},{\"id\":\"r1\",\"version\":1,"
        "\"created\":0,\"user\":\"cid\",\"uid\":\"" UID "\",\"size\":2}],\"next\":\"r1\"}");
    assert_int_equal(ask(world, &ann, "GET", "/v1/orgs/acme/resources/plan?after=r1", ""), 200);
    assert_int_equal(api_count(world, "resources"), 1);
    assert_true(cJSON_IsNull(api_at(world, "next")));
    assert_int_equal(ask(world, &ann, "GET", "/v1/orgs/acme/resources/other", ""), 200);
    assert_int_equal(api_count(world, "resources"), 0);
}

static void test_bad_requests_are_refused_with_what_is_wrong(void **state)
{
    api_world *world = *state;
    put(world, 0, "1");
    put(world, 0, "2");
    assert_response_is(world, 409, "resource-conflict");
    assert_non_null(strstr(api_string(world, "detail"), "plan/p/1 is 1, not 0"));
    put(world, 5, "2");
    assert_response_is(world, 409, "resource-conflict");
    ask(world, &chief, "PUT", PLAN, "{\"expected\":1}");
    assert_response_is(world, 400, "body-invalid");
    ask(world, &chief, "PUT", PLAN, "{\"expected\":1,\"value\":1e999}");
    assert_response_is(world, 400, "body-not-json");
    ask(world, &chief, "PUT", PLAN, "{\"expected\":999999999999,\"value\":1}");
    assert_response_is(world, 400, "resource-version-invalid");
    ask(world, &chief, "DELETE", PLAN, "");
    assert_response_is(world, 400, "query-invalid");
    ask(world, &chief, "DELETE", PLAN "?expected=0", "");
    assert_response_is(world, 400, "query-invalid");
    ask(world, &chief, "POST", PLAN "/rollback", "{\"expected\":1,\"to\":2}");
    assert_response_is(world, 404, "resource-version-not-found");
    ask(world, &ann, "GET", PLAN "?version=2", "");
    assert_response_is(world, 404, "resource-version-not-found");
    ask(world, &ann, "GET", PLAN "?version=9007199254740991", "");
    assert_response_is(world, 404, "resource-version-not-found");
    ask(world, &ann, "GET", PLAN "?version=0", "");
    assert_response_is(world, 400, "query-invalid");
    ask(world, &ann, "GET", "/v1/orgs/acme/resources/plan/none/versions", "");
    assert_response_is(world, 404, "resource-not-found");
    ask(world, &ann, "GET", "/v1/orgs/acme/resources/a%2Fb/x", "");
    assert_response_is(world, 400, "name-invalid");
    ask(world, &ann, "GET", "/v1/orgs/acme/resources/plan/%00", "");
    assert_response_is(world, 400, "name-invalid");
    ask(world, &ann, "POST", PLAN, "{}");
    assert_response_is(world, 405, "method-not-allowed");
    ask(world, &ann, "GET", PLAN, "");
    assert_int_equal(api_number(world, "version"), 1);
}

static void test_a_value_over_the_limit_is_refused(void **state)
{
    api_world *world = *state;
    size_t size = KEDGE_LIMIT_RESOURCE_BYTES + 64;
    char *body = malloc(size + 64);
    assert_non_null(body);
    int at = snprintf(body, 64, "{\"expected\":0,\"value\":\"");
    memset(body + at, 'x', size);
    memcpy(body + (size_t)at + size, "\"}", 3);
    ask(world, &chief, "PUT", PLAN, body);
    free(body);
    assert_response_is(world, 413, "resource-too-large");
    assert_int_equal(ask(world, &ann, "GET", "/v1/limits", ""), 200);
    assert_int_equal(api_number(world, "resource_bytes"), KEDGE_LIMIT_RESOURCE_BYTES);
}

/* ---- who may ask ---- */

static void test_only_admins_write(void **state)
{
    api_world *world = *state;
    put(world, 0, "1");
    ask(world, &ann, "PUT", PLAN, "{\"expected\":1,\"value\":2}");
    assert_response_is(world, 403, "not-allowed");
    ask(world, &ann, "DELETE", PLAN "?expected=1", "");
    assert_response_is(world, 403, "not-allowed");
    ask(world, &ann, "POST", PLAN "/rollback", "{\"expected\":1,\"to\":1}");
    assert_response_is(world, 403, "not-allowed");
    assert_int_equal(ask(world, &root, "PUT", PLAN, "{\"expected\":1,\"value\":2}"), 200);
}

static void test_other_organizations_learn_nothing(void **state)
{
    api_world *world = *state;
    static const struct {
        const char *method;
        const char *path;
    } requests[] = {{"GET", PLAN},
                    {"GET", PLAN "?version=1"},
                    {"GET", PLAN "/versions"},
                    {"PUT", PLAN},
                    {"DELETE", PLAN "?expected=1"},
                    {"POST", PLAN "/rollback"},
                    {"GET", "/v1/orgs/acme/resources/plan"},
                    {"GET", "/v1/orgs/acme/settings"},
                    {"PUT", "/v1/orgs/acme/settings"}};
    kedge_identity foreign = chief;
    foreign.organization = "evil";
    put(world, 0, "1");
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        ask(world, &foreign, requests[i].method, requests[i].path,
            "{\"expected\":1,\"to\":1,\"value\":1}");
        assert_response_is(world, 404, "organization-not-found");
        ask(world, NULL, requests[i].method, requests[i].path, "");
        assert_response_is(world, 401, "token-missing");
    }
    ask(world, &foreign, "GET", "/v1/orgs/acme/projects/notes/settings", "");
    assert_response_is(world, 404, "project-not-found");
    ask(world, &foreign, "PUT", "/v1/orgs/acme/projects/notes/access", "{}");
    assert_response_is(world, 404, "project-not-found");
}

static void test_a_token_for_some_projects_has_no_part_in_the_organization(void **state)
{
    api_world *world = *state;
    put(world, 0, "1");
    ask(world, &rob, "GET", PLAN, "");
    assert_response_is(world, 403, "not-allowed");
    ask(world, &rob, "GET", "/v1/orgs/acme/resources/plan", "");
    assert_response_is(world, 403, "not-allowed");
    kedge_identity admin = rob;
    admin.admin = true;
    ask(world, &admin, "PUT", "/v1/orgs/acme/settings", "{\"expected\":0,\"value\":{}}");
    assert_response_is(world, 403, "not-allowed");
}

/* ---- settings and access lists ---- */

static void test_settings_have_versions(void **state)
{
    static const char *const paths[][2] = {
        {"/v1/orgs/acme/settings", "/v1/orgs/acme/resources/settings/organization"},
        {"/v1/orgs/acme/projects/notes/settings",
         "/v1/orgs/acme/resources/settings/project:notes"}};
    api_world *world = *state;
    for (size_t i = 0; i < 2; i++) {
        const char *path = paths[i][0];
        ask(world, &ann, "GET", path, "");
        assert_response_is(world, 404, "resource-not-found");
        assert_int_equal(ask(world, &chief, "PUT", path, "{\"expected\":0,\"value\":{\"a\":1}}"),
                         201);
        assert_int_equal(ask(world, &chief, "PUT", path, "{\"expected\":1,\"value\":{\"a\":2}}"),
                         200);
        ask(world, &chief, "PUT", path, "{\"expected\":1,\"value\":{\"a\":3}}");
        assert_response_is(world, 409, "resource-conflict");
        ask(world, &chief, "PUT", path, "{\"expected\":2,\"value\":[]}");
        assert_response_is(world, 400, "settings-invalid");
        ask(world, &ann, "PUT", path, "{\"expected\":2,\"value\":{}}");
        assert_response_is(world, 403, "not-allowed");
        assert_int_equal(ask(world, &ann, "GET", path, ""), 200);
        assert_int_equal(api_number(world, "value.a"), 2);
        assert_int_equal(ask(world, &ann, "GET", api_format("%s?version=1", path), ""), 200);
        assert_int_equal(api_number(world, "value.a"), 1);
        /* The same resource under its own path. */
        assert_int_equal(ask(world, &ann, "GET", api_format("%s/versions", paths[i][1]), ""), 200);
        assert_int_equal(api_count(world, "versions"), 2);
        assert_int_equal(ask(world, &chief, "POST", api_format("%s/rollback", paths[i][1]),
                             "{\"expected\":2,\"to\":1}"),
                         200);
        assert_int_equal(ask(world, &ann, "GET", path, ""), 200);
        assert_int_equal(api_number(world, "value.a"), 1);
    }
    assert_int_equal(ask(world, &rob, "GET", paths[0][0], ""), 200);
    assert_int_equal(ask(world, &rob, "GET", paths[1][0], ""), 200);
    ask(world, &chief, "PUT", "/v1/orgs/acme/projects/none/settings",
        "{\"expected\":0,\"value\":{}}");
    assert_response_is(world, 404, "project-not-found");
}

/* ---- the enforcement of access lists ---- */

#define ACCESS "/v1/orgs/acme/projects/notes/access"
#define HEAD   "/v1/orgs/acme/projects/notes"

static int put_access(api_world *world, int expected, const char *users)
{
    return ask(world, &chief, "PUT", ACCESS,
               api_format("{\"expected\":%d,\"value\":{\"users\":%s}}", expected, users));
}

static void test_a_project_with_an_access_list_admits_those_whom_it_names(void **state)
{
    api_world *world = *state;
    int64_t version = 0;
    kedge_error error = {0};
    assert_int_equal(ask(world, &ann, "GET", HEAD, ""), 200);
    assert_int_equal(ask(world, &bob, "GET", HEAD, ""), 200);
    assert_int_equal(put_access(world, 0, "{\"ann\":\"writer\"}"), 201);
    assert_int_equal(ask(world, &ann, "GET", HEAD, ""), 200);
    ask(world, &bob, "GET", HEAD, "");
    assert_response_is(world, 404, "project-not-found");
    ask(world, &bob, "POST", HEAD "/push", "{}");
    assert_response_is(world, 404, "project-not-found");
    assert_int_equal(kedge_backend_current_version(world->backend, &bob, KEDGE_BYTES("acme"),
                                                   KEDGE_BYTES("notes"), &version, &error),
                     KEDGE_NOT_FOUND);
    assert_int_equal(kedge_backend_current_version(world->backend, &ann, KEDGE_BYTES("acme"),
                                                   KEDGE_BYTES("notes"), &version, &error),
                     KEDGE_OK);
    /* A user of the same name elsewhere stays outside, and an admin stays inside. */
    ask(world, &eve, "GET", HEAD, "");
    assert_response_is(world, 404, "project-not-found");
    assert_int_equal(ask(world, &chief, "GET", HEAD, ""), 200);
    /* What the list takes away is gone at once. */
    assert_int_equal(put_access(world, 1, "{\"bob\":\"\"}"), 200);
    ask(world, &ann, "GET", HEAD, "");
    assert_response_is(world, 404, "project-not-found");
    assert_int_equal(ask(world, &bob, "GET", HEAD, ""), 200);
    assert_int_equal(
        ask(world, &chief, "DELETE", "/v1/orgs/acme/resources/access/project:notes?expected=2", ""),
        200);
    assert_int_equal(ask(world, &ann, "GET", HEAD, ""), 200);
}

static void test_the_role_of_the_list_is_stamped_in_place_of_the_tokens(void **state)
{
    api_world *world = *state;
    world->queued = true;
    api_world_restart(world);
    const char *push = "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":"
                       "\"c1\"},\"mutations\":[{\"clientID\":\"c1\",\"id\":1,\"name\":"
                       "\"kedge.noop\",\"args\":{},\"timestamp\":1,\"uid\":\"" UID "\"}]}";
    assert_int_equal(ask(world, &ann, "POST", HEAD "/push", push), 200);
    assert_string_equal(world->enqueued_by, "ann/member");
    assert_int_equal(put_access(world, 0, "{\"ann\":\"guest\"}"), 201);
    assert_int_equal(ask(world, &ann, "POST", HEAD "/push", push), 200);
    assert_string_equal(world->enqueued_by, "ann/guest");
}

static void test_only_admins_see_and_write_access_lists(void **state)
{
    api_world *world = *state;
    assert_int_equal(put_access(world, 0, "{\"ann\":\"writer\"}"), 201);
    ask(world, &ann, "GET", ACCESS, "");
    assert_response_is(world, 403, "not-allowed");
    ask(world, &ann, "PUT", ACCESS, "{\"expected\":1,\"value\":{\"users\":{}}}");
    assert_response_is(world, 403, "not-allowed");
    ask(world, &ann, "GET", "/v1/orgs/acme/resources/access", "");
    assert_response_is(world, 403, "not-allowed");
    ask(world, &ann, "GET", "/v1/orgs/acme/resources/access/project:notes/versions", "");
    assert_response_is(world, 403, "not-allowed");
    assert_int_equal(ask(world, &chief, "GET", ACCESS, ""), 200);
    assert_string_equal(api_string(world, "value.users.ann"), "writer");
    put_access(world, 1, "{\"ann\":\"admin\"}");
    assert_response_is(world, 400, "access-list-invalid");
}

static void test_settings_do_not_tell_of_a_project_that_a_list_keeps_from_a_member(void **state)
{
    static const char *const paths[] = {"/v1/orgs/acme/resources/settings",
                                        "/v1/orgs/acme/resources/settings?limit=1",
                                        "/v1/orgs/acme/resources/settings/project:notes",
                                        "/v1/orgs/acme/resources/settings/project:notes?version=1",
                                        "/v1/orgs/acme/resources/settings/project:notes/versions",
                                        "/v1/orgs/acme/resources/settings/project:none"};
    api_world *world = *state;
    const char *settings = "{\"expected\":0,\"value\":{\"a\":1}}";
    assert_int_equal(ask(world, &chief, "PUT", HEAD "/settings", settings), 201);
    assert_int_equal(ask(world, &chief, "PUT", "/v1/orgs/acme/settings", settings), 201);
    for (size_t i = 0; i + 1 < sizeof paths / sizeof paths[0]; i++)
        assert_int_equal(ask(world, &bob, "GET", paths[i], ""), 200);
    assert_int_equal(put_access(world, 0, "{\"ann\":\"writer\"}"), 201);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        ask(world, &bob, "GET", paths[i], "");
        assert_response_is(world, 403, "not-allowed");
        assert_null(strstr(api_text(world), "notes"));
    }
    ask(world, &bob, "GET", HEAD "/settings", "");
    assert_response_is(world, 404, "project-not-found");
    /* Those whom the list names read them at the path of the project, and an admin anywhere. */
    assert_int_equal(ask(world, &ann, "GET", HEAD "/settings", ""), 200);
    assert_int_equal(ask(world, &chief, "GET", paths[0], ""), 200);
    assert_int_equal(api_count(world, "resources"), 2);
    /* The settings of the organization stay everybody's. */
    assert_int_equal(ask(world, &bob, "GET", "/v1/orgs/acme/settings", ""), 200);
    assert_int_equal(ask(world, &bob, "GET", "/v1/orgs/acme/resources/settings/organization", ""),
                     200);
}

static int64_t ahead_ms;

static int64_t later_ms(void *context)
{
    (void)context;
    return 1000000 + ahead_ms;
}

static void test_a_list_that_another_process_puts_is_in_force_after_ten_seconds(void **state)
{
    api_world *world = *state;
    world->environment.monotonic_ms = later_ms;
    ahead_ms = 0;
    kedge_backend *other = world->backend;
    world->backend = NULL;
    api_world_restart(world);
    assert_int_equal(ask(world, &bob, "GET", HEAD, ""), 200);
    kedge_backend *own = world->backend;
    world->backend = other;
    assert_int_equal(put_access(world, 0, "{\"ann\":\"writer\"}"), 201);
    world->backend = own;
    ahead_ms = 9999;
    assert_int_equal(ask(world, &bob, "GET", HEAD, ""), 200);
    ahead_ms = 10000;
    ask(world, &bob, "GET", HEAD, "");
    assert_response_is(world, 404, "project-not-found");
    kedge_backend_free(other);
}

static api_world *putting; /* a list, when the time is asked for once more; NULL: none */

static int64_t put_then_ms(void *context)
{
    api_world *world = ahead_ms++ == 1 ? putting : NULL;
    (void)context;
    if (world == NULL) return 1000000;
    kedge_api_response outer = world->response;
    world->response = (kedge_api_response){.body = kedge_buffer_make(world->environment.allocator)};
    assert_int_equal(put_access(world, 0, "{\"ann\":\"writer\"}"), 201);
    kedge_buffer_free(&world->response.body);
    cJSON_Delete(world->json);
    world->json = NULL;
    world->response = outer;
    return 1000000;
}

/* Behind the request's read. */
static void test_a_list_that_is_put_during_a_request_is_in_force_for_the_next_one(void **state)
{
    api_world *world = *state;
    world->environment.monotonic_ms = put_then_ms;
    putting = world;
    api_world_restart(world);
    ahead_ms = 0;
    assert_int_equal(ask(world, &bob, "GET", HEAD, ""), 200);
    assert_true(ahead_ms > 1);
    ask(world, &bob, "GET", HEAD, "");
    assert_response_is(world, 404, "project-not-found");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_resource_is_created_updated_and_read),
        TEST(test_a_rollback_and_the_versions),
        TEST(test_a_resource_is_deleted_and_restored),
        TEST(test_the_resources_of_a_kind_are_listed),
        TEST(test_bad_requests_are_refused_with_what_is_wrong),
        TEST(test_a_value_over_the_limit_is_refused),
        TEST(test_only_admins_write),
        TEST(test_other_organizations_learn_nothing),
        TEST(test_a_token_for_some_projects_has_no_part_in_the_organization),
        TEST(test_settings_have_versions),
        TEST(test_a_project_with_an_access_list_admits_those_whom_it_names),
        TEST(test_the_role_of_the_list_is_stamped_in_place_of_the_tokens),
        TEST(test_only_admins_see_and_write_access_lists),
        TEST(test_settings_do_not_tell_of_a_project_that_a_list_keeps_from_a_member),
        TEST(test_a_list_that_another_process_puts_is_in_force_after_ten_seconds),
        TEST(test_a_list_that_is_put_during_a_request_is_in_force_for_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
