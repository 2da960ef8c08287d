/* Rows that a disk has brought back, or taken away, where what counts them is doubtful too. */
#include "sdk/store/repair.h"
#include "tests/store/outbox_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int setup(void **state)
{
    fixture *f = malloc(sizeof *f);
    fixture_begin(f);
    fixture_open(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_end(*state);
    free(*state);
    return 0;
}

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_repair_takes_no_confirmed_edit_for_a_pending_one),
        TEST(test_rejections_that_are_gone_count_though_their_total_is_damaged),
        TEST(test_a_damaged_total_alone_counts_nothing),
        TEST(test_a_tail_that_went_back_counts_once_the_backend_is_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
