/* A cache of an older layout: it is brought up to the present one when it is opened, with the edits
 * that are pending, wherever an opening fails; or it is pulled again, and what is pending stays. */
#include "tests/store/cache_scenario.h"
#include "tests/support/fault_vfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How many calls of an opening fail, each in a run of its own. */
#define POINTS 60

static const char TO_LAYOUT_1[] =
    "ALTER TABLE item DROP COLUMN own_collection; ALTER TABLE item DROP COLUMN own_id;"
    "ALTER TABLE item DROP COLUMN own_value; ALTER TABLE staged_item DROP COLUMN own_collection;"
    "ALTER TABLE staged_item DROP COLUMN own_id; ALTER TABLE staged_item DROP COLUMN own_value;"
    "ALTER TABLE item DROP COLUMN checksum; ALTER TABLE base DROP COLUMN checksum;"
    "ALTER TABLE staged_item DROP COLUMN checksum; ALTER TABLE staged_outcome DROP COLUMN checksum;"
    "ALTER TABLE staging DROP COLUMN checksum; ALTER TABLE staging DROP COLUMN item_rows;"
    "ALTER TABLE staging DROP COLUMN item_sum; ALTER TABLE staging DROP COLUMN outcome_rows;"
    "ALTER TABLE staging DROP COLUMN outcome_sum; ALTER TABLE meta DROP COLUMN checksum;"
    "ALTER TABLE meta DROP COLUMN item_rows; ALTER TABLE meta DROP COLUMN item_sum;"
    "ALTER TABLE meta DROP COLUMN base_rows; ALTER TABLE meta DROP COLUMN base_sum;"
    "DROP TABLE change; PRAGMA user_version=1";

static void test_a_cache_of_the_older_layout_is_brought_up_to_date(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    scenario_make_pulled(s);
    scenario_put_back(s);
    scenario_run_sql(f, TO_LAYOUT_1);
    fixture_open(f);
    assert_false(fixture_position(f).resyncing);
    fixture_expect(f, "item007", "\"changed\"");
    scenario_check(s);
    fixture_mutate(f, "set", "{\"id\":\"item008\",\"value\":2}");
    fixture_reopen(f);
    scenario_check(s);
    fixture_sync(f);
    scenario_check(s);
    assert_int_equal(s->set_aside, 0);
    fixture_check(f);
}

/* All tables of the cache, with their columns. */
static char *columns_of(const fixture *f)
{
    static const char sql[] = "SELECT group_concat(t || '.' || c || ' ' || type, ', ') FROM"
                              " (SELECT m.name AS t, p.name AS c, p.type AS type"
                              "  FROM sqlite_master m, pragma_table_info(m.name) p ORDER BY 1, 2)";
    sqlite3 *db = scenario_open_cache(f);
    sqlite3_stmt *cursor;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &cursor, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(cursor), SQLITE_ROW);
    char *columns = strdup((const char *)sqlite3_column_text(cursor, 0));
    sqlite3_finalize(cursor);
    sqlite3_close(db);
    return columns;
}

static void test_the_way_from_the_older_layout_leads_to_the_tables_of_a_new_file(void **state)
{
    scenario *s = *state;
    scenario_make_pulled(s);
    scenario_put_back(s);
    char *made = columns_of(&s->f);
    scenario_run_sql(&s->f, TO_LAYOUT_1);
    char *older = columns_of(&s->f);
    assert_string_not_equal(older, made);
    fixture_open(&s->f);
    fixture_close(&s->f);
    char *brought_up = columns_of(&s->f);
    assert_string_equal(brought_up, made);
    free(made);
    free(older);
    free(brought_up);
    fixture_open(&s->f);
}

static void expect_brought_up(scenario *s)
{
    fixture_open(&s->f);
    char *dump = fixture_dump(s->f.store, false);
    assert_string_equal(dump, s->visible);
    free(dump);
    assert_int_equal(fixture_position(&s->f).pending, s->pending);
    assert_false(fixture_position(&s->f).resyncing);
    assert_int_equal(s->set_aside, 0);
    scenario_check(s);
}

static void test_a_layout_change_that_fails_is_made_by_the_next_opening(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    uint64_t failed = 0;
    scenario_make_pulled(s);
    fixture_close(f);
    fault_vfs *vfs = fault_vfs_new("kedge-layouts", 1);
    assert_non_null(vfs);
    f->options.vfs = "kedge-layouts";
    for (uint64_t nth = 1; nth <= POINTS; nth++) {
        scenario_put_back(s);
        scenario_run_sql(f, TO_LAYOUT_1);
        fault_vfs_arm(vfs, FAULT_FULL, nth, true);
        if (fixture_try_open(f, f->path, &f->store) != KEDGE_OK) {
            f->store = NULL;
            failed++;
        }
        fault_vfs_arm(vfs, FAULT_IO, 0, false);
        fixture_close(f);
        expect_brought_up(s);
    }
    assert_true(failed > 2);
    fixture_close(f);
    f->options.vfs = NULL;
    fault_vfs_free(vfs);
    fixture_open(f);
}

/* What is pulled again is not what is pending: that is read at once. */
static void test_a_layout_from_which_no_way_leads_on_is_pulled_again_and_pending_stays(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    scenario_make_pulled(s);
    scenario_put_back(s);
    scenario_run_sql(f, "PRAGMA user_version=0");
    fixture_open(f);
    assert_true(fixture_position(f).resyncing);
    assert_int_equal(fixture_position(f).pending, s->pending);
    fixture_expect(f, "mine", "1");
    fixture_expect(f, "item007", "\"changed\"");
    scenario_expect_healed(s);
    assert_int_equal(fixture_position(f).pending, s->pending);
}

static void test_a_layout_that_is_not_what_it_claims_to_be_is_damage(void **state)
{
    scenario *s = *state;
    scenario_make_pulled(s);
    scenario_put_back(s);
    scenario_run_sql(&s->f, "PRAGMA user_version=1");
    fixture_open(&s->f);
    assert_true(fixture_position(&s->f).resyncing);
    scenario_expect_healed(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scenario_setup, scenario_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_cache_of_the_older_layout_is_brought_up_to_date),
        TEST(test_the_way_from_the_older_layout_leads_to_the_tables_of_a_new_file),
        TEST(test_a_layout_change_that_fails_is_made_by_the_next_opening),
        TEST(test_a_layout_from_which_no_way_leads_on_is_pulled_again_and_pending_stays),
        TEST(test_a_layout_that_is_not_what_it_claims_to_be_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
