/* An outbox gives the disk back what a backlog took, and loses nothing, whatever fails
 * meanwhile. */
#include "sdk/store/repair.h"
#include "tests/store/fixture.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/sampling.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define LARGE       8 /* edits of a megabyte, which are taken back */
#define LARGE_BYTES 1000000
#define SMALL       5   /* edits that stay */
#define MORE        100 /* which take several pages */
#define OLD         62  /* large edits that were confirmed long ago, and have left the tail */
#define RECENT      19  /* and those that stay in the tail */
#define POINTS      (60 / SAMPLING_FEWER)

static off_t bytes_of(const fixture *f, const char *file)
{
    char path[200];
    struct stat facts;
    (void)snprintf(path, sizeof path, "%s/%s", f->path, file);
    assert_int_equal(stat(path, &facts), 0);
    return facts.st_size;
}

static off_t outbox_bytes(const fixture *f)
{
    return bytes_of(f, "outbox.db");
}

static void put_small(fixture *f, int note)
{
    char args[64];
    (void)snprintf(args, sizeof args, "{\"id\":\"n%d\",\"by\":1}", note);
    fixture_mutate(f, "add", args);
}

static int64_t put_large(fixture *f)
{
    size_t size = LARGE_BYTES + 64;
    char *args = malloc(size);
    assert_non_null(args);
    int start = snprintf(args, size, "{\"id\":\"large\",\"value\":\"");
    memset(args + start, 'x', LARGE_BYTES);
    memcpy(args + start + LARGE_BYTES, "\"}", 3);
    int64_t sequence = fixture_mutate(f, "set", args);
    free(args);
    return sequence;
}

/* What the app sees of an outbox that it does not see in the cache. */
static void list_decided(const fixture *f, char *text, size_t size)
{
    static const char *const sql =
        "SELECT group_concat(line, ';') FROM (SELECT ordinal || ' ' || sequence || ' ' || client ||"
        " ' ' || name || ' ' || length(args) || ' ' || checksum AS line FROM confirmed UNION ALL"
        " SELECT sequence || ' ' || state || ' ' || code || ' ' || checksum FROM rejected"
        " UNION ALL SELECT name || ' ' || rows || ' ' || sum FROM totals)";
    char path[200];
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    (void)snprintf(path, sizeof path, "%s/outbox.db", f->path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &(int){1});
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_true((size_t)sqlite3_column_bytes(row, 0) < size);
    memcpy(text, sqlite3_column_text(row, 0), (size_t)sqlite3_column_bytes(row, 0) + 1);
    sqlite3_finalize(row);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static char decided[8192]; /* by make_backlog */

/* A tail and an inbox. */
static void decide_some(fixture *f)
{
    naive_server_edit(f->server, "set", "{\"id\":\"high\",\"value\":9}");
    for (int i = 0; i < SMALL; i++) {
        fixture_mutate(f, "add", "{\"id\":\"settled\",\"by\":1}");
        fixture_mutate(f, "refuse-over", "{\"id\":\"high\",\"limit\":5}");
    }
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, SMALL);
}

/* Leaves an outbox of which most is unused, and SMALL edits pending. */
static void make_backlog(fixture *f)
{
    int64_t sequences[LARGE];
    fixture_open(f);
    decide_some(f);
    list_decided(f, decided, sizeof decided);
    for (int i = 0; i < LARGE; i++)
        sequences[i] = put_large(f);
    for (int i = 0; i < SMALL; i++)
        put_small(f, i);
    assert_int_equal(kedge_store_checkpoint(f->store, &f->error), KEDGE_OK);
    for (int i = 0; i < LARGE; i++)
        assert_int_equal(kedge_store_cancel(f->store, sequences[i], &f->changes, &f->error),
                         KEDGE_OK);
    assert_true(outbox_bytes(f) > LARGE * LARGE_BYTES);
}

static void check(fixture *f)
{
    char id[16], now[sizeof decided];
    assert_int_equal(fixture_position(f).pending, LARGE + SMALL);
    assert_int_equal(fixture_position(f).rejected, SMALL);
    list_decided(f, now, sizeof now);
    assert_string_equal(now, decided);
    for (int i = 0; i < SMALL; i++) {
        (void)snprintf(id, sizeof id, "n%d", i);
        fixture_expect(f, id, "1");
    }
    fixture_check(f);
}

static void test_an_outbox_gives_back_what_a_backlog_took(void **state)
{
    fixture f;
    (void)state;
    fixture_begin(&f);
    make_backlog(&f);
    int64_t last = fixture_position(&f).last_sequence;
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    assert_true(outbox_bytes(&f) < 200000);
    check(&f);
    assert_int_equal(fixture_mutate(&f, "add", "{\"id\":\"more\",\"by\":1}"), last + 1);
    fixture_reopen(&f);
    fixture_sync(&f);
    fixture_expect_canonical(&f, "n0", "1");
    fixture_expect_canonical(&f, "more", "1");
    fixture_check(&f);
    fixture_end(&f);
}

/* Pushes and pulls until nothing is pending. */
static void settle(fixture *f)
{
    while (fixture_position(f).pending > 0) {
        assert_int_equal(fixture_push(f), NAIVE_OK);
        fixture_pull(f);
    }
}

static void test_a_settled_backlog_is_given_back_and_the_tail_stays(void **state)
{
    fixture f;
    char before[sizeof decided], after[sizeof decided];
    (void)state;
    fixture_begin(&f);
    fixture_open(&f);
    for (int i = 0; i < OLD; i++)
        put_large(&f);
    settle(&f);
    f.now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1;
    for (int i = 0; i < RECENT; i++)
        put_large(&f);
    settle(&f);
    assert_true(outbox_bytes(&f) > (OLD + RECENT) * LARGE_BYTES);
    list_decided(&f, before, sizeof before);
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    assert_in_range(outbox_bytes(&f), RECENT * LARGE_BYTES, (RECENT + 1) * LARGE_BYTES);
    assert_int_equal(bytes_of(&f, "outbox.db-wal"), 0);
    list_decided(&f, after, sizeof after);
    assert_string_equal(after, before);
    fixture_check(&f);
    fixture_end(&f);
}

/* Some builds of SQLite would write zeros into each page that becomes unused. */
static void test_pages_that_become_unused_are_not_written(void **state)
{
    fixture f;
    (void)state;
    fixture_begin(&f);
    fixture_open(&f);
    int64_t sequence = put_large(&f);
    fixture_close_flat(&f);
    fixture_open(&f);
    assert_int_equal(kedge_store_cancel(f.store, sequence, &f.changes, &f.error), KEDGE_OK);
    assert_in_range(bytes_of(&f, "outbox.db-wal"), 1, LARGE_BYTES / 4);
    fixture_end(&f);
}

static void wipe_first_page(const fixture *f)
{
    static const char zeros[4096];
    char path[200];
    (void)snprintf(path, sizeof path, "%s/outbox.db", f->path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fwrite(zeros, sizeof zeros, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* Its tables begin at other pages than before. */
static void test_a_lost_schema_of_an_outbox_that_was_made_smaller_costs_no_edit(void **state)
{
    fixture f;
    char saved[200];
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    (void)state;
    fixture_begin(&f);
    make_backlog(&f);
    for (int i = 0; i < MORE; i++)
        put_small(&f, i);
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    fixture_close_flat(&f);
    assert_true(outbox_bytes(&f) < 200000);
    wipe_first_page(&f);
    (void)snprintf(saved, sizeof saved, "%s/saved", f.folder);
    assert_int_equal(kedge_store_repair(&f.environment, f.path, saved, &report, &f.error),
                     KEDGE_OK);
    assert_int_equal(report.pending, LARGE + SMALL + MORE);
    fixture_end(&f);
}

static void test_an_outbox_whose_pages_are_in_use_is_left_alone(void **state)
{
    fixture f;
    (void)state;
    fixture_begin(&f);
    fixture_open(&f);
    for (int i = 0; i < LARGE; i++)
        put_large(&f);
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    off_t before = outbox_bytes(&f);
    assert_int_equal(
        kedge_store_cancel(f.store, fixture_position(&f).last_sequence, &f.changes, &f.error),
        KEDGE_OK);
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    assert_int_equal(outbox_bytes(&f), before);
    fixture_end(&f);
}

static void test_a_list_that_is_open_meanwhile_goes_on(void **state)
{
    fixture f;
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation;
    int count = 1;
    (void)state;
    fixture_begin(&f);
    make_backlog(&f);
    assert_int_equal(kedge_store_pending_open(f.store, &list, &f.error), KEDGE_OK);
    assert_int_equal(kedge_store_list_next(list, &mutation, &f.error), KEDGE_OK);
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    while (kedge_store_list_next(list, &mutation, &f.error) == KEDGE_OK)
        count++;
    kedge_store_list_close(list);
    assert_int_equal(count, LARGE + SMALL);
    check(&f);
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    assert_true(outbox_bytes(&f) < 200000);
    check(&f);
    fixture_end(&f);
}

/* Another process has the folder open, and reads. It goes on with the smaller file. */
static void test_another_process_goes_on_meanwhile(void **state)
{
    fixture f;
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation;
    int count = 0;
    (void)state;
    fixture_begin(&f);
    make_backlog(&f);
    kedge_store *ours = f.store, *theirs = NULL;
    assert_int_equal(fixture_try_open(&f, f.path, &theirs), KEDGE_OK);
    assert_int_equal(kedge_store_pending_open(theirs, &list, &f.error), KEDGE_OK);
    assert_int_equal(kedge_store_checkpoint(ours, &f.error), KEDGE_OK);
    while (kedge_store_list_next(list, &mutation, &f.error) == KEDGE_OK)
        count++;
    assert_int_equal(count, LARGE + SMALL);
    kedge_store_list_close(list);
    f.store = theirs;
    check(&f);
    put_small(&f, SMALL);
    assert_int_equal(kedge_store_checkpoint(theirs, &f.error), KEDGE_OK);
    assert_true(outbox_bytes(&f) < 200000);
    f.store = ours;
    put_small(&f, SMALL + 1);
    assert_int_equal(fixture_position(&f).pending, LARGE + SMALL + 2);
    kedge_store_close(theirs);
    fixture_reopen(&f);
    fixture_sync(&f);
    fixture_expect_canonical(&f, "n6", "1");
    fixture_check(&f);
    fixture_end(&f);
}

/* ---- one fault at each call ---- */

typedef enum aftermath { GO_ON, DIE, LOSE_POWER } aftermath;

static void begin_on_copy(fixture *f, const char *folder, fault_vfs **vfs, uint64_t seed)
{
    fixture_begin(f);
    fixture_copy_tree(folder, f->path);
    *vfs = fault_vfs_new("kedge-fault", seed);
    assert_non_null(*vfs);
    f->options.vfs = "kedge-fault";
    fixture_open(f);
}

/* Shrinks a copy of the folder, where call number `nth` fails; returns how many there were. */
static uint64_t shrink(const char *folder, fault_kind kind, uint64_t nth, aftermath after)
{
    fixture f;
    fault_vfs *vfs;
    begin_on_copy(&f, folder, &vfs, nth + 1);
    fault_vfs_arm(vfs, kind, nth, after != GO_ON);
    (void)kedge_store_checkpoint(f.store, &f.error);
    uint64_t calls = fault_vfs_armed_calls(vfs);
    if (after != GO_ON) {
        fault_vfs_crash(vfs);
        fixture_close(&f);
    }
    fault_vfs_arm(vfs, kind, 0, false);
    if (after == LOSE_POWER) fault_vfs_power_cut(vfs);
    if (after == DIE) fault_vfs_revive(vfs);
    if (after != GO_ON) fixture_open(&f);
    check(&f);
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    assert_true(outbox_bytes(&f) < 200000);
    fixture_reopen(&f);
    check(&f);
    fixture_close(&f);
    fault_vfs_free(vfs);
    f.options.vfs = NULL;
    fixture_end(&f);
    return calls;
}

static void shrink_each(fault_kind kind, aftermath after)
{
    fixture f;
    fixture_begin(&f);
    make_backlog(&f);
    fixture_close_flat(&f);
    uint64_t calls = shrink(f.path, kind, 0, GO_ON);
    for (uint64_t nth = 1; nth <= calls; nth += calls / POINTS + 1)
        (void)shrink(f.path, kind, nth, after);
    print_message("%llu calls\n", (unsigned long long)calls);
    fixture_end(&f);
}

static void test_whatever_fails_nothing_is_lost(void **state)
{
    (void)state;
    shrink_each(FAULT_IO, GO_ON);
    shrink_each(FAULT_FULL, GO_ON);
}

static void test_a_process_that_dies_at_any_call_loses_nothing(void **state)
{
    (void)state;
    shrink_each(FAULT_IO, DIE);
}

static void test_a_power_cut_at_any_call_loses_nothing(void **state)
{
    (void)state;
    shrink_each(FAULT_IO, LOSE_POWER);
}

/* A batch of many small items writes far fewer pages than rows: its room is that of the pages. */
static void test_a_batch_of_many_items_takes_the_room_of_what_it_writes(void **state)
{
    fixture f;
    (void)state;
    fixture_begin(&f);
    fixture_open(&f);
    size_t size = KEDGE_LIMIT_BATCH_MUTATIONS * 100;
    char *args = malloc(size);
    assert_non_null(args);
    size_t at = (size_t)snprintf(args, size, "{\"mutations\":[");
    for (int i = 0; i < KEDGE_LIMIT_BATCH_MUTATIONS; i++)
        at += (size_t)snprintf(args + at, size - at,
                               "%s{\"name\":\"set\",\"args\":{\"id\":\"n%d\",\"value\":%d}}",
                               i == 0 ? "" : ",", i, i);
    (void)snprintf(args + at, size - at, "]}");
    fixture_mutate(&f, "kedge.batch", args);
    free(args);
    assert_int_equal(kedge_store_checkpoint(f.store, &f.error), KEDGE_OK);
    assert_in_range(bytes_of(&f, "cache.db-wal"), 1, 3 * bytes_of(&f, "cache.db"));
    fixture_close(&f);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_outbox_gives_back_what_a_backlog_took),
        cmocka_unit_test(test_a_settled_backlog_is_given_back_and_the_tail_stays),
        cmocka_unit_test(test_pages_that_become_unused_are_not_written),
        cmocka_unit_test(test_a_lost_schema_of_an_outbox_that_was_made_smaller_costs_no_edit),
        cmocka_unit_test(test_an_outbox_whose_pages_are_in_use_is_left_alone),
        cmocka_unit_test(test_a_list_that_is_open_meanwhile_goes_on),
        cmocka_unit_test(test_another_process_goes_on_meanwhile),
        cmocka_unit_test(test_whatever_fails_nothing_is_lost),
        cmocka_unit_test(test_a_process_that_dies_at_any_call_loses_nothing),
        cmocka_unit_test(test_a_power_cut_at_any_call_loses_nothing),
        cmocka_unit_test(test_a_batch_of_many_items_takes_the_room_of_what_it_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
