/* Rows that a disk has brought back, or taken away, where what counts them is doubtful too; and a
 * page that it has put elsewhere. */
#include "sdk/store/repair.h"
#include "sdk/store/store_internal.h"
#include "tests/store/outbox_scenario.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Rows of confirmed edits, which an old page has, hide that as many pending ones are gone. */
static void test_a_repair_takes_no_confirmed_edit_for_a_pending_one(void **state)
{
    fixture *f = *state;
    char old[160], saved[160], sql[512];
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    snprintf(old, sizeof old, "%s/old", f->folder);
    snprintf(saved, sizeof saved, "%s/saved", f->folder);
    for (int i = 1; i <= 4; i++)
        outbox_make_edit(f, i);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, old);
    fixture_open(f);
    fixture_sync(f);
    for (int i = 5; i <= 8; i++)
        outbox_make_edit(f, i);
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/outbox.db' AS old; DELETE FROM pending WHERE sequence > 6;"
             "INSERT INTO pending SELECT * FROM old.pending WHERE sequence IN (3, 4)",
             old);
    assert_int_equal(outbox_run_raw(f, sql), 2);
    assert_int_equal(kedge_store_repair(&f->environment, f->path, saved, &report, &f->error),
                     KEDGE_OK);
    assert_int_equal(report.pending, 2);
    assert_int_equal(report.confirmed, 4);
    assert_int_equal(report.missing, 2);
    snprintf(f->path, sizeof f->path, "%s", saved);
    fixture_open(f);
    assert_int_equal(fixture_position(f).unrecovered, 2);
    fixture_sync(f);
    for (int i = 1; i <= 6; i++)
        assert_int_equal(outbox_applied(f, i), 1);
    fixture_check(f);
}

/* The ids that stand nowhere say what the total cannot prove. */
static void test_rejections_that_are_gone_count_though_their_total_is_damaged(void **state)
{
    fixture *f = *state;
    outbox_fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "DELETE FROM rejected WHERE sequence = 5;"
                                       "UPDATE totals SET sum = sum + 16 WHERE name = 'rejected'"),
                     1);
    fixture_open(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    assert_int_equal(fixture_position(f).pending, 7);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_check(f);
}

static void test_a_damaged_total_alone_counts_nothing(void **state)
{
    static const char *const damages[] = {"sum = sum + 16", "rows = rows + 4", "rows = 0",
                                          "checksum = checksum + 1"};
    fixture *f = *state;
    char sql[128];
    outbox_fill(f, false);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        fixture_close_flat(f);
        snprintf(sql, sizeof sql, "UPDATE totals SET %s WHERE name = 'rejected'", damages[i]);
        assert_int_equal(outbox_run_raw(f, sql), 1);
        fixture_open(f);
        assert_int_equal(fixture_position(f).unrecovered, 0);
        assert_int_equal(fixture_position(f).rejected, 1);
    }
}

/* Keeps the outbox as it is, for bring_rows_back and others. */
static void keep_rows(fixture *f)
{
    char old[160];
    snprintf(old, sizeof old, "%s/old", f->folder);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, old);
    fixture_open(f);
}

static void reject_one(fixture *f, int64_t sequence)
{
    char args[64];
    snprintf(args, sizeof args, "{\"id\":\"n%d\",\"by\":9}", (int)sequence);
    naive_server_edit(f->server, "add", args);
    snprintf(args, sizeof args, "{\"id\":\"n%d\",\"limit\":5}", (int)sequence);
    assert_int_equal(fixture_mutate(f, "refuse-over", args), sequence);
    fixture_sync(f);
}

/* Only the pages of the WAL are of now, and an edit writes meta and `pending` alone. All other
 * tables are as they once were and fit their totals. */
static void lose_rejections_to_an_older_file(fixture *f, bool rotate)
{
    char from[256], to[256];
    outbox_make_edit(f, 1);
    fixture_sync(f);
    keep_rows(f);
    reject_one(f, 2);
    reject_one(f, 3);
    assert_int_equal(fixture_position(f).rejected, 2);
    if (rotate) assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    fixture_close_flat(f);
    fixture_open(f);
    outbox_make_edit(f, 4);
    fixture_close(f);
    snprintf(from, sizeof from, "%s/old/outbox.db", f->folder);
    snprintf(to, sizeof to, "%s/outbox.db", f->path);
    assert_int_equal(unlink(to), 0);
    fixture_copy_file(from, to);
    fixture_open(f);
    assert_int_equal(fixture_position(f).rejected, 0);
    assert_int_equal(fixture_position(f).pending, 1);
    assert_int_equal(fixture_position(f).unrecovered, 2);
    fixture_reopen(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 2);
    assert_int_equal(outbox_applied(f, 4), 1);
    fixture_check(f);
}

static void test_rejections_that_an_older_file_beside_its_newer_wal_lacks_are_counted(void **state)
{
    lose_rejections_to_an_older_file(*state, false);
}

/* No id of the living client stands nowhere. */
static void test_nor_are_those_forgotten_that_an_earlier_client_had(void **state)
{
    lose_rejections_to_an_older_file(*state, true);
}

/* The same when the WAL has meta alone, which does not fit `pending`: decided ids stand nowhere. */
static void test_rejections_count_though_pending_went_back_as_well(void **state)
{
    fixture *f = *state;
    char sql[512];
    outbox_make_edit(f, 1);
    keep_rows(f);
    fixture_sync(f);
    reject_one(f, 2);
    outbox_make_edit(f, 3);
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/old/outbox.db' AS old; DELETE FROM rejected; DELETE FROM confirmed;"
             "DELETE FROM totals; INSERT INTO totals SELECT * FROM old.totals;"
             "DELETE FROM pending; INSERT INTO pending SELECT * FROM old.pending",
             f->folder);
    assert_int_equal(outbox_run_raw(f, sql), 1);
    fixture_open(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_sync(f);
    fixture_check(f);
}

static void expect_noted(void *context, const char *phase)
{
    fixture *f = context;
    int64_t rows = 0;
    if (strcmp(phase, "pull-before-cache") != 0) return;
    assert_int_equal(kedge_store_db_number(&f->store->outbox, "SELECT min(rejected_rows) FROM meta",
                                           &rows, NULL),
                     KEDGE_OK);
    assert_int_equal(rows, 1);
    f->options.phase = NULL; /* it was called */
}

static void test_meta_counts_a_rejection_before_the_pull_comes_to_its_end(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->options.phase = expect_noted;
    f->options.phase_context = f;
    fixture_open(f);
    reject_one(f, 1);
    assert_null(f->options.phase);
    fixture_check(f);
}

/* It counts an entry that was dismissed, and left the inbox with its age. */
static void test_an_old_meta_counts_no_rejection_that_left_the_inbox(void **state)
{
    fixture *f = *state;
    char sql[512];
    reject_one(f, 1);
    keep_rows(f);
    assert_int_equal(kedge_store_dismiss(f->store, 1, &f->error), KEDGE_OK);
    f->now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1;
    outbox_make_edit(f, 2);
    fixture_sync(f);
    fixture_check(f);
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/old/outbox.db' AS old; DELETE FROM meta;"
             "INSERT INTO meta SELECT * FROM old.meta",
             f->folder);
    assert_int_equal(outbox_run_raw(f, sql), 2);
    fixture_open(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 0);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    fixture_check(f);
}

/* The old pages fit each other: only that ids of decided edits stand nowhere tells. */
static void test_a_tail_that_went_back_counts_once_the_backend_is_restored(void **state)
{
    fixture *f = *state;
    char old[160], sql[512];
    snprintf(old, sizeof old, "%s/old", f->folder);
    outbox_make_edit(f, 1);
    outbox_make_edit(f, 2);
    fixture_sync(f);
    fixture_reopen(f);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, old);
    fixture_open(f);
    int64_t version = f->server->version;
    outbox_make_edit(f, 3);
    outbox_make_edit(f, 4);
    fixture_sync(f);
    fixture_reopen(f); /* what is covered goes to the tail */
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/outbox.db' AS old; DELETE FROM confirmed;"
             "INSERT INTO confirmed SELECT * FROM old.confirmed; DELETE FROM totals;"
             "INSERT INTO totals SELECT * FROM old.totals",
             old);
    assert_int_equal(outbox_run_raw(f, sql), 3);
    fixture_open(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    fixture_close(f);
    naive_server_restore(f->server, version);
    fixture_open(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 2);
    assert_int_equal(outbox_applied(f, 3), 0);
    fixture_check(f);
}

static void bring_rows_back(fixture *f)
{
    char sql[300];
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/old/outbox.db' AS old; DELETE FROM pending;"
             " INSERT INTO pending SELECT * FROM old.pending",
             f->folder);
    assert_int_equal(outbox_run_raw(f, sql), 2);
}

/* An outbox that was older than the cache has withheld what the cache's state has. Its rows are
 * those of before. */
static void test_old_rows_are_withheld_as_those_were_that_they_replace(void **state)
{
    fixture *f = *state;
    char older[200], outbox[200];
    outbox_make_edit(f, 1);
    outbox_make_edit(f, 2);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    keep_rows(f);
    fixture_pull(f);
    outbox_make_edit(f, 3);
    fixture_close_flat(f);
    snprintf(older, sizeof older, "%s/old/outbox.db", f->folder);
    snprintf(outbox, sizeof outbox, "%s/outbox.db", f->path);
    fixture_copy_file(older, outbox);
    fixture_open(f);
    assert_int_equal(fixture_position(f).withheld, 2);
    bring_rows_back(f);
    for (int opening = 0; opening < 2; opening++) {
        fixture_open(f);
        assert_int_equal(fixture_position(f).withheld, 2);
        fixture_expect(f, "e1", "1");
        fixture_expect(f, "e2", "1");
        fixture_close(f);
    }
    fixture_open(f);
    fixture_sync(f);
    fixture_expect(f, "e1", "1");
    fixture_check(f);
}

static void test_a_cancelled_edit_that_an_old_row_brings_back_is_not_shown(void **state)
{
    fixture *f = *state;
    outbox_make_edit(f, 1);
    outbox_make_edit(f, 2);
    keep_rows(f);
    assert_int_equal(kedge_store_cancel(f->store, 2, &f->changes, &f->error), KEDGE_OK);
    fixture_expect(f, "e2", NULL);
    bring_rows_back(f);
    fixture_open(f);
    fixture_expect(f, "e2", NULL);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).pending, 0);
    fixture_expect(f, "e1", "1");
    fixture_check(f);
}

static void test_a_damaged_row_hides_no_other_edit(void **state)
{
    static const char *const damages[] = {"checksum = checksum + 1", "args = '{}'",
                                          "timestamp = timestamp + 1", "sequence = 70"};
    fixture *f = *state;
    char sql[128];
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        int first = (int)(4 * i + 1);
        for (int n = first; n < first + 3; n++)
            outbox_make_edit_anew(f, n);
        fixture_close_flat(f);
        snprintf(sql, sizeof sql,
                 "UPDATE pending SET %s WHERE sequence = (SELECT max(sequence) FROM pending)",
                 damages[i]);
        assert_int_equal(outbox_run_raw(f, sql), 1);
        fixture_open(f);
        assert_int_equal(fixture_position(f).withheld, 0);
        assert_int_equal(fixture_position(f).rejected, i + 1);
    }
}

/* ---- pages of an index in the place of a table ---- */

#define PAGE 4096

static long offset_of(const fixture *f, const char *name)
{
    char sql[128];
    sqlite3_stmt *find;
    sqlite3 *db = outbox_open_raw(f);
    snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_master WHERE name = '%s'", name);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &find, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(find), SQLITE_ROW);
    long page = (long)sqlite3_column_int64(find, 0) - 1;
    sqlite3_finalize(find);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return page * PAGE;
}

static void exchange_pages(const fixture *f, long one, long other)
{
    char path[200], pages[2][PAGE];
    snprintf(path, sizeof path, "%s/outbox.db", f->path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    long at[2] = {one, other};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fseek(file, at[i], SEEK_SET), 0);
        assert_int_equal(fread(pages[i], 1, PAGE, file), PAGE);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fseek(file, at[i], SEEK_SET), 0);
        assert_int_equal(fwrite(pages[1 - i], 1, PAGE, file), PAGE);
    }
    assert_int_equal(fclose(file), 0);
}

/* `totals` has its rows in the tree of its key. Seen as such, each entry of the index has the key
 * 1, so that it cannot be made anew either. */
static void test_a_table_whose_rows_have_one_key_is_refused_as_damaged(void **state)
{
    fixture *f = *state;
    char saved[160];
    kedge_store *store = NULL;
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    outbox_fill(f, false);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    assert_int_equal(fixture_position(f).withheld, 7);
    fixture_close_flat(f);
    exchange_pages(f, offset_of(f, "totals"), offset_of(f, "pending_withheld"));
    assert_int_equal(fixture_try_open(f, f->path, &store), KEDGE_CORRUPT);
    assert_string_equal(f->error.code, "outbox-damaged");
    snprintf(saved, sizeof saved, "%s/saved", f->folder);
    assert_int_equal(kedge_store_repair(&f->environment, f->path, saved, &report, &f->error),
                     KEDGE_OK);
    assert_int_equal(report.pending, 7);
    assert_int_equal(report.confirmed, 4);
    assert_int_equal(report.rejected, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_repair_takes_no_confirmed_edit_for_a_pending_one),
        TEST(test_rejections_that_are_gone_count_though_their_total_is_damaged),
        TEST(test_a_damaged_total_alone_counts_nothing),
        TEST(test_rejections_that_an_older_file_beside_its_newer_wal_lacks_are_counted),
        TEST(test_nor_are_those_forgotten_that_an_earlier_client_had),
        TEST(test_rejections_count_though_pending_went_back_as_well),
        TEST(test_meta_counts_a_rejection_before_the_pull_comes_to_its_end),
        TEST(test_an_old_meta_counts_no_rejection_that_left_the_inbox),
        TEST(test_a_tail_that_went_back_counts_once_the_backend_is_restored),
        TEST(test_old_rows_are_withheld_as_those_were_that_they_replace),
        TEST(test_a_cancelled_edit_that_an_old_row_brings_back_is_not_shown),
        TEST(test_a_damaged_row_hides_no_other_edit),
        TEST(test_a_table_whose_rows_have_one_key_is_refused_as_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
