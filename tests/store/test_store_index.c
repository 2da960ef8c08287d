/* Declared indexes: queries use them and show the same as without; pulls, resyncs, crashes and full
 * disks keep what was declared; damage to one is found. */
#include "sdk/store/repair.h"
#include "tests/store/cache_scenario.h"
#include "tests/support/fault_vfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POINTS 80

static kedge_status declare(kedge_store *store, const char *name, const char *path,
                            kedge_error *error)
{
    kedge_bytes paths[] = {kedge_bytes_of(path)};
    return kedge_store_index(store, kedge_bytes_of(name), KEDGE_BYTES("notes"), paths, 1, error);
}

static void must_declare(fixture *f, const char *name, const char *path)
{
    kedge_status status = declare(f->store, name, path, &f->error);
    if (status != KEDGE_OK) fail_msg("%s: %s", name, f->error.message);
}

/* The result of a query: columns joined by '|', rows by ';'. Static storage. */
static const char *ask(kedge_store *store, const char *sql)
{
    static char found[2048];
    kedge_query *query = NULL;
    kedge_error error = {0};
    kedge_status status =
        kedge_store_query_open(store, kedge_bytes_of(sql), (kedge_bytes){0}, &query, &error);
    found[0] = '\0';
    if (status != KEDGE_OK) fail_msg("%s: %s", sql, error.message);
    while ((status = kedge_store_query_next(query, &error)) == KEDGE_OK) {
        int32_t count = kedge_store_query_column_count(query);
        for (int32_t i = 0; i < count; i++) {
            const char *text = kedge_store_query_text(query, i, NULL);
            size_t size = strlen(found);
            snprintf(found + size, sizeof found - size, "%s%s", text ? text : "NULL",
                     i + 1 < count ? "|" : ";");
        }
    }
    if (status != KEDGE_DONE) fail_msg("%s: %s", sql, error.message);
    kedge_store_query_close(query);
    return found;
}

/* Whether SQLite reads what `sql` asks for by the index. */
static bool uses(kedge_store *store, const char *sql, const char *name)
{
    char explain[512], index[128];
    snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
    snprintf(index, sizeof index, "USING INDEX kedge index %s", name);
    return strstr(ask(store, explain), index) != NULL;
}

static const char BY_RANK[] = "SELECT id FROM notes WHERE value ->> 'rank' = 3 ORDER BY id";

static void fill(fixture *f, int count)
{
    char args[160];
    for (int i = 0; i < count; i++) {
        snprintf(args, sizeof args,
                 "{\"id\":\"n%03d\",\"value\":{\"rank\":%d,\"by\":{\"who\":\"u%d\"}}}", i, i % 10,
                 i % 3);
        naive_server_edit(f->server, "set", args);
    }
    fixture_pull(f);
}

/* ---- what queries show ---- */

static void test_a_query_on_a_declared_path_reads_by_the_index_and_shows_the_same(void **state)
{
    fixture *f = &((scenario *)*state)->f;
    char before[2048];
    fill(f, 40);
    snprintf(before, sizeof before, "%s", ask(f->store, BY_RANK));
    assert_string_equal(before, "n003;n013;n023;n033;");
    assert_false(uses(f->store, BY_RANK, "by_rank"));
    must_declare(f, "by_rank", "rank");
    assert_true(uses(f->store, BY_RANK, "by_rank"));
    assert_string_equal(ask(f->store, BY_RANK), before);
    assert_true(uses(f->store, "SELECT id FROM notes WHERE value ->> 'rank' > 8", "by_rank"));
    assert_true(
        uses(f->store, "SELECT id FROM notes ORDER BY value ->> 'rank' LIMIT 3", "by_rank"));
    assert_true(uses(f->store,
                     "SELECT id FROM kedge_items WHERE collection = 'notes' AND"
                     " value ->> 'rank' = 3",
                     "by_rank"));
    assert_false(uses(f->store, "SELECT id FROM other WHERE value ->> 'rank' = 3", "by_rank"));
    /* Another text for the same member is another expression to SQLite. */
    assert_false(uses(f->store, "SELECT id FROM notes WHERE value ->> '$.rank' = 3", "by_rank"));
}

static void test_an_index_over_several_paths_serves_the_first_ones_and_the_next(void **state)
{
    static const char sql[] = "SELECT id FROM notes WHERE value ->> '$.by.who' = 'u1'"
                              " AND value ->> 'rank' > 7 ORDER BY value ->> 'rank', id";
    fixture *f = &((scenario *)*state)->f;
    kedge_bytes paths[] = {KEDGE_BYTES("$.by.who"), KEDGE_BYTES("rank")};
    fill(f, 40);
    assert_int_equal(
        kedge_store_index(f->store, KEDGE_BYTES("who"), KEDGE_BYTES("notes"), paths, 2, &f->error),
        KEDGE_OK);
    assert_true(uses(f->store, sql, "who"));
    assert_string_equal(ask(f->store, sql), "n028;n019;");
}

static void test_members_have_the_types_of_their_json(void **state)
{
    fixture *f = &((scenario *)*state)->f;
    static const char *const values[] = {"null",  "true",  "false", "0",     "1.5",
                                         "1e300", "\"1\"", "\"\"",  "[1,2]", "{\"b\":1,\"a\":2}"};
    char args[160];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(args, sizeof args, "{\"id\":\"v%zu\",\"value\":{\"m\":%s}}", i, values[i]);
        fixture_mutate(f, "set", args);
    }
    fixture_mutate(f, "set", "{\"id\":\"v_none\",\"value\":{}}");
    fixture_mutate(f, "set", "{\"id\":\"v_scalar\",\"value\":7}");
    must_declare(f, "by_m", "m");
    static const char all[] = "SELECT typeof(value ->> 'm'), value ->> 'm', id FROM notes"
                              " ORDER BY value ->> 'm', id";
    assert_true(uses(f->store, all, "by_m"));
    assert_string_equal(ask(f->store, all),
                        "null|NULL|v0;null|NULL|v_none;null|NULL|v_scalar;integer|0|v2;"
                        "integer|0|v3;integer|1|v1;real|1.5|v4;real|1.0e+300|v5;text||v7;text|1|v6;"
                        "text|[1,2]|v8;text|{\"a\":2,\"b\":1}|v9;");
    assert_string_equal(ask(f->store, "SELECT id FROM notes WHERE value ->> 'm' = 1"), "v1;");
    assert_string_equal(ask(f->store, "SELECT id FROM notes WHERE value ->> 'm' = '1'"), "v6;");
    assert_string_equal(ask(f->store, "SELECT id FROM notes WHERE value ->> 'm' IS NULL"),
                        "v0;v_none;v_scalar;");
}

/* ---- what keeps it ---- */

static void expect_index(fixture *f, const char *found)
{
    assert_true(uses(f->store, BY_RANK, "by_rank"));
    assert_string_equal(ask(f->store, BY_RANK), found);
}

static void test_edits_and_pulls_keep_the_index(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    must_declare(f, "by_rank", "rank");
    fill(f, 20);
    expect_index(f, "n003;n013;");
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":{\"rank\":3}}");
    fixture_mutate(f, "remove", "{\"id\":\"n003\"}");
    expect_index(f, "mine;n013;");
    naive_server_edit(f->server, "set", "{\"id\":\"n013\",\"value\":{\"rank\":4}}");
    naive_server_edit(f->server, "set", "{\"id\":\"n014\",\"value\":{\"rank\":3}}");
    fixture_sync(f);
    expect_index(f, "mine;n014;");
    scenario_check(s);
    assert_int_equal(s->set_aside, 0);
    fixture_reopen(f);
    expect_index(f, "mine;n014;");
}

static void test_a_cache_that_is_pulled_again_has_the_index_again(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    char path[256];
    must_declare(f, "by_rank", "rank");
    fill(f, 20);
    f->server->paged = true;
    f->server->page_items = 7;
    fixture_close_flat(f);
    snprintf(path, sizeof path, "%s/cache.db", f->path);
    assert_int_equal(remove(path), 0);
    fixture_open(f);
    expect_index(f, "");
    fixture_pull(f);
    assert_false(fixture_position(f).resyncing);
    expect_index(f, "n003;n013;");
    scenario_check(s);
    assert_int_equal(s->set_aside, 0);
}

/* Makes the index as `planted` says, behind Kedge's back, and calls it what it should be. */
static void plant(fixture *f, const char *planted)
{
    char sql[640];
    fixture_close_flat(f);
    snprintf(
        sql, sizeof sql,
        "DROP INDEX \"kedge index by_rank\";"
        "CREATE INDEX \"kedge index by_rank\" ON item(%s;"
        "PRAGMA writable_schema=1;"
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX \"kedge index by_rank\" ON item(value ->>"
        " ''rank'', id) WHERE collection = ''notes''' WHERE name = 'kedge index by_rank'",
        planted);
    scenario_run_sql(f, sql);
    fixture_open(f);
}

static void expect_found(scenario *s)
{
    fixture *f = &s->f;
    assert_true(uses(f->store, BY_RANK, "by_rank"));
    assert_string_equal(ask(f->store, BY_RANK), "");
    scenario_check(s);
    assert_int_equal(s->set_aside, 1);
    fixture_pull(f);
    expect_index(f, "n003;n013;");
    scenario_check(s);
    assert_int_equal(s->set_aside, 1);
}

static void test_an_index_that_lacks_rows_is_found_in_the_background(void **state)
{
    scenario *s = *state;
    fill(&s->f, 20);
    must_declare(&s->f, "by_rank", "rank");
    plant(&s->f, "value ->> 'rank', id) WHERE collection = 'notes' AND value ->> 'rank' <> 3");
    expect_found(s);
}

static void test_an_index_with_wrong_values_is_found_in_the_background(void **state)
{
    scenario *s = *state;
    fill(&s->f, 20);
    must_declare(&s->f, "by_rank", "rank");
    plant(&s->f, "value ->> 'tank', id) WHERE collection = 'notes'");
    expect_found(s);
}

static void test_an_index_with_too_many_rows_is_found_in_the_background(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    fill(f, 20);
    naive_server_edit(f->server, "count-all", "{}");
    fixture_pull(f);
    must_declare(f, "by_rank", "rank");
    plant(f, "value ->> 'rank', id) WHERE collection <> 'none'");
    scenario_check(s);
    assert_int_equal(s->set_aside, 1);
}

static void test_damage_is_found_before_an_index_is_made_of_it(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    fill(f, 20);
    fixture_close_flat(f);
    scenario_run_sql(f, "UPDATE item SET value = '{\"rank\":9}' WHERE id = 'n003'");
    fixture_open(f);
    must_declare(f, "by_rank", "rank");
    assert_int_equal(s->set_aside, 1);
    fixture_pull(f);
    expect_index(f, "n003;n013;");
}

static void test_a_damaged_declaration_costs_the_index_and_nothing_else(void **state)
{
    fixture *f = &((scenario *)*state)->f;
    char path[256];
    sqlite3 *db;
    fill(f, 20);
    must_declare(f, "by_rank", "rank");
    must_declare(f, "by_who", "$.by.who");
    fixture_close_flat(f);
    snprintf(path, sizeof path, "%s/outbox.db", f->path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE declared SET paths = '[\"tank\"]' WHERE ordinal = 1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    fixture_open(f);
    assert_false(uses(f->store, BY_RANK, "by_rank"));
    assert_true(uses(f->store, "SELECT id FROM notes WHERE value ->> '$.by.who' = 'u1'", "by_who"));
    assert_string_equal(ask(f->store, BY_RANK), "n003;n013;");
    must_declare(f, "by_rank", "rank");
    expect_index(f, "n003;n013;");
}

static void test_a_folder_that_is_repaired_has_the_indexes(void **state)
{
    fixture *f = &((scenario *)*state)->f;
    char saved[160];
    kedge_repair_report report;
    fill(f, 20);
    must_declare(f, "by_rank", "rank");
    fixture_close_flat(f);
    snprintf(saved, sizeof saved, "%s/saved", f->folder);
    assert_int_equal(kedge_store_repair(&f->environment, f->path, saved, &report, &f->error),
                     KEDGE_OK);
    assert_int_equal(fixture_try_open(f, saved, &f->store), KEDGE_OK);
    assert_true(uses(f->store, BY_RANK, "by_rank"));
}

/* ---- several processes, dropping, faults ---- */

static void test_another_store_of_the_folder_uses_and_drops_the_index(void **state)
{
    fixture *f = &((scenario *)*state)->f;
    kedge_store *other;
    fill(f, 20);
    assert_int_equal(fixture_try_open(f, f->path, &other), KEDGE_OK);
    assert_string_equal(ask(other, BY_RANK), "n003;n013;");
    must_declare(f, "by_rank", "rank");
    assert_true(uses(other, BY_RANK, "by_rank"));
    assert_int_equal(declare(other, "by_rank", "rank", NULL), KEDGE_OK);
    assert_int_equal(kedge_store_index_drop(other, KEDGE_BYTES("by_rank"), NULL), KEDGE_OK);
    assert_false(uses(f->store, BY_RANK, "by_rank"));
    assert_string_equal(ask(f->store, BY_RANK), "n003;n013;");
    assert_int_equal(kedge_store_index_drop(f->store, KEDGE_BYTES("by_rank"), &f->error),
                     KEDGE_NOT_FOUND);
    kedge_store_close(other);
    fixture_reopen(f);
    assert_false(uses(f->store, BY_RANK, "by_rank"));
}

static size_t count_declared(fixture *f)
{
    kedge_index_list *list;
    const char *name, *collection, *paths;
    size_t count = 0;
    assert_int_equal(kedge_store_index_list_open(f->store, &list, &f->error), KEDGE_OK);
    while (kedge_store_index_list_next(list, &name, &collection, &paths) == KEDGE_OK) {
        assert_string_equal(name, "by_rank");
        assert_string_equal(collection, "notes");
        assert_string_equal(paths, "[\"rank\"]");
        count++;
    }
    kedge_store_index_list_close(list);
    return count;
}

/* Either way the edits are there, the queries are right, and the list says what SQLite has. */
static void try_fault(scenario *s, fault_vfs *vfs, fault_kind kind, uint64_t nth, bool drop,
                      int failed[2])
{
    fixture *f = &s->f;
    scenario_put_back(s);
    fixture_open(f);
    fault_vfs_arm(vfs, kind, nth, true);
    kedge_status status = drop ? kedge_store_index_drop(f->store, KEDGE_BYTES("by_rank"), NULL)
                               : declare(f->store, "by_rank", "rank", NULL);
    fault_vfs_arm(vfs, FAULT_IO, 0, false);
    failed[status != KEDGE_OK]++;
    assert_int_equal(count_declared(f) == 1, drop == (status != KEDGE_OK));
    fixture_reopen(f);
    /* A commit of which SQLite told that it failed may stand in the WAL. */
    bool declared = count_declared(f) == 1;
    if (status == KEDGE_OK) assert_int_equal(declared, !drop);
    assert_int_equal(uses(f->store, BY_RANK, "by_rank"), declared);
    assert_string_equal(ask(f->store, BY_RANK), "n003;n013;");
    assert_int_equal(fixture_position(f).pending, s->pending);
}

static void fail_everywhere(scenario *s, bool drop)
{
    static const fault_kind kinds[] = {FAULT_IO, FAULT_FULL};
    fixture *f = &s->f;
    int failed[2] = {0};
    fill(f, 20);
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":1}");
    if (drop) must_declare(f, "by_rank", "rank");
    scenario_remember(s);
    fault_vfs *vfs = fault_vfs_new("kedge-index", 1);
    f->options.vfs = "kedge-index";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (uint64_t nth = 1; nth <= POINTS; nth++)
            try_fault(s, vfs, kinds[i], nth, drop, failed);
    print_message("%d calls went well, %d failed\n", failed[0], failed[1]);
    assert_true(failed[0] > 0 && failed[1] > 4);
    fixture_close(f);
    f->options.vfs = NULL;
    fault_vfs_free(vfs);
    fixture_open(f);
}

static void test_a_declaration_that_fails_declares_nothing(void **state)
{
    fail_everywhere(*state, false);
}

static void test_a_drop_that_fails_loses_nothing(void **state)
{
    fail_everywhere(*state, true);
}

/* ---- what is refused ---- */

static void refuse(fixture *f, const char *name, const char *collection, const char *path,
                   kedge_status status, const char *message)
{
    kedge_bytes paths[] = {kedge_bytes_of(path)};
    kedge_error error = {0};
    assert_int_equal(kedge_store_index(f->store, kedge_bytes_of(name), kedge_bytes_of(collection),
                                       paths, 1, &error),
                     status);
    if (!strstr(error.message, message)) fail_msg("\"%s\" lacks \"%s\"", error.message, message);
}

static void test_wrong_declarations_are_refused_with_what_is_allowed(void **state)
{
    fixture *f = &((scenario *)*state)->f;
    static const char *const no_paths[] = {"",      "$",     "$.",     "$x",    "$.a.",  "$[",
                                           "$[]",   "$[01]", "a.b",    "a b",   "a'b",   "$.a'b",
                                           "\"a\"", "[0]",   "$.a[x]", "a\xff", "$[#-1]"};
    char long_path[200];
    for (size_t i = 0; i < sizeof no_paths / sizeof no_paths[0]; i++)
        refuse(f, "x", "notes", no_paths[i], KEDGE_INVALID_ARGUMENT, "is no path; allowed are");
    memset(long_path, 'a', 129);
    long_path[129] = '\0';
    refuse(f, "x", "notes", long_path, KEDGE_LIMIT_EXCEEDED, "at most 128 are allowed");
    refuse(f, "", "notes", "a", KEDGE_INVALID_ARGUMENT, "the index name is empty");
    refuse(f, "x y", "notes", "a", KEDGE_INVALID_ARGUMENT, "the index name");
    refuse(f, "x", "no/tes", "a", KEDGE_INVALID_ARGUMENT, "the collection name");
    assert_int_equal(
        kedge_store_index(f->store, KEDGE_BYTES("x"), KEDGE_BYTES("notes"), NULL, 0, &f->error),
        KEDGE_INVALID_ARGUMENT);
    must_declare(f, "x", "$.a[0].b-c_d\xc3\xa9");
    must_declare(f, "x", "$.a[0].b-c_d\xc3\xa9");
    refuse(f, "x", "notes", "b", KEDGE_CONFLICT, "drop the index x first");
    refuse(f, "x", "other", "$.a[0].b-c_d\xc3\xa9", KEDGE_CONFLICT, "drop the index x first");
    refuse(f, "X", "notes", "$.a[0].b-c_d\xc3\xa9", KEDGE_CONFLICT, "drop the index x first");
    for (int i = 1; i < KEDGE_LIMIT_INDEXES; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        must_declare(f, name, "a");
    }
    refuse(f, "one_more", "notes", "a", KEDGE_LIMIT_EXCEEDED, "has 32 indexes");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scenario_setup, scenario_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_query_on_a_declared_path_reads_by_the_index_and_shows_the_same),
        TEST(test_an_index_over_several_paths_serves_the_first_ones_and_the_next),
        TEST(test_members_have_the_types_of_their_json),
        TEST(test_edits_and_pulls_keep_the_index),
        TEST(test_a_cache_that_is_pulled_again_has_the_index_again),
        TEST(test_an_index_that_lacks_rows_is_found_in_the_background),
        TEST(test_an_index_with_wrong_values_is_found_in_the_background),
        TEST(test_an_index_with_too_many_rows_is_found_in_the_background),
        TEST(test_damage_is_found_before_an_index_is_made_of_it),
        TEST(test_a_damaged_declaration_costs_the_index_and_nothing_else),
        TEST(test_a_folder_that_is_repaired_has_the_indexes),
        TEST(test_another_store_of_the_folder_uses_and_drops_the_index),
        TEST(test_a_declaration_that_fails_declares_nothing),
        TEST(test_a_drop_that_fails_loses_nothing),
        TEST(test_wrong_declarations_are_refused_with_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
