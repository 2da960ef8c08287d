/* Reads while another store sets the cache aside, or after it was killed while it did. */
#include "sdk/store/prediction.h"
#include "sdk/store/store_internal.h"
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* How far the other store came. */
typedef enum progress {
    RENAMED,
    MADE_AS_A_FILE,
    MADE_WITH_TABLES,
    MADE_WITH_PREDICTIONS,
    PROGRESS_COUNT
} progress;

static void make_empty_file(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* What a turn does with a damaged cache, up to some step. */
static void set_aside(kedge_store *store, progress until)
{
    kedge_error error = {0};
    assert_int_equal(kedge_store_lock(store, &error), KEDGE_OK);
    assert_int_equal(kedge_store_rename_damaged(store, &error), KEDGE_OK);
    if (until == MADE_AS_A_FILE) make_empty_file(store->cache_path);
    if (until >= MADE_WITH_TABLES)
        assert_int_equal(kedge_schema_open_cache(store, false, &error), KEDGE_OK);
    if (until >= MADE_WITH_PREDICTIONS)
        assert_int_equal(kedge_prediction_repair(store, true, NULL, &error), KEDGE_OK);
    kedge_store_unlock(store);
}

static void read_item(fixture *f)
{
    fixture_expect(f, "n", "1");
}

static void read_scan(fixture *f)
{
    kedge_store_scan *scan;
    kedge_bytes id, value;
    assert_int_equal(kedge_store_scan_open(f->store, KEDGE_BYTES("notes"), NULL, &scan, &f->error),
                     KEDGE_OK);
    assert_int_equal(kedge_store_scan_next(scan, &id, &value, &f->error), KEDGE_OK);
    assert_true(kedge_bytes_equal_text(id, "n"));
    assert_int_equal(kedge_store_scan_next(scan, &id, &value, &f->error), KEDGE_DONE);
    kedge_store_scan_close(scan);
}

static void read_position(fixture *f)
{
    kedge_store_position position = fixture_position(f);
    assert_int_equal(position.pending, 1);
    assert_true(position.resyncing);
}

static void read_outcome(fixture *f)
{
    assert_int_equal(fixture_outcome(f, 1), KEDGE_OUTCOME_PENDING);
}

static void test_reads_show_pending_edits_however_far_a_new_cache_is(void **state)
{
    static void (*const reads[])(fixture * f) = {read_item, read_scan, read_position, read_outcome};
    (void)state;
    for (int until = RENAMED; until < PROGRESS_COUNT; until++) {
        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
            void *made;
            kedge_store *other;
            assert_int_equal(fixture_set_up(&made), 0);
            fixture *f = made;
            fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":1}");
            reads[0](f);
            assert_int_equal(fixture_try_open(f, f->path, &other), KEDGE_OK);
            set_aside(other, (progress)until);
            reads[i](f);
            reads[0](f);
            kedge_store_close(other);
            fixture_sync(f);
            fixture_check(f);
            fixture_tear_down(&made);
        }
    }
}

static void count_call(void *context)
{
    ++*(int *)context;
}

/* The other store may have been killed before it told anyone that the cache is to be pulled. */
static void test_a_read_that_finds_another_cache_asks_for_a_pull(void **state)
{
    fixture *f = *state;
    kedge_store *other;
    int asked = 0;
    fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":1}");
    assert_int_equal(fixture_try_open(f, f->path, &other), KEDGE_OK);
    f->options.set_aside = count_call;
    f->options.set_aside_context = &asked;
    fixture_reopen(f);
    fixture_expect(f, "n", "1");
    assert_int_equal(asked, 0);
    set_aside(other, MADE_WITH_PREDICTIONS);
    fixture_expect(f, "n", "1");
    assert_int_equal(asked, 1);
    fixture_expect(f, "n", "1");
    assert_int_equal(asked, 1);
    kedge_store_close(other);
}

static void damage_items(const fixture *f)
{
    char path[200];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/cache.db", f->path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE item SET value = '0'", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* The WAL cannot be renamed after its file. */
static void test_a_cache_that_is_set_aside_by_half_is_to_be_pulled(void **state)
{
    fixture *f = *state;
    char path[200];
    int asked = 0;
    f->options.set_aside = count_call;
    f->options.set_aside_context = &asked;
    fixture_reopen(f);
    fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":1}");
    snprintf(path, sizeof path, "%s/cache.db.damaged-1-wal", f->path);
    assert_int_equal(mkdir(path, 0700), 0);
    damage_items(f);
    fixture_expect(f, "n", "1");
    assert_int_equal(asked, 1);
    assert_int_equal(rmdir(path), 0);
    fixture_sync(f);
    fixture_check(f);
}

/* ---- another file takes the place of the one that is being opened ---- */

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    kedge_store *other; /* sets the cache aside when it is opened next; NULL: nobody does */
} moving;

static int open_and_move(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                         int *flags_out)
{
    (void)vfs;
    int code = moving.real->xOpen(moving.real, path, file, flags, flags_out);
    kedge_store *other = moving.other;
    if (!other || code != SQLITE_OK || strcmp(path, other->cache_path) != 0) return code;
    moving.other = NULL;
    set_aside(other, MADE_WITH_TABLES);
    return code;
}

static void register_moving(void)
{
    moving.real = sqlite3_vfs_find(NULL);
    moving.vfs = *moving.real;
    moving.vfs.zName = "moving";
    moving.vfs.pNext = NULL;
    moving.vfs.xOpen = open_and_move;
    assert_int_equal(sqlite3_vfs_register(&moving.vfs, 0), SQLITE_OK);
}

static void test_a_cache_that_is_renamed_while_a_read_opens_it_is_not_read(void **state)
{
    fixture *f = *state;
    kedge_store *other;
    register_moving();
    fixture_mutate(f, "set", "{\"id\":\"n\",\"value\":1}");
    assert_int_equal(fixture_try_open(f, f->path, &other), KEDGE_OK);
    fixture_close(f);
    f->options.vfs = "moving";
    fixture_open(f);
    moving.other = other;
    fixture_expect(f, "n", "1");
    assert_null(moving.other);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_expect(f, "n", "2");
    fixture_sync(f);
    fixture_expect(f, "n", "2");
    kedge_store_close(other);
    fixture_close(f);
    assert_int_equal(sqlite3_vfs_unregister(&moving.vfs), SQLITE_OK);
    f->options.vfs = NULL;
    fixture_open(f);
    fixture_expect(f, "n", "2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_show_pending_edits_however_far_a_new_cache_is),
        TEST(test_a_read_that_finds_another_cache_asks_for_a_pull),
        TEST(test_a_cache_that_is_set_aside_by_half_is_to_be_pulled),
        TEST(test_a_cache_that_is_renamed_while_a_read_opens_it_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
