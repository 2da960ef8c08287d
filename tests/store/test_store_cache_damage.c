/* Rows and pages of cache.db that are missing, old or elsewhere, what SQL sees of damage, and what
 * is said of it. */
#include "tests/store/cache_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PAGE 4096

static char *read_pages(const fixture *f, long *pages)
{
    char path[256];
    struct stat facts;
    snprintf(path, sizeof path, "%s/cache.db", f->path);
    assert_int_equal(stat(path, &facts), 0);
    *pages = (long)(facts.st_size / PAGE);
    char *bytes = malloc((size_t)facts.st_size);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, PAGE, (size_t)*pages, file), (size_t)*pages);
    fclose(file);
    return bytes;
}

static void write_page(const fixture *f, long page, const char *bytes)
{
    char path[256];
    snprintf(path, sizeof path, "%s/cache.db", f->path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, page * PAGE, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, PAGE, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* ---- pages and rows ---- */

static void test_a_row_that_is_missing_is_noticed(void **state)
{
    static const char *const tables[] = {"item", "base", "meta"};
    scenario *s = *state;
    scenario_make_pulled(s);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[128];
        scenario_put_back(s);
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s", tables[i],
                 strcmp(tables[i], "item") == 0 ? "id = 'item090'" : "1");
        assert_true(scenario_run_sql(&s->f, sql) > 0);
        fixture_open(&s->f);
        scenario_expect_healed(s);
        assert_true(s->set_aside > 0);
    }
}

static void test_a_staged_row_that_is_missing_is_noticed(void **state)
{
    static const char *const tables[] = {"staged_item", "staged_outcome", "staging"};
    scenario *s = *state;
    scenario_make_staged(s);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[128];
        scenario_put_back(s);
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s", tables[i],
                 strcmp(tables[i], "staged_item") == 0 ? "id = 'item030'" : "1");
        assert_true(scenario_run_sql(&s->f, sql) > 0);
        fixture_open(&s->f);
        scenario_expect_healed(s);
        /* Without the staging row nothing is staged, and the pages are asked for again. */
        if (strcmp(tables[i], "staging") != 0) assert_true(s->set_aside > 0);
    }
}

/* Each page, in turn, is what it was a pull before. All its rows are sound. */
static void test_an_old_page_that_comes_back_is_noticed(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    long pages;
    long old_pages;
    int tried = 0;
    scenario_fill_server(f);
    fixture_pull(f);
    fixture_close_flat(f);
    char *old = read_pages(f, &old_pages);
    fixture_open(f);
    for (int i = 0; i < SCENARIO_ITEMS; i += 10) {
        char args[160];
        snprintf(args, sizeof args, "{\"id\":\"item%03d\",\"value\":\"%060d\"}", i, -i);
        naive_server_edit(f->server, "set", args);
    }
    fixture_pull(f);
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":1}");
    scenario_remember(s);
    scenario_put_back(s);
    char *now = read_pages(f, &pages);
    for (long page = 1; page < pages && page < old_pages; page++) {
        if (memcmp(old + page * PAGE, now + page * PAGE, PAGE) == 0) continue;
        scenario_put_back(s);
        write_page(f, page, old + page * PAGE);
        fixture_open(f);
        scenario_check(s);
        assert_true(s->set_aside > 0);
        scenario_expect_healed(s);
        tried++;
    }
    print_message("%d old pages\n", tried);
    assert_true(tried > 3);
    free(old);
    free(now);
}

/* A page of a b-tree has the count of its cells at 3. */
static bool holds_rows(const char *page)
{
    return page[3] != 0 || page[4] != 0;
}

/* A swap of two pages without rows harms nobody, until SQLite notices it when they get some. */
static void test_pages_that_were_swapped_are_noticed(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    long pages;
    int tried = 0;
    scenario_make_pulled(s);
    scenario_put_back(s);
    char *now = read_pages(f, &pages);
    for (long page = 1; page + 1 < pages; page++) {
        const char *one = now + page * PAGE;
        const char *other = now + (page + 1) * PAGE;
        if (memcmp(one, other, PAGE) == 0) continue;
        scenario_put_back(s);
        write_page(f, page, other);
        write_page(f, page + 1, one);
        fixture_open(f);
        scenario_check(s);
        if (holds_rows(one) || holds_rows(other)) assert_true(s->set_aside > 0);
        tried++;
    }
    print_message("%d pairs of pages\n", tried);
    assert_true(tried > 5);
    free(now);
}

/* ---- queries ---- */

static const char WRONG[] = "UPDATE item SET value = '\"wrong\"' WHERE id = 'item070'";

/* Conditions that would take the wrong row away, and what reads no value. */
static void test_a_wrong_value_changes_no_result_of_a_query(void **state)
{
    static const char *const queries[] = {
        "SELECT id, value FROM notes WHERE value <> '\"wrong\"'",
        "SELECT id, value FROM notes WHERE json_extract(value, '$') LIKE '0%'",
        "SELECT id, value FROM kedge_items WHERE length(value) > 20",
        "SELECT count(*) FROM notes",
        "SELECT id FROM notes WHERE id > 'item060' ORDER BY id",
        "SELECT a.id FROM notes a LEFT JOIN notes b ON b.id = a.id AND b.value LIKE '%0%'",
        "WITH few AS (SELECT id FROM notes WHERE value > '\"1') SELECT id FROM few",
        "SELECT id FROM notes WHERE id = 'item070' AND value = '1'",
        "SELECT (SELECT max(value) FROM notes) FROM notes LIMIT 1",
    };
    scenario *s = *state;
    scenario_make_pulled(s);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        scenario_put_back(s);
        assert_int_equal(scenario_run_sql(&s->f, WRONG), 1);
        fixture_open(&s->f);
        if (scenario_query(s, queries[i]) != KEDGE_CORRUPT) fail_msg("%s", queries[i]);
        assert_string_equal(s->f.error.code, "file-damaged");
        assert_non_null(strstr(s->f.error.message, "notes/item070"));
        assert_true(s->set_aside > 0);
        scenario_expect_healed(s);
    }
}

static void test_sql_of_the_app_cannot_claim_damage(void **state)
{
    static const char *const queries[] = {
        "SELECT kedge_sound('a', 'b', 'c', 1)",
        "WITH notes AS (SELECT kedge_sound('a', 'b', 'c', 1) AS x) SELECT x FROM notes",
        "SELECT json_extract('{', '$')",
    };
    scenario *s = *state;
    scenario_make_pulled(s);
    scenario_put_back(s);
    fixture_open(&s->f);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        assert_int_equal(scenario_query(s, queries[i]), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(s->set_aside, 0);
}

/* ---- what is said, and when ---- */

static void test_damage_is_named_by_file_table_and_key(void **state)
{
    scenario *s = *state;
    kedge_store_scan *scan;
    kedge_bytes id;
    kedge_bytes value;
    kedge_status status;
    scenario_make_pulled(s);
    scenario_put_back(s);
    assert_int_equal(scenario_run_sql(&s->f, WRONG), 1);
    fixture_open(&s->f);
    assert_int_equal(
        kedge_store_scan_open(s->f.store, KEDGE_BYTES("notes"), NULL, &scan, &s->f.error),
        KEDGE_OK);
    while ((status = kedge_store_scan_next(scan, &id, &value, &s->f.error)) == KEDGE_OK)
        ;
    assert_int_equal(status, KEDGE_CORRUPT);
    assert_string_equal(s->f.error.code, "file-damaged");
    assert_string_equal(s->f.error.message,
                        "cache.db is damaged: the row notes/item070 of the table"
                        " item is not what was written");
    kedge_store_scan_close(scan);
    scenario_expect_healed(s);
}

/* A mutator reads a wrong value: what it made of it is not written. */
static void test_an_edit_on_a_wrong_value_is_made_on_the_new_cache(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":5}");
    fixture_pull(f);
    assert_int_equal(scenario_run_sql(f, "UPDATE item SET value = '6' WHERE id = 'n'"), 1);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    assert_int_equal(s->set_aside, 1);
    assert_true(fixture_position(f).resyncing);
    fixture_pull(f);
    fixture_expect(f, "n", "6");
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "6");
}

static void test_the_check_is_due_after_an_opening_and_a_resync(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    scenario_fill_server(f);
    fixture_pull(f);
    assert_true(kedge_store_check_is_due(f->store));
    scenario_check(s);
    assert_false(kedge_store_check_is_due(f->store));
    assert_int_equal(kedge_store_check_cache(f->store, &f->error), KEDGE_DONE);
    assert_int_equal(scenario_run_sql(f, "UPDATE item SET value = '6' WHERE id = 'item007'"), 1);
    fixture_reopen(f);
    assert_int_equal(kedge_store_check_cache(f->store, &f->error), KEDGE_CORRUPT);
    fixture_pull(f);
    assert_true(kedge_store_check_is_due(f->store));
    scenario_check(s);
    assert_int_equal(s->set_aside, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scenario_setup, scenario_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_row_that_is_missing_is_noticed),
        TEST(test_a_staged_row_that_is_missing_is_noticed),
        TEST(test_an_old_page_that_comes_back_is_noticed),
        TEST(test_pages_that_were_swapped_are_noticed),
        TEST(test_a_wrong_value_changes_no_result_of_a_query),
        TEST(test_sql_of_the_app_cannot_claim_damage),
        TEST(test_damage_is_named_by_file_table_and_key),
        TEST(test_an_edit_on_a_wrong_value_is_made_on_the_new_cache),
        TEST(test_the_check_is_due_after_an_opening_and_a_resync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
