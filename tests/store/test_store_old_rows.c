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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_repair_takes_no_confirmed_edit_for_a_pending_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
