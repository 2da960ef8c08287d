/* What a mutator calls on the database that runs it. Its thread has the turn to write, so whatever
 * takes a turn, or waits for somebody who needs one, fails; reads work. */
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SYNC_TIMEOUT_MS 60000
#define HANGS_S         120 /* of a call that does not come back */

/* One call, with the world's database. */
typedef kedge_status (*a_call)(kedge_db *db, kedge_error *error);

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    char other_folder[CLIENT_PATH_SIZE];
    mini_backend *backend;
    scripted_server *server;
    kedge_db *db;
    kedge_db *other; /* another database */
    kedge_batch *batch;
    atomic_bool armed; /* the mutator's next run makes the calls */
    atomic_bool made;  /* it has */
    const a_call *calls;
    size_t call_count;
    kedge_status statuses[32];
    kedge_error errors[32];
} world;

static kedge_batch *batch_to_commit;

/* ---- the calls ---- */

static kedge_status call_mutate(kedge_db *db, kedge_error *error)
{
    return kedge_mutate(db, "kedge.put", "null", 4, NULL, error);
}

static kedge_status call_cancel(kedge_db *db, kedge_error *error)
{
    return kedge_cancel(db, 1, error);
}

static kedge_status call_batch_commit(kedge_db *db, kedge_error *error)
{
    (void)db;
    return kedge_batch_commit(batch_to_commit, NULL, error);
}

static kedge_status call_text_edit(kedge_db *db, kedge_error *error)
{
    return kedge_text_edit(db, "notes", "text", 4, "/text", "a", "b", NULL, error);
}

static kedge_status call_undo_begin(kedge_db *db, kedge_error *error)
{
    return kedge_undo_begin(db, NULL, error);
}

static kedge_status call_undo(kedge_db *db, kedge_error *error)
{
    return kedge_undo(db, NULL, error);
}

static kedge_status call_redo(kedge_db *db, kedge_error *error)
{
    return kedge_redo(db, NULL, error);
}

static kedge_status call_undo_state(kedge_db *db, kedge_error *error)
{
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    return kedge_get_undo_state(db, &state, error);
}

static kedge_status call_index(kedge_db *db, kedge_error *error)
{
    static const char *const paths[] = {"n"};
    return kedge_index(db, "by_n", "notes", paths, 1, error);
}

static kedge_status call_index_drop(kedge_db *db, kedge_error *error)
{
    return kedge_index_drop(db, "by_n", error);
}

static kedge_status call_index_list(kedge_db *db, kedge_error *error)
{
    kedge_index_list *list = NULL;
    kedge_status status = kedge_index_list_open(db, &list, error);
    kedge_index_list_close(list);
    return status;
}

static kedge_status call_dismiss(kedge_db *db, kedge_error *error)
{
    return kedge_rejected_dismiss(db, 1, error);
}

static kedge_status call_dismiss_through(kedge_db *db, kedge_error *error)
{
    return kedge_rejected_dismiss_through(db, 1, NULL, error);
}

static kedge_status call_resubmit(kedge_db *db, kedge_error *error)
{
    return kedge_rejected_resubmit(db, 1, NULL, error);
}

static kedge_status call_sync(kedge_db *db, kedge_error *error)
{
    return kedge_sync(db, -1, error);
}

static kedge_status call_wait(kedge_db *db, kedge_error *error)
{
    return kedge_wait(db, 1, -1, NULL, error);
}

static kedge_status call_history(kedge_db *db, kedge_error *error)
{
    kedge_document *versions = NULL;
    kedge_status status = kedge_history(db, 0, 1, -1, &versions, error);
    kedge_document_free(versions);
    return status;
}

static kedge_status call_undo_end(kedge_db *db, kedge_error *error)
{
    return kedge_undo_end(db, error);
}

/* It has no kedge_error. */
static kedge_status call_close(kedge_db *db, kedge_error *error)
{
    *error = (kedge_error){.status = KEDGE_INVALID_ARGUMENT, .code = "called-back"};
    return kedge_close(db);
}

static const a_call refused[] = {
    call_mutate,     call_cancel,     call_batch_commit, call_text_edit,       call_undo_begin,
    call_undo_end,   call_undo,       call_redo,         call_undo_state,      call_index,
    call_index_drop, call_index_list, call_dismiss,      call_dismiss_through, call_resubmit,
    call_sync,       call_wait,       call_history,      call_close,
};

static kedge_status call_get(kedge_db *db, kedge_error *error)
{
    kedge_document *document = NULL;
    kedge_status status = kedge_get(db, "notes", "text", 4, &document, error);
    kedge_document_free(document);
    return status;
}

static kedge_status call_scan(kedge_db *db, kedge_error *error)
{
    kedge_scan *scan = NULL;
    const char *id, *value;
    size_t id_size, value_size;
    kedge_status status = kedge_scan_open(db, "notes", NULL, &scan, error);
    if (status == KEDGE_OK)
        status = kedge_scan_next(scan, &id, &id_size, &value, &value_size, error);
    kedge_scan_close(scan);
    return status;
}

static kedge_status call_query(kedge_db *db, kedge_error *error)
{
    static const char sql[] = "SELECT id FROM notes";
    kedge_query *query = NULL;
    kedge_status status = kedge_query_open(db, sql, sizeof sql - 1, NULL, 0, &query, error);
    if (status == KEDGE_OK) status = kedge_query_next(query, error);
    kedge_query_close(query);
    return status;
}

static kedge_status call_pending(kedge_db *db, kedge_error *error)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    kedge_status status = kedge_pending_open(db, &list, error);
    if (status == KEDGE_OK) status = kedge_mutation_list_next(list, &mutation, error);
    kedge_mutation_list_close(list);
    return status;
}

static kedge_status call_rejected(kedge_db *db, kedge_error *error)
{
    kedge_mutation_list *list = NULL;
    kedge_status status = kedge_rejected_open(db, &list, error);
    kedge_mutation_list_close(list);
    return status;
}

static kedge_status call_status(kedge_db *db, kedge_error *error)
{
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    return kedge_get_sync_status(db, &status, error);
}

static kedge_status call_stats(kedge_db *db, kedge_error *error)
{
    kedge_stats stats = KEDGE_STATS_INIT;
    return kedge_get_stats(db, &stats, error);
}

static const a_call allowed[] = {call_get,      call_scan,   call_query, call_pending,
                                 call_rejected, call_status, call_stats};

/* ---- the mutator ---- */

static kedge_status make_calls(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    world *here = userdata;
    const char *value;
    size_t value_size;
    (void)args;
    (void)args_size;
    /* So that it runs again when somebody else has changed this item. */
    (void)kedge_tx_get(tx, "notes", "theirs", 6, &value, &value_size, NULL);
    kedge_status status = kedge_tx_put(tx, "notes", "mine", 4, "1", 1, error);
    if (!atomic_exchange(&here->armed, false)) return status;
    for (size_t i = 0; i < here->call_count; i++)
        here->statuses[i] = here->calls[i](here->db, &here->errors[i]);
    atomic_store(&here->made, true);
    return status;
}

static kedge_status pass_error_on(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                  kedge_error *error)
{
    world *here = userdata;
    (void)tx;
    (void)args;
    (void)args_size;
    return call_mutate(here->db, error);
}

static kedge_status edit_another(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    world *here = userdata;
    /* The worker may run it again. */
    if (atomic_exchange(&here->armed, false)) client_put(here->other, "a", "1");
    (void)args;
    (void)args_size;
    return kedge_tx_put(tx, "notes", "a", 1, "1", 1, error);
}

/* Pulls go well, pushes never. */
static bool respond(void *context, const scripted_request *request)
{
    if (strstr(request->target, "/push") == NULL) return mini_backend_respond(context, request);
    scripted_respond(request, 503, "application/problem+json",
                     "{\"code\":\"unavailable\",\"detail\":\"later\"}");
    return true;
}

static kedge_db *open_here(world *here, const char *folder, bool caller_driven)
{
    kedge_mutator mutators[] = {{"test.calls", 1, make_calls, here},
                                {"test.pass", 1, pass_error_on, here},
                                {"test.other", 1, edit_another, here}};
    kedge_options options = client_options(folder, scripted_server_url(here->server));
    options.mutators = mutators;
    options.mutator_count = sizeof mutators / sizeof mutators[0];
    options.caller_driven = caller_driven;
    return client_open(&options);
}

static void make_ready(world *here, const a_call *calls, size_t count)
{
    static const char text[] =
        "{\"collection\":\"notes\",\"id\":\"text\",\"value\":{\"text\":\"a\"}}";
    kedge_error error = {0};
    here->calls = calls;
    here->call_count = count;
    assert_true(count <= sizeof here->statuses / sizeof here->statuses[0]);
    assert_int_equal(kedge_mutate(here->db, "kedge.put", text, sizeof text - 1, NULL, &error),
                     KEDGE_OK);
    assert_int_equal(kedge_batch_begin(here->db, &here->batch, &error), KEDGE_OK);
    assert_int_equal(kedge_batch_add(here->batch, "kedge.put", text, sizeof text - 1, &error),
                     KEDGE_OK);
    batch_to_commit = here->batch;
}

static int make_world(void **state)
{
    world *here = calloc(1, sizeof *here);
    if (here == NULL) return -1;
    alarm(HANGS_S);
    client_make_folder(here->folder);
    client_make_folder(here->other_folder);
    here->backend = mini_backend_new();
    here->server = scripted_server_start(respond, here->backend);
    here->db = open_here(here, here->folder, false);
    *state = here;
    return 0;
}

static int end_world(void **state)
{
    world *here = *state;
    kedge_batch_free(here->batch);
    kedge_close(here->other);
    kedge_close(here->db);
    scripted_server_stop(here->server);
    mini_backend_free(here->backend);
    client_remove_folder(here->folder);
    client_remove_folder(here->other_folder);
    free(here);
    alarm(0);
    return 0;
}

static void expect_refused(const world *here)
{
    assert_true(atomic_load(&here->made));
    for (size_t i = 0; i < here->call_count; i++) {
        if (here->statuses[i] != KEDGE_INVALID_ARGUMENT) fail_msg("call %zu", i);
        assert_int_equal(here->errors[i].status, KEDGE_INVALID_ARGUMENT);
        assert_string_equal(here->errors[i].code, "called-back");
    }
}

/* ---- the tests ---- */

static void test_what_takes_a_turn_or_waits_for_one_fails_in_a_mutator(void **state)
{
    world *here = *state;
    make_ready(here, refused, sizeof refused / sizeof refused[0]);
    atomic_store(&here->armed, true);
    assert_int_equal(kedge_mutate(here->db, "test.calls", "1", 1, NULL, NULL), KEDGE_OK);
    expect_refused(here);
    /* Neither the edit nor what comes after it has suffered. */
    assert_string_equal(client_get(here->db, "mine"), "1");
    assert_int_equal(client_status(here->db).pending, 2);
    assert_int_equal(kedge_batch_commit(here->batch, NULL, NULL), KEDGE_OK);
}

static void test_reads_work_in_a_mutator(void **state)
{
    world *here = *state;
    make_ready(here, allowed, sizeof allowed / sizeof allowed[0]);
    atomic_store(&here->armed, true);
    assert_int_equal(kedge_mutate(here->db, "test.calls", "1", 1, NULL, NULL), KEDGE_OK);
    for (size_t i = 0; i < here->call_count; i++)
        if (here->statuses[i] != KEDGE_OK) fail_msg("call %zu: %s", i, here->errors[i].message);
}

/* The worker runs it when a pull has changed what it has read. */
static void test_the_same_holds_on_the_worker_thread(void **state)
{
    world *here = *state;
    make_ready(here, refused, sizeof refused / sizeof refused[0]);
    assert_int_equal(kedge_mutate(here->db, "test.calls", "1", 1, NULL, NULL), KEDGE_OK);
    atomic_store(&here->armed, true);
    mini_backend_put(here->backend, "theirs", "1");
    int64_t until = client_now_ms() + SYNC_TIMEOUT_MS;
    while (!atomic_load(&here->made) && client_now_ms() < until)
        poll(NULL, 0, 2);
    expect_refused(here);
}

static kedge_status call_loop_run(kedge_db *db, kedge_error *error)
{
    return kedge_loop_run(db, NULL, error);
}

static void test_a_mutator_does_not_run_the_loop(void **state)
{
    static const a_call loop[] = {call_loop_run, call_sync, call_mutate};
    world *here = *state;
    kedge_close(here->db);
    here->db = open_here(here, here->folder, true);
    make_ready(here, loop, sizeof loop / sizeof loop[0]);
    atomic_store(&here->armed, true);
    assert_int_equal(kedge_mutate(here->db, "test.calls", "1", 1, NULL, NULL), KEDGE_OK);
    expect_refused(here);
    assert_int_equal(kedge_loop_run(here->db, NULL, NULL), KEDGE_OK);
}

static void test_a_mutator_that_passes_the_error_on_rejects_its_edit_with_the_code(void **state)
{
    world *here = *state;
    kedge_error error = {0};
    assert_int_equal(kedge_mutate(here->db, "test.pass", "1", 1, NULL, &error), KEDGE_REJECTED);
    assert_string_equal(error.code, "called-back");
    assert_int_equal(client_status(here->db).pending, 0);
}

static void test_another_database_may_be_edited_in_a_mutator(void **state)
{
    world *here = *state;
    here->other = open_here(here, here->other_folder, false);
    atomic_store(&here->armed, true);
    assert_int_equal(kedge_mutate(here->db, "test.other", "1", 1, NULL, NULL), KEDGE_OK);
    assert_string_equal(client_get(here->other, "a"), "1");
    client_put(here->other, "b", "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_takes_a_turn_or_waits_for_one_fails_in_a_mutator),
        TEST(test_reads_work_in_a_mutator),
        TEST(test_the_same_holds_on_the_worker_thread),
        TEST(test_a_mutator_does_not_run_the_loop),
        TEST(test_a_mutator_that_passes_the_error_on_rejects_its_edit_with_the_code),
        TEST(test_another_database_may_be_edited_in_a_mutator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
