/* Reading: scans in order, SQL over the views and nothing else, snapshots, bounds. */
#include "sdk/store/store_internal.h"
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void put(fixture *f, const char *collection, const char *id, const char *value)
{
    char args[600];
    snprintf(args, sizeof args, "{\"collection\":\"%s\",\"id\":\"%s\",\"value\":%s}", collection,
             id, value);
    fixture_mutate(f, "kedge.put", args);
}

static int setup(void **state)
{
    fixture_set_up(state);
    fixture *f = *state;
    put(f, "notes", "", "0");
    put(f, "notes", "a", "{\"title\":\"first\",\"rank\":3}");
    put(f, "notes", "a/b", "{\"title\":\"second\",\"rank\":1}");
    put(f, "notes", "ab", "{\"title\":\"third\",\"rank\":2}");
    put(f, "notes", "b", "null");
    put(f, "notes", "\xc3\xa9", "5");
    put(f, "tags.x-y", "t", "\"\\\"quoted\\\"\"");
    fixture_mutate(f, "kedge.project", "{\"name\":\"the project\"}");
    return 0;
}

/* ---- scans ---- */

static void expect_scan(fixture *f, const kedge_scan_options *options, const char *expected)
{
    char found[512] = "";
    kedge_store_scan *scan;
    kedge_bytes id;
    kedge_bytes value;
    kedge_status status;
    assert_int_equal(
        kedge_store_scan_open(f->store, KEDGE_BYTES("notes"), options, &scan, &f->error), KEDGE_OK);
    while ((status = kedge_store_scan_next(scan, &id, &value, &f->error)) == KEDGE_OK) {
        strncat(found, "<", 2);
        strncat(found, id.data, id.size);
        strncat(found, ">", 2);
    }
    assert_int_equal(status, KEDGE_DONE);
    assert_int_equal(kedge_store_scan_next(scan, &id, &value, &f->error), KEDGE_DONE);
    kedge_store_scan_close(scan);
    assert_string_equal(found, expected);
}

static void test_a_scan_walks_in_byte_order_within_its_bounds(void **state)
{
    fixture *f = *state;
    kedge_scan_options all = KEDGE_SCAN_OPTIONS_INIT;
    expect_scan(f, NULL, "<><a><a/b><ab><b><\xc3\xa9>");
    kedge_scan_options after = all;
    after.after = "a";
    after.after_size = 1;
    expect_scan(f, &after, "<a/b><ab><b><\xc3\xa9>");
    after.descending = true;
    expect_scan(f, &after, "<>");
    after.after_size = 0;
    expect_scan(f, &after, "");
    after.descending = false;
    expect_scan(f, &after, "<a><a/b><ab><b><\xc3\xa9>");
    kedge_scan_options prefix = all;
    prefix.prefix = "a";
    prefix.prefix_size = 1;
    expect_scan(f, &prefix, "<a><a/b><ab>");
    prefix.descending = true;
    expect_scan(f, &prefix, "<ab><a/b><a>");
    prefix.limit = 2;
    expect_scan(f, &prefix, "<ab><a/b>");
    prefix.after = "ab";
    prefix.after_size = 2;
    expect_scan(f, &prefix, "<a/b><a>");
    prefix.after = "b";
    prefix.after_size = 1;
    expect_scan(f, &prefix, "<ab><a/b>");
    prefix.descending = false;
    prefix.limit = 0;
    expect_scan(f, &prefix, "");
    prefix.prefix = "\xc3";
    prefix.after = NULL;
    expect_scan(f, &prefix, "<\xc3\xa9>");
    all.descending = true;
    expect_scan(f, &all, "<\xc3\xa9><b><ab><a/b><a><>");
}

static void test_a_scan_keeps_its_snapshot_while_others_write(void **state)
{
    fixture *f = *state;
    kedge_store_scan *scan;
    kedge_bytes id;
    kedge_bytes value;
    int count = 0;
    assert_int_equal(kedge_store_scan_open(f->store, KEDGE_BYTES("notes"), NULL, &scan, &f->error),
                     KEDGE_OK);
    put(f, "notes", "zz", "1");
    naive_server_edit(f->server, "set", "{\"id\":\"elsewhere\",\"value\":1}");
    fixture_pull(f);
    assert_int_equal(kedge_store_checkpoint(f->store, &f->error), KEDGE_OK);
    while (kedge_store_scan_next(scan, &id, &value, &f->error) == KEDGE_OK)
        count++;
    assert_int_equal(count, 6);
    kedge_store_scan_close(scan);
}

/* A move reads the index of the whole WAL, and as long as the scan is open it moves nothing. */
static void test_a_wal_that_a_scan_needs_is_not_moved_at_each_commit(void **state)
{
    fixture *f = *state;
    const kedge_store_db *cache = &f->store->cache;
    kedge_store_scan *scan;
    assert_int_equal(kedge_store_scan_open(f->store, KEDGE_BYTES("notes"), NULL, &scan, &f->error),
                     KEDGE_OK);
    for (int i = 0; cache->wal_held == 0 && i < 1000; i++)
        put(f, "notes", "many", "1");
    int held = cache->wal_held;
    assert_in_range(held, KEDGE_STORE_WAL_PAGES_MIN, KEDGE_STORE_WAL_PAGES + 10);
    for (int i = 0; i < 20; i++) {
        put(f, "notes", "many", "1");
        assert_true(cache->wal_pages > held); /* 0 after a move */
    }
    for (int i = 0; cache->wal_held == held && i < 1000; i++)
        put(f, "notes", "many", "1");
    assert_in_range(cache->wal_held, 2 * held, 2 * held + 10);
    kedge_store_scan_close(scan);
    assert_int_equal(kedge_store_checkpoint(f->store, &f->error), KEDGE_OK);
    put(f, "notes", "many", "1");
    assert_int_equal(cache->wal_held, 0);
    assert_in_range(cache->wal_pages, 1, 10); /* begun anew */
}

static void test_scans_are_bounded_in_number(void **state)
{
    fixture *f = *state;
    kedge_store_scan *scans[65];
    int count = 0;
    kedge_status status = KEDGE_OK;
    while (count < 65 && status == KEDGE_OK) {
        status =
            kedge_store_scan_open(f->store, KEDGE_BYTES("notes"), NULL, &scans[count], &f->error);
        if (status == KEDGE_OK) count++;
    }
    assert_int_equal(status, KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(f->error.code, "too-many-readers");
    assert_int_equal(count, 64);
    while (count > 0)
        kedge_store_scan_close(scans[--count]);
    fixture_expect(f, "b", "null");
}

static void test_wrong_names_are_refused(void **state)
{
    fixture *f = *state;
    kedge_store_scan *scan = NULL;
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(
        kedge_store_scan_open(f->store, KEDGE_BYTES("no/name"), NULL, &scan, &f->error),
        KEDGE_INVALID_ARGUMENT);
    assert_int_equal(
        kedge_store_get(f->store, KEDGE_BYTES("a b"), KEDGE_BYTES("x"), &value, &f->error),
        KEDGE_INVALID_ARGUMENT);
    assert_int_equal(
        kedge_store_get(f->store, KEDGE_BYTES(""), KEDGE_BYTES("x"), &value, &f->error),
        KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_store_get(f->store, KEDGE_BYTES(""), KEDGE_BYTES(""), &value, &f->error),
                     KEDGE_OK);
    assert_string_equal(value.data, "{\"name\":\"the project\"}");
    kedge_buffer_free(&value);
}

/* ---- queries ---- */

static kedge_status open_query(fixture *f, const char *sql, const char *parameters,
                               kedge_query **query)
{
    return kedge_store_query_open(f->store, kedge_bytes_of(sql), kedge_bytes_of(parameters), query,
                                  &f->error);
}

static void expect_query(fixture *f, const char *sql, const char *parameters, const char *expected)
{
    char found[1024] = "";
    kedge_query *query = NULL;
    kedge_status status = open_query(f, sql, parameters, &query);
    if (status != KEDGE_OK) fail_msg("%s: %s", sql, f->error.message);
    while ((status = kedge_store_query_next(query, &f->error)) == KEDGE_OK) {
        for (int32_t i = 0; i < kedge_store_query_column_count(query); i++) {
            const char *text = kedge_store_query_text(query, i, NULL);
            strncat(found, text ? text : "NULL", 300);
            strncat(found, i + 1 < kedge_store_query_column_count(query) ? "|" : ";", 2);
        }
    }
    if (status != KEDGE_DONE) fail_msg("%s: %s", sql, f->error.message);
    kedge_store_query_close(query);
    assert_string_equal(found, expected);
}

static void test_sql_reads_the_views(void **state)
{
    fixture *f = *state;
    expect_query(f,
                 "SELECT id, value ->> 'title' FROM notes WHERE json_type(value) = 'object'"
                 " ORDER BY value ->> 'rank'",
                 NULL, "a/b|second;ab|third;a|first;");
    expect_query(f, "SELECT count(*) FROM notes", NULL, "6;");
    expect_query(f, "SELECT count(*), max(id) FROM kedge_items", NULL, "7|\xc3\xa9;");
    expect_query(f, "SELECT DISTINCT collection FROM kedge_items ORDER BY 1", NULL,
                 "notes;tags.x-y;");
    expect_query(f, "SELECT value ->> '$' FROM \"tags.x-y\"", NULL, "\"quoted\";");
    expect_query(f, "SELECT a.id, b.id FROM notes a JOIN notes b ON b.id = a.id || '/b'", NULL,
                 "a|a/b;");
    expect_query(f,
                 "WITH x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 3)"
                 " SELECT group_concat(n, '-') FROM x",
                 NULL, "1-2-3;");
    expect_query(f, "WITH x AS (SELECT id FROM notes) SELECT count(*) FROM x", NULL, "6;");
    expect_query(f, "SELECT count(*) FROM (SELECT id FROM notes LIMIT 3)", NULL, "3;");
    expect_query(f, "SELECT key, value FROM json_each('{\"a\":1,\"b\":2}')", NULL, "a|1;b|2;");
    expect_query(f,
                 "SELECT n.id, e.key FROM notes n, json_each(n.value) e WHERE n.id = 'a'"
                 " ORDER BY e.key;  ",
                 NULL, "a|rank;a|title;");
    expect_query(f, "SELECT id, rank() OVER (ORDER BY id) FROM notes WHERE id IN ('a', 'b')", NULL,
                 "a|1;b|2;");
}

/* SQLite puts the constant in place of the column in all conditions of a query. */
static void test_a_constant_for_a_column_does_not_reach_the_check_of_other_rows(void **state)
{
    fixture *f = *state;
    expect_query(f, "SELECT collection FROM kedge_items WHERE id = 'ab'", NULL, "notes;");
    expect_query(f, "SELECT collection FROM kedge_items WHERE id = ?1", "[\"ab\"]", "notes;");
    expect_query(f, "SELECT id FROM kedge_items WHERE value = '\"\\\"quoted\\\"\"'", NULL, "t;");
    expect_query(f, "SELECT id FROM kedge_items WHERE collection = 'tags.x-y' AND id = 't'", NULL,
                 "t;");
    expect_query(f, "SELECT id FROM notes WHERE value = '\"quoted\"'", NULL, "");
    expect_query(f,
                 "SELECT n.id FROM notes n JOIN kedge_items k ON k.id = n.id WHERE k.id = 'ab'"
                 " AND n.value = k.value",
                 NULL, "ab;");
}

static void test_parameters_are_bound_by_their_json_type(void **state)
{
    fixture *f = *state;
    expect_query(f, "SELECT ?1, typeof(?1), ?2, typeof(?2), ?3, typeof(?3), ?4, ?5",
                 " [\"a\\u00e9\", 3, 2.5, true, null] ",
                 "a\xc3\xa9|text|3|integer|2.5|real|1|NULL;");
    expect_query(f, "SELECT id FROM notes WHERE id = ?1", "[\"ab\"]", "ab;");
    kedge_query *query = NULL;
    assert_int_equal(open_query(f, "SELECT ?1", "[[1]]", &query), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(open_query(f, "SELECT ?1", "[1,2]", &query), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(open_query(f, "SELECT ?1", "{}", &query), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(open_query(f, "SELECT ?1", "[1", &query), KEDGE_INVALID_JSON);
    assert_null(query);
}

static void test_a_collection_without_items_is_an_empty_view(void **state)
{
    fixture *f = *state;
    expect_query(f, "SELECT count(*) FROM nothing_yet", NULL, "0;");
    expect_query(f, "SELECT count(*) FROM one, two WHERE one.id = two.id", NULL, "0;");
}

static void test_columns_have_names_and_types(void **state)
{
    fixture *f = *state;
    kedge_query *query;
    size_t size;
    assert_int_equal(open_query(f, "SELECT 7 AS seven, 2.5 AS x, NULL, 'ab'", NULL, &query),
                     KEDGE_OK);
    assert_int_equal(kedge_store_query_column_count(query), 4);
    assert_string_equal(kedge_store_query_column_name(query, 0), "seven");
    assert_null(kedge_store_query_text(query, 0, NULL));
    assert_int_equal(kedge_store_query_next(query, &f->error), KEDGE_OK);
    assert_int_equal(kedge_store_query_integer(query, 0), 7);
    assert_true(kedge_store_query_real(query, 1) == 2.5);
    assert_null(kedge_store_query_text(query, 2, &size));
    assert_int_equal(size, 0);
    assert_string_equal(kedge_store_query_text(query, 3, &size), "ab");
    assert_int_equal(size, 2);
    assert_int_equal(kedge_store_query_next(query, &f->error), KEDGE_DONE);
    assert_int_equal(kedge_store_query_next(query, &f->error), KEDGE_DONE);
    kedge_store_query_close(query);
}

static const char *const refused[] = {
    "SELECT * FROM main.item",
    "SELECT value FROM main.item",
    "SELECT * FROM base",
    "SELECT * FROM meta",
    "SELECT * FROM registry",
    "SELECT * FROM staging",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM sqlite_temp_master",
    "SELECT * FROM main.sqlite_schema",
    "SELECT * FROM pragma_table_info('item')",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM dbstat",
    "SELECT count(*) FROM pragma_database_list",
    "SELECT 1 FROM main.meta",
    "INSERT INTO notes VALUES('x', '1')",
    "INSERT INTO main.item VALUES('notes', 'x', '1')",
    "DELETE FROM main.item",
    "UPDATE main.item SET value = '1'",
    "CREATE TABLE t(x)",
    "CREATE TEMP TABLE t(x)",
    "CREATE VIEW v AS SELECT 1",
    "DROP VIEW notes",
    "DROP TABLE main.item",
    "ATTACH ':memory:' AS other",
    "DETACH temp",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA query_only = 0",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT x",
    "VACUUM",
    "REINDEX",
    "ANALYZE",
    "EXPLAIN DELETE FROM main.item",
    "SELECT load_extension('x')",
    "SELECT randomblob(10)",
    "SELECT fts3_tokenizer('simple')",
    "SELECT sqlite_compileoption_get(1)",
    "WITH x AS (SELECT * FROM main.meta) SELECT * FROM x",
    "WITH kedge_items AS (SELECT * FROM main.base) SELECT * FROM kedge_items",
    "SELECT * FROM (SELECT * FROM main.staged_item)",
    "WITH x AS (DELETE FROM main.item RETURNING id) SELECT * FROM x",
    "SELECT (SELECT client FROM main.meta)",
    "SELECT id FROM notes UNION SELECT lineage FROM meta",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE item",
    "",
    "   ",
    "-- nothing",
    "no sql at all",
};

static void test_sql_can_reach_nothing_but_the_views(void **state)
{
    fixture *f = *state;
    char *before = fixture_dump(f->store, false);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        kedge_query *query = NULL;
        kedge_status status = open_query(f, refused[i], NULL, &query);
        /* A name that is no table of ours is an empty collection. */
        if (status == KEDGE_OK) {
            if (kedge_store_query_next(query, &f->error) != KEDGE_DONE) fail_msg("%s", refused[i]);
            if (strstr(refused[i], "SELECT") != refused[i]) fail_msg("%s", refused[i]);
            kedge_store_query_close(query);
            continue;
        }
        if (status != KEDGE_INVALID_ARGUMENT) fail_msg("%s: %d", refused[i], (int)status);
    }
    char *after = fixture_dump(f->store, false);
    assert_string_equal(before, after);
    free(before);
    free(after);
    expect_query(f, "SELECT count(*) FROM notes", NULL, "6;");
}

static void test_a_query_without_an_end_is_ended(void **state)
{
    fixture *f = *state;
    kedge_query *query;
    assert_int_equal(f->store->query_steps, 1000000000); /* what include/kedge/read.h says */
    f->store->query_steps = 20000000;
    assert_int_equal(open_query(f,
                                "WITH x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)"
                                " SELECT count(*) FROM x",
                                NULL, &query),
                     KEDGE_OK);
    assert_int_equal(kedge_store_query_next(query, &f->error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(f->error.code, "query-too-long");
    assert_int_equal(kedge_store_query_next(query, &f->error), KEDGE_DONE);
    kedge_store_query_close(query);
    expect_query(f, "SELECT count(*) FROM notes", NULL, "6;");
}

static void test_a_collection_named_like_a_table_of_ours_has_its_view(void **state)
{
    fixture *f = *state;
    expect_query(f, "SELECT count(*) FROM item, base WHERE item.id = base.id", NULL, "0;");
    expect_query(f, "SELECT count(*) FROM meta", NULL, "0;");
    put(f, "item", "x", "1");
    put(f, "meta", "y", "2");
    expect_query(f, "SELECT id, value FROM item", NULL, "x|1;");
    expect_query(f, "SELECT id, value FROM meta", NULL, "y|2;");
    fixture_expect(f, "b", "null");
    assert_int_equal(fixture_position(f).pending, 10);
}

static void test_collections_that_differ_in_case_have_views_of_their_own(void **state)
{
    fixture *f = *state;
    put(f, "Things", "x", "1");
    expect_query(f, "SELECT id, value FROM things", NULL, "x|1;");
    put(f, "things", "y", "2");
    put(f, "THINGS", "z", "3");
    expect_query(f, "SELECT id, value FROM Things", NULL, "x|1;");
    expect_query(f, "SELECT id, value FROM things", NULL, "y|2;");
    expect_query(f, "SELECT id, value FROM \"THINGS\"", NULL, "z|3;");
    expect_query(f, "SELECT count(*) FROM tHINGS", NULL, "0;");
    expect_query(f, "SELECT id FROM kedge_items WHERE collection = 'things'", NULL, "y;");
}

static void test_a_query_keeps_its_snapshot(void **state)
{
    fixture *f = *state;
    kedge_query *query;
    assert_int_equal(open_query(f, "SELECT count(*) FROM notes", NULL, &query), KEDGE_OK);
    put(f, "notes", "new", "1");
    assert_int_equal(kedge_store_query_next(query, &f->error), KEDGE_OK);
    assert_int_equal(kedge_store_query_integer(query, 0), 6);
    kedge_store_query_close(query);
    expect_query(f, "SELECT count(*) FROM notes", NULL, "7;");
}

/* A connection that lives long meets all of them. */
static void test_a_connection_may_need_more_statements_than_it_keeps(void **state)
{
    static char sql[3 * KEDGE_STORE_STATEMENTS][24];
    fixture *f = *state;
    kedge_store_db *db = &f->store->outbox;
    assert_int_equal(kedge_store_lock(f->store, &f->error), KEDGE_OK);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3 * KEDGE_STORE_STATEMENTS; i++) {
            int64_t found = -1;
            snprintf(sql[i], sizeof sql[i], "SELECT %d", i);
            assert_int_equal(kedge_store_db_number(db, sql[i], &found, &f->error), KEDGE_OK);
            assert_int_equal(found, i);
            kedge_store_db_reset(db);
        }
    }
    kedge_store_unlock(f->store);
    fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_expect(f, "a", "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_scan_walks_in_byte_order_within_its_bounds),
        TEST(test_a_scan_keeps_its_snapshot_while_others_write),
        TEST(test_a_wal_that_a_scan_needs_is_not_moved_at_each_commit),
        TEST(test_scans_are_bounded_in_number),
        TEST(test_wrong_names_are_refused),
        TEST(test_sql_reads_the_views),
        TEST(test_a_constant_for_a_column_does_not_reach_the_check_of_other_rows),
        TEST(test_parameters_are_bound_by_their_json_type),
        TEST(test_a_collection_without_items_is_an_empty_view),
        TEST(test_columns_have_names_and_types),
        TEST(test_sql_can_reach_nothing_but_the_views),
        TEST(test_a_query_without_an_end_is_ended),
        TEST(test_a_collection_named_like_a_table_of_ours_has_its_view),
        TEST(test_collections_that_differ_in_case_have_views_of_their_own),
        TEST(test_a_query_keeps_its_snapshot),
        TEST(test_a_connection_may_need_more_statements_than_it_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
