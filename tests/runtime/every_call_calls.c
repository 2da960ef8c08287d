/* every_call_test: the calls. Each makes the functions that it is named by, once. */
#include "tests/runtime/every_call.h"

#include <kedge/loop.h>
#include <kedge/repair.h>

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kedge_status mutate(kedge_db *db, const char *name, const char *args, kedge_error *error)
{
    return kedge_mutate(db, name, args, strlen(args), NULL, error);
}

/* ---- the calls ---- */

static kedge_status call_open(world *w, kedge_error *error)
{
    kedge_options options = every_call_options(w, w->folder);
    kedge_close(w->db);
    w->db = NULL;
    return kedge_open(&options, &w->db, error);
}

static kedge_status call_put(world *w, kedge_error *error)
{
    return mutate(w->db, "kedge.put", "{\"collection\":\"notes\",\"id\":\"x\",\"value\":{\"x\":1}}",
                  error);
}

static kedge_status call_transaction(world *w, kedge_error *error)
{
    return mutate(w->db, "app.transaction", "{\"text\":\"t\",\"number\":3}", error);
}

static kedge_status call_trees(world *w, kedge_error *error)
{
    return mutate(w->db, "app.trees",
                  "{\"text\":\"t\",\"number\":3,\"yes\":true,\"patch\":[{\"op\":\"add\","
                  "\"path\":\"/p\",\"value\":1}],\"put\":{\"collection\":\"notes\","
                  "\"id\":\"called\",\"value\":1}}",
                  error);
}

static kedge_status call_client_only(world *w, kedge_error *error)
{
    return mutate(w->db, "app.client_only", "{\"text\":\"t\",\"number\":3}", error);
}

static kedge_status call_text_edit(world *w, kedge_error *error)
{
    return kedge_text_edit(w->db, "notes", "a", 1, "/text", NULL, "written by hand", NULL, error);
}

static kedge_status call_batch(world *w, kedge_error *error)
{
    static const char put[] = "{\"collection\":\"notes\",\"id\":\"x\",\"value\":{\"x\":1}}";
    static const char two[] = "{\"text\":\"t\",\"number\":3}";
    kedge_batch *batch = NULL;
    kedge_status status = kedge_batch_begin(w->db, &batch, error);
    if (status == KEDGE_OK) status = kedge_batch_add(batch, "kedge.put", put, strlen(put), error);
    if (status == KEDGE_OK)
        status = kedge_batch_add(batch, "app.transaction", two, strlen(two), error);
    if (status == KEDGE_OK) status = kedge_batch_commit(batch, NULL, error);
    kedge_batch_free(batch);
    return status;
}

/* The group's edit, the undo and the redo. */
static kedge_status call_undo(world *w, kedge_error *error)
{
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    kedge_status status = kedge_undo_begin(w->db, "typing", error);
    if (status != KEDGE_OK) return status;
    status = call_put(w, error);
    if (status == KEDGE_OK) w->made++;
    kedge_status ended = kedge_undo_end(w->db, status == KEDGE_OK ? error : NULL);
    if (status == KEDGE_OK) status = ended;
    if (status == KEDGE_OK) status = kedge_get_undo_state(w->db, &state, error);
    if (status == KEDGE_OK) assert_int_equal(state.undo_count, 1);
    if (status == KEDGE_OK) status = kedge_undo(w->db, &result, error);
    if (status != KEDGE_OK) return status;
    w->made++;
    assert_int_equal(result.restored, 1);
    return kedge_redo(w->db, &result, error);
}

static kedge_status call_cancel(world *w, kedge_error *error)
{
    return kedge_cancel(w->db, CONFIRMED + 1 + PENDING, error);
}

static kedge_status call_get(world *w, kedge_error *error)
{
    kedge_document *document = NULL;
    kedge_status status = kedge_get(w->db, "notes", "a", 1, &document, error);
    if (status == KEDGE_OK) {
        assert_string_equal(kedge_document_json(document, NULL), "{\"v\":1}");
        assert_string_equal(kedge_document_id(document, NULL), "a");
    }
    kedge_document_free(document);
    return status;
}

static kedge_status call_get_project(world *w, kedge_error *error)
{
    kedge_document *document = NULL;
    kedge_status status = kedge_get_project(w->db, &document, error);
    kedge_document_free(document);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_status call_scan(world *w, kedge_error *error)
{
    kedge_scan_options options = KEDGE_SCAN_OPTIONS_INIT;
    kedge_scan *scan = NULL;
    const char *id, *value;
    size_t id_size, value_size;
    int rows = 0;
    options.prefix = "", options.after = "";
    kedge_status status = kedge_scan_open(w->db, "notes", &options, &scan, error);
    while (status == KEDGE_OK) {
        status = kedge_scan_next(scan, &id, &id_size, &value, &value_size, error);
        rows += status == KEDGE_OK;
    }
    kedge_scan_close(scan);
    if (status == KEDGE_DONE) assert_int_equal(rows, CONFIRMED + PENDING);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status call_query(world *w, kedge_error *error)
{
    static const char sql[] = "SELECT id, value ->> 'v' FROM notes WHERE id >= ?1";
    kedge_query *query = NULL;
    int rows = 0;
    kedge_status status = kedge_query_open(w->db, sql, sizeof sql - 1, "[\"b\"]", 5, &query, error);
    while (status == KEDGE_OK) {
        status = kedge_query_next(query, error);
        if (status != KEDGE_OK) break;
        rows++;
        assert_int_equal(kedge_query_column_count(query), 2);
        assert_string_equal(kedge_query_column_name(query, 0), "id");
        assert_int_equal(kedge_query_column_type(query, 1), KEDGE_COLUMN_INTEGER);
        (void)kedge_query_text(query, 0, NULL);
        assert_true(kedge_query_real(query, 1) == (double)kedge_query_integer(query, 1));
    }
    kedge_query_close(query);
    if (status == KEDGE_DONE) assert_int_equal(rows, CONFIRMED + PENDING - 1);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status call_status(world *w, kedge_error *error)
{
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    kedge_stats stats = KEDGE_STATS_INIT;
    kedge_status got = kedge_get_sync_status(w->db, &status, error);
    return got == KEDGE_OK ? kedge_get_stats(w->db, &stats, error) : got;
}

kedge_status every_call_count_rows(kedge_status status, kedge_mutation_list *list, int64_t *count,
                                   kedge_error *error)
{
    kedge_mutation row = KEDGE_MUTATION_INIT;
    *count = 0;
    while (status == KEDGE_OK) {
        status = kedge_mutation_list_next(list, &row, error);
        *count += status == KEDGE_OK;
    }
    kedge_mutation_list_close(list);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status call_lists(world *w, kedge_error *error)
{
    kedge_mutation_list *pending = NULL, *rejected = NULL;
    int64_t count;
    kedge_status status = kedge_pending_open(w->db, &pending, error);
    status = every_call_count_rows(status, pending, &count, error);
    if (status != KEDGE_OK) return status;
    status = kedge_rejected_open(w->db, &rejected, error);
    return every_call_count_rows(status, rejected, &count, error);
}

static kedge_status call_dismiss(world *w, kedge_error *error)
{
    return kedge_rejected_dismiss(w->db, CONFIRMED + 1, error);
}

static kedge_status call_dismiss_through(world *w, kedge_error *error)
{
    size_t dismissed = 7;
    kedge_status status = kedge_rejected_dismiss_through(w->db, INT64_MAX, &dismissed, error);
    assert_int_equal(dismissed, status == KEDGE_OK ? 1 : 7);
    return status;
}

static kedge_status call_resubmit(world *w, kedge_error *error)
{
    return kedge_rejected_resubmit(w->db, CONFIRMED + 1, NULL, error);
}

static kedge_status call_wait(world *w, kedge_error *error)
{
    kedge_outcome outcome;
    kedge_status status = kedge_wait(w->db, 1, 0, &outcome, error);
    if (status == KEDGE_OK) assert_int_equal(outcome, KEDGE_OUTCOME_APPLIED);
    return status;
}

static void ignore_changes(void *userdata, const kedge_change *changes, size_t count)
{
    (void)userdata, (void)changes, (void)count;
}

/* ---- watches ---- */

static void note_call(void *userdata)
{
    atomic_store((atomic_bool *)userdata, true);
}

static bool was_called(atomic_bool *called)
{
    int64_t until_ms = client_now_ms() + CALL_TIMEOUT_MS;
    while (!atomic_load(called) && client_now_ms() < until_ms)
        poll(NULL, 0, 1);
    return atomic_load(called);
}

static void hear_status(void *userdata, const kedge_sync_status *status)
{
    (void)status;
    note_call(userdata);
}

static void hear_rejected(void *userdata, const kedge_mutation *mutation)
{
    (void)mutation;
    note_call(userdata);
}

static void hear_result(void *userdata, const kedge_query_changes *changes)
{
    if (changes->error == NULL) note_call(userdata);
}

/* Each watch is told in spite of the fault, which may strike in the worker as well. */
static kedge_status call_sync_watches(world *w, kedge_error *error)
{
    kedge_sync_watch *status_watch = NULL, *rejected_watch = NULL;
    atomic_bool status_told = false, rejected_told = false;
    kedge_status status =
        kedge_watch_sync_status(w->db, hear_status, &status_told, NULL, &status_watch, error);
    if (status == KEDGE_OK)
        status = kedge_watch_rejected(w->db, hear_rejected, &rejected_told, NULL, &rejected_watch,
                                      error);
    if (status == KEDGE_OK) assert_true(was_called(&status_told) && was_called(&rejected_told));
    kedge_sync_watch_free(status_watch);
    kedge_sync_watch_free(rejected_watch);
    return status;
}

#define WATCHED "SELECT id, value FROM notes WHERE id >= ?1"

static kedge_status call_watch_query(world *w, kedge_error *error)
{
    kedge_query_watch *watch = NULL;
    atomic_bool told = false;
    kedge_status status = kedge_watch_query(w->db, WATCHED, strlen(WATCHED), "[\"b\"]", 5,
                                            hear_result, &told, NULL, &watch, error);
    if (status == KEDGE_OK) assert_true(was_called(&told));
    kedge_query_watch_free(watch);
    return status;
}

/* The loop runs the query on this thread, and so with this thread's faults. */
static kedge_status call_loop(world *w, kedge_error *error)
{
    kedge_options options = every_call_options(w, w->folder);
    kedge_query_watch *watch = NULL;
    atomic_bool told = false;
    kedge_db *db = NULL;
    int32_t wait_ms = 0;
    options.caller_driven = true;
    kedge_close(w->db);
    w->db = NULL;
    kedge_status status = kedge_open(&options, &db, error);
    if (status == KEDGE_OK)
        status = kedge_watch_query(db, WATCHED, strlen(WATCHED), "[\"b\"]", 5, hear_result, &told,
                                   NULL, &watch, error);
    int64_t until_ms = client_now_ms() + CALL_TIMEOUT_MS;
    while (status == KEDGE_OK && !atomic_load(&told) && client_now_ms() < until_ms) {
        struct pollfd set = {.fd = kedge_loop_descriptor(db), .events = POLLIN};
        status = kedge_loop_run(db, &wait_ms, error);
        if (!atomic_load(&told)) poll(&set, 1, wait_ms < 100 ? wait_ms : 100);
    }
    if (status == KEDGE_OK) assert_true(atomic_load(&told));
    kedge_query_watch_free(watch);
    kedge_close(db);
    return status;
}

/* ---- the rest ---- */

static kedge_status list_indexes(world *w, int *count, kedge_error *error)
{
    kedge_index_list *list = NULL;
    const char *name, *collection, *paths;
    *count = 0;
    kedge_status status = kedge_index_list_open(w->db, &list, error);
    while (status == KEDGE_OK) {
        status = kedge_index_list_next(list, &name, &collection, &paths, error);
        *count += status == KEDGE_OK;
    }
    kedge_index_list_close(list);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status call_index(world *w, kedge_error *error)
{
    static const char *const paths[] = {"v", "$.a.b"};
    int count = 0;
    kedge_status status = kedge_index(w->db, "by_v", "notes", paths, 2, error);
    if (status == KEDGE_OK) status = list_indexes(w, &count, error);
    if (status == KEDGE_OK) assert_int_equal(count, 1);
    return status == KEDGE_OK ? kedge_index_drop(w->db, "by_v", error) : status;
}

static kedge_status call_watch(world *w, kedge_error *error)
{
    kedge_watch_token *token = NULL;
    kedge_status status = kedge_watch(w->db, "notes", ignore_changes, NULL, NULL, &token, error);
    kedge_watch_free(token);
    return status == KEDGE_OK ? kedge_set_online(w->db, false, error) : status;
}

/* All that is pending is decided. */
static kedge_status call_sync(world *w, kedge_error *error)
{
    kedge_document *history = NULL;
    kedge_status status = kedge_set_online(w->db, true, error);
    if (status == KEDGE_OK) status = kedge_sync(w->db, CALL_TIMEOUT_MS, error);
    if (status == KEDGE_OK) status = kedge_history(w->db, 0, 10, CALL_TIMEOUT_MS, &history, error);
    kedge_document_free(history);
    return status;
}

static kedge_status call_repair(world *w, kedge_error *error)
{
    char repaired[FILES_PATH_BYTES];
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    files_path(repaired, w->root, "repaired");
    kedge_close(w->db);
    w->db = NULL;
    kedge_status status = kedge_repair(w->folder, repaired, &report, error);
    if (status == KEDGE_OK) assert_int_equal(report.pending, PENDING);
    files_remove_folder(repaired);
    return status;
}

const call every_call[] = {
    {.name = "open", .run = call_open},
    {.name = "mutate, a built-in mutator", .run = call_put, .adds = 1},
    {.name = "mutate, every function of a transaction",
     .run = call_transaction,
     .adds = 1,
     .afresh = true},
    {.name = "mutate, every function of trees", .run = call_trees, .adds = 1, .afresh = true},
    {.name = "mutate, a client-only mutator", .run = call_client_only, .adds = 1, .afresh = true},
    {.name = "text_edit", .run = call_text_edit, .adds = 1, .afresh = true},
    {.name = "batch", .run = call_batch, .adds = 1, .afresh = true},
    {.name = "undo, redo", .run = call_undo, .adds = 3, .afresh = true},
    {.name = "cancel", .run = call_cancel, .afresh = true},
    {.name = "get", .run = call_get},
    {.name = "get_project", .run = call_get_project},
    {.name = "scan", .run = call_scan},
    {.name = "query", .run = call_query},
    {.name = "get_status", .run = call_status},
    {.name = "pending and rejected", .run = call_lists},
    {.name = "dismiss", .run = call_dismiss, .dismisses = 1, .afresh = true},
    {.name = "dismiss_through", .run = call_dismiss_through, .dismisses = 1, .afresh = true},
    {.name = "resubmit", .run = call_resubmit, .adds = 1, .dismisses = 1, .afresh = true},
    {.name = "wait", .run = call_wait},
    {.name = "watch, set_online", .run = call_watch},
    {.name = "watches of the status and the inbox", .run = call_sync_watches},
    {.name = "watch_query", .run = call_watch_query},
    {.name = "loop_run, with a watched query", .run = call_loop},
    {.name = "index", .run = call_index},
    {.name = "repair", .run = call_repair, .afresh = true},
    {.name = "sync, history", .run = call_sync, .afresh = true, .syncs = true},
};
const size_t every_call_count = sizeof every_call / sizeof *every_call;
