/* A cache of an older layout: it is brought up to the present one when it is opened, with the edits
 * that are pending, wherever an opening fails; or it is pulled again, and what is pending stays. */
#include "sdk/store/store_internal.h"
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

static void test_a_cache_of_the_older_layout_is_brought_up_to_date(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    scenario_make_pulled(s);
    scenario_put_back(s);
    scenario_run_sql(f, scenario_layout_4);
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

static int ask_cache(const fixture *f, const char *sql)
{
    sqlite3_stmt *row;
    sqlite3 *db = scenario_open_cache(f);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int number = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return number;
}

static void test_the_pages_of_a_snapshot_come_along_from_the_older_layout(void **state)
{
    static const char staged[] = "SELECT count(*) FROM staged_item";
    scenario *s = *state;
    fixture *f = &s->f;
    scenario_make_staged(s);
    scenario_put_back(s);
    int rows = ask_cache(f, staged);
    assert_true(rows > 0);
    scenario_run_sql(f, scenario_layout_4);
    fixture_open(f);
    assert_true(fixture_position(f).staged_version > 0);
    assert_int_equal(ask_cache(f, staged), rows);
    scenario_expect_healed(s);
    assert_int_equal(s->set_aside, 0);
}

static void test_a_declared_index_is_made_again_from_the_older_layout(void **state)
{
    static const char sql[] = "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name ="
                              " 'kedge index by_text' AND tbl_name = 'item'";
    scenario *s = *state;
    fixture *f = &s->f;
    kedge_bytes path = KEDGE_BYTES("text");
    scenario_make_pulled(s);
    scenario_put_back(s);
    fixture_open(f);
    assert_int_equal(kedge_store_index(f->store, KEDGE_BYTES("by_text"), KEDGE_BYTES("notes"),
                                       &path, 1, &f->error),
                     KEDGE_OK);
    fixture_close_flat(f);
    scenario_run_sql(f, scenario_layout_4);
    fixture_open(f);
    assert_int_equal(ask_cache(f, sql), 1);
    scenario_check(s);
    assert_int_equal(s->set_aside, 0);
}

/* A table without rowids would read the large items on its way to each of the others. */
static void test_a_small_item_is_found_without_reading_the_large_ones(void **state)
{
    enum { LARGE = 3, LARGE_BYTES = 400000, SMALL = 40, PAGES_MAX = 20 };
    fixture *f = &((scenario *)*state)->f;
    char *args = malloc(LARGE_BYTES + 100);
    assert_non_null(args);
    for (int i = 0; i < LARGE; i++) {
        int begun = snprintf(args, 100, "{\"id\":\"n%d\",\"value\":\"", 1005 + i * SMALL / 2 * 10);
        memset(args + begun, 'x', LARGE_BYTES);
        memcpy(args + begun + LARGE_BYTES, "\"}", 3);
        fixture_mutate(f, "set", args);
    }
    free(args);
    for (int i = 0; i < SMALL; i++) {
        char small[64];
        snprintf(small, sizeof small, "{\"id\":\"n%d\",\"value\":%d}", 1000 + i * 10, i);
        fixture_mutate(f, "set", small);
    }
    fixture_reopen(f);
    int before = 0, after = 0, highest = 0;
    sqlite3 *db = f->store->cache.handle;
    assert_int_equal(sqlite3_db_release_memory(db), SQLITE_OK);
    sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &before, &highest, 0);
    for (int i = 0; i < SMALL; i++) {
        char id[16];
        kedge_bytes value;
        snprintf(id, sizeof id, "n%d", 1000 + i * 10);
        assert_int_equal(kedge_cache_item(&f->store->cache, KEDGE_BYTES("notes"),
                                          kedge_bytes_of(id), &value, &f->error),
                         KEDGE_OK);
    }
    sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &after, &highest, 0);
    assert_in_range(after - before, 1, PAGES_MAX);
}

/* All tables of the cache, with their columns, and whether they have a rowid. */
static char *columns_of(const fixture *f)
{
    static const char sql[] =
        "SELECT group_concat(t || '.' || c || ' ' || type || ' ' || wr, ', ') FROM"
        " (SELECT m.name AS t, p.name AS c, p.type AS type, l.wr AS wr"
        "  FROM sqlite_master m, pragma_table_info(m.name) p, pragma_table_list(m.name) l"
        "  ORDER BY 1, 2)";
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
    scenario_run_sql(&s->f, scenario_layout_4);
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

static void expect_visible(scenario *s)
{
    char *dump = fixture_dump(s->f.store, false);
    assert_string_equal(dump, s->visible);
    free(dump);
}

static void expect_brought_up(scenario *s)
{
    fixture_open(&s->f);
    expect_visible(s);
    assert_int_equal(ask_cache(&s->f, "PRAGMA user_version"), 5);
    assert_int_equal(fixture_position(&s->f).pending, s->pending);
    assert_false(fixture_position(&s->f).resyncing);
    assert_int_equal(s->set_aside, 0);
    scenario_check(s);
}

/* Until then the file is used as it is. */
static void test_a_layout_change_without_room_is_made_by_the_next_opening(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    uint64_t used = 0;
    scenario_make_pulled(s);
    fixture_close(f);
    fault_vfs *vfs = fault_vfs_new("kedge-layouts", 1);
    assert_non_null(vfs);
    f->options.vfs = "kedge-layouts";
    for (uint64_t nth = 1; nth <= POINTS; nth++) {
        scenario_put_back(s);
        scenario_run_sql(f, scenario_layout_4);
        fault_vfs_arm(vfs, FAULT_FULL, nth, true);
        if (fixture_try_open(f, f->path, &f->store) != KEDGE_OK) {
            f->store = NULL;
        } else if (ask_cache(f, "PRAGMA user_version") == 4) {
            expect_visible(s);
            scenario_check(s);
            used++;
        }
        fault_vfs_arm(vfs, FAULT_IO, 0, false);
        fixture_close(f);
        expect_brought_up(s);
    }
    assert_true(used > 2);
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

static void test_a_layout_that_claims_to_be_older_is_made_once_more(void **state)
{
    scenario *s = *state;
    scenario_make_pulled(s);
    scenario_put_back(s);
    scenario_run_sql(&s->f, "PRAGMA user_version=4");
    expect_brought_up(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scenario_setup, scenario_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_cache_of_the_older_layout_is_brought_up_to_date),
        TEST(test_the_pages_of_a_snapshot_come_along_from_the_older_layout),
        TEST(test_a_declared_index_is_made_again_from_the_older_layout),
        TEST(test_a_small_item_is_found_without_reading_the_large_ones),
        TEST(test_the_way_from_the_older_layout_leads_to_the_tables_of_a_new_file),
        TEST(test_a_layout_change_without_room_is_made_by_the_next_opening),
        TEST(test_a_layout_from_which_no_way_leads_on_is_pulled_again_and_pending_stays),
        TEST(test_a_layout_that_claims_to_be_older_is_made_once_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
