/* What is saved of a folder that cannot be opened: whatever its header says, wherever the repair is
 * killed, and without a trace in the damaged folder. */
#include "sdk/store/repair.h"
#include "sdk/store/store_internal.h"
#include "tests/store/fixture.h"
#include "tests/support/temporary.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EDITS 40
#define PAGE  4096

typedef struct scene {
    fixture f;
    char whole[160]; /* the folder as it was before any damage */
    char saved[160];
} scene;

static void make_edits(fixture *f, int from, int to)
{
    char args[256];
    for (int i = from; i <= to; i++) {
        snprintf(args, sizeof args, "{\"id\":\"e%d\",\"by\":1,\"note\":\"%0150d\"}", i, i);
        assert_int_equal(fixture_mutate(f, "add", args), i);
    }
}

static int setup(void **state)
{
    scene *s = malloc(sizeof *s);
    fixture_begin(&s->f);
    fixture_open(&s->f);
    snprintf(s->whole, sizeof s->whole, "%s/whole", s->f.folder);
    snprintf(s->saved, sizeof s->saved, "%s/saved", s->f.folder);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    scene *s = *state;
    fixture_end(&s->f);
    free(s);
    return 0;
}

/* 40 edits that have never left, in the files and not in their WALs. */
static void fill(scene *s)
{
    make_edits(&s->f, 1, EDITS);
    fixture_close_flat(&s->f);
    fixture_copy_tree(s->f.path, s->whole);
}

static void begin_anew(scene *s)
{
    fixture_remove_tree(s->saved);
    fixture_remove_tree(s->f.path);
    fixture_copy_tree(s->whole, s->f.path);
}

static void path_of(const char *folder, const char *name, char out[320])
{
    snprintf(out, 320, "%s/%s", folder, name);
}

static kedge_status repair(scene *s, kedge_repair_report *report)
{
    *report = (kedge_repair_report)KEDGE_REPAIR_REPORT_INIT;
    return kedge_store_repair(&s->f.environment, s->f.path, s->saved, report, &s->f.error);
}

/* ---- damage to a file ---- */

static void write_at(const char *folder, const char *name, long offset, const void *bytes,
                     size_t size)
{
    char path[320];
    path_of(folder, name, path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, size, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void read_at(const char *folder, const char *name, long offset, void *bytes, size_t size)
{
    char path[320];
    path_of(folder, name, path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fread(bytes, size, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void flip(const char *folder, long offset, int bit)
{
    unsigned char byte;
    read_at(folder, "outbox.db", offset, &byte, 1);
    byte = (unsigned char)(byte ^ (1 << bit));
    write_at(folder, "outbox.db", offset, &byte, 1);
}

static void wipe_page(const char *folder, long page)
{
    static const char zeros[PAGE];
    write_at(folder, "outbox.db", PAGE * (page - 1), zeros, sizeof zeros);
}

/* ---- what must be so ---- */

/* The folder opens with all that was pending, or is refused with a message that leads on. */
static bool opens_whole(scene *s, const char *what)
{
    kedge_status status = fixture_try_open(&s->f, s->f.path, &s->f.store);
    if (status == KEDGE_OK) {
        if (fixture_position(&s->f).pending != EDITS)
            fail_msg("%s: %lld edits are pending", what,
                     (long long)fixture_position(&s->f).pending);
        fixture_close(&s->f);
        return true;
    }
    if (status != KEDGE_CORRUPT || !temporary_is_named(s->f.error.message, s->f.path) ||
        !strstr(s->f.error.message, "kedge_repair"))
        fail_msg("%s: %s: %s", what, s->f.error.code, s->f.error.message);
    return false;
}

static void expect_saved(scene *s, int64_t pending, const char *what)
{
    kedge_repair_report report;
    kedge_status status = repair(s, &report);
    if (status != KEDGE_OK) fail_msg("%s: %s: %s", what, s->f.error.code, s->f.error.message);
    if (report.pending != pending)
        fail_msg("%s: %lld edits are saved", what, (long long)report.pending);
}

static int list_folder(const char *path, char *out, size_t size)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    assert_true(count >= 0);
    out[0] = '\0';
    for (int i = 0; i < count; i++) {
        char file[600];
        struct stat facts;
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        assert_int_equal(stat(file, &facts), 0);
        size_t used = strlen(out);
        if (strcmp(entries[i]->d_name, "..") != 0)
            snprintf(out + used, size - used, "%s %lld %lld.%09ld\n", entries[i]->d_name,
                     (long long)facts.st_size, (long long)facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec);
        free(entries[i]);
    }
    free(entries);
    return count - 2;
}

/* ---- header and schema ---- */

static void test_no_bit_of_the_header_costs_an_edit(void **state)
{
    scene *s = *state;
    int refused = 0, tried = 0;
    fill(s);
    for (int at = 0; at < 100; at++) {
        char what[64];
        int bit = at >= 16 && at < 24 ? 0 : (at * 5 + at / 8) % 8;
        bool used = (at >= 16 && at < 72) || at % 8 == 0;
        if (!used) continue; /* the magic, and bytes without meaning */
        snprintf(what, sizeof what, "bit %d of byte %d of the header", bit, at);
        tried++;
        begin_anew(s);
        flip(s->f.path, at, bit);
        expect_saved(s, EDITS, what);
        refused += !opens_whole(s, what);
    }
    print_message("%d of %d are refused\n", refused, tried);
    assert_in_range(refused, 10, tried - 10);
}

typedef struct header_value {
    const char *what;
    long offset;
    unsigned char bytes[6];
    size_t size;
    bool opens;
} header_value;

static void test_a_header_that_the_tables_contradict_is_healed_or_refused(void **state)
{
    static const header_value values[] = {
        {"layout 0", 60, {0, 0, 0, 0}, 4, true},
        {"layout 1", 60, {0, 0, 0, 1}, 4, true},
        {"layout 2", 60, {0, 0, 0, 2}, 4, true},
        {"layout 7", 60, {0, 0, 0, 7}, 4, true},
        {"another application", 68, {0x4b, 0x64, 0x6f, 0x30}, 4, true},
        {"not the magic", 0, "SQLitX", 6, false},
        {"another page size", 16, {0x20, 0}, 2, false},
        {"a rollback journal", 18, {1, 1}, 2, true},
        {"not to be written", 18, {3}, 1, false},
        {"not to be read", 18, {3, 3}, 2, false},
        {"fewer pages", 28, {0, 0, 0, 3}, 4, false},
        {"more pages", 28, {0, 0, 9, 3}, 4, false},
        {"UTF-16", 56, {0, 0, 0, 2}, 4, false},
    };
    scene *s = *state;
    fill(s);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const header_value *at = &values[i];
        begin_anew(s);
        write_at(s->f.path, "outbox.db", at->offset, at->bytes, at->size);
        expect_saved(s, EDITS, at->what);
        if (opens_whole(s, at->what) != at->opens)
            fail_msg("%s: %s", at->what, at->opens ? "is refused" : "is opened");
        /* Healed in the file, too. */
        if (at->opens) assert_true(opens_whole(s, at->what));
    }
}

static void test_any_page_but_those_of_the_edits_can_be_lost(void **state)
{
    scene *s = *state;
    struct stat facts;
    char path[320], what[32];
    fill(s);
    path_of(s->f.path, "outbox.db", path);
    assert_int_equal(stat(path, &facts), 0);
    int pages = (int)(facts.st_size / PAGE), harmless = 0;
    for (int page = 1; page <= pages; page++) {
        kedge_repair_report report;
        snprintf(what, sizeof what, "page %d", page);
        begin_anew(s);
        wipe_page(s->f.path, page);
        bool opens = opens_whole(s, what);
        kedge_status status = repair(s, &report);
        if (status != KEDGE_OK) fail_msg("%s: %s", what, s->f.error.message);
        bool all = report.pending == EDITS;
        bool told = report.pending + report.missing == EDITS || report.missing == -1;
        if (!told || (opens && !all)) fail_msg("%s: %d edits", what, (int)report.pending);
        harmless += all;
    }
    print_message("%d of %d pages can be lost without an edit\n", harmless, pages);
    assert_in_range(pages - harmless, 1, 5);
}

static long root_of(const char *folder, const char *table)
{
    char path[320], sql[128];
    sqlite3 *db;
    sqlite3_stmt *find;
    path_of(folder, "outbox.db", path);
    snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_master WHERE name = '%s'", table);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &find, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(find), SQLITE_ROW);
    long page = (long)sqlite3_column_int64(find, 0) - 1;
    sqlite3_finalize(find);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return page;
}

static void test_edits_whose_page_another_table_has_taken_count_as_missing(void **state)
{
    scene *s = *state;
    kedge_repair_report report;
    char pending[PAGE], confirmed[PAGE];
    make_edits(&s->f, 1, 5);
    fixture_sync(&s->f);
    make_edits(&s->f, 6, 8);
    fixture_close_flat(&s->f);
    long of_pending = root_of(s->f.path, "pending") * PAGE;
    long of_confirmed = root_of(s->f.path, "confirmed") * PAGE;
    read_at(s->f.path, "outbox.db", of_pending, pending, PAGE);
    read_at(s->f.path, "outbox.db", of_confirmed, confirmed, PAGE);
    write_at(s->f.path, "outbox.db", of_pending, confirmed, PAGE);
    write_at(s->f.path, "outbox.db", of_confirmed, pending, PAGE);
    assert_int_equal(repair(s, &report), KEDGE_OK);
    assert_int_equal(report.pending, 0);
    assert_int_equal(report.damaged, 0);
    assert_int_equal(report.missing, 3);
}

/* Those of the client that was the living one are known by their ids. */
static void test_confirmed_edits_that_are_missing_count_once_the_backend_is_restored(void **state)
{
    scene *s = *state;
    kedge_repair_report report;
    fixture *f = &s->f;
    make_edits(f, 1, 5);
    fixture_sync(f);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    make_edits(f, 6, 8);
    fixture_sync(f);
    make_edits(f, 9, 10);
    fixture_close_flat(f);
    wipe_page(f->path, root_of(f->path, "confirmed") + 1);
    assert_int_equal(repair(s, &report), KEDGE_OK);
    assert_int_equal(report.confirmed, 0);
    assert_int_equal(report.pending, 2);
    assert_int_equal(report.missing, 0);
    snprintf(f->path, sizeof f->path, "%s", s->saved);
    fixture_open(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 0); /* the backend has them */
    naive_server_restore(f->server, 0);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 8);
}

static void test_the_wal_alone_is_saved(void **state)
{
    scene *s = *state;
    kedge_repair_report report;
    char path[320];
    make_edits(&s->f, 1, EDITS);
    fixture_close(&s->f);
    fixture_copy_tree(s->f.path, s->whole);
    for (int i = 0; i < 2; i++) {
        begin_anew(s);
        path_of(s->f.path, "outbox.db", path);
        assert_int_equal(i == 0 ? truncate(path, 0) : unlink(path), 0);
        assert_int_equal(repair(s, &report), KEDGE_OK);
        assert_int_equal(report.pending, EDITS);
        assert_int_equal(report.missing, 0); /* meta, which the -wal has, counts the inbox, too */
    }
}

static void test_where_nothing_proves_itself_nothing_is_made(void **state)
{
    scene *s = *state;
    kedge_repair_report report;
    char path[320];
    fill(s);
    path_of(s->f.path, "outbox.db", path);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(repair(s, &report), KEDGE_CORRUPT);
    assert_string_equal(s->f.error.code, "nothing-readable");
    assert_int_not_equal(access(s->saved, F_OK), 0);
    begin_anew(s);
    for (long page = 1; page <= 40; page++)
        wipe_page(s->f.path, page);
    assert_int_equal(repair(s, &report), KEDGE_CORRUPT);
    assert_string_equal(s->f.error.code, "nothing-readable");
    assert_int_not_equal(access(s->saved, F_OK), 0);
}

static void run_sql(const char *folder, const char *sql)
{
    char path[320];
    sqlite3 *db;
    path_of(folder, "outbox.db", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_a_newer_layout_and_another_application_are_still_refused(void **state)
{
    scene *s = *state;
    kedge_repair_report report;
    kedge_store *store = NULL;
    char path[320];
    fill(s);
    run_sql(s->f.path, "CREATE TABLE more(x); PRAGMA user_version=7");
    assert_int_equal(fixture_try_open(&s->f, s->f.path, &store), KEDGE_NEWER_DATABASE);
    assert_int_equal(repair(s, &report), KEDGE_NEWER_DATABASE);
    /* The tables are ours: it cannot be known, and nothing is lost by saving what they have. */
    begin_anew(s);
    run_sql(s->f.path, "PRAGMA user_version=7; PRAGMA application_id=0");
    assert_int_equal(fixture_try_open(&s->f, s->f.path, &store), KEDGE_NOT_A_DATABASE);
    expect_saved(s, EDITS, "the tables are ours");
    fixture_remove_tree(s->saved);
    path_of(s->f.path, "outbox.db", path);
    assert_int_equal(unlink(path), 0);
    run_sql(s->f.path, "CREATE TABLE theirs(x); PRAGMA application_id=77");
    assert_int_equal(fixture_try_open(&s->f, s->f.path, &store), KEDGE_NOT_A_DATABASE);
    assert_int_equal(repair(s, &report), KEDGE_NOT_A_DATABASE);
}

/* ---- the damaged folder ---- */

static void test_the_damaged_folder_stays_as_it_is(void **state)
{
    scene *s = *state;
    static char before[4096], after[4096];
    char path[320];
    fill(s);
    wipe_page(s->f.path, 1);
    static const char *const gone[] = {"lock", "present"};
    for (int i = 0; i < 2; i++) {
        path_of(s->f.path, gone[i], path);
        (void)unlink(path);
    }
    assert_int_equal(list_folder(s->f.path, before, sizeof before), 2);
    /* Who runs the tests as root may write there all the same, and does not. */
    assert_int_equal(chmod(s->f.path, 0500), 0);
    expect_saved(s, EDITS, "a folder that cannot be written");
    assert_int_equal(chmod(s->f.path, 0700), 0);
    list_folder(s->f.path, after, sizeof after);
    assert_string_equal(after, before);
    assert_int_equal(list_folder(s->saved, after, sizeof after), 1);
}

static void test_a_folder_that_is_open_is_not_repaired(void **state)
{
    scene *s = *state;
    kedge_repair_report report;
    make_edits(&s->f, 1, 3);
    assert_int_equal(repair(s, &report), KEDGE_BUSY);
    assert_string_equal(s->f.error.code, "folder-open");
    assert_int_not_equal(access(s->saved, F_OK), 0);
    make_edits(&s->f, 4, 5);
    fixture_close(&s->f);
    expect_saved(s, 5, "closed");
}

/* ---- a repair that is killed ---- */

/* In a process that ends when a file would become larger than `bytes`. */
static bool is_killed_at(scene *s, rlim_t bytes)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kedge_repair_report report;
        struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
        (void)signal(SIGXFSZ, SIG_DFL);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
        _exit(repair(s, &report) == KEDGE_OK ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

static void test_a_repair_that_is_killed_leaves_nothing_that_opens(void **state)
{
    scene *s = *state;
    kedge_store *store = NULL;
    int killed = 0;
    fill(s);
    for (rlim_t bytes = PAGE / 2; bytes < 1 << 20; bytes += 2 * PAGE) {
        begin_anew(s);
        wipe_page(s->f.path, 1);
        if (!is_killed_at(s, bytes)) break;
        killed++;
        kedge_status status = fixture_try_open(&s->f, s->saved, &store);
        if (status != KEDGE_CORRUPT) fail_msg("killed at %ld: opened", (long)bytes);
        assert_string_equal(s->f.error.code, "repair-unfinished");
        expect_saved(s, EDITS, "once more");
    }
    print_message("killed %d times\n", killed);
    assert_in_range(killed, 3, 100);
    snprintf(s->f.path, sizeof s->f.path, "%s", s->saved);
    fixture_open(&s->f);
    assert_int_equal(fixture_position(&s->f).pending, EDITS);
}

/* Killed after the last step, a repair has saved all, and may be run once more until the folder is
 * opened. */
static void test_a_finished_repair_is_not_written_over_once_it_was_opened(void **state)
{
    scene *s = *state;
    kedge_repair_report report;
    char scratch[320], junk[400];
    fill(s);
    expect_saved(s, EDITS, "the first time");
    assert_int_equal(repair(s, &report), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(s->f.error.code, "folder-not-empty");
    path_of(s->saved, KEDGE_STORE_REPAIR_FOLDER, scratch);
    assert_int_equal(mkdir(scratch, 0700), 0);
    snprintf(junk, sizeof junk, "%s/old.db-wal", scratch);
    FILE *file = fopen(junk, "wb");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    expect_saved(s, EDITS, "the second time");
    assert_int_not_equal(access(scratch, F_OK), 0);
    assert_int_equal(mkdir(scratch, 0700), 0);
    snprintf(s->f.path, sizeof s->f.path, "%s", s->saved);
    fixture_open(&s->f);
    assert_int_equal(fixture_position(&s->f).pending, EDITS);
    make_edits(&s->f, EDITS + 1, EDITS + 1);
    fixture_close(&s->f);
    snprintf(s->f.path, sizeof s->f.path, "%s", s->whole);
    assert_int_equal(repair(s, &report), KEDGE_INVALID_ARGUMENT);
}

/* ---- what the state may have already ---- */

/* Damage has taken the WAL that knew of the sync, and a page. The cache has the edits. */
static void test_what_the_cache_has_is_not_shown_twice_after_a_repair(void **state)
{
    scene *s = *state;
    fixture *f = &s->f;
    kedge_repair_report report;
    char from[320], to[320];
    make_edits(f, 1, 2);
    fixture_sync(f);
    make_edits(f, 3, 12);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, s->whole);
    fixture_open(f);
    fixture_sync(f);
    fixture_close_flat(f);
    path_of(s->whole, "outbox.db", from);
    path_of(f->path, "outbox.db", to);
    assert_int_equal(unlink(to), 0);
    fixture_copy_file(from, to);
    wipe_page(f->path, 1);
    assert_int_equal(repair(s, &report), KEDGE_OK);
    assert_int_equal(report.pending, 10);
    snprintf(f->path, sizeof f->path, "%s", s->saved);
    fixture_open(f);
    assert_int_equal(fixture_position(f).withheld, 10);
    fixture_pull(f);
    fixture_expect(f, "e3", "1");
    fixture_expect(f, "e12", "1");
    fixture_check(f);
    fixture_sync(f);
    fixture_expect(f, "e12", "1");
    assert_int_equal(fixture_position(f).pending, 0);
}

static void test_without_its_cache_nobody_knows_what_the_state_has(void **state)
{
    scene *s = *state;
    kedge_repair_report report;
    char path[320];
    fill(s);
    path_of(s->f.path, "cache.db", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(repair(s, &report), KEDGE_OK);
    snprintf(s->f.path, sizeof s->f.path, "%s", s->saved);
    fixture_open(&s->f);
    assert_int_equal(fixture_position(&s->f).withheld, EDITS);
    fixture_sync(&s->f);
    assert_int_equal(fixture_position(&s->f).withheld, 0);
    fixture_expect(&s->f, "e40", "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_bit_of_the_header_costs_an_edit),
        TEST(test_a_header_that_the_tables_contradict_is_healed_or_refused),
        TEST(test_any_page_but_those_of_the_edits_can_be_lost),
        TEST(test_edits_whose_page_another_table_has_taken_count_as_missing),
        TEST(test_confirmed_edits_that_are_missing_count_once_the_backend_is_restored),
        TEST(test_the_wal_alone_is_saved),
        TEST(test_where_nothing_proves_itself_nothing_is_made),
        TEST(test_a_newer_layout_and_another_application_are_still_refused),
        TEST(test_the_damaged_folder_stays_as_it_is),
        TEST(test_a_folder_that_is_open_is_not_repaired),
        TEST(test_a_repair_that_is_killed_leaves_nothing_that_opens),
        TEST(test_a_finished_repair_is_not_written_over_once_it_was_opened),
        TEST(test_what_the_cache_has_is_not_shown_twice_after_a_repair),
        TEST(test_without_its_cache_nobody_knows_what_the_state_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
