/* The outbox whose rows are not what was written: each column of each table, rows and pages that
 * are missing, and what is saved of the rest. */
#include "sdk/store/repair.h"
#include "sdk/store/store_internal.h"
#include "tests/store/outbox_scenario.h"
#include "tests/support/sampling.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct column {
    char table[32];
    char name[32];
    bool key;
} column;

static int list_columns(const fixture *f, column *columns, int capacity)
{
    static const char sql[] = "SELECT m.name, p.name, p.pk FROM sqlite_master m,"
                              " pragma_table_info(m.name) p WHERE m.type = 'table'";
    sqlite3 *db = outbox_open_raw(f);
    sqlite3_stmt *cursor;
    int count = 0;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &cursor, NULL), SQLITE_OK);
    while (sqlite3_step(cursor) == SQLITE_ROW && count < capacity) {
        column *at = &columns[count++];
        snprintf(at->table, sizeof at->table, "%s", (const char *)sqlite3_column_text(cursor, 0));
        snprintf(at->name, sizeof at->name, "%s", (const char *)sqlite3_column_text(cursor, 1));
        at->key = sqlite3_column_int(cursor, 2) > 0;
    }
    sqlite3_finalize(cursor);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return count;
}

/* ---- each column ---- */

/* Damages one value of the row number `row`, and holds the client to what is said in
 * docs/explanation/damage.md. Returns false when there is no such row. */
static bool try_damage(fixture *f, const column *at, int row, const char *value)
{
    char sql[512];
    char what[640];
    const char *order = strcmp(at->table, "totals") == 0 ? "name" : "rowid";
    snprintf(sql, sizeof sql,
             "UPDATE %.31s SET %.31s = %.20s WHERE %s = (SELECT %s FROM %.31s ORDER BY 1 LIMIT 1 "
             "OFFSET %d)",
             at->table, at->name, value, order, order, at->table, row);
    snprintf(what, sizeof what, "%s AND %.31s IS NOT %.20s", sql, at->name, value);
    if (outbox_run_raw(f, what) != 1) return false;
    kedge_status status = fixture_try_open(f, f->path, &f->store);
    if (status != KEDGE_OK) fail_msg("%s: %s", what, f->error.message);
    fixture_sync(f);
    int damaged = outbox_expect_accounted(f, what);
    bool pending = strcmp(at->table, "pending") == 0;
    bool inbox = strcmp(at->table, "rejected") == 0;
    if (damaged > (pending || inbox ? 1 : 0)) fail_msg("%s: %d edits are damaged", what, damaged);
    if (pending && damaged == 0 && row >= 3) fail_msg("%s: nothing was noticed", what);
    assert_int_equal(fixture_position(f).pending, 0);
    fixture_check(f);
    /* Healed: the next opening finds nothing. */
    fixture_reopen(f);
    assert_int_equal(outbox_expect_accounted(f, what), damaged);
    fixture_close_flat(f);
    return true;
}

static int try_all(fixture *f, const char *whole, const column *columns, int count)
{
    static const char *const values[] = {"NULL", "9999", "-1", "'x'", "x'00ff'", "1.5"};
    int64_t version = f->server->version;
    int tried = 0;
    for (int i = 0; i < count; i++) {
        for (int row = i % SAMPLING_FEWER; row < 8; row += SAMPLING_FEWER) {
            size_t value = (size_t)(i + row) % (sizeof values / sizeof values[0]);
            if (try_damage(f, &columns[i], row, values[value])) tried++;
            outbox_restore_folder(f, whole);
            naive_server_restore(f->server, version);
        }
    }
    return tried;
}

static void a_wrong_value_in_any_column(fixture *f, bool arrived)
{
    column columns[128];
    char whole[160];
    outbox_fill(f, arrived);
    fixture_close_flat(f);
    snprintf(whole, sizeof whole, "%s/whole", f->folder);
    fixture_copy_tree(f->path, whole);
    int count = list_columns(f, columns, 128);
    assert_in_range(count, 60, 127);
    int tried = try_all(f, whole, columns, count);
    print_message("%d values in %d columns\n", tried, count);
    assert_true(tried > 150 / SAMPLING_FEWER);
    fixture_open(f);
}

static void test_a_wrong_value_in_any_column_loses_nothing_without_a_word(void **state)
{
    a_wrong_value_in_any_column(*state, false);
}

static void test_nor_does_it_when_the_server_has_the_edit_already(void **state)
{
    a_wrong_value_in_any_column(*state, true);
}

/* ---- beyond its rows ---- */

static void overwrite_page(const fixture *f, long page)
{
    char path[256], zeros[4096] = {0};
    snprintf(path, sizeof path, "%s/outbox.db", f->path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 4096 * page, SEEK_SET), 0);
    assert_int_equal(fwrite(zeros, sizeof zeros, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* The root of `pending` has several leaves below it; one of those in the middle. */
static long leaf_of_pending(const fixture *f)
{
    static const char sql[] = "SELECT pageno FROM dbstat WHERE name = 'pending' AND pagetype ="
                              " 'leaf' ORDER BY path LIMIT 1 OFFSET 3";
    sqlite3 *db = outbox_open_raw(f);
    sqlite3_stmt *find;
    long page = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &find, NULL) == SQLITE_OK &&
        sqlite3_step(find) == SQLITE_ROW)
        page = (long)sqlite3_column_int64(find, 0) - 1;
    sqlite3_finalize(find);
    sqlite3_close(db);
    return page;
}

#define MANY 300

static void make_many(fixture *f)
{
    char args[256];
    for (int i = 1; i <= MANY; i++) {
        snprintf(args, sizeof args, "{\"id\":\"e%d\",\"by\":1,\"note\":\"%0100d\"}", i, i);
        fixture_mutate(f, "add", args);
    }
}

static void test_a_damaged_page_is_refused_with_what_can_be_read_and_saved(void **state)
{
    fixture *f = *state;
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    kedge_store *store = NULL;
    char saved[160];
    make_many(f);
    fixture_close_flat(f);
    long page = leaf_of_pending(f);
    if (page == 0) skip(); /* this SQLite has no dbstat */
    overwrite_page(f, page);
    assert_int_equal(fixture_try_open(f, f->path, &store), KEDGE_CORRUPT);
    int readable = 0;
    const char *says = strstr(f->error.message, "nothing in it was changed; ");
    assert_non_null(says);
    assert_int_equal(sscanf(says, "nothing in it was changed; %d of 300", &readable), 1);
    assert_in_range(readable, MANY - 40, MANY - 1);
    snprintf(saved, sizeof saved, "%s/saved", f->folder);
    kedge_status status = kedge_store_repair(&f->environment, f->path, saved, &report, &f->error);
    if (status != KEDGE_OK) fail_msg("%s", f->error.message);
    assert_int_equal(report.pending, readable);
    assert_int_equal(report.missing, MANY - readable);
    assert_int_equal(kedge_store_repair(&f->environment, f->path, saved, NULL, &f->error),
                     KEDGE_INVALID_ARGUMENT);
    snprintf(f->path, sizeof f->path, "%s", saved);
    fixture_open(f);
    assert_int_equal(fixture_position(f).unrecovered, MANY - readable);
    assert_int_equal(fixture_position(f).withheld, 0); /* none has ever left */
    fixture_sync(f);
    int arrived = 0;
    for (int i = 1; i <= MANY; i++) {
        assert_in_range(outbox_applied(f, i), 0, 1);
        arrived += outbox_applied(f, i);
    }
    assert_int_equal(arrived, readable);
    assert_true(fixture_mutate(f, "add", "{\"id\":\"more\",\"by\":1}") > MANY);
}

static void test_what_was_saved_is_not_applied_twice(void **state)
{
    fixture *f = *state;
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    char saved[160];
    outbox_fill(f, true);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "UPDATE meta SET highest_id = 3"), 2);
    kedge_store *store = NULL;
    assert_int_equal(fixture_try_open(f, f->path, &store), KEDGE_CORRUPT);
    snprintf(saved, sizeof saved, "%s/saved", f->folder);
    kedge_status status = kedge_store_repair(&f->environment, f->path, saved, &report, &f->error);
    if (status != KEDGE_OK) fail_msg("%s", f->error.message);
    assert_int_equal(report.pending, 7);
    assert_int_equal(report.rejected, 1);
    assert_int_equal(report.confirmed, 4);
    assert_int_equal(report.missing, -1);
    snprintf(f->path, sizeof f->path, "%s", saved);
    fixture_open(f);
    assert_int_equal(fixture_position(f).withheld, 7);
    fixture_pull(f); /* the state that has 6 to 8 already: they are not predicted on it */
    assert_int_equal(outbox_applied(f, 6), 1);
    fixture_check(f);
    fixture_sync(f);
    assert_int_equal(outbox_expect_accounted(f, "saved"), 0);
    assert_int_equal(outbox_applied(f, 6), 1);
    assert_int_equal(outbox_applied(f, 12), 1);
}

static void test_nothing_is_acknowledged_once_the_outbox_is_found_damaged(void **state)
{
    fixture *f = *state;
    kedge_mutation_list *list;
    make_many(f);
    assert_int_equal(kedge_store_checkpoint(f->store, NULL), KEDGE_OK);
    long page = leaf_of_pending(f);
    if (page == 0) skip();
    fixture_close_flat(f);
    fixture_open(f);
    overwrite_page(f, page);
    assert_int_equal(kedge_store_pending_open(f->store, &list, &f->error), KEDGE_CORRUPT);
    kedge_status status =
        kedge_store_mutate(f->store, KEDGE_BYTES("add"), KEDGE_BYTES("{\"id\":\"x\",\"by\":1}"),
                           NULL, &f->changes, &f->error);
    assert_int_equal(status, KEDGE_CORRUPT);
    assert_string_equal(f->error.code, "outbox-damaged");
    assert_non_null(strstr(f->error.message, "kedge_repair"));
}

/* ---- withheld edits ---- */

static void put_back_file(const fixture *f, const char *whole, const char *name)
{
    char from[256], to[256];
    snprintf(from, sizeof from, "%s/%s", whole, name);
    snprintf(to, sizeof to, "%s/%s", f->path, name);
    (void)unlink(to);
    if (access(from, F_OK) == 0) fixture_copy_file(from, to);
}

static void test_an_older_outbox_predicts_nothing_that_the_cache_has(void **state)
{
    fixture *f = *state;
    char whole[160];
    outbox_fill(f, false);
    fixture_close_flat(f);
    snprintf(whole, sizeof whole, "%s/whole", f->folder);
    fixture_copy_tree(f->path, whole);
    fixture_open(f);
    for (int i = EDITS + 1; i <= EDITS + 4; i++)
        outbox_make_edit(f, i);
    fixture_sync(f);
    fixture_close_flat(f);
    put_back_file(f, whole, "outbox.db");
    put_back_file(f, whole, "outbox.db-wal");
    for (int opening = 0; opening < 2; opening++) {
        fixture_open(f);
        assert_int_equal(fixture_position(f).withheld, 7);
        assert_int_equal(fixture_position(f).unrecovered, 4);
        fixture_expect(f, "e6", "1");
        fixture_expect(f, "e12", "1");
        fixture_close(f);
    }
    fixture_open(f);
    assert_int_equal(fixture_mutate(f, "add", "{\"id\":\"e6\",\"by\":1}"), EDITS + 5);
    fixture_expect(f, "e6", "2"); /* the edit that was made since is shown */
    fixture_sync(f);
    fixture_expect_canonical(f, "e6", "2");
    fixture_expect_canonical(f, "e7", "1");
    assert_int_equal(fixture_position(f).withheld, 0);
}

static void test_an_older_cache_does_not_hide_that_the_backend_was_restored(void **state)
{
    fixture *f = *state;
    char whole[160];
    int64_t version = 0;
    f->server->reads_seen = true;
    for (int i = 1; i <= 6; i++) {
        outbox_make_edit(f, i);
        fixture_sync(f);
        if (i == 4) version = f->server->version;
        if (i != 3) continue;
        fixture_close_flat(f);
        snprintf(whole, sizeof whole, "%s/whole", f->folder);
        fixture_copy_tree(f->path, whole);
        fixture_open(f);
    }
    fixture_close_flat(f);
    put_back_file(f, whole, "cache.db");
    /* Where the old cache goes on from is there still; what the newer one had is not. */
    naive_server_restore(f->server, version);
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_open(f);
    fixture_sync(f);
    for (int i = 1; i <= 6; i++)
        assert_int_equal(outbox_applied(f, i), 1);
}

static void test_after_a_second_restore_nothing_is_shown_twice(void **state)
{
    fixture *f = *state;
    outbox_fill(f, false);
    fixture_sync(f);
    int64_t kept = f->server->version;
    outbox_make_edit(f, EDITS + 1);
    fixture_sync(f);
    naive_server_restore(f->server, kept);
    naive_server_edit(f->server, "set", "{\"id\":\"other\",\"value\":1}");
    fixture_pull(f);
    fixture_sync(f); /* the first restore: 13 comes back under a new client id */
    int64_t second = f->server->version;
    outbox_make_edit(f, EDITS + 2);
    fixture_sync(f);
    naive_server_restore(f->server, second);
    naive_server_edit(f->server, "set", "{\"id\":\"other\",\"value\":2}");
    fixture_pull(f); /* the state is there, and nothing was pushed yet */
    for (int opening = 0; opening < 2; opening++) {
        for (int i = 1; i <= EDITS + 1; i++) {
            char id[16];
            snprintf(id, sizeof id, "e%d", i);
            if (i != 5) fixture_expect(f, id, "1");
        }
        fixture_expect(f, "e14", NULL); /* nobody knows until it was sent again */
        assert_int_equal(fixture_position(f).withheld, fixture_position(f).pending);
        fixture_check(f);
        fixture_reopen(f);
    }
    fixture_sync(f);
    assert_int_equal(outbox_expect_accounted(f, "second restore"), 0);
    fixture_check(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_wrong_value_in_any_column_loses_nothing_without_a_word),
        TEST(test_nor_does_it_when_the_server_has_the_edit_already),
        TEST(test_a_damaged_page_is_refused_with_what_can_be_read_and_saved),
        TEST(test_what_was_saved_is_not_applied_twice),
        TEST(test_nothing_is_acknowledged_once_the_outbox_is_found_damaged),
        TEST(test_an_older_outbox_predicts_nothing_that_the_cache_has),
        TEST(test_an_older_cache_does_not_hide_that_the_backend_was_restored),
        TEST(test_after_a_second_restore_nothing_is_shown_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
