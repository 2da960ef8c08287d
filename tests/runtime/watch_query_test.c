/* kedge_watch_query through the public API: what is told, and when. The databases are
 * caller-driven, so that a test decides when a watch is told. */
#include "sdk/store/query_reads.h"
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"
#include "tests/support/failing_allocator.h"

#include <kedge/loop.h>

#include <poll.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define IDS_AND_VALUES "SELECT id, value FROM notes ORDER BY value, id"

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    mini_backend *backend;
    scripted_server *server;
    failing_allocator memory;
} world;

static int make_world(void **state)
{
    world *made = calloc(1, sizeof *made);
    if (made == NULL) return -1;
    client_make_folder(made->folder);
    made->backend = mini_backend_new();
    made->server = scripted_server_start(mini_backend_respond, made->backend);
    failing_allocator_init(&made->memory);
    *state = made;
    return 0;
}

static int end_world(void **state)
{
    world *made = *state;
    scripted_server_stop(made->server);
    mini_backend_free(made->backend);
    client_remove_folder(made->folder);
    free(made);
    return 0;
}

/* An app's thread that runs its work when the test says so. */
typedef struct desk {
    void (*work[8])(void *argument);
    void *arguments[8];
    int count;
} desk;

static void put_on_desk(void *userdata, void (*work)(void *argument), void *argument)
{
    desk *to = userdata;
    assert_true(to->count < 8);
    to->work[to->count] = work;
    to->arguments[to->count++] = argument;
}

static void clear_desk(desk *at)
{
    int count = at->count;
    at->count = 0;
    for (int i = 0; i < count; i++)
        at->work[i](at->arguments[i]);
}

/* Offline, and driven by the test. */
static kedge_db *open_driven(const world *at, desk *to)
{
    kedge_options options = client_options(at->folder, scripted_server_url(at->server));
    options.caller_driven = true;
    options.offline = true;
    if (to != NULL) {
        options.dispatch = put_on_desk;
        options.userdata = to;
    }
    return client_open(&options);
}

/* What was told, a text a call: "first", the sources or an error's code; then its rows. */
typedef struct ear {
    char text[2048];
    int calls;
    int freed;
    kedge_query_watch *watch;
    bool free_it; /* in the callback */
} ear;

static void note(ear *to, const char *text)
{
    size_t size = strlen(to->text);
    snprintf(to->text + size, sizeof to->text - size, "%s", text);
}

static void note_row(ear *to, const kedge_row_change *row)
{
    char text[512];
    const char *key = row->key;
    if (row->kind == KEDGE_ROW_ADDED)
        snprintf(text, sizeof text, " +%s%s", key, row->new_row);
    else if (row->kind == KEDGE_ROW_REMOVED)
        snprintf(text, sizeof text, " -%s%s", key, row->old_row);
    else
        snprintf(text, sizeof text, " %s%s>%s", key, row->old_row, row->new_row);
    note(to, text);
    assert_int_equal(row->key_size, strlen(key));
    if (row->old_row != NULL) assert_int_equal(row->old_size, strlen(row->old_row));
    if (row->new_row != NULL) assert_int_equal(row->new_size, strlen(row->new_row));
}

static void hear(void *userdata, const kedge_query_changes *changes)
{
    ear *to = userdata;
    to->calls++;
    if (changes->first) note(to, "first");
    if (changes->local) note(to, "local");
    if (changes->pulled) note(to, "pulled");
    if (changes->other_process) note(to, "other");
    if (changes->error != NULL) note(to, changes->error->code);
    for (size_t i = 0; i < changes->count; i++)
        note_row(to, &changes->rows[i]);
    note(to, ";");
    if (to->free_it) kedge_query_watch_free(to->watch);
}

static void note_freed(void *userdata)
{
    ((ear *)userdata)->freed++;
}

static void watch(kedge_db *db, const char *sql, ear *to)
{
    kedge_error error = {0};
    if (kedge_watch_query(db, sql, strlen(sql), NULL, 0, hear, to, note_freed, &to->watch,
                          &error) != KEDGE_OK)
        fail_msg("%s", error.message);
}

static void turn(kedge_db *db)
{
    kedge_error error = {0};
    if (kedge_loop_run(db, NULL, &error) != KEDGE_OK) fail_msg("%s", error.message);
}

/* Runs the loop until it has told `text` in all. */
static void expect_heard(kedge_db *db, ear *to, const char *text)
{
    int64_t until_ms = client_now_ms() + 60000;
    while (strcmp(to->text, text) != 0 && client_now_ms() < until_ms) {
        int32_t wait_ms = 0;
        struct pollfd set = {.fd = kedge_loop_descriptor(db), .events = POLLIN};
        assert_int_equal(kedge_loop_run(db, &wait_ms, NULL), KEDGE_OK);
        if (strcmp(to->text, text) != 0) poll(&set, 1, wait_ms < 100 ? wait_ms : 100);
        if (strlen(to->text) > strlen(text)) break;
    }
    assert_string_equal(to->text, text);
    to->text[0] = '\0';
}

static void sync_copy(kedge_db *db)
{
    kedge_error error = {0};
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
}

static void mutate(kedge_db *db, const char *name, const char *args)
{
    kedge_error error = {0};
    if (kedge_mutate(db, name, args, strlen(args), NULL, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
}

/* ---- what is told ---- */

static void test_the_first_call_has_all_rows_and_later_ones_those_that_differ(void **state)
{
    kedge_db *db = open_driven(*state, NULL);
    ear to = {0};
    client_put(db, "a", "1");
    client_put(db, "b", "\"two\"");
    watch(db, IDS_AND_VALUES, &to);
    assert_int_equal(to.calls, 0); /* never inside a call of the app */
    expect_heard(db, &to, "first +b[\"b\",\"\\\"two\\\"\"] +a[\"a\",\"1\"];");
    client_put(db, "c", "0");
    expect_heard(db, &to, "local +c[\"c\",\"0\"];");
    client_put(db, "c", "3");
    expect_heard(db, &to, "local c[\"c\",\"0\"]>[\"c\",\"3\"];");
    mutate(db, "kedge.delete", "{\"collection\":\"notes\",\"id\":\"b\"}");
    expect_heard(db, &to, "local -b[\"b\",\"\\\"two\\\"\"];");
    kedge_query_watch_free(to.watch);
    assert_int_equal(to.freed, 1);
    kedge_close(db);
}

static void test_an_empty_result_is_told_once_and_values_have_their_types(void **state)
{
    kedge_db *db = open_driven(*state, NULL);
    ear to = {0}, filtered = {0};
    static const char sql[] = "SELECT id, 2, 0.5, 3.0, NULL, value ->> 'done' FROM notes";
    static const char below[] = "SELECT id FROM notes WHERE value ->> 'n' < ?1";
    watch(db, sql, &to);
    assert_int_equal(kedge_watch_query(db, below, strlen(below), "[3]", 3, hear, &filtered, NULL,
                                       &filtered.watch, NULL),
                     KEDGE_OK);
    expect_heard(db, &to, "first;");
    client_put(db, "a", "{\"done\":true,\"n\":2}");
    client_put(db, "b", "{\"n\":4}");
    expect_heard(db, &to, "local +a[\"a\",2,0.5,3,null,1] +b[\"b\",2,0.5,3,null,null];");
    assert_string_equal(filtered.text, "first;local +a[\"a\"];");
    kedge_query_watch_free(to.watch);
    kedge_query_watch_free(filtered.watch);
    kedge_close(db);
}

static void test_changes_tell_whether_they_are_local_pulled_or_both(void **state)
{
    world *at = *state;
    desk here = {0};
    kedge_db *db = open_driven(at, &here);
    ear to = {0};
    watch(db, IDS_AND_VALUES, &to);
    sync_copy(db);
    clear_desk(&here);
    assert_string_equal(to.text, "first;");
    to.text[0] = '\0';
    mini_backend_put(at->backend, "a", "1");
    sync_copy(db);
    clear_desk(&here);
    assert_string_equal(to.text, "pulled +a[\"a\",\"1\"];");
    to.text[0] = '\0';
    /* Nothing is told while the app's thread has other work; then all as one. */
    client_put(db, "b", "2");
    client_put(db, "b", "3");
    mini_backend_put(at->backend, "c", "4");
    sync_copy(db);
    assert_string_equal(to.text, "");
    clear_desk(&here);
    assert_string_equal(to.text, "localpulled +b[\"b\",\"3\"] +c[\"c\",\"4\"];");
    kedge_query_watch_free(to.watch);
    kedge_close(db);
}

static void test_a_commit_of_another_process_is_told_as_such(void **state)
{
    world *at = *state;
    kedge_db *db = open_driven(at, NULL);
    kedge_db *other = open_driven(at, NULL);
    ear to = {0};
    watch(db, IDS_AND_VALUES, &to);
    expect_heard(db, &to, "first;");
    client_put(other, "a", "1");
    turn(other);
    expect_heard(db, &to, "other +a[\"a\",\"1\"];");
    kedge_query_watch_free(to.watch);
    kedge_close(other);
    kedge_close(db);
}

/* Each time another value. */
static void put_into(kedge_db *db, const char *collection)
{
    static int value;
    char args[128];
    snprintf(args, sizeof args, "{\"collection\":\"%s\",\"id\":\"x\",\"value\":%d}", collection,
             ++value);
    mutate(db, "kedge.put", args);
    turn(db);
    turn(db);
}

/* A run of these queries has another result than one at another millisecond. */
#define NOW  "SELECT 'now', julianday('now')"
#define PUTS 4

/* How often the query runs when each of these collections is written once, in this order. */
static int count_runs(kedge_db *db, const char *sql, const char *const collections[PUTS])
{
    ear to = {0};
    watch(db, sql, &to);
    turn(db);
    assert_int_equal(to.calls, 1);
    for (int i = 0; i < PUTS; i++) {
        int64_t before_ms = client_now_ms();
        while (client_now_ms() < before_ms + 2)
            poll(NULL, 0, 1);
        put_into(db, collections[i]);
    }
    kedge_query_watch_free(to.watch);
    return to.calls - 1;
}

/* A query of this many collections: c0, c1, … */
static const char *sql_of_many(int collections)
{
    static char sql[1024];
    size_t size = (size_t)snprintf(sql, sizeof sql, NOW ", 0");
    for (int i = 0; i < collections; i++)
        size += (size_t)snprintf(sql + size, sizeof sql - size, " + (SELECT count(*) FROM c%d)", i);
    return sql;
}

static void test_a_query_runs_only_after_commits_that_touch_what_it_reads(void **state)
{
    static const char *const puts[PUTS] = {"notes", "tags", "item", "other"};
    kedge_db *db = open_driven(*state, NULL);
    assert_int_equal(count_runs(db, NOW, puts), 0);
    assert_int_equal(count_runs(db, NOW ", count(*) FROM notes", puts), 1);
    assert_int_equal(count_runs(db, NOW ", count(*) FROM NOTES", puts), 1);
    assert_int_equal(count_runs(db, NOW ", (SELECT count(*) FROM tags, notes)", puts), 2);
    assert_int_equal(count_runs(db, NOW ", 1 WHERE EXISTS (SELECT 1 FROM notes)", puts), 1);
    assert_int_equal(
        count_runs(db, "WITH n AS (SELECT id FROM notes) " NOW ", count(id) FROM n", puts), 1);
    assert_int_equal(count_runs(db, NOW ", count(*) FROM kedge_items", puts), PUTS);
    /* More than can be told apart. */
    assert_int_equal(count_runs(db, sql_of_many(KEDGE_QUERY_READS_MAX), puts), 0);
    assert_int_equal(count_runs(db, sql_of_many(KEDGE_QUERY_READS_MAX + 1), puts), PUTS);
    /* No collection is needed to name one. */
    assert_int_equal(count_runs(db, NOW ", (SELECT count(*) FROM later)", puts), 0);
    /* A common table expression may read the table behind the views, also under a false name. */
    assert_int_equal(
        count_runs(db, "WITH notes AS (SELECT id FROM Item) " NOW ", count(id) FROM notes", puts),
        PUTS);
    kedge_close(db);
}

static void test_a_collection_that_comes_later_is_read_from_then_on(void **state)
{
    kedge_db *db = open_driven(*state, NULL);
    ear to = {0};
    watch(db, "SELECT id FROM later", &to);
    expect_heard(db, &to, "first;");
    put_into(db, "later");
    expect_heard(db, &to, "local +x[\"x\"];");
    kedge_query_watch_free(to.watch);
    kedge_close(db);
}

/* ---- errors ---- */

static void test_a_result_that_cannot_be_read_is_told_once_and_then_goes_on(void **state)
{
    kedge_db *db = open_driven(*state, NULL);
    ear to = {0};
    client_put(db, "a", "1");
    watch(db, "SELECT value, id FROM notes ORDER BY id", &to);
    expect_heard(db, &to, "first +1[\"1\",\"a\"];");
    client_put(db, "b", "1");
    expect_heard(db, &to, "watch-key-twice;");
    client_put(db, "c", "1");
    turn(db);
    client_put(db, "b", "2");
    turn(db);
    assert_string_equal(to.text, "");
    client_put(db, "c", "3");
    expect_heard(db, &to, "local +2[\"2\",\"b\"] +3[\"3\",\"c\"];");
    /* Back to what was told: the next call says that it can be read again. */
    client_put(db, "c", "2");
    expect_heard(db, &to, "watch-key-twice;");
    client_put(db, "c", "3");
    expect_heard(db, &to, "local;");
    kedge_query_watch_free(to.watch);
    kedge_close(db);
}

static void expect_error(kedge_db *db, const char *sql, const char *told)
{
    ear to = {0};
    watch(db, sql, &to);
    expect_heard(db, &to, told);
    kedge_query_watch_free(to.watch);
}

static void test_rows_without_a_key_or_without_json_are_told_as_errors(void **state)
{
    kedge_db *db = open_driven(*state, NULL);
    client_put(db, "a", "1");
    expect_error(db, "SELECT NULL, id FROM notes", "firstwatch-key-null;");
    expect_error(db, "SELECT id, x'00' FROM notes", "firstwatch-value;");
    expect_error(db, "SELECT id, 1e999 FROM notes", "firstwatch-value;");
    expect_error(db,
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                 " SELECT i FROM n",
                 "firstwatch-too-many-rows;");
    kedge_close(db);
}

static void test_wrong_parameters_are_refused(void **state)
{
    static const char sql[] = "SELECT id FROM notes";
    kedge_db *db = open_driven(*state, NULL);
    kedge_query_watch *made = NULL;
    size_t size = strlen(sql);
    kedge_error error = {0};
#define REFUSED(...)                                                                               \
    assert_int_equal(kedge_watch_query(__VA_ARGS__, &error), KEDGE_INVALID_ARGUMENT)
    REFUSED(NULL, sql, size, NULL, 0, hear, NULL, NULL, &made);
    REFUSED(db, NULL, size, NULL, 0, hear, NULL, NULL, &made);
    REFUSED(db, sql, size, NULL, 1, hear, NULL, NULL, &made);
    REFUSED(db, sql, size, NULL, 0, NULL, NULL, NULL, &made);
    REFUSED(db, sql, size, NULL, 0, hear, NULL, NULL, NULL);
    REFUSED(db, "SELECT", 6, NULL, 0, hear, NULL, NULL, &made);
    assert_string_equal(error.code, "sql-invalid");
    REFUSED(db, "DELETE FROM notes", 17, NULL, 0, hear, NULL, NULL, &made);
    REFUSED(db, sql, size, "[1]", 3, hear, NULL, NULL, &made);
    assert_string_equal(error.code, "parameters-invalid");
    assert_null(made);
    kedge_query_watch_free(NULL);
    kedge_close(db);
}

/* ---- the end of a watch ---- */

static void test_a_freed_watch_hears_nothing_more(void **state)
{
    desk here = {0};
    kedge_db *db = open_driven(*state, &here);
    ear at_the_desk = {0}, due = {0}, inside = {.free_it = true};
    watch(db, IDS_AND_VALUES, &at_the_desk);
    watch(db, IDS_AND_VALUES, &inside);
    turn(db);
    assert_int_equal(here.count, 2);
    watch(db, IDS_AND_VALUES, &due);
    kedge_query_watch_free(at_the_desk.watch);
    kedge_query_watch_free(due.watch);
    assert_int_equal(at_the_desk.freed, 1);
    assert_int_equal(due.freed, 1);
    clear_desk(&here);
    assert_int_equal(inside.calls, 1);
    assert_int_equal(inside.freed, 1);
    client_put(db, "a", "1");
    turn(db);
    clear_desk(&here);
    assert_int_equal(inside.calls, 1);
    assert_int_equal(at_the_desk.calls + due.calls, 0);
    kedge_close(db);
}

static void test_work_at_the_dispatcher_may_outlive_the_database(void **state)
{
    desk here = {0};
    kedge_db *db = open_driven(*state, &here);
    ear to = {0};
    watch(db, IDS_AND_VALUES, &to);
    turn(db);
    kedge_query_watch_free(to.watch);
    kedge_close(db);
    clear_desk(&here);
    assert_int_equal(to.calls, 0);
    assert_int_equal(to.freed, 1);
}

/* ---- faults ---- */

static void test_a_result_that_no_memory_was_left_for_is_told_later(void **state)
{
    world *at = *state;
    kedge_options options = client_options(at->folder, NULL);
    options.caller_driven = true;
    options.allocator = &at->memory.allocator;
    kedge_db *db = client_open(&options);
    ear to = {0};
    int told = 0;
    bool struck = true;
    watch(db, IDS_AND_VALUES, &to);
    expect_heard(db, &to, "first;");
    for (uint64_t nth = 1; struck; nth++) {
        char value[16], expected[128];
        snprintf(value, sizeof value, "%d", (int)nth);
        client_put(db, "a", value);
        failing_allocator_arm(&at->memory, nth, false);
        turn(db);
        struck = at->memory.failed > 0;
        failing_allocator_arm(&at->memory, 0, false);
        bool failed = strcmp(to.text, "out-of-memory;") == 0;
        if (failed) to.text[0] = '\0', told++;
        if (nth == 1)
            snprintf(expected, sizeof expected, "local +a[\"a\",\"1\"];");
        else
            snprintf(expected, sizeof expected, "local a[\"a\",\"%d\"]>[\"a\",\"%s\"];",
                     (int)nth - 1, value);
        expect_heard(db, &to, expected);
    }
    assert_true(told > 3);
    kedge_query_watch_free(to.watch);
    kedge_close(db);
    assert_int_equal(at->memory.living, 0);
}

static void test_a_result_is_told_once_the_app_has_closed_some_of_too_many_scans(void **state)
{
    kedge_db *db = open_driven(*state, NULL);
    kedge_scan *scans[KEDGE_LIMIT_READERS];
    ear to = {0};
    watch(db, IDS_AND_VALUES, &to);
    expect_heard(db, &to, "first;");
    client_put(db, "a", "1");
    for (int i = 0; i < KEDGE_LIMIT_READERS; i++)
        assert_int_equal(kedge_scan_open(db, "notes", NULL, &scans[i], NULL), KEDGE_OK);
    expect_heard(db, &to, "too-many-readers;");
    for (int i = 0; i < KEDGE_LIMIT_READERS; i++)
        kedge_scan_close(scans[i]);
    expect_heard(db, &to, "local +a[\"a\",\"1\"];");
    kedge_query_watch_free(to.watch);
    kedge_close(db);
}

/* Damages a row of the cache, as the disk might. */
static void damage_cache(const world *at)
{
    char path[CLIENT_PATH_SIZE + 16];
    sqlite3 *file;
    snprintf(path, sizeof path, "%s/cache.db", at->folder);
    assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
    sqlite3_busy_timeout(file, 10000);
    if (sqlite3_exec(file, "UPDATE item SET value = '\"other\"'", NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(file));
    sqlite3_close(file);
}

static void test_a_cache_that_is_set_aside_and_pulled_again_ends_as_it_was(void **state)
{
    world *at = *state;
    kedge_db *db = open_driven(at, NULL);
    ear to = {0};
    mini_backend_put(at->backend, "a", "1");
    sync_copy(db);
    client_put(db, "mine", "2");
    watch(db, IDS_AND_VALUES, &to);
    expect_heard(db, &to, "first +a[\"a\",\"1\"] +mine[\"mine\",\"2\"];");
    damage_cache(at);
    client_put(db, "x", "3"); /* the watch runs its query, which finds the damage */
    expect_heard(db, &to, "local -a[\"a\",\"1\"] +x[\"x\",\"3\"];");
    assert_true(client_status(db).resyncing);
    sync_copy(db);
    expect_heard(db, &to, "pulled +a[\"a\",\"1\"];");
    kedge_query_watch_free(to.watch);
    kedge_close(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_call_has_all_rows_and_later_ones_those_that_differ),
        TEST(test_an_empty_result_is_told_once_and_values_have_their_types),
        TEST(test_changes_tell_whether_they_are_local_pulled_or_both),
        TEST(test_a_commit_of_another_process_is_told_as_such),
        TEST(test_a_query_runs_only_after_commits_that_touch_what_it_reads),
        TEST(test_a_collection_that_comes_later_is_read_from_then_on),
        TEST(test_a_result_that_cannot_be_read_is_told_once_and_then_goes_on),
        TEST(test_rows_without_a_key_or_without_json_are_told_as_errors),
        TEST(test_wrong_parameters_are_refused),
        TEST(test_a_freed_watch_hears_nothing_more),
        TEST(test_work_at_the_dispatcher_may_outlive_the_database),
        TEST(test_a_result_that_no_memory_was_left_for_is_told_later),
        TEST(test_a_result_is_told_once_the_app_has_closed_some_of_too_many_scans),
        TEST(test_a_cache_that_is_set_aside_and_pulled_again_ends_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
