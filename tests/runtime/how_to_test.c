/* The examples of three pages of docs/how-to work: handle-damaged-files.md, keys-and-tokens.md and
 * show-sync-progress.md. */
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

kedge_status open_or_repair(kedge_options *options, const char *new_path, kedge_db **db,
                            kedge_error *error);

typedef struct login {
    pthread_mutex_t lock;
    char token[KEDGE_TOKEN_BYTES];
    const char *user, *role;
} login;

kedge_status open_logged_in(kedge_options *options, login *who, kedge_db **db, kedge_error *error);
bool must_log_in(const kedge_sync_status *status);
kedge_status logged_in(kedge_db *db, login *who, const char *token, kedge_error *error);

typedef struct sync_progress {
    void (*show)(void *bar, int64_t done, int64_t total);
    void *bar;
    int64_t pending;
    int64_t total;
} sync_progress;

void show_progress(void *userdata, const kedge_sync_status *status);

/* Both copies of `meta`: neither is sound any more. */
static void damage(const char *path)
{
    char name[CLIENT_PATH_SIZE + 32];
    sqlite3 *file;
    snprintf(name, sizeof name, "%s/outbox.db", path);
    assert_int_equal(sqlite3_open(name, &file), SQLITE_OK);
    assert_int_equal(sqlite3_exec(file, "UPDATE meta SET highest_id = 1", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(file);
}

static void test_the_example_saves_what_can_be_read_and_opens_that(void **state)
{
    (void)state;
    char old[CLIENT_PATH_SIZE + 16], saved[CLIENT_PATH_SIZE + 16];
    kedge_error error = {0};
    kedge_db *db = NULL;
    snprintf(old, sizeof old, "%s/old", client_folder);
    snprintf(saved, sizeof saved, "%s/saved", client_folder);
    kedge_options options = client_options(old, NULL);
    assert_int_equal(open_or_repair(&options, saved, &db, &error), KEDGE_OK);
    assert_string_equal(options.path, old);
    client_put(db, "a", "1");
    client_put(db, "b", "2");
    kedge_close(db);
    damage(old);
    assert_int_equal(open_or_repair(&options, saved, &db, &error), KEDGE_OK);
    assert_string_equal(options.path, saved);
    assert_int_equal(client_status(db).pending, 2);
    kedge_close(db);
}

static void test_the_example_repairs_nothing_when_another_thing_is_wrong(void **state)
{
    (void)state;
    char old[CLIENT_PATH_SIZE + 16], saved[CLIENT_PATH_SIZE + 16];
    kedge_error error = {0};
    kedge_db *db = NULL;
    snprintf(old, sizeof old, "%s/none/old", client_folder);
    snprintf(saved, sizeof saved, "%s/saved", client_folder);
    kedge_options options = client_options(old, NULL);
    assert_int_equal(open_or_repair(&options, saved, &db, &error), KEDGE_IO);
    assert_int_equal(access(saved, F_OK), -1);
}

/* Waits until the server wants another login. */
static void expect_logged_out(kedge_db *db)
{
    assert_true(client_wait_connection(db, KEDGE_STOPPED));
    kedge_sync_status status = client_status(db);
    assert_true(must_log_in(&status));
}

static void test_the_example_syncs_after_each_login(void **state)
{
    (void)state;
    static const char *const tokens[] = {"first", "second"};
    login who = {.lock = PTHREAD_MUTEX_INITIALIZER, .user = "ann", .role = "editor"};
    kedge_error error = {0};
    kedge_db *db = NULL;
    mini_backend *backend = mini_backend_new();
    scripted_server *server = scripted_server_start(mini_backend_respond, backend);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    mini_backend_want_token(backend, tokens[0]);
    assert_int_equal(open_logged_in(&options, &who, &db, &error), KEDGE_OK);
    for (int i = 0; i < 2; i++) {
        mini_backend_want_token(backend, tokens[i]); /* the one before has expired */
        client_put(db, "a", i == 0 ? "1" : "2");
        expect_logged_out(db);
        assert_int_equal(client_status(db).pending, 1);
        assert_int_equal(logged_in(db, &who, tokens[i], &error), KEDGE_OK);
        if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
        assert_int_equal(client_status(db).pending, 0);
    }
    kedge_close(db);
    scripted_server_stop(server);
    mini_backend_free(backend);
}

typedef struct bar {
    int64_t done, total;
} bar;

static void show(void *userdata, int64_t done, int64_t total)
{
    *(bar *)userdata = (bar){done, total};
}

static void test_the_example_never_goes_back_while_edits_are_made(void **state)
{
    (void)state;
    static const bar expected[] = {{0, 3}, {2, 3}, {2, 7}, {6, 7}, {0, 0}, {0, 2}};
    static const int64_t pending[] = {3, 1, 5, 1, 0, 2};
    bar shown = {0, 0};
    sync_progress progress = {.show = show, .bar = &shown};
    for (size_t i = 0; i < 6; i++) {
        kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
        status.pending = pending[i];
        show_progress(&progress, &status);
        assert_int_equal(shown.done, expected[i].done);
        assert_int_equal(shown.total, expected[i].total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_FOLDER_TEST(test_the_example_saves_what_can_be_read_and_opens_that),
        CLIENT_FOLDER_TEST(test_the_example_repairs_nothing_when_another_thing_is_wrong),
        CLIENT_FOLDER_TEST(test_the_example_syncs_after_each_login),
        CLIENT_FOLDER_TEST(test_the_example_never_goes_back_while_edits_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
