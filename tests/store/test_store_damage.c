/* Files that are damaged, missing, somebody else's or too new, and what is said of each. */
#include "sdk/store/repair.h"
#include "tests/store/outbox_scenario.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void file_path(const fixture *f, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s", f->path, name);
}

static bool exists(const fixture *f, const char *name)
{
    char path[256];
    file_path(f, name, path);
    return access(path, F_OK) == 0;
}

static void overwrite(const fixture *f, const char *name, long offset, size_t size, uint64_t seed)
{
    char path[256];
    file_path(f, name, path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        fputc((int)(seed >> 56), file);
    }
    assert_int_equal(fclose(file), 0);
}

static long size_of(const fixture *f, const char *name)
{
    char path[256];
    struct stat facts;
    file_path(f, name, path);
    assert_int_equal(stat(path, &facts), 0);
    return (long)facts.st_size;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_refusal(fixture *f, kedge_status status, const char *code, const char *naming)
{
    kedge_store *store = NULL;
    assert_int_equal(fixture_try_open(f, f->path, &store), status);
    assert_null(store);
    assert_string_equal(f->error.code, code);
    if (!strstr(f->error.message, naming)) fail_msg("%s", f->error.message);
}

static void run_sql(const fixture *f, const char *name, const char *sql)
{
    char path[256];
    sqlite3 *db;
    file_path(f, name, path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void expect_layout(const fixture *f, int layout)
{
    char path[256];
    sqlite3 *db;
    sqlite3_stmt *read;
    file_path(f, "outbox.db", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &read, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(read), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(read, 0), layout);
    sqlite3_finalize(read);
    sqlite3_close(db);
}

/* ---- the cache ---- */

static void fill(fixture *f)
{
    char args[128];
    for (int i = 0; i < 300; i++) {
        snprintf(args, sizeof args, "{\"id\":\"item%d\",\"value\":\"%060d\"}", i, i);
        naive_server_edit(f->server, "set", args);
    }
    fixture_pull(f);
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":1}");
    fixture_mutate(f, "add", "{\"id\":\"mine\",\"by\":1}");
}

static void read_everything(fixture *f)
{
    kedge_store_scan *scan;
    kedge_bytes id;
    kedge_bytes value;
    kedge_status status =
        kedge_store_scan_open(f->store, KEDGE_BYTES("notes"), NULL, &scan, &f->error);
    if (status == KEDGE_OK) {
        while (kedge_store_scan_next(scan, &id, &value, &f->error) == KEDGE_OK)
            ;
        kedge_store_scan_close(scan);
    }
}

static void test_a_cache_damaged_anywhere_is_set_aside_and_pulled_again(void **state)
{
    fixture *f = *state;
    char whole[160];
    int aside = 0;
    fill(f);
    fixture_close_flat(f);
    snprintf(whole, sizeof whole, "%s/whole", f->folder);
    fixture_copy_tree(f->path, whole);
    long pages = size_of(f, "cache.db") / 4096;
    for (long page = 0; page < pages; page++) {
        fixture_remove_tree(f->path);
        fixture_copy_tree(whole, f->path);
        overwrite(f, "cache.db", page * 4096, 4096, (uint64_t)page + 7);
        fixture_open(f);
        read_everything(f);
        fixture_mutate(f, "add", "{\"id\":\"mine\",\"by\":1}");
        read_everything(f);
        if (fixture_position(f).resyncing) {
            aside++;
            assert_true(exists(f, "cache.db.damaged-1"));
            fixture_expect(f, "mine", "3");
            fixture_check(f);
        }
        assert_int_equal(fixture_position(f).pending, 3);
        fixture_pull(f);
        fixture_expect(f, "mine", "3");
        assert_false(fixture_position(f).resyncing);
        assert_false(exists(f, "cache.db.damaged-1"));
        fixture_check(f);
        fixture_close(f);
    }
    print_message("%d of %ld pages\n", aside, pages);
    assert_true(aside > 3);
    fixture_open(f);
}

static void test_a_cache_that_is_damaged_while_open_is_set_aside(void **state)
{
    fixture *f = *state;
    fill(f);
    fixture_close_flat(f);
    fixture_open(f);
    long pages = size_of(f, "cache.db") / 4096;
    for (long page = 2; page < pages; page++)
        overwrite(f, "cache.db", page * 4096, 4096, 3);
    read_everything(f);
    assert_true(fixture_position(f).resyncing);
    fixture_expect(f, "mine", "2");
    fixture_mutate(f, "add", "{\"id\":\"mine\",\"by\":1}");
    fixture_expect(f, "mine", "3");
    fixture_sync(f);
    fixture_expect_canonical(f, "mine", "3");
    assert_false(exists(f, "cache.db.damaged-1"));
}

static void test_a_cache_that_was_deleted_is_pulled_again(void **state)
{
    fixture *f = *state;
    char path[256];
    fill(f);
    fixture_close_flat(f);
    file_path(f, "cache.db", path);
    assert_int_equal(unlink(path), 0);
    fixture_open(f);
    assert_true(fixture_position(f).resyncing);
    fixture_expect(f, "mine", "2");
    fixture_sync(f);
    fixture_check(f);
}

static void test_a_cache_of_another_project_is_set_aside(void **state)
{
    fixture *f = *state;
    fill(f);
    fixture_close_flat(f);
    run_sql(f, "cache.db", "UPDATE meta SET project = 'elsewhere'");
    fixture_open(f);
    assert_true(fixture_position(f).resyncing);
    fixture_sync(f);
    fixture_check(f);
}

/* ---- the outbox ---- */

static void test_a_damaged_outbox_is_reported_with_what_can_be_read(void **state)
{
    fixture *f = *state;
    char before[256];
    for (int i = 0; i < 60; i++)
        fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":\"some text that takes a little room\"}");
    fixture_close_flat(f);
    /* The last pages: the newest mutations. */
    long size = size_of(f, "outbox.db");
    overwrite(f, "outbox.db", size - 4096, 4096, 1);
    kedge_store *store = NULL;
    kedge_status status = fixture_try_open(f, f->path, &store);
    kedge_error first = f->error;
    assert_int_equal(status, KEDGE_CORRUPT);
    assert_string_equal(first.code, "outbox-damaged");
    assert_non_null(strstr(first.message, "can be read"));
    assert_null(strstr(first.message, "; 0 of"));
    file_path(f, "outbox.db", before);
    assert_int_equal(size_of(f, "outbox.db"), size);
    overwrite(f, "outbox.db", 0, 100, 1);
    expect_refusal(f, KEDGE_CORRUPT, "outbox-damaged", "outbox.db");
}

static void test_a_missing_outbox_is_never_made_anew(void **state)
{
    fixture *f = *state;
    char path[256];
    fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_close_flat(f);
    file_path(f, "outbox.db", path);
    assert_int_equal(unlink(path), 0);
    expect_refusal(f, KEDGE_CORRUPT, "outbox-missing", "outbox.db");
    assert_false(exists(f, "outbox.db"));
    write_file(path, "");
    expect_refusal(f, KEDGE_CORRUPT, "outbox-missing", "outbox.db");
}

/* Commits stand after the damage, so it is none that a power cut left. */
static void test_an_outbox_whose_wal_is_damaged_in_the_middle_is_reported(void **state)
{
    fixture *f = *state;
    for (int edit = 0; edit < 10; edit++)
        fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_close(f);
    overwrite(f, "outbox.db-wal", size_of(f, "outbox.db-wal") / 4, 8, 1);
    expect_refusal(f, KEDGE_CORRUPT, "outbox-damaged", "kedge_repair");
    expect_refusal(f, KEDGE_CORRUPT, "outbox-damaged", "kedge_repair");
}

/* Nothing stands after the cut. */
static void test_edits_that_a_cut_wal_has_lost_are_counted(void **state)
{
    fixture *f = *state;
    char wal[256];
    for (int edit = 0; edit < 10; edit++)
        fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_close(f);
    file_path(f, "outbox.db-wal", wal);
    assert_int_equal(truncate(wal, size_of(f, "outbox.db-wal") / 4), 0);
    for (int opening = 0; opening < 2; opening++) {
        fixture_open(f);
        kedge_store_position position = fixture_position(f);
        assert_true(position.pending > 0 && position.pending < 10);
        assert_int_equal(position.unrecovered, 10 - position.pending);
        fixture_close(f);
    }
    fixture_open(f);
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":2}"), 11);
    assert_int_equal(fixture_position(f).stale, false);
}

/* The file itself is there. What it lacks is counted, and the folder goes on. */
static void test_an_outbox_whose_wal_is_removed_opens_and_counts_what_is_gone(void **state)
{
    fixture *f = *state;
    char wal[256];
    for (int edit = 0; edit < 3; edit++)
        fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_close(f);
    assert_true(size_of(f, "outbox.db-wal") > 0);
    file_path(f, "outbox.db-wal", wal);
    assert_int_equal(unlink(wal), 0);
    fixture_open(f);
    assert_int_equal(fixture_position(f).unrecovered + fixture_position(f).pending, 3);
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":2}"), 4);
    fixture_expect(f, "a", "2");
    fixture_sync(f);
    fixture_check(f);
}

/* ---- what is no database ---- */

static void test_an_outbox_that_is_replaced_while_open_takes_no_edit(void **state)
{
    fixture *f = *state;
    char from[256];
    char to[256];
    fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":1}");
    file_path(f, "outbox.db", from);
    file_path(f, "outbox.db.away", to);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(kedge_store_mutate(f->store, KEDGE_BYTES("set"),
                                        KEDGE_BYTES("{\"id\":\"n\",\"value\":2}"), NULL,
                                        &f->changes, &f->error),
                     KEDGE_IO);
    assert_string_equal(f->error.code, "outbox-replaced");
    assert_int_equal(rename(to, from), 0);
    fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":3}");
    fixture_expect(f, "n", "3");
    assert_int_equal(fixture_position(f).pending, 2);
}

static kedge_status get_n(fixture *f, kedge_store *store, const char *expected)
{
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status =
        kedge_store_get(store, KEDGE_BYTES("notes"), KEDGE_BYTES("n"), &value, &f->error);
    if (status == KEDGE_OK)
        assert_true(kedge_bytes_equal_text(kedge_buffer_bytes(&value), expected));
    kedge_buffer_free(&value);
    return status;
}

static void test_reads_do_not_show_another_database_that_has_taken_the_folders_place(void **state)
{
    fixture *f = *state;
    char away[256];
    kedge_store *first = f->store, *second;
    kedge_store_position position;
    fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":1}");
    fixture_expect(f, "n", "1");
    snprintf(away, sizeof away, "%s/away", f->folder);
    assert_int_equal(rename(f->path, away), 0);
    assert_int_equal(get_n(f, first, "1"), KEDGE_IO);
    assert_int_equal(fixture_try_open(f, f->path, &second), KEDGE_OK);
    f->store = second;
    fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":2}");
    assert_int_equal(get_n(f, first, "1"), KEDGE_IO);
    assert_string_equal(f->error.code, "outbox-replaced");
    assert_int_equal(kedge_store_position_get(first, &position, &f->error), KEDGE_IO);
    assert_int_equal(get_n(f, second, "2"), KEDGE_OK);
    kedge_store_close(second);
    f->store = first;
    fixture_remove_tree(f->path);
    assert_int_equal(rename(away, f->path), 0);
    assert_int_equal(get_n(f, first, "1"), KEDGE_OK);
}

static void test_a_file_in_place_of_the_folder_is_named(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    snprintf(f->path, sizeof f->path, "%s/file", f->folder);
    write_file(f->path, "text");
    expect_refusal(f, KEDGE_NOT_A_DATABASE, "not-a-folder", f->path);
}

static void test_a_folder_below_nothing_is_named(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    snprintf(f->path, sizeof f->path, "%s/no/such", f->folder);
    expect_refusal(f, KEDGE_IO, "folder-not-made", f->path);
}

static void test_a_file_of_another_application_is_named(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    run_sql(f, "outbox.db", "PRAGMA application_id=7");
    expect_refusal(f, KEDGE_NOT_A_DATABASE, "not-a-database", "outbox.db");
    run_sql(f, "outbox.db", "PRAGMA application_id=1264873265");
    fixture_open(f);
    fixture_close(f);
    run_sql(f, "cache.db", "PRAGMA application_id=7");
    expect_refusal(f, KEDGE_NOT_A_DATABASE, "not-a-database", "cache.db");
    assert_false(exists(f, "cache.db.damaged-1"));
}

static void test_a_folder_whose_outbox_is_no_database_is_refused(void **state)
{
    fixture *f = *state;
    char path[256];
    fixture_close(f);
    snprintf(f->path, sizeof f->path, "%s/strange", f->folder);
    assert_int_equal(mkdir(f->path, 0700), 0);
    file_path(f, "outbox.db", path);
    write_file(path, "a diary, or what else a folder may hold; in any case not a database of ours");
    expect_refusal(f, KEDGE_NOT_A_DATABASE, "not-a-database", "outbox.db");
    assert_false(exists(f, "cache.db"));
}

static void test_a_newer_layout_is_refused(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    run_sql(f, "cache.db", "PRAGMA user_version=6");
    expect_refusal(f, KEDGE_NEWER_DATABASE, "newer-database", "cache.db");
    run_sql(f, "cache.db", "PRAGMA user_version=5");
    run_sql(f, "outbox.db", "PRAGMA user_version=16");
    expect_refusal(f, KEDGE_NEWER_DATABASE, "newer-database", "outbox.db");
}

/* The tables of layout 1, with what the living ones hold. */
static const char AS_LAYOUT_1[] =
    "DROP TABLE declared; DROP TABLE totals; DROP TABLE trimmed; DROP TABLE rejected;"
    "DROP TABLE confirmed;"
    "ALTER TABLE meta RENAME TO m; ALTER TABLE pending RENAME TO p; DROP INDEX pending_covered;"
    "CREATE TABLE meta("
    " only INTEGER PRIMARY KEY CHECK(only = 1), client TEXT NOT NULL, highest_id INTEGER NOT NULL,"
    " last_sequence INTEGER NOT NULL, sent_through INTEGER NOT NULL, revision INTEGER NOT NULL,"
    " unrecovered INTEGER NOT NULL, trimmed_through INTEGER NOT NULL, tail_bytes INTEGER NOT NULL,"
    " settled_version INTEGER NOT NULL, settled_lineage TEXT NOT NULL,"
    " organization TEXT NOT NULL, project TEXT NOT NULL);"
    "CREATE TABLE pending("
    " sequence INTEGER PRIMARY KEY, client TEXT NOT NULL, id INTEGER NOT NULL, uid BLOB NOT NULL,"
    " digest BLOB NOT NULL, name TEXT NOT NULL, args TEXT NOT NULL, timestamp INTEGER NOT NULL,"
    " origin_client TEXT, origin_id INTEGER, covered_version INTEGER);"
    "CREATE INDEX pending_covered ON pending(covered_version) WHERE covered_version IS NOT NULL;"
    "CREATE TABLE rejected("
    " sequence INTEGER PRIMARY KEY, client TEXT NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL,"
    " args TEXT NOT NULL, timestamp INTEGER NOT NULL, version INTEGER NOT NULL, code TEXT NOT NULL,"
    " message TEXT NOT NULL, state INTEGER NOT NULL, decided_ms INTEGER NOT NULL);"
    "CREATE TABLE confirmed("
    " ordinal INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, client TEXT NOT NULL,"
    " id INTEGER NOT NULL, uid BLOB NOT NULL, digest BLOB NOT NULL, name TEXT NOT NULL,"
    " args TEXT NOT NULL, timestamp INTEGER NOT NULL, origin_client TEXT, origin_id INTEGER,"
    " confirmed_ms INTEGER NOT NULL);"
    "INSERT INTO meta SELECT 1, client, highest_id, last_sequence, sent_through, revision,"
    " unrecovered, trimmed_through, tail_bytes, settled_version, settled_lineage, organization,"
    " project FROM m WHERE copy = 1;"
    "INSERT INTO pending SELECT sequence, client, id, uid, digest, name, args, timestamp,"
    " origin_client, origin_id, covered_version FROM p;"
    "DROP TABLE m; DROP TABLE p; PRAGMA user_version=1";

static void test_an_older_layout_is_brought_up_to_date(void **state)
{
    fixture *f = *state;
    kedge_wire_client_marks earlier;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_close(f);
    run_sql(f, "outbox.db", AS_LAYOUT_1);
    f->options.project = "elsewhere";
    expect_refusal(f, KEDGE_INVALID_ARGUMENT, "other-project", "org/project");
    f->options.project = "project";
    expect_layout(f, 1);
    fixture_open(f);
    assert_int_equal(kedge_store_earlier(f->store, &earlier, &f->error), KEDGE_OK);
    assert_int_equal(earlier.count, 0);
    assert_int_equal(fixture_position(f).pending, 1);
    fixture_close(f);
    expect_layout(f, 6);
    fixture_open(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "1");
}

static void test_layout_3_is_brought_up_to_date(void **state)
{
    fixture *f = *state;
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_close(f);
    outbox_make_layout_5(f->path);
    run_sql(f, "outbox.db",
            "DROP TABLE declared; DROP INDEX pending_withheld; PRAGMA user_version=3");
    fixture_open(f);
    assert_int_equal(fixture_position(f).pending, 1);
    fixture_close(f);
    expect_layout(f, 6);
    /* They are there again. */
    run_sql(f, "outbox.db", "DROP INDEX pending_withheld; DELETE FROM declared");
    fixture_open(f);
}

/* One copy of meta is damaged, and is written again from the other. */
static void test_layout_5_is_brought_up_to_date(void **state)
{
    fixture *f = *state;
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":9}");
    fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}");
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 1);
    fixture_close_flat(f);
    outbox_make_layout_5(f->path);
    expect_layout(f, 5);
    run_sql(f, "outbox.db", "UPDATE meta SET unrecovered = 7 WHERE copy = 1");
    fixture_open(f);
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    fixture_close_flat(f);
    expect_layout(f, 6);
    /* What was brought up counts the inbox. */
    assert_int_equal(outbox_run_raw(f, "DELETE FROM rejected; UPDATE totals SET rows = 0, sum = 0,"
                                       " checksum = (SELECT checksum FROM totals"
                                       " WHERE name = 'trimmed') WHERE name = 'rejected'"),
                     1);
    fixture_open(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_close_flat(f);
    /* Its tables are those of a new file: a wrong number of the layout is noticed. */
    run_sql(f, "outbox.db", "PRAGMA user_version=4");
    fixture_open(f);
    fixture_close_flat(f);
    expect_layout(f, 6);
    fixture_open(f);
}

/* It cannot be brought up to date. Only its meta row tells that no edit is missing. */
static void test_a_damaged_outbox_of_layout_5_is_saved_by_its_meta_row(void **state)
{
    fixture *f = *state;
    char saved[160];
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    snprintf(saved, sizeof saved, "%s/saved", f->folder);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_close_flat(f);
    outbox_make_layout_5(f->path);
    overwrite(f, "outbox.db", size_of(f, "outbox.db") - 4096, 4096, 1);
    expect_refusal(f, KEDGE_CORRUPT, "outbox-damaged", " 1 of 1 pending mutations");
    expect_layout(f, 5);
    assert_int_equal(kedge_store_repair(&f->environment, f->path, saved, &report, &f->error),
                     KEDGE_OK);
    assert_int_equal(report.pending, 1);
    assert_int_equal(report.missing, 0);
    snprintf(f->path, sizeof f->path, "%s", saved);
    expect_layout(f, 6);
    fixture_open(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "1");
}

static void test_a_folder_of_another_project_is_refused(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->options.project = "elsewhere";
    expect_refusal(f, KEDGE_INVALID_ARGUMENT, "other-project", "org/project");
    f->options.project = "not a name";
    expect_refusal(f, KEDGE_INVALID_ARGUMENT, "invalid-name", "project");
    f->options.project = "project";
    fixture_open(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_cache_damaged_anywhere_is_set_aside_and_pulled_again),
        TEST(test_a_cache_that_is_damaged_while_open_is_set_aside),
        TEST(test_a_cache_that_was_deleted_is_pulled_again),
        TEST(test_a_cache_of_another_project_is_set_aside),
        TEST(test_a_damaged_outbox_is_reported_with_what_can_be_read),
        TEST(test_a_missing_outbox_is_never_made_anew),
        TEST(test_an_outbox_whose_wal_is_damaged_in_the_middle_is_reported),
        TEST(test_edits_that_a_cut_wal_has_lost_are_counted),
        TEST(test_an_outbox_whose_wal_is_removed_opens_and_counts_what_is_gone),
        TEST(test_an_outbox_that_is_replaced_while_open_takes_no_edit),
        TEST(test_reads_do_not_show_another_database_that_has_taken_the_folders_place),
        TEST(test_a_file_in_place_of_the_folder_is_named),
        TEST(test_a_folder_below_nothing_is_named),
        TEST(test_a_file_of_another_application_is_named),
        TEST(test_a_folder_whose_outbox_is_no_database_is_refused),
        TEST(test_a_newer_layout_is_refused),
        TEST(test_an_older_layout_is_brought_up_to_date),
        TEST(test_layout_3_is_brought_up_to_date),
        TEST(test_layout_5_is_brought_up_to_date),
        TEST(test_a_damaged_outbox_of_layout_5_is_saved_by_its_meta_row),
        TEST(test_a_folder_of_another_project_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
