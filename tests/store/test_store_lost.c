/* A backend is restored from a backup: what reads showed and the restored one lacks is kept in
 * lost.db before the cache shows the restored state, and `kedge lost` tells what of it is not shown
 * again. */
#include "sdk/store/inspect.h"
#include "sdk/store/store_internal.h"
#include "tests/store/fixture.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/sampling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define POINTS (200 / SAMPLING_FEWER)

#define LINE(id, value) "{\"collection\":\"notes\",\"id\":\"" id "\",\"value\":" value "}\n"
#define GONE(id)        "{\"collection\":\"notes\",\"id\":\"" id "\",\"deleted\":true}\n"

/* ---- what is told ---- */

typedef struct lines {
    char text[4096];
    kedge_error error;
} lines;

static void take_line(void *context, kedge_bytes text)
{
    lines *told = context;
    size_t size = strlen(told->text);
    snprintf(told->text + size, sizeof told->text - size, "%.*s\n", (int)text.size, text.data);
}

static kedge_status try_look(fixture *f, lines *told)
{
    kedge_inspect *inspect = NULL;
    *told = (lines){.text = ""};
    kedge_status status = kedge_inspect_open(&f->environment, f->path, &inspect, &told->error);
    if (status == KEDGE_OK)
        status = kedge_inspect_lost(inspect, (kedge_inspect_sink){told, take_line}, &told->error);
    kedge_inspect_close(inspect);
    return status;
}

static void expect_lost(fixture *f, const char *expected)
{
    lines told;
    if (try_look(f, &told) != KEDGE_OK) fail_msg("%s", told.error.message);
    assert_string_equal(told.text, expected);
}

static void path_of(const fixture *f, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", f->path, name);
}

static void run_in_lost(const fixture *f, const char *sql)
{
    char path[256];
    sqlite3 *db = NULL;
    path_of(f, "lost.db", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- edits that leave the tail ---- */

static void put(fixture *f, const char *id, const char *value)
{
    char args[128];
    snprintf(args, sizeof args, "{\"id\":\"%s\",\"value\":%s}", id, value);
    fixture_mutate(f, "set", args);
}

/* All that is confirmed so far leaves the tail. */
static void age(fixture *f)
{
    f->now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1000;
    put(f, "new", "1");
    fixture_sync(f);
}

/* The backup has `old`, `changed` and `removed`. Returns its version. */
static int64_t fill(fixture *f)
{
    put(f, "old", "1");
    put(f, "changed", "1");
    put(f, "removed", "1");
    fixture_sync(f);
    int64_t backup = f->server->version;
    put(f, "made", "1");
    put(f, "changed", "2");
    fixture_mutate(f, "remove", "{\"id\":\"removed\"}");
    fixture_sync(f);
    age(f);
    return backup;
}

#define LOST LINE("changed", "2") LINE("made", "1") GONE("removed")

/* ---- which items ---- */

static void test_what_a_restored_backend_has_taken_away_is_kept(void **state)
{
    fixture *f = *state;
    int64_t backup = fill(f);
    expect_lost(f, "");
    naive_server_restore(f->server, backup);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 3);
    fixture_expect(f, "made", NULL);
    fixture_expect(f, "new", "1");
    expect_lost(f, LOST);
    fixture_reopen(f);
    fixture_check(f);
    expect_lost(f, LOST);
}

static void test_what_is_put_back_is_not_told_any_more(void **state)
{
    fixture *f = *state;
    naive_server_restore(f->server, fill(f));
    fixture_sync(f);
    put(f, "made", "1");
    expect_lost(f, LINE("changed", "2") GONE("removed"));
    fixture_mutate(f, "remove", "{\"id\":\"removed\"}");
    put(f, "changed", "2");
    expect_lost(f, "");
    put(f, "changed", "3");
    expect_lost(f, LINE("changed", "2"));
}

static void test_an_app_may_have_declared_an_index(void **state)
{
    fixture *f = *state;
    const kedge_bytes paths[] = {KEDGE_BYTES("rank")};
    assert_int_equal(kedge_store_index(f->store, KEDGE_BYTES("by_rank"), KEDGE_BYTES("notes"),
                                       paths, 1, &f->error),
                     KEDGE_OK);
    naive_server_restore(f->server, fill(f));
    fixture_sync(f);
    expect_lost(f, LOST);
}

/* Somebody else's edits, whose client never comes back: nobody counts them. */
static void test_what_others_made_is_kept_as_well(void **state)
{
    fixture *f = *state;
    put(f, "mine", "1");
    fixture_sync(f);
    int64_t backup = f->server->version;
    naive_server_edit(f->server, "set", "{\"id\":\"theirs\",\"value\":7}");
    fixture_sync(f);
    naive_server_restore(f->server, backup);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    fixture_expect(f, "theirs", NULL);
    expect_lost(f, LINE("theirs", "7"));
}

/* The wrong backup first, then the right one: neither takes what the other one left. */
static void test_a_second_restore_replaces_nothing(void **state)
{
    fixture *f = *state;
    naive_server_restore(f->server, fill(f));
    fixture_sync(f);
    int64_t backup = f->server->version;
    put(f, "changed", "5");
    put(f, "made", "6");
    fixture_sync(f);
    age(f);
    naive_server_restore(f->server, backup);
    fixture_sync(f);
    expect_lost(f, LINE("changed", "2") LINE("changed", "5") LINE("made", "1") LINE("made", "6")
                       GONE("removed"));
}

/* Its first pull from the restored backend shows no loss: it has shown nothing before. */
static void test_a_cache_that_was_lost_with_the_restore_names_no_item_as_deleted(void **state)
{
    fixture *f = *state;
    int64_t backup = fill(f);
    char path[256];
    fixture_close_flat(f);
    path_of(f, "cache.db", path);
    assert_int_equal(unlink(path), 0);
    naive_server_restore(f->server, backup);
    fixture_open(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 3);
    expect_lost(f, "");
}

/* What a damaged cache is replaced by does not show it: the file outlives the cache. */
static void test_it_outlives_the_cache(void **state)
{
    fixture *f = *state;
    char path[256];
    naive_server_restore(f->server, fill(f));
    fixture_sync(f);
    fixture_close_flat(f);
    path_of(f, "cache.db", path);
    assert_int_equal(unlink(path), 0);
    /* Nothing is shown, not even what was sent again. */
    expect_lost(f, LINE("changed", "2") LINE("made", "1") LINE("new", "1"));
    fixture_open(f);
    fixture_pull(f);
    expect_lost(f, LOST);
}

/* ---- files that lie ---- */

static void test_a_damaged_file_does_not_hold_the_sync_up(void **state)
{
    fixture *f = *state;
    lines told;
    char path[256];
    int64_t backup = fill(f);
    path_of(f, "lost.db", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 4096; i++)
        fputs("xy", file);
    assert_int_equal(fclose(file), 0);
    naive_server_restore(f->server, backup);
    fixture_sync(f);
    fixture_check(f);
    assert_int_equal(try_look(f, &told), KEDGE_CORRUPT);
}

static void test_a_damaged_row_is_named_behind_the_sound_ones(void **state)
{
    fixture *f = *state;
    lines told;
    naive_server_restore(f->server, fill(f));
    fixture_sync(f);
    run_in_lost(f, "UPDATE lost SET value = '3' WHERE id = 'changed'");
    assert_int_equal(try_look(f, &told), KEDGE_CORRUPT);
    assert_string_equal(told.text, LINE("made", "1") GONE("removed"));
    assert_non_null(strstr(told.error.message, "notes/changed"));
}

/* Nothing is replaced before it is kept. */
static void test_a_file_that_cannot_be_made_is_waited_for(void **state)
{
    fixture *f = *state;
    kedge_apply_result result;
    char path[256];
    int64_t backup = fill(f);
    path_of(f, "lost.db", path);
    assert_int_equal(mkdir(path, 0700), 0);
    naive_server_restore(f->server, backup);
    assert_int_equal(fixture_try_pull(f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    assert_int_equal(fixture_try_rotate_lost(f), KEDGE_IO);
    assert_non_null(strstr(f->error.message, "lost.db"));
    fixture_expect(f, "made", "1");
    assert_int_equal(rmdir(path), 0);
    fixture_sync(f);
    expect_lost(f, LOST);
}

/* ---- faults ---- */

typedef struct trial {
    fixture f;
    fault_vfs *vfs;
    kedge_status status;
} trial;

/* The last step of a restore, on a copy of `whole`, with a disk of its own. */
static void try_once(trial *t, const char *whole, fault_kind kind, uint64_t nth, bool sticky)
{
    fixture_remove_tree(t->f.path);
    fixture_copy_tree(whole, t->f.path);
    t->vfs = fault_vfs_new("kedge-fault", nth);
    assert_non_null(t->vfs);
    t->f.options.vfs = "kedge-fault";
    fixture_open(&t->f);
    kedge_wire_retire_response response = {.version = t->f.server->version};
    fault_vfs_arm(t->vfs, kind, nth, sticky);
    t->status = kedge_store_rotate_lost(t->f.store, &response, &t->f.changes, &t->f.error);
}

static void end_trial(trial *t)
{
    fixture_close(&t->f);
    fault_vfs_free(t->vfs);
    t->f.options.vfs = NULL;
}

static void lose_power(trial *t)
{
    fault_vfs_crash(t->vfs);
    fixture_close(&t->f);
    fault_vfs_arm(t->vfs, FAULT_IO, 0, false);
    fault_vfs_power_cut(t->vfs);
    fixture_open(&t->f);
}

/* Reads show what was there before, or it is kept. */
static void check_trial(trial *t)
{
    lines told;
    fault_vfs_arm(t->vfs, FAULT_IO, 0, false);
    fixture_reopen(&t->f);
    kedge_store_position now = fixture_position(&t->f);
    assert_true(now.unrecovered == 0 || now.unrecovered == 3);
    if (try_look(&t->f, &told) != KEDGE_OK) fail_msg("%s", told.error.message);
    if (now.unrecovered == 0)
        fixture_expect(&t->f, "made", "1");
    else
        assert_string_equal(told.text, LINE("changed", "2") LINE("made", "1") LINE("new", "1")
                                           GONE("removed"));
}

static void run_trials(fault_kind kind, bool sticky, void (*after)(trial *t))
{
    trial t;
    char whole[200];
    kedge_apply_result result;
    fixture_begin(&t.f);
    fixture_open(&t.f);
    int64_t backup = fill(&t.f);
    naive_server_restore(t.f.server, backup);
    assert_int_equal(fixture_try_pull(&t.f, &result), KEDGE_OK);
    assert_int_equal(result, KEDGE_APPLY_LOST);
    fixture_close_flat(&t.f);
    snprintf(whole, sizeof whole, "%s/whole", t.f.folder);
    fixture_copy_tree(t.f.path, whole);
    try_once(&t, whole, kind, 0, false);
    assert_int_equal(t.status, KEDGE_OK);
    uint64_t calls = fault_vfs_armed_calls(t.vfs);
    end_trial(&t);
    uint64_t step = calls / POINTS + 1;
    int failed = 0;
    for (uint64_t nth = 1; nth <= calls; nth += step) {
        try_once(&t, whole, kind, nth, sticky);
        failed += t.status != KEDGE_OK;
        if (after) after(&t);
        check_trial(&t);
        end_trial(&t);
    }
    assert_true(failed > 10);
    fixture_end(&t.f);
}

static void test_an_io_error_at_any_call_loses_nothing(void **state)
{
    (void)state;
    run_trials(FAULT_IO, false, NULL);
}

static void test_a_power_cut_at_any_call_loses_nothing(void **state)
{
    (void)state;
    run_trials(FAULT_IO, true, lose_power);
}

static void test_a_disk_that_is_full_from_any_write_on_loses_nothing(void **state)
{
    (void)state;
    run_trials(FAULT_FULL, true, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_a_restored_backend_has_taken_away_is_kept),
        TEST(test_what_is_put_back_is_not_told_any_more),
        TEST(test_an_app_may_have_declared_an_index),
        TEST(test_what_others_made_is_kept_as_well),
        TEST(test_a_second_restore_replaces_nothing),
        TEST(test_a_cache_that_was_lost_with_the_restore_names_no_item_as_deleted),
        TEST(test_it_outlives_the_cache),
        TEST(test_a_damaged_file_does_not_hold_the_sync_up),
        TEST(test_a_damaged_row_is_named_behind_the_sound_ones),
        TEST(test_a_file_that_cannot_be_made_is_waited_for),
        cmocka_unit_test(test_an_io_error_at_any_call_loses_nothing),
        cmocka_unit_test(test_a_power_cut_at_any_call_loses_nothing),
        cmocka_unit_test(test_a_disk_that_is_full_from_any_write_on_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
