/* The six queries, and what a client is told, of a project and of its import. */
#include "tests/backend/api_world.h"

#include "backend/jobs/delete.h"
#include "backend/jobs/export.h"
#include "backend/jobs/import.h"
#include "backend/jobs/retention.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

static const kedge_project_ref notes = {{"acme", 4}, {"notes", 5}};
static const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};

static kedge_status keep_line(void *context, kedge_bytes line, kedge_error *error)
{
    kedge_buffer *text = context;
    kedge_buffer_append_bytes(text, line);
    kedge_buffer_append_byte(text, '\n');
    return kedge_buffer_status(text, error);
}

static kedge_status drop_line(void *context, kedge_bytes line, kedge_error *error)
{
    (void)context, (void)line, (void)error;
    return KEDGE_OK;
}

static kedge_status next_line(void *context, kedge_buffer *line, bool *end, kedge_error *error)
{
    const char **at = context;
    *end = **at == '\0';
    if (*end) return KEDGE_OK;
    size_t size = strcspn(*at, "\n");
    kedge_buffer_append(line, *at, size);
    *at += size + 1;
    return kedge_buffer_status(line, error);
}

static void transfer(api_world *world)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_lines lines = {keep_line, &text};
    kedge_export_result exported;
    kedge_import_result imported;
    assert_int_equal(kedge_export_project(NOTES(world), &lines, &exported, NULL), KEDGE_OK);
    const char *at = text.data;
    kedge_line_source source = {next_line, &at};
    assert_int_equal(kedge_import_project(HANDLE(world->backend, &copy), &source, &imported, NULL),
                     KEDGE_OK);
    kedge_buffer_free(&text);
}

static int set_up(void **state)
{
    api_world *world = api_world_new();
    for (int i = 1; i <= 5; i++) {
        api_put(world, "c1", i, "docs/a", api_format("{\"n\":%d,\"\\u00e4\":[1.5,null]}", i));
        api_put(world, "c2", i, api_format("more/b%d", i), "\"text\"");
    }
    assert_int_equal(api_post(world, "push",
                              "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
                              "\"clientID\":\"r\",\"id\":1,\"name\":\"nope\",\"args\":[{}],"
                              "\"timestamp\":5}]}"),
                     200);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    api_world_free(*state);
    return 0;
}

static const char *const queries[] = {
    "versions/8?items=1",          /* 1, 4 */
    "versions/latest?items=1",     /* 1 */
    "versions/9/collections/docs", /* 2 */
    "versions/latest/collections/more",
    "versions/8/collections/docs/a", /* 3 */
    "versions?limit=4",              /* 4 */
    "clients/c1/mutations/2",        /* 5 */
    "clients/r/mutations/1",
    "clients/c2/mutations/latest", /* 6 */
    "clients/c1/mutations?version=9",
    "snapshot?version=8",
};

static void compare(api_world *world)
{
    kedge_bytes none = {NULL, 0};
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        char of_notes[8192];
        int status = api_get(world, queries[i]);
        snprintf(of_notes, sizeof of_notes, "%s", api_text(world));
        const char *path = api_format("/v1/orgs/acme/projects/copy/%s", queries[i]);
        assert_int_equal(api_ask(world, &ann, "GET", path, none), status);
        assert_string_equal(api_text(world), of_notes);
    }
}

static void test_the_six_queries_answer_the_same(void **state)
{
    api_world *world = *state;
    transfer(world);
    compare(world);
}

static void test_so_they_do_behind_retention(void **state)
{
    api_world *world = *state;
    kedge_lines lines = {drop_line, NULL};
    kedge_retention_rule rule = {.versions = 4};
    kedge_retention_result result;
    assert_int_equal(kedge_retention_run(NOTES(world), &rule, true, &lines, &result, NULL),
                     KEDGE_OK);
    transfer(world);
    compare(world);
}

static void test_a_client_goes_on_with_its_cookie(void **state)
{
    api_world *world = *state;
    const char *pull = "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":%s,\"kedge\":{"
                       "\"client\":\"c1\",\"lowest_pending\":6,\"highest_id\":6}}";
    assert_int_equal(api_post(world, "pull", api_format(pull, "null")), 200);
    const char *cookie = api_cookie(world);
    transfer(world);
    const char *path = "/v1/orgs/acme/projects/copy/pull";
    assert_int_equal(api_ask(world, &ann, "POST", path, kedge_bytes_of(api_format(pull, cookie))),
                     200);
    assert_true(cJSON_IsFalse(api_at(world, "kedge.lost")));
    assert_int_equal(api_number(world, "kedge.lmid"), 5);
    assert_int_equal(api_count(world, "patch"), 0);
    /* What the exported project decides from then on is of another history. */
    api_put(world, "c1", 6, "docs/a", "6");
    assert_int_equal(api_post(world, "pull", api_format(pull, cookie)), 200);
    const char *later = api_cookie(world);
    assert_int_equal(api_ask(world, &ann, "POST", path, kedge_bytes_of(api_format(pull, later))),
                     200);
    assert_true(cJSON_IsTrue(api_at(world, "kedge.lost")));
}

static void test_a_name_that_is_imported_under_is_refused_to_a_fork(void **state)
{
    api_world *world = *state;
    const char *first = "{\"kedge_export\":1,\"id\":\"x\",\"created\":1,\"oldest\":1,\"newest\":1,"
                        "\"lineage\":\"0123456789abcdef0123456789abcdef\"}\n";
    kedge_line_source source = {next_line, &first};
    kedge_import_result imported;
    const char *body = "{\"version\":1,\"to\":\"copy\"}";
    assert_int_equal(kedge_import_project(HANDLE(world->backend, &copy), &source, &imported, NULL),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(api_post_as(world, &root, "fork", body), 409);
    assert_string_equal(api_code(world), "import-under-way");
    assert_int_equal(kedge_import_discard(HANDLE(world->backend, &copy), NULL), KEDGE_OK);
    assert_int_equal(api_post_as(world, &root, "fork", body), 201);
}

/* Rebases the versions `from` to `to` of the project `source` onto `target`. */
static int rebase(api_world *world, const char *source, int from, int to, const char *target)
{
    const char *body = api_format("{\"from_project\":\"%s\",\"from_version\":%d,"
                                  "\"to_version\":%d,\"job\":\"j\",\"next\":null}",
                                  source, from, to);
    return api_ask(world, &root, "POST", api_format("/v1/orgs/acme/projects/%s/rebase", target),
                   kedge_bytes_of(body));
}

static void must_refuse(api_world *world, const char *source, int from, int to, const char *target)
{
    assert_int_equal(rebase(world, source, from, to, target), 409);
    assert_string_equal(api_code(world), "rebase-range-in-base");
    assert_false(world->response.changed);
}

static void must_replay(api_world *world, const char *source, int from, int to, const char *target)
{
    assert_int_equal(rebase(world, source, from, to, target), 200);
    assert_int_equal(api_count(world, "mutations"), to - from + 1);
    for (int i = 0; i <= to - from; i++)
        assert_string_equal(api_string(world, api_format("mutations.%d.outcome", i)), "applied");
}

static void fork(api_world *world, const char *source, int version, const char *target)
{
    const char *body = api_format("{\"version\":%d,\"to\":\"%s\"}", version, target);
    assert_int_equal(api_ask(world, &root, "POST",
                             api_format("/v1/orgs/acme/projects/%s/fork", source),
                             kedge_bytes_of(body)),
                     201);
}

static void put_to_copy(api_world *world, int id)
{
    const char *body = api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
                                  "\"clientID\":\"own\",\"id\":%d,\"name\":\"kedge.put\",\"args\":"
                                  "{\"collection\":\"docs\",\"id\":\"own\",\"value\":%d},"
                                  "\"timestamp\":5}]}",
                                  id, id);
    assert_int_equal(
        api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/copy/push", kedge_bytes_of(body)),
        200);
}

/* The fork has what the import has, which goes by another name than the fork's source. */
static void test_what_a_fork_holds_is_not_replayed_from_an_import_of_its_source(void **state)
{
    api_world *world = *state;
    fork(world, "notes", 6, "base");
    transfer(world);
    must_refuse(world, "copy", 5, 11, "base");
    assert_int_equal(rebase(world, "copy", 7, 11, "base"), 200);
    assert_int_equal(api_count(world, "mutations"), 5);
}

/* The import ends at version 11, and has other versions 12 and 13 than notes has. */
static void part_ways(api_world *world)
{
    transfer(world);
    for (int i = 6; i <= 7; i++) {
        api_put(world, "c1", i, "docs/a", api_format("%d", i));
        put_to_copy(world, i - 5);
    }
}

static void test_what_a_fork_holds_is_not_replayed_from_an_import_older_than_the_fork(void **state)
{
    api_world *world = *state;
    part_ways(world);
    fork(world, "notes", 12, "base");
    must_refuse(world, "copy", 3, 5, "base");
    assert_non_null(strstr(api_string(world, "detail"), "has version 3 of the source already"));
    must_refuse(world, "copy", 11, 13, "base");
    must_replay(world, "copy", 12, 13, "base");
    fork(world, "base", 1, "fork-of-fork");
    must_refuse(world, "copy", 11, 13, "fork-of-fork");
    must_replay(world, "copy", 12, 13, "fork-of-fork");
}

static void test_what_a_fork_of_an_import_holds_is_not_replayed_from_what_was_exported(void **state)
{
    api_world *world = *state;
    part_ways(world);
    fork(world, "copy", 12, "base");
    must_refuse(world, "notes", 11, 13, "base");
    must_replay(world, "notes", 12, 13, "base");
    /* A fork holds no version after the one that it was made of. */
    fork(world, "copy", 4, "early");
    must_refuse(world, "notes", 4, 6, "early");
    must_replay(world, "notes", 5, 6, "early");
}

static void test_what_a_project_has_is_not_replayed_from_its_import(void **state)
{
    api_world *world = *state;
    part_ways(world);
    must_refuse(world, "copy", 3, 13, "notes");
    must_refuse(world, "notes", 11, 13, "copy");
    must_replay(world, "copy", 12, 13, "notes");
    must_replay(world, "notes", 12, 13, "copy");
}

static void test_a_project_with_the_name_of_a_deleted_source_is_not_the_source(void **state)
{
    api_world *world = *state;
    fork(world, "notes", 6, "base");
    assert_int_equal(kedge_project_delete(NOTES(world), NULL), KEDGE_OK);
    api_world_restart(world);
    assert_int_equal(
        api_ask(world, &ann, "PUT", "/v1/orgs/acme/projects/notes", (kedge_bytes){NULL, 0}), 201);
    for (int i = 1; i <= 8; i++)
        api_put(world, "c2", i, "docs/b", api_format("%d", i));
    transfer(world);
    must_replay(world, "copy", 3, 5, "base");
}

/* The records of versions that retention has removed still tell. */
static void test_so_it_is_after_retention(void **state)
{
    api_world *world = *state;
    kedge_lines lines = {drop_line, NULL};
    kedge_retention_rule rule = {.versions = 2};
    kedge_retention_result result;
    part_ways(world);
    fork(world, "notes", 12, "base");
    assert_int_equal(kedge_retention_run(NOTES(world), &rule, true, &lines, &result, NULL),
                     KEDGE_OK);
    must_refuse(world, "copy", 3, 5, "base");
    must_replay(world, "copy", 12, 13, "base");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_six_queries_answer_the_same),
        TEST(test_so_they_do_behind_retention),
        TEST(test_a_client_goes_on_with_its_cookie),
        TEST(test_a_name_that_is_imported_under_is_refused_to_a_fork),
        TEST(test_what_a_fork_holds_is_not_replayed_from_an_import_of_its_source),
        TEST(test_what_a_fork_holds_is_not_replayed_from_an_import_older_than_the_fork),
        TEST(test_what_a_fork_of_an_import_holds_is_not_replayed_from_what_was_exported),
        TEST(test_what_a_project_has_is_not_replayed_from_its_import),
        TEST(test_a_project_with_the_name_of_a_deleted_source_is_not_the_source),
        TEST(test_so_it_is_after_retention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
