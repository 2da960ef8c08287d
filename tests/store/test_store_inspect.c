/* Looking into a folder without its app: what is there is told, and nothing is taken for damage. */
#include "sdk/store/inspect.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/store_internal.h"
#include "tests/store/cache_scenario.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A folder, and the lines of the last look into it. */
typedef struct look {
    fixture f;
    kedge_inspect *inspect;
    kedge_inspect_sink sink;
    char lines[8192];
    int count;
} look;

static void take_line(void *context, kedge_bytes text)
{
    look *at = context;
    size_t size = strlen(at->lines);
    snprintf(at->lines + size, sizeof at->lines - size, "%.*s\n", (int)text.size, text.data);
    at->count++;
}

static int setup(void **state)
{
    look *at = calloc(1, sizeof *at);
    assert_non_null(at);
    fixture_begin(&at->f);
    fixture_open(&at->f);
    at->sink = (kedge_inspect_sink){at, take_line};
    *state = at;
    return 0;
}

static int teardown(void **state)
{
    look *at = *state;
    kedge_inspect_close(at->inspect);
    fixture_end(&at->f);
    free(at);
    return 0;
}

static void open_look(look *at)
{
    kedge_status status =
        kedge_inspect_open(&at->f.environment, at->f.path, &at->inspect, &at->f.error);
    if (status != KEDGE_OK) fail_msg("%s", at->f.error.message);
}

static const char *told(look *at, kedge_status (*tell)(kedge_inspect *inspect,
                                                       kedge_inspect_sink sink, kedge_error *error))
{
    at->lines[0] = '\0';
    at->count = 0;
    kedge_status status = tell(at->inspect, at->sink, &at->f.error);
    if (status != KEDGE_OK) fail_msg("%s", at->f.error.message);
    return at->lines;
}

static void expect_sound(look *at)
{
    int64_t findings = -1;
    kedge_status status = kedge_inspect_verify(at->inspect, at->sink, &findings, &at->f.error);
    if (status != KEDGE_OK) fail_msg("%s", at->f.error.message);
    if (findings != 0) fail_msg("%s", at->lines);
}

static void test_a_folder_with_an_index_is_sound_and_its_items_are_exported(void **state)
{
    look *at = *state;
    const kedge_bytes paths[] = {KEDGE_BYTES("rank")};
    fixture_mutate(&at->f, "set", "{\"id\":\"a\",\"value\":{\"rank\":1}}");
    fixture_mutate(&at->f, "set", "{\"id\":\"b\",\"value\":{\"rank\":2}}");
    assert_int_equal(kedge_store_index(at->f.store, KEDGE_BYTES("by_rank"), KEDGE_BYTES("notes"),
                                       paths, 1, &at->f.error),
                     KEDGE_OK);
    open_look(at);
    expect_sound(at);
    assert_string_equal(told(at, kedge_inspect_export),
                        "{\"collection\":\"notes\",\"id\":\"a\",\"value\":{\"rank\":1}}\n"
                        "{\"collection\":\"notes\",\"id\":\"b\",\"value\":{\"rank\":2}}\n");
}

/* As an app uses it whose disk has no room for the newest layout. */
static void test_a_cache_of_the_older_layout_is_looked_into(void **state)
{
    look *at = *state;
    fixture_mutate(&at->f, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_close_flat(&at->f);
    scenario_run_sql(&at->f, scenario_layout_4);
    open_look(at);
    expect_sound(at);
    assert_string_equal(told(at, kedge_inspect_export),
                        "{\"collection\":\"notes\",\"id\":\"a\",\"value\":1}\n");
}

/* As a full disk leaves it. */
static void test_an_edit_that_is_about_to_be_made_again_is_pending(void **state)
{
    static const char sql[] = "UPDATE rejected SET state = 4;"
                              "UPDATE rejected SET checksum = {rejected#}";
    look *at = *state;
    fixture_mutate(&at->f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    naive_server_edit(at->f.server, "add", "{\"id\":\"n\",\"by\":10}");
    fixture_sync(&at->f);
    assert_int_equal(kedge_store_db_execute(&at->f.store->outbox, sql, &at->f.error), KEDGE_OK);
    open_look(at);
    expect_sound(at);
    assert_non_null(strstr(told(at, kedge_inspect_pending), "\"name\":\"refuse-over\""));
    assert_int_equal(at->count, 1);
    assert_non_null(strstr(told(at, kedge_inspect_facts), "\npending: 1\n"));
}

static void test_a_trace_goes_on_with_the_newest_attempt(void **state)
{
    static const char sql[] = "UPDATE rejected SET state = 5, args = '2';"
                              "UPDATE rejected SET checksum = {rejected#}";
    look *at = *state;
    fixture_mutate(&at->f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    naive_server_edit(at->f.server, "add", "{\"id\":\"n\",\"by\":10}");
    fixture_sync(&at->f);
    fixture_mutate(&at->f, "add", "{\"id\":\"n\",\"by\":1}");
    assert_int_equal(kedge_store_db_execute(&at->f.store->outbox, sql, &at->f.error), KEDGE_OK);
    open_look(at);
    assert_int_equal(kedge_inspect_trace(at->inspect, 1, at->sink, &at->f.error), KEDGE_OK);
    assert_non_null(strstr(at->lines, "(made again)\nedit 2: add, id 2 of client "));
    assert_non_null(strstr(at->lines, "pending: it has not been sent"));
}

static void drop_line(void *context, kedge_bytes text)
{
    const char *args = context;
    char line[4096];
    snprintf(line, sizeof line, "%.*s", (int)text.size, text.data);
    assert_non_null(strstr(line, args));
}

static bool list_pending(const kedge_allocator *allocator, void *context)
{
    look *at = context;
    kedge_inspect *inspect = NULL;
    kedge_environment environment = at->f.environment;
    environment.allocator = allocator;
    const kedge_inspect_sink sink = {at->lines, drop_line};
    kedge_status status = kedge_inspect_open(&environment, at->f.path, &inspect, NULL);
    if (status == KEDGE_OK) status = kedge_inspect_pending(inspect, sink, NULL);
    kedge_inspect_close(inspect);
    if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NO_MEMORY);
    return status == KEDGE_OK;
}

static void test_args_that_are_listed_without_memory_are_no_text(void **state)
{
    look *at = *state;
    size_t used = (size_t)snprintf(at->lines, sizeof at->lines,
                                   "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{");
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(at->lines + used, sizeof at->lines - used, "%s\"%02d\":1",
                                 i == 0 ? "" : ",", i);
    snprintf(at->lines + used, sizeof at->lines - used, "}}");
    fixture_mutate(&at->f, "kedge.put", at->lines);
    fixture_close(&at->f);
    assert_true(failing_allocator_try_every_call(list_pending, at, 0) > 0);
}

/* Runs `sql` on the cache, and expects the one finding. */
static void expect_finding(look *at, const char *sql, const char *finding)
{
    int64_t findings = -1;
    kedge_status status = kedge_store_db_execute(&at->f.store->cache, sql, &at->f.error);
    if (status != KEDGE_OK) fail_msg("%s", at->f.error.message);
    open_look(at);
    at->lines[0] = '\0';
    status = kedge_inspect_verify(at->inspect, at->sink, &findings, &at->f.error);
    if (status != KEDGE_OK) fail_msg("%s", at->f.error.message);
    assert_string_equal(at->lines, finding);
    assert_int_equal(findings, 1);
}

static void test_a_damaged_row_of_the_change_log_is_found(void **state)
{
    expect_finding(*state, "INSERT INTO change VALUES(7, 1, 1, NULL, 1)",
                   "cache.db: the checksum is wrong of a row of change: 7\n");
}

static void test_an_item_that_is_missing_from_a_snapshot_in_parts_is_found(void **state)
{
    expect_finding(*state,
                   "INSERT INTO staging VALUES(1, 3, 'l', 0, 'c', 0, 0, '', 2, 0, 0, 0, 0);"
                   "UPDATE staging SET checksum = {staging#}",
                   "cache.db: rows are missing from staged_item, or are too many: 2 rows should be"
                   " there\n");
}

static void test_an_outcome_that_is_missing_from_a_snapshot_in_parts_is_found(void **state)
{
    expect_finding(*state,
                   "INSERT INTO staging VALUES(1, 3, 'l', 0, 'c', 0, 0, '', 0, 0, 1, 5, 0);"
                   "UPDATE staging SET checksum = {staging#}",
                   "cache.db: rows are missing from staged_outcome, or are too many: 1 rows should"
                   " be there\n");
}

/* ---- what an export cannot tell ---- */

static void expect_failed_export(look *at, const char *lines, const char *code)
{
    at->lines[0] = '\0';
    kedge_status status = kedge_inspect_export(at->inspect, at->sink, &at->f.error);
    assert_int_not_equal(status, KEDGE_OK);
    assert_string_equal(at->f.error.code, code);
    assert_string_equal(at->lines, lines);
}

static void set_two(look *at)
{
    fixture_mutate(&at->f, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_mutate(&at->f, "set", "{\"id\":\"b\",\"value\":2}");
}

#define A "{\"collection\":\"notes\",\"id\":\"a\",\"value\":1}\n"
#define B "{\"collection\":\"notes\",\"id\":\"b\",\"value\":2}\n"

static void change_cache(look *at, const char *sql)
{
    kedge_status status = kedge_store_db_execute(&at->f.store->cache, sql, &at->f.error);
    if (status != KEDGE_OK) fail_msg("%s", at->f.error.message);
    open_look(at);
}

static void test_an_export_leaves_a_damaged_item_out_and_says_so(void **state)
{
    look *at = *state;
    set_two(at);
    change_cache(at, "UPDATE item SET value = 7 WHERE id = 'a'");
    expect_failed_export(at, B, "file-damaged");
    assert_non_null(strstr(at->f.error.message, "notes/a"));
}

static void test_an_export_says_when_an_item_is_missing(void **state)
{
    look *at = *state;
    set_two(at);
    change_cache(at, "DELETE FROM item WHERE id = 'b'");
    expect_failed_export(at, A, "file-damaged");
}

static void copy_between_commits(void *context, const char *phase)
{
    look *at = context;
    char copy[192];
    if (strcmp(phase, "mutate-between-commits") != 0) return;
    snprintf(copy, sizeof copy, "%s/copy", at->f.folder);
    fixture_remove_tree(copy);
    fixture_copy_tree(at->f.path, copy);
}

/* As a crash leaves them between the two commits of an edit. */
static void test_an_export_says_when_the_cache_lacks_an_edit(void **state)
{
    look *at = *state;
    char copy[192];
    fixture_close(&at->f);
    at->f.options.phase = copy_between_commits;
    at->f.options.phase_context = at;
    fixture_open(&at->f);
    set_two(at);
    snprintf(copy, sizeof copy, "%s/copy", at->f.folder);
    assert_int_equal(kedge_inspect_open(&at->f.environment, copy, &at->inspect, &at->f.error),
                     KEDGE_OK);
    assert_non_null(strstr(told(at, kedge_inspect_pending), "\"sequence\":2,"));
    expect_failed_export(at, A, "cache-not-current");
}

/* ---- files that are being made ---- */

/* As a crash leaves the file between its first two steps. */
static void make_empty(look *at, const char *name)
{
    char path[256];
    sqlite3 *db;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s%s", at->f.path, name, i == 0 ? "" : "-wal");
        (void)remove(path);
    }
    snprintf(path, sizeof path, "%s/%s", at->f.path, name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void open_app_after_first_line(void *context, kedge_bytes text)
{
    look *at = context;
    take_line(context, text);
    if (at->count == 1) fixture_open(&at->f);
}

static void test_a_cache_that_is_empty_is_none_and_a_watch_waits_for_it(void **state)
{
    look *at = *state;
    set_two(at);
    fixture_close_flat(&at->f);
    make_empty(at, "cache.db");
    open_look(at);
    assert_non_null(strstr(told(at, kedge_inspect_facts), "\nitems: 0\n"));
    expect_failed_export(at, "", "cache-missing");
    at->sink.line = open_app_after_first_line;
    at->count = 0;
    assert_int_equal(kedge_inspect_watch(at->inspect, 2, at->sink, &at->f.error), KEDGE_OK);
    assert_non_null(strstr(at->lines, "\"items\":0}\n"));
    assert_non_null(strstr(at->lines, "\"items\":2}\n"));
}

static void test_an_outbox_that_is_empty_is_none(void **state)
{
    look *at = *state;
    fixture_close_flat(&at->f);
    make_empty(at, "outbox.db");
    assert_int_equal(kedge_inspect_open(&at->f.environment, at->f.path, &at->inspect, &at->f.error),
                     KEDGE_NOT_FOUND);
    assert_string_equal(at->f.error.code, "outbox-missing");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_folder_with_an_index_is_sound_and_its_items_are_exported),
        TEST(test_a_cache_of_the_older_layout_is_looked_into),
        TEST(test_a_trace_goes_on_with_the_newest_attempt),
        TEST(test_an_edit_that_is_about_to_be_made_again_is_pending),
        TEST(test_args_that_are_listed_without_memory_are_no_text),
        TEST(test_a_damaged_row_of_the_change_log_is_found),
        TEST(test_an_item_that_is_missing_from_a_snapshot_in_parts_is_found),
        TEST(test_an_outcome_that_is_missing_from_a_snapshot_in_parts_is_found),
        TEST(test_an_export_leaves_a_damaged_item_out_and_says_so),
        TEST(test_an_export_says_when_an_item_is_missing),
        TEST(test_an_export_says_when_the_cache_lacks_an_edit),
        TEST(test_a_cache_that_is_empty_is_none_and_a_watch_waits_for_it),
        TEST(test_an_outbox_that_is_empty_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
