/* Every function of the public API with memory refused at each allocation, an I/O error at each
 * call of the file system, and a disk that is full from each write on. Each does its work or
 * returns an error that says so, nothing leaks, no acknowledged edit is lost, and the next call
 * works.
 *
 *   every_call_test PATH-OF-KEDGE-SERVER */
#include "tests/runtime/client.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/files.h"
#include "tests/support/server_process.h"

#include <kedge/cjson.h>
#include <kedge/order.h>
#include <kedge/repair.h>

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POINTS_MAX      60 /* faults a function and kind; more calls than that are spread evenly */
#define SYNC_POINTS_MAX 8
#define CONFIRMED       3
#define PENDING         3
#define SYNC_TIMEOUT_MS 20000
#define CALL_TIMEOUT_MS 3000 /* with a full disk a sync takes all of it */

static const char *server_program;

/* A folder with confirmed, pending and rejected edits, and a copy of it that a call is made in. */
typedef struct world {
    char root[CLIENT_PATH_SIZE];
    char seed[FILES_PATH_BYTES];
    char folder[FILES_PATH_BYTES];
    char data[FILES_PATH_BYTES];
    server_process server;
    fault_vfs *disk;
    failing_allocator memory;
    kedge_db *db;
    int64_t pending;  /* edits that must be pending */
    int64_t rejected; /* edits that must be in the inbox */
    /* The last call failed, and nothing was written since: what it did may be there when the
     * folder is opened again, as documented for kedge_mutate. */
    int64_t may_be_added;
    int64_t may_be_dismissed;
    uint64_t strikes; /* of the disk, before the call */
} world;

static kedge_status refuse(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                           kedge_error *error)
{
    (void)userdata;
    return kedge_tx_put(tx, "notes", "local", 5, args, args_size, error);
}

static kedge_status use_transaction(kedge_tx *tx, const char *args, size_t args_size,
                                    void *userdata, kedge_error *error)
{
    const char *id, *value;
    size_t id_size, value_size;
    char text[32];
    int64_t number = 0;
    (void)userdata;
    kedge_status status =
        kedge_args_text(args, args_size, "text", text, sizeof text, &id_size, error);
    if (status == KEDGE_OK) status = kedge_args_integer(args, args_size, "number", &number, error);
    if (status == KEDGE_OK) status = kedge_tx_get(tx, "notes", "a", 1, &value, &value_size, error);
    if (status == KEDGE_OK)
        status = kedge_tx_next(tx, "notes", NULL, 0, &id, &id_size, &value, &value_size, error);
    if (status == KEDGE_OK) status = kedge_tx_put(tx, "notes", "d", 1, "{\"d\":1}", 7, error);
    if (status == KEDGE_OK) status = kedge_tx_delete(tx, "notes", "b", 1, error);
    if (status == KEDGE_OK) status = kedge_tx_put_project(tx, "{\"title\":\"x\"}", 13, error);
    if (status == KEDGE_OK) status = kedge_tx_get_project(tx, &value, &value_size, error);
    if (status == KEDGE_OK && kedge_tx_caller(tx)->client[0] == '\0')
        return kedge_tx_reject(tx, "no-client", "the client has no id", error);
    return status;
}

static kedge_status use_trees(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    cJSON *edited = NULL, *read = NULL;
    (void)userdata;
    kedge_status status = kedge_tx_edit_json(tx, "notes", "a", &edited, error);
    if (status == KEDGE_OK) status = kedge_member_set_number(edited, "n", 1.5, error);
    if (status == KEDGE_OK) status = kedge_member_set_boolean(edited, "b", true, error);
    if (status == KEDGE_OK)
        status = kedge_member_set_text(edited, "text", kedge_member_text(args, "text"), error);
    if (status == KEDGE_OK) status = kedge_tx_get_json(tx, "notes", "b", &read, error);
    if (status == KEDGE_OK) status = kedge_tx_put_json(tx, "notes", "copy", read, error);
    if (status == KEDGE_OK) status = kedge_tx_merge_json(tx, "notes", "merged", args, error);
    cJSON_Delete(read);
    return status;
}

static const kedge_mutator mutators[] = {
    {"app.refused", 1, refuse, NULL},
    {"app.transaction", 1, use_transaction, NULL},
    KEDGE_JSON_MUTATOR("app.trees", 1, use_trees),
};

static kedge_options options_of(world *w, const char *folder)
{
    kedge_options options = client_options(folder, w->server.url);
    options.mutators = mutators;
    options.mutator_count = 3;
    options.offline = true;
    options.allocator = &w->memory.allocator;
    return options;
}

static kedge_status mutate(kedge_db *db, const char *name, const char *args, kedge_error *error)
{
    return kedge_mutate(db, name, args, strlen(args), NULL, error);
}

/* ---- the calls ---- */

static kedge_status call_open(world *w, kedge_error *error)
{
    kedge_options options = options_of(w, w->folder);
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
    return mutate(w->db, "app.trees", "{\"text\":\"t\"}", error);
}

static kedge_status call_cancel(world *w, kedge_error *error)
{
    return kedge_cancel(w->db, CONFIRMED + 1 + PENDING, error);
}

static kedge_status call_get(world *w, kedge_error *error)
{
    kedge_document *document = NULL;
    kedge_status status = kedge_get(w->db, "notes", "a", 1, &document, error);
    if (status == KEDGE_OK) assert_string_equal(kedge_document_json(document, NULL), "{\"v\":1}");
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
        (void)kedge_query_text(query, 0, NULL);
        (void)kedge_query_integer(query, 1);
    }
    kedge_query_close(query);
    if (status == KEDGE_DONE) assert_int_equal(rows, CONFIRMED + PENDING - 1);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status call_status(world *w, kedge_error *error)
{
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    return kedge_get_sync_status(w->db, &status, error);
}

static kedge_status read_list(kedge_status status, kedge_mutation_list *list, int64_t *count,
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
    status = read_list(status, pending, &count, error);
    if (status != KEDGE_OK) return status;
    status = kedge_rejected_open(w->db, &rejected, error);
    return read_list(status, rejected, &count, error);
}

static kedge_status call_dismiss(world *w, kedge_error *error)
{
    return kedge_rejected_dismiss(w->db, CONFIRMED + 1, error);
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

typedef struct call {
    const char *name;
    kedge_status (*run)(world *w, kedge_error *error);
    int64_t adds;      /* edits that are pending when it returns KEDGE_OK */
    int64_t dismisses; /* edits that leave the inbox then */
    bool afresh;       /* each run needs a folder that no run has changed */
    bool syncs; /* on the worker thread; a failure there may cost a wait before it tries again */
} call;

static const call calls[] = {
    {.name = "open", .run = call_open},
    {.name = "mutate, a built-in mutator", .run = call_put, .adds = 1},
    {.name = "mutate, every function of a transaction",
     .run = call_transaction,
     .adds = 1,
     .afresh = true},
    {.name = "mutate, every function of trees", .run = call_trees, .adds = 1, .afresh = true},
    {.name = "cancel", .run = call_cancel, .afresh = true},
    {.name = "get", .run = call_get},
    {.name = "get_project", .run = call_get_project},
    {.name = "scan", .run = call_scan},
    {.name = "query", .run = call_query},
    {.name = "get_status", .run = call_status},
    {.name = "pending and rejected", .run = call_lists},
    {.name = "dismiss", .run = call_dismiss, .dismisses = 1, .afresh = true},
    {.name = "resubmit", .run = call_resubmit, .adds = 1, .dismisses = 1, .afresh = true},
    {.name = "wait", .run = call_wait},
    {.name = "watch, set_online", .run = call_watch},
    {.name = "repair", .run = call_repair, .afresh = true},
    {.name = "sync, history", .run = call_sync, .afresh = true, .syncs = true},
};
#define CALLS (sizeof calls / sizeof *calls)

/* ---- the world ---- */

static void must(kedge_status status, const kedge_error *error)
{
    if (status != KEDGE_OK) fail_msg("%s: %s", error->code, error->message);
}

static void make_seed(world *w)
{
    kedge_error error = {0};
    kedge_options options = options_of(w, w->seed);
    kedge_db *db = NULL;
    options.server_wait_ms = -1; /* the server does not know app.refused, and shall decide it */
    must(kedge_open(&options, &db, &error), &error);
    client_put(db, "a", "{\"v\":1}");
    client_put(db, "b", "{\"v\":2}");
    client_put(db, "c", "{\"v\":3}");
    must(mutate(db, "app.refused", "{}", &error), &error);
    must(kedge_set_online(db, true, &error), &error);
    must(kedge_sync(db, SYNC_TIMEOUT_MS, &error), &error);
    must(kedge_set_online(db, false, &error), &error);
    client_put(db, "p", "{\"v\":4}");
    client_put(db, "q", "{\"v\":5}");
    client_put(db, "r", "{\"v\":6}");
    assert_int_equal(client_status(db).pending, PENDING);
    assert_int_equal(client_status(db).rejected, 1);
    kedge_close(db);
    assert_int_equal(w->memory.living, 0);
}

static int make_world(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    client_make_folder(w->root);
    files_path(w->seed, w->root, "seed");
    files_path(w->folder, w->root, "client");
    files_path(w->data, w->root, "server");
    failing_allocator_init(&w->memory);
    server_process_start(&w->server, server_program, w->data);
    make_seed(w);
    /* From here on the default. */
    w->disk = fault_vfs_new("every-call", 1);
    assert_non_null(w->disk);
    assert_int_equal(sqlite3_vfs_register(sqlite3_vfs_find("every-call"), 1), SQLITE_OK);
    *state = w;
    return 0;
}

static int end_world(void **state)
{
    world *w = *state;
    fault_vfs_free(w->disk);
    server_process_stop(&w->server);
    client_remove_folder(w->root);
    free(w);
    return 0;
}

static void open_folder(world *w)
{
    kedge_error error = {0};
    kedge_options options = options_of(w, w->folder);
    must(kedge_open(&options, &w->db, &error), &error);
}

static void start_afresh(world *w)
{
    kedge_close(w->db);
    w->db = NULL;
    files_remove_folder(w->folder);
    files_copy_folder(w->seed, w->folder);
    w->pending = PENDING;
    w->rejected = 1;
    w->may_be_added = w->may_be_dismissed = 0;
    open_folder(w);
}

static void end_faults(world *w)
{
    failing_allocator_arm(&w->memory, 0, false);
    fault_vfs_arm(w->disk, FAULT_IO, 0, false);
}

/* `found` is `*expected`, or differs by what a call that failed may have done all the same. */
static void expect(const call *made, const char *what, int64_t found, int64_t *expected,
                   int64_t *may_differ)
{
    if (found == *expected) return;
    if (*may_differ == 0 || found != *expected + *may_differ)
        fail_msg("%s: %lld edits are %s, not %lld", made->name, (long long)found, what,
                 (long long)*expected);
    *expected = found;
    *may_differ = 0;
}

/* No fault is armed: what was acknowledged is there, and nothing else. */
static void check(world *w, const call *made)
{
    kedge_error error = {0};
    kedge_mutation_list *list = NULL;
    int64_t pending, rejected;
    kedge_status status = kedge_pending_open(w->db, &list, &error);
    must(read_list(status, list, &pending, &error), &error);
    status = kedge_rejected_open(w->db, &list, &error);
    must(read_list(status, list, &rejected, &error), &error);
    if (made->syncs) return;
    expect(made, "pending", pending, &w->pending, &w->may_be_added);
    expect(made, "in the inbox", rejected, &w->rejected, &w->may_be_dismissed);
}

/* ---- faults ---- */

typedef struct fault {
    const char *name;
    void (*arm)(world *w, const call *made, uint64_t nth);
    uint64_t (*count)(world *w); /* calls that could have failed since */
    bool (*struck)(world *w);
    kedge_status allowed[5]; /* what a call may return; KEDGE_OK ends the list */
} fault;

static void arm_memory(world *w, const call *made, uint64_t nth)
{
    w->memory.every_thread = made->syncs;
    failing_allocator_arm(&w->memory, nth, false);
}

static uint64_t count_memory(world *w)
{
    return w->memory.calls;
}

static bool struck_memory(world *w)
{
    return w->memory.failed > 0;
}

static void arm_io(world *w, const call *made, uint64_t nth)
{
    (void)made;
    fault_vfs_arm(w->disk, FAULT_IO, nth, false);
}

static void arm_full(world *w, const call *made, uint64_t nth)
{
    (void)made;
    fault_vfs_arm(w->disk, FAULT_FULL, nth, true);
}

static uint64_t count_disk(world *w)
{
    return fault_vfs_armed_calls(w->disk);
}

static uint64_t disk_strikes(world *w)
{
    fault_counts counts = fault_vfs_counts(w->disk);
    return counts.failed + counts.full;
}

static bool struck_disk(world *w)
{
    return disk_strikes(w) > w->strikes;
}

static const fault no_memory = {
    "memory refused", arm_memory, count_memory, struck_memory, {KEDGE_NO_MEMORY}};
static const fault io_error = {
    "an I/O error", arm_io, count_disk, struck_disk, {KEDGE_IO, KEDGE_BUSY, KEDGE_CORRUPT}};
static const fault disk_full = {
    "a full disk", arm_full, count_disk, struck_disk, {KEDGE_DISK_FULL, KEDGE_IO}};

static void check_error(const call *made, const fault *kind, uint64_t nth, kedge_status status,
                        const kedge_error *error)
{
    bool allowed = status == KEDGE_OK;
    for (int i = 0; !allowed && kind->allowed[i] != KEDGE_OK; i++)
        allowed = status == kind->allowed[i];
    if (!allowed && !(made->syncs && status == KEDGE_TIMEOUT))
        fail_msg("%s, %s at call %llu: %s, %s (%s)", made->name, kind->name,
                 (unsigned long long)nth, kedge_status_name(status), error->message, error->code);
    if (status == KEDGE_OK) return;
    assert_int_equal(error->status, status);
    if (error->message[0] == '\0' || error->code[0] == '\0')
        fail_msg("%s, %s at call %llu: an error without a sentence", made->name, kind->name,
                 (unsigned long long)nth);
}

/* Makes the call with its `nth` chance to fail failing; 0: none. Returns the chances it had. */
static uint64_t run_once(world *w, const call *made, const fault *kind, uint64_t nth)
{
    kedge_error error = {0};
    if (made->afresh) start_afresh(w);
    w->strikes = disk_strikes(w);
    kind->arm(w, made, nth);
    kedge_status status = made->run(w, &error);
    uint64_t chances = kind->count(w);
    bool struck = kind->struck(w);
    end_faults(w);
    check_error(made, kind, nth, status, &error);
    assert_true(struck || status == KEDGE_OK);
    if (status == KEDGE_OK) {
        w->pending += made->adds;
        w->rejected -= made->dismisses;
    } else {
        w->may_be_added = made->adds;
        w->may_be_dismissed = -made->dismisses;
    }
    if (!w->db) open_folder(w);
    check(w, made);
    return chances;
}

/* After a fault the same call works, and what is on the disk is what was there. */
static void go_on(world *w, const call *made)
{
    kedge_error error = {0};
    if (!made->afresh) {
        must(made->run(w, &error), &error);
        w->pending += made->adds;
        if (made->adds > 0) w->may_be_added = 0;
        if (!w->db) open_folder(w);
    }
    kedge_close(w->db);
    assert_int_equal(w->memory.living, 0);
    open_folder(w);
    check(w, made);
}

static void try_everywhere(world *w, const fault *kind)
{
    uint64_t runs = 0;
    start_afresh(w);
    for (size_t i = 0; i < CALLS; i++) {
        const call *made = &calls[i];
        start_afresh(w);
        uint64_t chances = run_once(w, made, kind, 0);
        uint64_t step = chances / (made->syncs ? SYNC_POINTS_MAX : POINTS_MAX) + 1;
        for (uint64_t nth = 1; nth <= chances; nth += step, runs++) {
            (void)run_once(w, made, kind, nth);
            go_on(w, made);
        }
        print_message("%-40s %s at %llu calls\n", made->name, kind->name,
                      (unsigned long long)chances);
    }
    kedge_close(w->db);
    w->db = NULL;
    assert_int_equal(w->memory.living, 0);
    assert_true(runs > CALLS);
}

static void test_every_call_bears_refused_memory(void **state)
{
    try_everywhere(*state, &no_memory);
}

static void test_every_call_bears_an_io_error(void **state)
{
    try_everywhere(*state, &io_error);
}

static void test_every_call_bears_a_full_disk(void **state)
{
    try_everywhere(*state, &disk_full);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_bears_refused_memory),
        cmocka_unit_test(test_every_call_bears_an_io_error),
        cmocka_unit_test(test_every_call_bears_a_full_disk),
    };
    if (argc != 2) return 2;
    server_program = argv[1];
    return cmocka_run_group_tests(tests, make_world, end_world);
}
