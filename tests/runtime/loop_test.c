/* Databases that the app's own event loop drives: one thread, one descriptor a database, with a
 * kedge-server. And the example of docs/how-to/use-an-event-loop.md.
 *
 *   loop_test PATH-OF-KEDGE-SERVER */
#include "sdk/runtime/db.h"
#include "tests/runtime/client.h"
#include "tests/support/files.h"
#include "tests/support/scripted_server.h"
#include "tests/support/server_process.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COPIES          2
#define SYNC_TIMEOUT_MS 120000
#define TURNS_MAX       20000 /* of a wait that goes well; some hundred are enough */

kedge_status take_notes(kedge_db *db, int input, kedge_error *error); /* the example */

static const char *server_program;

typedef struct world {
    char root[CLIENT_PATH_SIZE];
    server_process server;
    kedge_db *dbs[COPIES];
    int32_t wait_ms[COPIES];
} world;

static kedge_db *open_copy(world *w, int copy, bool caller_driven)
{
    char name[16], folder[FILES_PATH_BYTES];
    snprintf(name, sizeof name, "copy%d", copy);
    files_path(folder, w->root, name);
    kedge_options options = client_options(folder, w->server.url);
    options.caller_driven = caller_driven;
    return client_open(&options);
}

static int make_world(void **state)
{
    world *w = calloc(1, sizeof *w);
    char data[FILES_PATH_BYTES];
    assert_non_null(w);
    client_make_folder(w->root);
    files_path(data, w->root, "server");
    server_process_start(&w->server, server_program, data);
    for (int i = 0; i < COPIES; i++)
        w->dbs[i] = open_copy(w, i, true);
    *state = w;
    return 0;
}

static int end_world(void **state)
{
    world *w = *state;
    for (int i = 0; i < COPIES; i++)
        kedge_close(w->dbs[i]);
    server_process_stop(&w->server);
    client_remove_folder(w->root);
    free(w);
    return 0;
}

static int count_threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* One turn of an app's loop: runs both, then waits for either as they asked. */
static void turn(world *w)
{
    struct pollfd set[COPIES];
    int32_t wait_ms = 60000;
    kedge_error error = {0};
    for (int i = 0; i < COPIES; i++) {
        if (kedge_loop_run(w->dbs[i], &w->wait_ms[i], &error) != KEDGE_OK)
            fail_msg("%s", error.message);
        set[i] = (struct pollfd){.fd = kedge_loop_descriptor(w->dbs[i]), .events = POLLIN};
        if (w->wait_ms[i] < wait_ms) wait_ms = w->wait_ms[i];
    }
    assert_true(poll(set, COPIES, wait_ms) >= 0);
}

static void turn_until_shown(world *w, int copy, const char *id, const char *value)
{
    int64_t until_ms = client_now_ms() + SYNC_TIMEOUT_MS;
    for (int i = 0; i < TURNS_MAX && client_now_ms() < until_ms; i++) {
        if (strcmp(client_get(w->dbs[copy], id), value) == 0) return;
        turn(w);
    }
    fail_msg("%d turns or %d ms, and %s is not %s", TURNS_MAX, SYNC_TIMEOUT_MS, id, value);
}

static void turn_until_idle(world *w)
{
    for (int i = 0; i < TURNS_MAX; i++) {
        bool idle = true;
        for (int copy = 0; copy < COPIES; copy++) {
            struct pollfd set = {.fd = kedge_loop_descriptor(w->dbs[copy]), .events = POLLIN};
            idle = idle && w->wait_ms[copy] > 100 && poll(&set, 1, 0) == 0;
        }
        if (idle) return;
        turn(w);
    }
    fail_msg("the loop does not come to rest in %d turns", TURNS_MAX);
}

static void count_call(void *userdata, const kedge_change *changes, size_t count)
{
    (void)changes;
    (void)count;
    ++*(int *)userdata;
}

static void test_two_copies_sync_in_one_thread(void **state)
{
    world *w = *state;
    int told = 0;
    kedge_watch_token *token = NULL;
    assert_int_equal(kedge_watch(w->dbs[1], "notes", count_call, &told, NULL, &token, NULL),
                     KEDGE_OK);
    turn_until_idle(w);
    client_put(w->dbs[0], "a", "1");
    turn_until_shown(w, 1, "a", "1"); /* by the poke of the event stream */
    client_put(w->dbs[1], "b", "2");
    turn_until_shown(w, 0, "b", "2");
    turn_until_idle(w);
    assert_true(told >= 2);
    for (int i = 0; i < COPIES; i++) {
        assert_int_equal(client_status(w->dbs[i]).pending, 0);
        assert_int_equal(client_status(w->dbs[i]).connection, KEDGE_ONLINE);
    }
    assert_int_equal(count_threads(), 1);
    kedge_watch_free(token);
}

static void test_an_edit_makes_the_descriptor_readable(void **state)
{
    world *w = *state;
    turn_until_idle(w);
    struct pollfd set = {.fd = kedge_loop_descriptor(w->dbs[0]), .events = POLLIN};
    client_put(w->dbs[0], "a", "1");
    assert_int_equal(poll(&set, 1, 0), 1);
}

/* Another handle on the folder is what another process is. */
static void test_an_edit_of_another_process_makes_the_descriptor_readable(void **state)
{
    world *w = *state;
    int told = 0;
    kedge_watch_token *token = NULL;
    kedge_db *other = open_copy(w, 0, false);
    assert_int_equal(kedge_watch(w->dbs[0], "notes", count_call, &told, NULL, &token, NULL),
                     KEDGE_OK);
    turn_until_idle(w);
    struct pollfd set = {.fd = kedge_loop_descriptor(w->dbs[0]), .events = POLLIN};
    client_put(other, "a", "1");
    assert_int_equal(poll(&set, 1, SYNC_TIMEOUT_MS), 1);
    turn_until_shown(w, 1, "a", "1"); /* this one leads, and sends it */
    assert_true(told > 0);
    kedge_watch_free(token);
    kedge_close(other);
}

static void test_functions_that_wait_run_the_loop(void **state)
{
    world *w = *state;
    kedge_error error = {0};
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    kedge_document *history = NULL;
    int64_t sequence = client_put(w->dbs[0], "a", "1");
    if (kedge_wait(w->dbs[0], sequence, SYNC_TIMEOUT_MS, &outcome, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(outcome, KEDGE_OUTCOME_APPLIED);
    if (kedge_sync(w->dbs[1], SYNC_TIMEOUT_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_string_equal(client_get(w->dbs[1], "a"), "1");
    if (kedge_history(w->dbs[1], 0, 10, SYNC_TIMEOUT_MS, &history, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    assert_non_null(strstr(kedge_document_json(history, NULL), "kedge.put"));
    kedge_document_free(history);
    /* Nobody answers: it returns in time all the same. */
    server_process_stop(&w->server);
    client_put(w->dbs[0], "a", "2");
    assert_int_not_equal(kedge_sync(w->dbs[0], 100, &error), KEDGE_OK);
    assert_int_equal(client_status(w->dbs[0]).pending, 1);
}

static void *sync_often(void *context)
{
    static kedge_error error;
    for (int i = 0; i < 30; i++)
        if (kedge_sync(context, SYNC_TIMEOUT_MS, &error) != KEDGE_OK) return &error;
    return NULL;
}

/* The one that runs the loop is done, and the other goes on with it. */
static void test_of_two_threads_that_wait_each_gets_its_sync(void **state)
{
    world *w = *state;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sync_often, w->dbs[0]), 0);
    for (int i = 0; i < 2; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        if (failed != NULL) fail_msg("%s", ((kedge_error *)failed)->message);
    }
}

typedef struct waiter {
    kedge_db *db;
    bool asks_history; /* else it syncs */
    kedge_status status;
} waiter;

static void *wait_for_ever(void *context)
{
    waiter *self = context;
    kedge_document *versions = NULL;
    self->status = self->asks_history ? kedge_history(self->db, 0, 1, -1, &versions, NULL)
                                      : kedge_sync(self->db, -1, NULL);
    return NULL;
}

static bool is_in_loop(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    bool inside = db->shared.waiting > 0 && db->shared.worker_runs;
    pthread_mutex_unlock(&db->lock);
    return inside;
}

static void test_closing_ends_the_wait_of_another_thread(void **state)
{
    world *w = *state;
    char folder[FILES_PATH_BYTES];
    scripted_server *hung = scripted_server_start(scripted_hangs, NULL);
    files_path(folder, w->root, "hung");
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        kedge_options options = client_options(folder, scripted_server_url(hung));
        options.caller_driven = true;
        waiter self = {.db = client_open(&options), .asks_history = i == 1};
        assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &self), 0);
        while (!is_in_loop(self.db))
            poll(NULL, 0, 1);
        assert_int_equal(kedge_close(self.db), KEDGE_OK);
        pthread_join(thread, NULL);
        assert_int_equal(self.status, KEDGE_CANCELLED);
    }
    scripted_server_stop(hung);
}

typedef struct caught {
    kedge_db *db;
    int calls;
    kedge_error run, sync;
} caught;

static void call_back_in(void *userdata, const kedge_change *changes, size_t count)
{
    caught *seen = userdata;
    (void)changes;
    (void)count;
    seen->calls++;
    assert_int_equal(kedge_loop_run(seen->db, NULL, &seen->run), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_sync(seen->db, 100, &seen->sync), KEDGE_INVALID_ARGUMENT);
}

static void test_a_callback_cannot_run_the_loop_or_wait(void **state)
{
    world *w = *state;
    caught seen = {.db = w->dbs[0]};
    kedge_watch_token *token = NULL;
    assert_int_equal(kedge_watch(w->dbs[0], NULL, call_back_in, &seen, NULL, &token, NULL),
                     KEDGE_OK);
    client_put(w->dbs[0], "a", "1");
    for (int i = 0; i < TURNS_MAX && seen.calls == 0; i++)
        turn(w);
    assert_true(seen.calls > 0);
    assert_string_equal(seen.run.code, "called-back");
    assert_string_equal(seen.sync.code, "called-back");
    kedge_watch_free(token);
}

static void test_a_database_with_a_worker_thread_has_no_loop(void **state)
{
    world *w = *state;
    kedge_error error = {0};
    int32_t wait_ms = 7;
    kedge_db *db = open_copy(w, COPIES, false);
    assert_int_equal(kedge_loop_run(db, &wait_ms, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "not-caller-driven");
    assert_int_equal(wait_ms, 7);
    assert_int_equal(kedge_loop_descriptor(db), -1);
    assert_int_equal(kedge_loop_run(NULL, &wait_ms, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_loop_descriptor(NULL), -1);
    kedge_close(db);
}

static void test_the_example_syncs_while_it_reads_its_input(void **state)
{
    static const char input[] = "buy milk\nwater \"the\" plants\n";
    world *w = *state;
    kedge_error error = {0};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], input, sizeof input - 1), (ssize_t)sizeof input - 1);
    close(ends[1]);
    if (take_notes(w->dbs[0], ends[0], &error) != KEDGE_OK) fail_msg("%s", error.message);
    turn_until_shown(w, 1, "note-2", "{\"text\":\"water \\\"the\\\" plants\"}");
    assert_int_equal(client_count(w->dbs[1]), 2);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)
    const struct CMUnitTest tests[] = {
        TEST(test_two_copies_sync_in_one_thread),
        TEST(test_an_edit_makes_the_descriptor_readable),
        TEST(test_an_edit_of_another_process_makes_the_descriptor_readable),
        TEST(test_functions_that_wait_run_the_loop),
        TEST(test_of_two_threads_that_wait_each_gets_its_sync),
        TEST(test_closing_ends_the_wait_of_another_thread),
        TEST(test_a_callback_cannot_run_the_loop_or_wait),
        TEST(test_a_database_with_a_worker_thread_has_no_loop),
        TEST(test_the_example_syncs_while_it_reads_its_input),
    };
    if (argc != 2) return 2;
    server_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
