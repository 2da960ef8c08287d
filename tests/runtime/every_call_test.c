/* Every function of the public API with memory refused at each allocation, an I/O error at each
 * call of the file system, and a disk that is full from each write on. Each does its work or
 * returns an error that says so, nothing leaks, no acknowledged edit is lost, and the next call
 * works.
 *
 *   every_call_test PATH-OF-KEDGE-SERVER */
#include "tests/runtime/every_call.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POINTS_MAX      60 /* faults for each function and kind, spread evenly over its chances */
#define SYNC_POINTS_MAX 8
#define SYNC_TIMEOUT_MS 120000

static const char *server_program;

kedge_options every_call_options(world *w, const char *folder)
{
    kedge_options options = client_options(folder, w->server.url);
    every_call_add_mutators(&options);
    options.offline = true;
    options.allocator = &w->memory.allocator;
    return options;
}

/* ---- the world ---- */

static void must(kedge_status status, const kedge_error *error)
{
    if (status != KEDGE_OK) fail_msg("%s: %s", error->code, error->message);
}

static void make_seed(world *w)
{
    kedge_error error = {0};
    kedge_options options = every_call_options(w, w->seed);
    kedge_db *db = NULL;
    options.server_wait_ms = -1; /* the server does not know app.refused, and shall decide it */
    must(kedge_open(&options, &db, &error), &error);
    client_put(db, "a", "{\"v\":1}");
    client_put(db, "b", "{\"v\":2}");
    client_put(db, "c", "{\"v\":3}");
    must(kedge_mutate(db, "app.refused", "{}", 2, NULL, &error), &error);
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
    /* The default VFS from here on. */
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
    kedge_options options = every_call_options(w, w->folder);
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

/* `found` is `*expected`, or differs by what a failed call may have done. */
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

/* Call it when no fault is armed. Exactly what was acknowledged must be there. */
static void check(world *w, const call *made)
{
    kedge_error error = {0};
    kedge_mutation_list *list = NULL;
    int64_t pending, rejected;
    kedge_status status = kedge_pending_open(w->db, &list, &error);
    must(every_call_count_rows(status, list, &pending, &error), &error);
    status = kedge_rejected_open(w->db, &list, &error);
    must(every_call_count_rows(status, list, &rejected, &error), &error);
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
        fail_msg("%s, %s at call %llu: an error without a message or a code", made->name,
                 kind->name, (unsigned long long)nth);
}

/* Makes the call so that its `nth` chance to fail fails; 0: none. Returns how many chances it
 * had. */
static uint64_t run_once(world *w, const call *made, const fault *kind, uint64_t nth)
{
    kedge_error error = {0};
    if (made->afresh) start_afresh(w);
    w->strikes = disk_strikes(w);
    w->made = 0;
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
        w->pending += w->made;
        w->may_be_added = made->adds > w->made ? 1 : 0; /* the edit that it was at */
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
    for (size_t i = 0; i < every_call_count; i++) {
        const call *made = &every_call[i];
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
    assert_true(runs > every_call_count);
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
