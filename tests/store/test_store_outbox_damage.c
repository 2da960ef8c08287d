/* The outbox whose rows are not what was written: each column of each table, rows and pages that
 * are missing, and what is saved of the rest. */
#include "sdk/store/repair.h"
#include "sdk/store/store_internal.h"
#include "tests/store/fixture.h"
#include "tests/support/store_view.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define EDITS 12

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

/* ---- edits that can be counted ---- */

/* Edit number n adds 1 to notes/e<n>: applied twice, it shows. Its sequence is n. */
static int64_t make_edit_anew(fixture *f, int number)
{
    char args[64];
    snprintf(args, sizeof args, "{\"id\":\"e%d\",\"by\":1}", number);
    return fixture_mutate(f, "add", args);
}

static void make_edit(fixture *f, int number)
{
    assert_int_equal(make_edit_anew(f, number), number);
}

/* 1 to 4 are confirmed, 5 is in the inbox, 6 to 8 were sent and have not arrived, or have, and 9 to
 * 12 never left. */
static void fill(fixture *f, bool arrived)
{
    for (int i = 1; i <= 4; i++)
        make_edit(f, i);
    fixture_sync(f);
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":9}");
    assert_int_equal(fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}"), 5);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 1);
    for (int i = 6; i <= 8; i++)
        make_edit(f, i);
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    uint32_t count;
    assert_int_equal(kedge_store_push_body(f->store, 0, 100, 1 << 20, &body, &count, NULL, NULL),
                     KEDGE_OK);
    assert_int_equal(count, 3);
    if (arrived)
        assert_int_equal(naive_server_push(f->server, kedge_buffer_bytes(&body)), NAIVE_OK);
    kedge_buffer_free(&body);
    for (int i = 9; i <= EDITS; i++)
        make_edit(f, i);
}

static int applied(fixture *f, int number)
{
    char id[16];
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    snprintf(id, sizeof id, "e%d", number);
    kedge_status status =
        store_get_canonical(f->store, KEDGE_BYTES("notes"), kedge_bytes_of(id), &value, NULL);
    int times = status == KEDGE_OK ? (int)strtol(value.data, NULL, 10) : 0;
    kedge_buffer_free(&value);
    return times;
}

static bool read_entry(fixture *f, int64_t sequence, char code[64], char message[128])
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    bool found = false;
    assert_int_equal(kedge_store_rejected_open(f->store, &list, NULL), KEDGE_OK);
    while (!found && kedge_mutation_list_next(list, &mutation, NULL) == KEDGE_OK) {
        found = mutation.sequence == sequence;
        if (found) snprintf(code, 64, "%s", mutation.code);
        if (found) snprintf(message, 128, "%s", mutation.message);
    }
    kedge_mutation_list_close(list);
    return found;
}

static bool is_in_inbox(fixture *f, int64_t sequence, char code[64])
{
    char message[128];
    return read_entry(f, sequence, code, message);
}

/* Behind a sync: each edit was applied once, or stands in the inbox. Returns how
 * many are damaged. */
static int expect_all_accounted(fixture *f, const char *what)
{
    int damaged = 0;
    char code[64] = "";
    for (int i = 1; i <= EDITS; i++) {
        int times = applied(f, i);
        bool shown = is_in_inbox(f, i, code);
        bool lost = shown && strcmp(code, "damaged") == 0;
        if (times > 1 || (times == 0 && !shown))
            fail_msg("%s: edit %d was applied %d times and is %s the inbox", what, i, times,
                     shown ? "in" : "not in");
        damaged += lost;
    }
    return damaged;
}

/* ---- raw access ---- */

static sqlite3 *open_raw(const fixture *f)
{
    char path[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/outbox.db", f->path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return db;
}

static int run_raw(const fixture *f, const char *sql)
{
    sqlite3 *db = open_raw(f);
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    int changed = sqlite3_changes(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return code == SQLITE_OK ? changed : 0;
}

typedef struct column {
    char table[32];
    char name[32];
    bool key;
} column;

static int list_columns(const fixture *f, column *columns, int capacity)
{
    static const char sql[] = "SELECT m.name, p.name, p.pk FROM sqlite_master m,"
                              " pragma_table_info(m.name) p WHERE m.type = 'table'";
    sqlite3 *db = open_raw(f);
    sqlite3_stmt *walk;
    int count = 0;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &walk, NULL), SQLITE_OK);
    while (sqlite3_step(walk) == SQLITE_ROW && count < capacity) {
        column *at = &columns[count++];
        snprintf(at->table, sizeof at->table, "%s", (const char *)sqlite3_column_text(walk, 0));
        snprintf(at->name, sizeof at->name, "%s", (const char *)sqlite3_column_text(walk, 1));
        at->key = sqlite3_column_int(walk, 2) > 0;
    }
    sqlite3_finalize(walk);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return count;
}

/* ---- each column ---- */

static void restore_folder(fixture *f, const char *whole)
{
    fixture_remove_tree(f->path);
    fixture_copy_tree(whole, f->path);
}

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
    if (run_raw(f, what) != 1) return false;
    kedge_status status = fixture_try_open(f, f->path, &f->store);
    if (status != KEDGE_OK) fail_msg("%s: %s", what, f->error.message);
    fixture_sync(f);
    int damaged = expect_all_accounted(f, what);
    bool pending = strcmp(at->table, "pending") == 0;
    bool inbox = strcmp(at->table, "rejected") == 0;
    if (damaged > (pending || inbox ? 1 : 0)) fail_msg("%s: %d edits are damaged", what, damaged);
    if (pending && damaged == 0 && row >= 3) fail_msg("%s: nothing was noticed", what);
    assert_int_equal(fixture_position(f).pending, 0);
    fixture_check(f);
    /* Healed: the next opening finds nothing. */
    fixture_reopen(f);
    assert_int_equal(expect_all_accounted(f, what), damaged);
    fixture_close_flat(f);
    return true;
}

static int try_all(fixture *f, const char *whole, const column *columns, int count)
{
    static const char *const values[] = {"NULL", "9999", "-1", "'x'", "x'00ff'", "1.5"};
    int64_t version = f->server->version;
    int tried = 0;
    for (int i = 0; i < count; i++) {
        for (int row = 0; row < 8; row++) {
            size_t value = (size_t)(i + row) % (sizeof values / sizeof values[0]);
            if (try_damage(f, &columns[i], row, values[value])) tried++;
            restore_folder(f, whole);
            naive_server_restore(f->server, version);
        }
    }
    return tried;
}

static void a_wrong_value_in_any_column(fixture *f, bool arrived)
{
    column columns[128];
    char whole[160];
    fill(f, arrived);
    fixture_close_flat(f);
    snprintf(whole, sizeof whole, "%s/whole", f->folder);
    fixture_copy_tree(f->path, whole);
    int count = list_columns(f, columns, 128);
    assert_in_range(count, 60, 127);
    int tried = try_all(f, whole, columns, count);
    print_message("%d values in %d columns\n", tried, count);
    assert_true(tried > 150);
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

/* ---- rows that are missing ---- */

static void test_a_pending_row_that_is_missing_is_told_and_does_not_block(void **state)
{
    fixture *f = *state;
    char code[64];
    fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(run_raw(f, "DELETE FROM pending WHERE sequence IN (6, 10, 12)"), 3);
    fixture_open(f);
    assert_int_equal(fixture_position(f).pending, 7);
    for (int i = 0; i < 2; i++) {
        assert_true(is_in_inbox(f, 6, code) && is_in_inbox(f, 10, code) &&
                    is_in_inbox(f, 12, code));
        assert_string_equal(code, "damaged");
        fixture_sync(f);
    }
    assert_int_equal(expect_all_accounted(f, "missing rows"), 3);
    assert_int_equal(applied(f, 11), 1);
}

static void test_a_damaged_edit_is_dismissed_and_cannot_be_resubmitted(void **state)
{
    fixture *f = *state;
    char code[64];
    fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(
        run_raw(f, "UPDATE pending SET args = '{\"id\":\"e9\",\"by\":7}' WHERE sequence = 9"), 1);
    fixture_open(f);
    assert_true(is_in_inbox(f, 9, code));
    int64_t sequence;
    assert_int_equal(kedge_store_resubmit(f->store, 9, &sequence, &f->changes, &f->error),
                     KEDGE_CONFLICT);
    assert_string_equal(f->error.code, "mutation-damaged");
    assert_int_equal(kedge_store_dismiss(f->store, 9, &f->error), KEDGE_OK);
    assert_false(is_in_inbox(f, 9, code));
    assert_int_equal(kedge_store_dismiss(f->store, 9, &f->error), KEDGE_NOT_FOUND);
    fixture_sync(f);
    assert_int_equal(applied(f, 9), 0);
    assert_int_equal(applied(f, 12), 1);
}

static void test_a_damaged_edit_of_an_earlier_client_is_told_until_the_pull_shows_it(void **state)
{
    fixture *f = *state;
    char code[64];
    fill(f, true);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    fixture_close_flat(f);
    assert_int_equal(run_raw(f, "UPDATE pending SET covered_version = 1 WHERE sequence = 6"), 1);
    assert_int_equal(run_raw(f, "DELETE FROM pending WHERE sequence = 7"), 1);
    fixture_open(f);
    assert_true(is_in_inbox(f, 6, code));
    assert_string_equal(code, "damaged");
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_reopen(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_sync(f);
    assert_int_equal(expect_all_accounted(f, "of an earlier client"), 1);
    assert_int_equal(applied(f, 6), 1);
    assert_int_equal(applied(f, 7), 1);
}

/* As a process leaves it that ends between the commits of a pull: the outbox has the rejection, and
 * the cache does not know of it yet. */
static void leave_rejection_half_pulled(fixture *f)
{
    char before[160], after[160], sql[512];
    snprintf(before, sizeof before, "%s/before", f->folder);
    snprintf(after, sizeof after, "%s/after", f->folder);
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":9}");
    assert_int_equal(fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}"), 1);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, before);
    fixture_open(f);
    fixture_pull(f);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, after);
    restore_folder(f, before);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/outbox.db' AS after; INSERT INTO rejected SELECT * FROM after.rejected",
             after);
    assert_int_equal(run_raw(f, sql), 1);
}

static void test_a_damaged_edit_that_was_rejected_already_keeps_its_rejection(void **state)
{
    fixture *f = *state;
    char code[64];
    leave_rejection_half_pulled(f);
    assert_int_equal(run_raw(f, "UPDATE pending SET uid = zeroblob(16)"), 1);
    fixture_open(f);
    fixture_sync(f);
    assert_true(is_in_inbox(f, 1, code));
    assert_string_equal(code, "over-limit");
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(fixture_outcome(f, 1), KEDGE_OUTCOME_REJECTED);
}

static void test_rows_that_the_totals_miss_are_counted(void **state)
{
    fixture *f = *state;
    fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(run_raw(f, "DELETE FROM rejected"), 1);
    assert_int_equal(run_raw(f, "DELETE FROM confirmed WHERE sequence = 2"), 1);
    fixture_open(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_reopen(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    /* The backend is put back to before all edits: what the tail lacks is counted then. */
    naive_server_restore(f->server, 0);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 3); /* the rejected one once more */
    assert_int_equal(applied(f, 2), 0);
    assert_int_equal(applied(f, 1), 1);
}

static void test_the_tail_is_measured_anew_when_rows_of_it_are_missing(void **state)
{
    static const char difference[] = "SELECT (SELECT tail_bytes FROM meta) -"
                                     " (SELECT sum(length(args)) FROM confirmed)";
    fixture *f = *state;
    int64_t wrong = -1;
    fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(run_raw(f, "DELETE FROM confirmed WHERE sequence < 4"), 3);
    fixture_open(f);
    assert_int_equal(kedge_store_db_number(&f->store->outbox, difference, &wrong, NULL), KEDGE_OK);
    assert_int_equal(wrong, 0);
}

static void test_an_answered_rejection_that_is_damaged_stays_answered(void **state)
{
    fixture *f = *state;
    fill(f, false);
    assert_int_equal(kedge_store_dismiss(f->store, 5, &f->error), KEDGE_OK);
    fixture_close_flat(f);
    assert_int_equal(run_raw(f, "UPDATE rejected SET timestamp = timestamp + 1"), 1);
    fixture_open(f);
    assert_int_equal(fixture_position(f).rejected, 0);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 0);
}

static void test_an_old_meta_says_nothing_of_edits_that_were_decided_since(void **state)
{
    fixture *f = *state;
    char before[160], sql[512];
    for (int i = 1; i <= 3; i++)
        make_edit(f, i);
    fixture_close_flat(f);
    snprintf(before, sizeof before, "%s/before", f->folder);
    fixture_copy_tree(f->path, before);
    fixture_open(f);
    make_edit(f, 4);
    make_edit(f, 5);
    fixture_sync(f);
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/outbox.db' AS before; DELETE FROM meta;"
             " INSERT INTO meta SELECT * FROM before.meta",
             before);
    assert_int_equal(run_raw(f, sql), 2);
    fixture_open(f);
    assert_int_equal(fixture_position(f).rejected, 0);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    assert_int_equal(make_edit_anew(f, 6), 6);
    fixture_sync(f);
    for (int i = 1; i <= 6; i++)
        assert_int_equal(applied(f, i), 1);
}

/* ---- a damaged row while the folder is open ---- */

static void test_a_row_that_is_damaged_while_open_is_set_aside(void **state)
{
    fixture *f = *state;
    fill(f, false);
    assert_int_equal(run_raw(f, "UPDATE pending SET uid = zeroblob(16) WHERE sequence = 7"), 1);
    assert_int_equal(run_raw(f, "UPDATE pending SET covered_version = 1 WHERE sequence = 10"), 1);
    fixture_sync(f);
    assert_int_equal(expect_all_accounted(f, "while open"), 2);
    fixture_check(f);
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
    sqlite3 *db = open_raw(f);
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
        assert_in_range(applied(f, i), 0, 1);
        arrived += applied(f, i);
    }
    assert_int_equal(arrived, readable);
    assert_true(fixture_mutate(f, "add", "{\"id\":\"more\",\"by\":1}") > MANY);
}

static void test_what_was_saved_is_not_applied_twice(void **state)
{
    fixture *f = *state;
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    char saved[160];
    fill(f, true);
    fixture_close_flat(f);
    assert_int_equal(run_raw(f, "UPDATE meta SET highest_id = 3"), 2);
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
    assert_int_equal(applied(f, 6), 1);
    fixture_check(f);
    fixture_sync(f);
    assert_int_equal(expect_all_accounted(f, "saved"), 0);
    assert_int_equal(applied(f, 6), 1);
    assert_int_equal(applied(f, 12), 1);
}

static void repair_into(fixture *f, const char *name)
{
    char saved[160];
    snprintf(saved, sizeof saved, "%s/%s", f->folder, name);
    kedge_status status = kedge_store_repair(&f->environment, f->path, saved, NULL, &f->error);
    if (status != KEDGE_OK) fail_msg("%s", f->error.message);
    snprintf(f->path, sizeof f->path, "%s", saved);
}

static void test_damaged_edits_with_gaps_between_keep_their_order_and_their_names(void **state)
{
    fixture *f = *state;
    char code[64], message[128];
    fill(f, true);
    fixture_close_flat(f);
    assert_int_equal(run_raw(f, "UPDATE pending SET args = '1' WHERE sequence IN (9, 11)"), 2);
    repair_into(f, "gaps"); /* pending are 6, 7, 8, 10 and 12, with the ids 1 to 5 */
    assert_int_equal(run_raw(f, "UPDATE pending SET args = '1' WHERE sequence IN (8, 10)"), 2);
    fixture_open(f);
    assert_true(read_entry(f, 8, code, message) && strcmp(code, "damaged") == 0);
    /* It was sent before the folder was repaired, under another name. */
    assert_string_equal(message, "this edit was damaged on the disk; the server may have it");
    assert_true(is_in_inbox(f, 10, code) && strcmp(code, "damaged") == 0);
    fixture_sync(f);
    assert_int_equal(expect_all_accounted(f, "gaps"), 4);
    assert_int_equal(applied(f, 12), 1);
    assert_int_equal(fixture_outcome(f, 8), KEDGE_OUTCOME_REJECTED);
    fixture_reopen(f);
    assert_int_equal(fixture_position(f).rejected, 5);
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
    fill(f, false);
    fixture_close_flat(f);
    snprintf(whole, sizeof whole, "%s/whole", f->folder);
    fixture_copy_tree(f->path, whole);
    fixture_open(f);
    for (int i = EDITS + 1; i <= EDITS + 4; i++)
        make_edit(f, i);
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

static void test_after_a_second_restore_nothing_is_shown_twice(void **state)
{
    fixture *f = *state;
    fill(f, false);
    fixture_sync(f);
    int64_t kept = f->server->version;
    make_edit(f, EDITS + 1);
    fixture_sync(f);
    naive_server_restore(f->server, kept);
    naive_server_edit(f->server, "set", "{\"id\":\"other\",\"value\":1}");
    fixture_pull(f);
    fixture_sync(f); /* the first restore: 13 comes back under a new client id */
    int64_t second = f->server->version;
    make_edit(f, EDITS + 2);
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
    assert_int_equal(expect_all_accounted(f, "second restore"), 0);
    fixture_check(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_wrong_value_in_any_column_loses_nothing_without_a_word),
        TEST(test_nor_does_it_when_the_server_has_the_edit_already),
        TEST(test_a_pending_row_that_is_missing_is_told_and_does_not_block),
        TEST(test_a_damaged_edit_is_dismissed_and_cannot_be_resubmitted),
        TEST(test_a_damaged_edit_of_an_earlier_client_is_told_until_the_pull_shows_it),
        TEST(test_a_damaged_edit_that_was_rejected_already_keeps_its_rejection),
        TEST(test_rows_that_the_totals_miss_are_counted),
        TEST(test_the_tail_is_measured_anew_when_rows_of_it_are_missing),
        TEST(test_an_answered_rejection_that_is_damaged_stays_answered),
        TEST(test_an_old_meta_says_nothing_of_edits_that_were_decided_since),
        TEST(test_damaged_edits_with_gaps_between_keep_their_order_and_their_names),
        TEST(test_a_row_that_is_damaged_while_open_is_set_aside),
        TEST(test_a_damaged_page_is_refused_with_what_can_be_read_and_saved),
        TEST(test_what_was_saved_is_not_applied_twice),
        TEST(test_nothing_is_acknowledged_once_the_outbox_is_found_damaged),
        TEST(test_an_older_outbox_predicts_nothing_that_the_cache_has),
        TEST(test_after_a_second_restore_nothing_is_shown_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
