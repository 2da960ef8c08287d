/* The table of items and the index of their keys disagree, as when the disk has brought back an old
 * page of one of them: the background check notices it, and the cache is pulled again. */
#include "tests/store/cache_scenario.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* SQL on the table alone: its index is hidden from SQLite meanwhile. */
static void change_table(const fixture *f, const char *sql)
{
    static const char hide[] =
        "CREATE TABLE hidden AS SELECT * FROM sqlite_schema"
        " WHERE name IN ('item', 'sqlite_autoindex_item_1') ORDER BY type = 'index';"
        "PRAGMA writable_schema=1;"
        "UPDATE sqlite_schema SET sql = replace(sql, ', UNIQUE(collection, id)', '')"
        " WHERE name = 'item';"
        "DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_item_1'";
    static const char show[] = "PRAGMA writable_schema=1;"
                               "DELETE FROM sqlite_schema WHERE name = 'item';"
                               "INSERT INTO sqlite_schema SELECT * FROM hidden;"
                               "DROP TABLE hidden";
    assert_int_equal(scenario_run_sql(f, hide) > 0, 1);
    assert_int_equal(scenario_run_sql(f, sql) > 0, 1);
    assert_int_equal(scenario_run_sql(f, show) > 0, 1);
}

static void expect_noticed(scenario *s)
{
    assert_int_equal(s->set_aside, 0);
    scenario_check(s);
    assert_int_equal(s->set_aside, 1);
    scenario_expect_healed(s);
}

static void test_a_deleted_row_that_is_in_the_table_again_is_noticed(void **state)
{
    static const char gone[] = "INSERT INTO item(collection, id, value, checksum)"
                               " SELECT collection, id, value, checksum FROM gone";
    scenario *s = *state;
    fixture *f = &s->f;
    scenario_fill_server(f);
    fixture_pull(f);
    fixture_close_flat(f);
    scenario_run_sql(f, "CREATE TABLE gone AS SELECT * FROM item WHERE id = 'item009'");
    fixture_open(f);
    naive_server_edit(f->server, "remove", "{\"id\":\"item009\"}");
    fixture_pull(f);
    scenario_remember(s);
    scenario_put_back(s);
    change_table(f, gone);
    fixture_open(f);
    expect_noticed(s);
}

static void test_entries_that_lead_to_the_rows_of_each_other_are_noticed(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    scenario_make_pulled(s);
    scenario_put_back(s);
    change_table(f,
                 "UPDATE item SET rowid = -1 WHERE id = 'item009';"
                 "UPDATE item SET rowid = (SELECT max(rowid) + 1 FROM item) WHERE id = 'item010'");
    fixture_open(f);
    expect_noticed(s);
}

/* The query finds no damaged row in the table. */
static void test_a_query_that_is_led_to_another_row_has_the_cache_checked(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    scenario_make_pulled(s);
    scenario_put_back(s);
    fixture_open(f);
    scenario_check(s);
    change_table(f, "CREATE TEMP TABLE at AS SELECT id, rowid AS place FROM item"
                    " WHERE id IN ('item009', 'item010');"
                    "UPDATE item SET rowid = -rowid WHERE id IN ('item009', 'item010');"
                    "UPDATE item SET rowid = (SELECT place FROM at WHERE at.id <> item.id)"
                    " WHERE id IN ('item009', 'item010')");
    assert_int_equal(scenario_query(s, "SELECT id, value FROM notes WHERE id = 'item009'"),
                     KEDGE_INVALID_ARGUMENT);
    expect_noticed(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scenario_setup, scenario_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_deleted_row_that_is_in_the_table_again_is_noticed),
        TEST(test_entries_that_lead_to_the_rows_of_each_other_are_noticed),
        TEST(test_a_query_that_is_led_to_another_row_has_the_cache_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
