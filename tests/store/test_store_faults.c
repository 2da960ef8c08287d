/* A script of edits and syncs, with one fault at each point in turn: an I/O error, a full disk, a
 * torn write, a power cut, no memory. Whatever fails, what was acknowledged is there afterwards,
 * what is read is canonical with pending on it, and in the end every edit counts once.
 *
 * Each edit adds 1 to a note of its own. At most POINTS points are sampled per kind of fault. */
#include "common/json.h"
#include "tests/store/fixture.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/sampling.h"
#include "tests/support/sqlite_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POINTS (200 / SAMPLING_FEWER)
#define EDITS  9

typedef struct script {
    fixture f;
    fault_vfs *vfs;
    bool acknowledged[EDITS];
    bool cancelled[EDITS];
    int64_t sequences[EDITS];
    int tried;
} script;

static void begin(script *s, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    fixture_begin(&s->f);
    s->vfs = fault_vfs_new("kedge-fault", seed);
    assert_non_null(s->vfs);
    s->f.options.vfs = "kedge-fault";
    s->f.options.observer = fixture_in_company;
    naive_server_edit(s->f.server, "set", "{\"id\":\"other\",\"value\":0}");
}

static void end(script *s)
{
    fixture_close(&s->f);
    fault_vfs_free(s->vfs);
    s->f.options.vfs = NULL;
    fixture_end(&s->f);
}

/* ---- steps that may fail ---- */

static void edit(script *s)
{
    char args[64];
    int at = s->tried;
    snprintf(args, sizeof args, "{\"id\":\"e%d\",\"by\":1}", at);
    s->tried++;
    s->acknowledged[at] =
        kedge_store_mutate(s->f.store, KEDGE_BYTES("add"), kedge_bytes_of(args), &s->sequences[at],
                           &s->f.changes, &s->f.error) == KEDGE_OK;
}

/* As another process that has the folder open for a moment. */
static void edit_beside(script *s)
{
    kedge_store *ours = s->f.store;
    if (fixture_try_open(&s->f, s->f.path, &s->f.store) == KEDGE_OK) {
        edit(s);
        kedge_store_close(s->f.store);
    }
    s->f.store = ours;
}

/* A commit that failed may be found done after a crash: then nobody was promised anything. */
static void cancel(script *s, int at)
{
    if (!s->acknowledged[at]) return;
    s->cancelled[at] =
        kedge_store_cancel(s->f.store, s->sequences[at], &s->f.changes, &s->f.error) == KEDGE_OK;
    s->acknowledged[at] = s->cancelled[at];
}

static void push(script *s)
{
    uint32_t count = 0;
    int64_t last;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status =
        fixture_push_body(s->f.store, 100, 100000, &body, &count, &last, &s->f.error);
    if (status == KEDGE_OK && count > 0)
        (void)naive_server_push(s->f.server, kedge_buffer_bytes(&body));
    kedge_buffer_free(&body);
}

static void pull(script *s)
{
    kedge_apply_result result = KEDGE_APPLY_DONE;
    (void)fixture_try_pull(&s->f, &result);
    if (result != KEDGE_APPLY_PAGES) return;
    kedge_store_position position;
    if (kedge_store_position_get(s->f.store, &position, NULL) != KEDGE_OK) return;
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_page_response page = {0};
    if (kedge_store_staged_after(s->f.store, &after)) {
        naive_server_page(s->f.server, position.staged_version, kedge_buffer_bytes(&after), &text);
        if (kedge_wire_page_response_read(&kedge_allocator_default, kedge_buffer_bytes(&text),
                                          &page, NULL) == KEDGE_OK)
            (void)kedge_store_stage(s->f.store, &page, &result, &s->f.changes, NULL);
        kedge_wire_page_response_free(&page);
    }
    kedge_buffer_free(&after);
    kedge_buffer_free(&text);
}

static void run(script *s)
{
    if (fixture_try_open(&s->f, s->f.path, &s->f.store) != KEDGE_OK) return;
    edit(s);
    edit(s);
    pull(s);
    edit_beside(s);
    push(s);
    edit(s);
    naive_server_edit(s->f.server, "add", "{\"id\":\"other\",\"by\":1}");
    (void)kedge_store_mutate(s->f.store, KEDGE_BYTES("refuse-over"),
                             KEDGE_BYTES("{\"id\":\"other\",\"limit\":1}"), NULL, &s->f.changes,
                             NULL);
    naive_server_edit(s->f.server, "add", "{\"id\":\"other\",\"by\":5}");
    push(s);
    pull(s);
    edit(s);
    edit(s);
    cancel(s, s->tried - 1);
    (void)kedge_store_checkpoint(s->f.store, NULL);
    edit(s);
    edit_beside(s);
    push(s);
    pull(s);
    edit(s);
}

/* ---- what must hold afterwards ---- */

static void check(script *s)
{
    char id[16];
    for (int i = 0; i < s->tried; i++) {
        snprintf(id, sizeof id, "e%d", i);
        if (s->acknowledged[i] && !s->cancelled[i]) fixture_expect(&s->f, id, "1");
    }
    fixture_check(&s->f);
}

static int count_rejected(script *s)
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    int count = 0;
    assert_int_equal(kedge_store_rejected_open(s->f.store, &list, &s->f.error), KEDGE_OK);
    while (kedge_store_list_next(list, &mutation, &s->f.error) == KEDGE_OK)
        count++;
    kedge_store_list_close(list);
    return count;
}

static void check_end(script *s)
{
    char key[32];
    fixture_sync(&s->f);
    check(s);
    const char *state = s->f.server->states[s->f.server->version];
    for (int i = 0; i < s->tried; i++) {
        snprintf(key, sizeof key, "\"notes/e%d\":", i);
        const char *at = strstr(state, key);
        long count = at ? strtol(at + strlen(key), NULL, 10) : 0;
        /* What failed may have been made all the same, but not twice. */
        assert_in_range(count, s->acknowledged[i] && !s->cancelled[i], 1);
        if (s->cancelled[i]) assert_int_equal(count, 0);
    }
    assert_in_range(count_rejected(s), 0, 1);
    assert_int_equal(fixture_position(&s->f).rejected, count_rejected(s));
}

static void reopen_and_check(script *s)
{
    fixture_reopen(&s->f);
    check(s);
    check_end(s);
}

/* ---- the loops ---- */

/* How many calls of the kind a whole run makes. */
static uint64_t count_calls(fault_kind kind, bool paged)
{
    script s;
    begin(&s, 1);
    s.f.server->paged = paged;
    fault_vfs_arm(s.vfs, kind, 0, false);
    run(&s);
    uint64_t calls = fault_vfs_armed_calls(s.vfs);
    for (int i = 0; i < s.tried; i++)
        assert_true(s.acknowledged[i]);
    assert_int_equal(s.tried, EDITS);
    assert_int_equal(count_rejected(&s), 1);
    check(&s);
    check_end(&s);
    end(&s);
    return calls;
}

typedef void (*after_fault)(script *s);

static uint64_t fail_each(fault_kind kind, bool sticky, bool paged, after_fault after)
{
    uint64_t calls = count_calls(kind, paged);
    uint64_t step = calls / POINTS + 1;
    uint64_t hit = 0;
    for (uint64_t nth = 1; nth <= calls; nth += step) {
        script s;
        begin(&s, nth);
        s.f.server->paged = paged;
        fault_vfs_arm(s.vfs, kind, nth, sticky);
        run(&s);
        fault_counts counts = fault_vfs_counts(s.vfs);
        hit += counts.failed + counts.full + counts.torn > 0;
        after(&s);
        reopen_and_check(&s);
        end(&s);
    }
    print_message("%llu points of %llu\n", (unsigned long long)hit, (unsigned long long)calls);
    return hit;
}

/* The store that met the fault goes on, and may not have lost anything either. */
static void go_on(script *s)
{
    fault_vfs_arm(s->vfs, FAULT_IO, 0, false);
    if (!s->f.store) return;
    assert_int_equal(kedge_store_catch_up(s->f.store, &s->f.changes, &s->f.error), KEDGE_OK);
    check(s);
}

/* What was acknowledged is read while the disk is as full as it was, too. */
static void read_and_go_on(script *s)
{
    if (s->f.store) check(s);
    go_on(s);
}

static void test_an_io_error_at_any_call_loses_nothing(void **state)
{
    (void)state;
    assert_true(fail_each(FAULT_IO, false, false, go_on) > POINTS / 2);
}

static void test_an_io_error_at_any_call_of_a_paged_pull_loses_nothing(void **state)
{
    (void)state;
    assert_true(fail_each(FAULT_IO, false, true, go_on) > POINTS / 2);
}

static void test_a_disk_that_is_full_at_any_write_loses_nothing(void **state)
{
    (void)state;
    assert_true(fail_each(FAULT_FULL, false, false, read_and_go_on) > 20);
}

static void test_a_disk_that_stays_full_from_any_write_on_loses_nothing(void **state)
{
    (void)state;
    assert_true(fail_each(FAULT_FULL, true, false, read_and_go_on) > 20);
}

static void test_a_torn_write_loses_nothing(void **state)
{
    (void)state;
    assert_true(fail_each(FAULT_TORN_WRITE, false, false, go_on) > 20);
}

static void die(script *s)
{
    fault_vfs_crash(s->vfs);
    fixture_close(&s->f);
    fault_vfs_arm(s->vfs, FAULT_IO, 0, false);
    fault_vfs_revive(s->vfs);
}

/* The disk went away at one point, and with it the process. */
static void test_a_process_that_dies_at_any_call_loses_nothing(void **state)
{
    (void)state;
    assert_true(fail_each(FAULT_IO, true, false, die) > POINTS / 2);
    assert_true(fail_each(FAULT_IO, true, true, die) > POINTS / 2);
}

static uint64_t dropped;

static void lose_power(script *s)
{
    fault_vfs_crash(s->vfs);
    fixture_close(&s->f);
    fault_vfs_arm(s->vfs, FAULT_IO, 0, false);
    fault_vfs_power_cut(s->vfs);
    dropped += fault_vfs_counts(s->vfs).dropped;
}

static void test_a_power_cut_at_any_call_loses_nothing(void **state)
{
    (void)state;
    dropped = 0;
    assert_true(fail_each(FAULT_IO, true, false, lose_power) > POINTS / 2);
    assert_true(fail_each(FAULT_IO, true, true, lose_power) > POINTS / 2);
    print_message("%llu sectors dropped\n", (unsigned long long)dropped);
    assert_true(dropped > POINTS / 2);
}

static void crash_between_commits(void *context, const char *phase)
{
    script *s = context;
    if (strcmp(phase, "mutate-between-commits") == 0) fault_vfs_refuse_writes(s->vfs, true);
}

static void test_a_disk_that_is_full_between_the_commits_leaves_a_stale_prediction(void **state)
{
    script s;
    (void)state;
    begin(&s, 1);
    fixture_open(&s.f);
    fixture_close(&s.f);
    s.f.options.phase = crash_between_commits;
    s.f.options.phase_context = &s;
    fixture_open(&s.f);
    edit(&s);
    assert_true(s.acknowledged[0]);
    assert_int_equal(s.f.changes.count, 1);
    assert_true(fixture_position(&s.f).stale);
    assert_int_equal(fixture_position(&s.f).pending, 1);
    fixture_expect(&s.f, "e0", "1");
    check(&s);
    fixture_reopen(&s.f);
    assert_true(fixture_position(&s.f).stale);
    check(&s);
    fault_vfs_refuse_writes(s.vfs, false);
    assert_int_equal(kedge_store_catch_up(s.f.store, &s.f.changes, &s.f.error), KEDGE_OK);
    assert_int_equal(s.f.changes.count, 1);
    assert_false(fixture_position(&s.f).stale);
    check(&s);
    end(&s);
}

/* What was not told when it was made is told when it can be read. */
static void test_an_edit_that_shows_late_is_told_with_the_next(void **state)
{
    script s;
    (void)state;
    begin(&s, 1);
    fixture_open(&s.f);
    fixture_close(&s.f);
    s.f.options.phase = crash_between_commits;
    s.f.options.phase_context = &s;
    fixture_open(&s.f);
    edit(&s);
    assert_int_equal(s.f.changes.count, 1);
    fault_vfs_refuse_writes(s.vfs, false);
    /* A refused edit tells nothing, and so the one after it tells all. */
    assert_int_equal(kedge_store_mutate(s.f.store, KEDGE_BYTES("refuse"), KEDGE_BYTES("null"), NULL,
                                        &s.f.changes, &s.f.error),
                     KEDGE_REJECTED);
    fixture_expect(&s.f, "e0", "1");
    edit(&s);
    assert_true(s.acknowledged[1]);
    assert_true(s.f.changes.all);
    fault_vfs_refuse_writes(s.vfs, false);
    assert_int_equal(kedge_store_catch_up(s.f.store, &s.f.changes, &s.f.error), KEDGE_OK);
    assert_int_equal(s.f.changes.count, 1);
    check(&s);
    end(&s);
}

/* ---- memory ---- */

static bool body(const kedge_allocator *allocator, void *context)
{
    script *s = context;
    s->f.environment.allocator = allocator;
    memset(s->acknowledged, 0, sizeof s->acknowledged);
    memset(s->cancelled, 0, sizeof s->cancelled);
    s->tried = 0;
    s->f.store = NULL;
    run(s);
    bool well = s->f.store != NULL;
    for (int i = 0; i < s->tried; i++)
        well = well && s->acknowledged[i];
    fixture_close(&s->f);
    s->f.environment.allocator = &kedge_allocator_default;
    fixture_open(&s->f);
    check(s);
    check_end(s);
    fixture_close(&s->f);
    fixture_remove_tree(s->f.path);
    naive_server_restore(s->f.server, 1);
    return well;
}

static void test_a_failed_allocation_at_any_point_loses_nothing(void **state)
{
    script s;
    (void)state;
    begin(&s, 1);
    uint64_t runs = failing_allocator_try_every_call(body, &s, POINTS);
    print_message("%llu runs\n", (unsigned long long)runs);
    assert_true(runs > POINTS / 2);
    end(&s);
}

static uint64_t run_without(uint64_t nth)
{
    script s;
    begin(&s, 1);
    sqlite_memory_fail_at(nth);
    run(&s);
    uint64_t calls = sqlite_memory_calls();
    sqlite_memory_fail_at(0);
    go_on(&s);
    reopen_and_check(&s);
    end(&s);
    return calls;
}

static void test_a_failed_allocation_within_sqlite_loses_nothing(void **state)
{
    (void)state;
    uint64_t calls = run_without(0);
    for (uint64_t nth = 1; nth <= calls; nth += calls / POINTS + 1)
        (void)run_without(nth);
    print_message("of %llu calls\n", (unsigned long long)calls);
    assert_true(calls > 1000);
}

int main(void)
{
    sqlite_memory_watch();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_io_error_at_any_call_loses_nothing),
        cmocka_unit_test(test_an_io_error_at_any_call_of_a_paged_pull_loses_nothing),
        cmocka_unit_test(test_a_disk_that_is_full_at_any_write_loses_nothing),
        cmocka_unit_test(test_a_disk_that_stays_full_from_any_write_on_loses_nothing),
        cmocka_unit_test(test_a_torn_write_loses_nothing),
        cmocka_unit_test(test_a_process_that_dies_at_any_call_loses_nothing),
        cmocka_unit_test(test_a_power_cut_at_any_call_loses_nothing),
        cmocka_unit_test(test_a_disk_that_is_full_between_the_commits_leaves_a_stale_prediction),
        cmocka_unit_test(test_an_edit_that_shows_late_is_told_with_the_next),
        cmocka_unit_test(test_a_failed_allocation_at_any_point_loses_nothing),
        cmocka_unit_test(test_a_failed_allocation_within_sqlite_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
