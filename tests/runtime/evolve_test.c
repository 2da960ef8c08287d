/* The example of docs/how-to/evolve-an-app.md: clients and servers of two releases. */
#include "tests/runtime/client.h"
#include "tests/support/server_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SYNC_MS 120000

const kedge_mutator *kedge_plugin_mutators(size_t *count); /* of evolve-an-app.c, release 2 */

static const char *program, *release_1, *release_2, *code_path, *page_path;

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    char data[CLIENT_PATH_SIZE + 16];
    char client[CLIENT_PATH_SIZE + 16];
    server_process server;
} world;

static int open_world(void **state)
{
    static world at;
    client_make_folder(at.folder);
    snprintf(at.data, sizeof at.data, "%s/server", at.folder);
    snprintf(at.client, sizeof at.client, "%s/client", at.folder);
    server_process_start_with(&at.server, program, at.data, release_1);
    *state = &at;
    return 0;
}

static int close_world(void **state)
{
    world *at = *state;
    server_process_stop(&at->server);
    client_remove_folder(at->folder);
    return 0;
}

static kedge_db *open_release_2(const world *at, int64_t server_wait_ms)
{
    kedge_options options = client_options(at->client, at->server.url);
    options.mutators = kedge_plugin_mutators(&options.mutator_count);
    options.server_wait_ms = server_wait_ms;
    return client_open(&options);
}

static int64_t edit(kedge_db *db, const char *name, const char *args)
{
    int64_t sequence = 0;
    kedge_error error = {0};
    if (kedge_mutate(db, name, args, strlen(args), &sequence, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    return sequence;
}

static void is_task(kedge_db *db, const char *id, const char *expected)
{
    kedge_document *task = NULL;
    assert_int_equal(kedge_get(db, "tasks", id, strlen(id), &task, NULL), KEDGE_OK);
    assert_string_equal(kedge_document_json(task, NULL), expected);
    kedge_document_free(task);
}

/* The worker publishes it right after the sync has ended. */
static void expect_last_error(kedge_db *db, const char *code)
{
    int64_t until_ms = client_now_ms() + SYNC_MS;
    while (strcmp(client_status(db).last_error.code, code) != 0 && client_now_ms() < until_ms) {
    }
    assert_string_equal(client_status(db).last_error.code, code);
}

static void deploy(world *at, const char *plugin)
{
    server_process_stop(&at->server);
    server_process_start_with(&at->server, program, at->data, plugin);
}

static void test_edits_wait_for_a_newer_server_and_are_applied_by_it(void **state)
{
    world *at = *state;
    kedge_error error = {0};
    kedge_db *db = open_release_2(at, 0);
    int64_t before = client_put(db, "a", "1");
    edit(db, "tasks.add", "{\"id\":\"t1\",\"title\":\"Write\",\"priority\":2}");
    edit(db, "tasks.raise", "{\"id\":\"t1\"}");
    assert_int_equal(kedge_sync(db, SYNC_MS, &error), KEDGE_CONFLICT);
    assert_string_equal(error.code, "server-too-old");
    assert_non_null(strstr(error.message, "version 2 of \"tasks.add\""));
    assert_int_equal(kedge_wait(db, before, SYNC_MS, NULL, &error), KEDGE_OK);
    assert_int_equal(client_status(db).pending, 2);
    assert_int_equal(client_status(db).rejected, 0);
    expect_last_error(db, "server-too-old");
    assert_true(client_wait_connection(db, KEDGE_ONLINE));
    assert_string_equal(client_status(db).last_error.code, "server-too-old");
    is_task(db, "t1", "{\"id\":\"t1\",\"priority\":3,\"title\":\"Write\"}");
    kedge_close(db);

    deploy(at, release_2);
    db = open_release_2(at, 0);
    if (kedge_sync(db, SYNC_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(client_status(db).pending, 0);
    assert_int_equal(client_status(db).rejected, 0);
    is_task(db, "t1", "{\"id\":\"t1\",\"priority\":3,\"title\":\"Write\"}");
    kedge_close(db);
}

static void test_edits_of_an_older_release_are_applied_by_a_newer_server(void **state)
{
    world *at = *state;
    kedge_error error = {0};
    size_t count = 0;
    deploy(at, release_2);
    kedge_mutator older = kedge_plugin_mutators(&count)[0];
    older.version = 1;
    kedge_options options = client_options(at->client, at->server.url);
    options.mutators = &older;
    options.mutator_count = 1;
    kedge_db *db = client_open(&options);
    edit(db, "tasks.add", "{\"id\":\"t2\",\"title\":\"Read\"}");
    if (kedge_sync(db, SYNC_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(client_status(db).rejected, 0);
    is_task(db, "t2", "{\"id\":\"t2\",\"priority\":0,\"title\":\"Read\"}");
    kedge_close(db);
}

static void test_after_the_deadline_of_the_app_an_edit_comes_into_the_inbox(void **state)
{
    static const char *const codes[] = {"server-too-old", "mutator-unknown"};
    world *at = *state;
    kedge_error error = {0};
    kedge_mutation_list *list = NULL;
    kedge_db *db = open_release_2(at, 1);
    assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
    edit(db, "tasks.add", "{\"id\":\"t1\",\"title\":\"Write\",\"priority\":2}");
    edit(db, "tasks.raise", "{\"id\":\"t1\"}");
    int64_t made_ms = client_now_ms();
    while (client_now_ms() <= made_ms + 2) {
    }
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    if (kedge_sync(db, SYNC_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(client_status(db).pending, 0);
    assert_int_equal(kedge_rejected_open(db, &list, NULL), KEDGE_OK);
    for (size_t i = 0; i < 2; i++) {
        kedge_mutation mutation = KEDGE_MUTATION_INIT;
        assert_int_equal(kedge_mutation_list_next(list, &mutation, NULL), KEDGE_OK);
        assert_string_equal(mutation.code, codes[i]);
    }
    kedge_mutation_list_close(list);
    kedge_close(db);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 65536);
    assert_true(fread(text, 1, 65535, file) > 0);
    fclose(file);
    return text;
}

static void test_the_page_shows_the_code_that_runs_here(void **state)
{
    (void)state;
    char *code = read_file(code_path);
    char *page = read_file(page_path);
    assert_non_null(strstr(page, code));
    free(code);
    free(page);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_edits_wait_for_a_newer_server_and_are_applied_by_it),
        WORLD_TEST(test_edits_of_an_older_release_are_applied_by_a_newer_server),
        WORLD_TEST(test_after_the_deadline_of_the_app_an_edit_comes_into_the_inbox),
        cmocka_unit_test(test_the_page_shows_the_code_that_runs_here),
    };
    if (count != 6) return 2;
    program = arguments[1];
    release_1 = arguments[2];
    release_2 = arguments[3];
    code_path = arguments[4];
    page_path = arguments[5];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
