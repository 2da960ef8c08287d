/* An outbox that is older than the cache beside it: what it was told since is asked for again,
 * wherever the opening that finds it out is cut short. */
#include "sdk/store/store_internal.h"
#include "tests/store/fixture.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/sampling.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define POINTS (200 / SAMPLING_FEWER)

typedef struct scene {
    fixture f;
    fault_vfs *vfs;
    char older[160]; /* the folder as its outbox is to be again */
    char found[160]; /* … and as it is opened: that outbox beside the newer cache */
} scene;

static int setup(void **state)
{
    scene *s = calloc(1, sizeof *s);
    fixture_begin(&s->f);
    s->vfs = fault_vfs_new("kedge-fault", 1);
    assert_non_null(s->vfs);
    s->f.options.vfs = "kedge-fault";
    snprintf(s->older, sizeof s->older, "%s/older", s->f.folder);
    snprintf(s->found, sizeof s->found, "%s/found", s->f.folder);
    fixture_open(&s->f);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    scene *s = *state;
    fixture_close(&s->f);
    fault_vfs_free(s->vfs);
    s->f.options.vfs = NULL;
    fixture_end(&s->f);
    free(s);
    return 0;
}

/* ---- the files ---- */

/* From here on the outbox forgets. */
static void remember(scene *s)
{
    fixture_close_flat(&s->f);
    fixture_copy_tree(s->f.path, s->older);
    fixture_open(&s->f);
}

static void put_outbox_back(scene *s)
{
    char from[256], to[256];
    fixture_close_flat(&s->f);
    snprintf(from, sizeof from, "%s/outbox.db", s->older);
    snprintf(to, sizeof to, "%s/outbox.db", s->f.path);
    assert_int_equal(unlink(to), 0);
    fixture_copy_file(from, to);
}

static void run_raw(const scene *s, const char *sql)
{
    char path[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/outbox.db", s->f.path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_changes(db), 1);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- what the app sees ---- */

static int64_t find_in_inbox(fixture *f, const char *code)
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    int64_t sequence = 0;
    assert_int_equal(kedge_store_rejected_open(f->store, &list, NULL), KEDGE_OK);
    while (sequence == 0 && kedge_store_list_next(list, &mutation, NULL) == KEDGE_OK)
        if (strcmp(mutation.code, code) == 0) sequence = mutation.sequence;
    kedge_store_list_close(list);
    return sequence;
}

static bool is_pending(fixture *f, int64_t sequence)
{
    return fixture_outcome(f, sequence) == KEDGE_OUTCOME_PENDING;
}

/* ---- a rejection that the outbox has lost, with an edit that was applied after it ---- */

#define REFUSED 1
#define APPLIED 2

static void lose_rejection(scene *s)
{
    fixture *f = &s->f;
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":9}");
    assert_int_equal(fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}"), REFUSED);
    assert_int_equal(fixture_mutate(f, "add", "{\"id\":\"m\",\"by\":1}"), APPLIED);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    remember(s);
    fixture_pull(f);
    assert_int_equal(fixture_outcome(f, REFUSED), KEDGE_OUTCOME_REJECTED);
    put_outbox_back(s);
}

static void expect_rejection_back(scene *s)
{
    fixture *f = &s->f;
    assert_true(is_pending(f, REFUSED));
    assert_int_equal(fixture_position(f).withheld, 2);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    fixture_expect(f, "m", "1"); /* once, from the state that has it */
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, REFUSED), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(fixture_outcome(f, APPLIED), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(find_in_inbox(f, "over-limit"), REFUSED);
    assert_int_equal(fixture_position(f).pending, 0);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    fixture_expect_canonical(f, "m", "1");
    fixture_check(f);
}

static void test_rejections_that_an_older_outbox_has_lost_are_asked_for_again(void **state)
{
    scene *s = *state;
    lose_rejection(s);
    fixture_open(&s->f);
    assert_int_equal(find_in_inbox(&s->f, "over-limit"), 0);
    expect_rejection_back(s);
}

typedef void (*cut)(scene *s);

/* The process was killed. */
static void die(scene *s)
{
    fault_vfs_crash(s->vfs);
    fixture_close(&s->f);
    fault_vfs_revive(s->vfs);
}

static void lose_power(scene *s)
{
    fault_vfs_crash(s->vfs);
    fixture_close(&s->f);
    fault_vfs_power_cut(s->vfs);
}

/* What can be read meanwhile does not say that the edit was applied. */
static void ask_and_close(scene *s)
{
    kedge_outcome outcome;
    if (s->f.store && kedge_store_outcome(s->f.store, REFUSED, &outcome, NULL) == KEDGE_OK)
        assert_int_equal(outcome, KEDGE_OUTCOME_PENDING);
    fixture_close(&s->f);
}

static uint64_t count_calls(scene *s, fault_kind kind)
{
    fault_vfs_arm(s->vfs, kind, 0, false);
    fixture_open(&s->f);
    uint64_t calls = fault_vfs_armed_calls(s->vfs);
    fixture_close(&s->f);
    return calls;
}

/* Fails the opening at each call in turn. */
static void cut_opening(scene *s, fault_kind kind, bool sticky, cut how)
{
    fixture *f = &s->f;
    lose_rejection(s);
    fixture_copy_tree(f->path, s->found);
    uint64_t calls = count_calls(s, kind);
    uint64_t step = calls / POINTS + 1;
    assert_true(calls > 10);
    for (uint64_t nth = 1; nth <= calls; nth += step) {
        fixture_remove_tree(f->path);
        fixture_copy_tree(s->found, f->path);
        fault_vfs_arm(s->vfs, kind, nth, sticky);
        if (fixture_try_open(f, f->path, &f->store) != KEDGE_OK) f->store = NULL;
        how(s);
        fault_vfs_arm(s->vfs, FAULT_IO, 0, false);
        fixture_open(f);
        expect_rejection_back(s);
        fixture_close(f);
    }
    print_message("%llu calls\n", (unsigned long long)calls);
    fixture_open(f);
}

static void test_a_rejection_comes_back_wherever_the_opening_is_killed(void **state)
{
    cut_opening(*state, FAULT_IO, true, die);
}

static void test_a_rejection_comes_back_wherever_the_opening_loses_power(void **state)
{
    cut_opening(*state, FAULT_IO, true, lose_power);
}

static void test_a_rejection_comes_back_wherever_the_opening_finds_the_disk_full(void **state)
{
    cut_opening(*state, FAULT_FULL, false, ask_and_close);
}

static void test_a_rejection_comes_back_when_the_disk_is_full_from_any_write_on(void **state)
{
    cut_opening(*state, FAULT_FULL, true, ask_and_close);
}

/* ---- damaged besides ---- */

static void test_a_damaged_row_does_not_hide_that_the_outbox_is_older(void **state)
{
    scene *s = *state;
    fixture *f = &s->f;
    lose_rejection(s);
    run_raw(s, "UPDATE pending SET args = '{\"id\":\"m\",\"by\":7}' WHERE sequence = 2");
    fixture_open(f);
    assert_int_equal(find_in_inbox(f, "damaged"), APPLIED);
    assert_true(is_pending(f, REFUSED));
    fixture_reopen(f);
    assert_true(is_pending(f, REFUSED));
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, REFUSED), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(find_in_inbox(f, "over-limit"), REFUSED);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    fixture_expect_canonical(f, "m", "1");
}

/* The cache covers it, and nobody knows any more that it was rejected. */
static void test_a_damaged_row_whose_rejection_is_lost_is_told(void **state)
{
    scene *s = *state;
    fixture *f = &s->f;
    lose_rejection(s);
    run_raw(s, "UPDATE pending SET args = '{}' WHERE sequence = 1");
    fixture_open(f);
    assert_int_equal(find_in_inbox(f, "damaged"), REFUSED);
    fixture_sync(f);
    assert_int_equal(find_in_inbox(f, "damaged"), REFUSED);
    assert_int_equal(fixture_outcome(f, APPLIED), KEDGE_OUTCOME_APPLIED);
    fixture_expect_canonical(f, "m", "1");
}

static void test_healing_gives_out_no_sequence_of_an_edit_that_is_lost(void **state)
{
    scene *s = *state;
    fixture *f = &s->f;
    assert_int_equal(fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}"), 1);
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":9}");
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, 1), KEDGE_OUTCOME_REJECTED);
    remember(s);
    for (int i = 2; i <= 4; i++)
        assert_int_equal(fixture_mutate(f, "add", "{\"id\":\"m\",\"by\":1}"), i);
    put_outbox_back(s);
    run_raw(s, "UPDATE rejected SET sequence = 9999 WHERE sequence = 1");
    for (int opening = 0; opening < 2; opening++) {
        fixture_open(f);
        assert_int_equal(find_in_inbox(f, "damaged"), 5);
        assert_int_equal(fixture_position(f).unrecovered, 3);
        fixture_close(f);
    }
    fixture_open(f);
    assert_int_equal(fixture_mutate(f, "add", "{\"id\":\"m\",\"by\":1}"), 6);
    fixture_sync(f);
    fixture_expect_canonical(f, "m", "1");
}

/* ---- what may have been cancelled since ---- */

static void test_a_cancelled_edit_that_comes_back_is_not_shown(void **state)
{
    scene *s = *state;
    fixture *f = &s->f;
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"first\",\"value\":1}"), 1);
    fixture_sync(f);
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"x\",\"value\":\"secret\"}"), 2);
    remember(s);
    assert_int_equal(kedge_store_cancel(f->store, 2, &f->changes, &f->error), KEDGE_OK);
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"y\",\"value\":1}"), 3);
    put_outbox_back(s);
    for (int opening = 0; opening < 2; opening++) {
        fixture_open(f);
        fixture_expect(f, "x", NULL);
        assert_int_equal(fixture_position(f).withheld, 1);
        assert_int_equal(fixture_position(f).unrecovered, 1);
        fixture_close(f);
    }
    fixture_open(f);
    assert_int_equal(kedge_store_cancel(f->store, 2, &f->changes, &f->error), KEDGE_CONFLICT);
}

static void test_edits_stay_visible_when_the_outbox_has_lost_other_edits_only(void **state)
{
    scene *s = *state;
    fixture *f = &s->f;
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"first\",\"value\":1}"), 1);
    fixture_sync(f);
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"x\",\"value\":1}"), 2);
    remember(s);
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"y\",\"value\":1}"), 3);
    put_outbox_back(s);
    fixture_open(f);
    fixture_expect(f, "x", "1");
    fixture_expect(f, "y", NULL);
    assert_int_equal(fixture_position(f).withheld, 0);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_sync(f);
    fixture_expect_canonical(f, "x", "1");
}

static void copy_cache(const char *from, const char *to)
{
    char source[200], target[200];
    snprintf(source, sizeof source, "%s/cache.db", from);
    snprintf(target, sizeof target, "%s/cache.db", to);
    fixture_copy_file(source, target);
}

/* A cache that missed an edit makes the next pull ask. The one that takes its place is older still,
 * from before the first edit. */
static void test_an_older_cache_withholds_no_edit_however_old_it_is(void **state)
{
    scene *s = *state;
    fixture *f = &s->f;
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_pull(f);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, s->older);
    fixture_open(f);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":10}");
    fixture_sync(f);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, s->found);
    fixture_open(f);
    fixture_mutate(f, "add", "{\"id\":\"own\",\"by\":5}");
    fixture_close_flat(f);
    copy_cache(s->found, f->path);
    fixture_open(f);
    fixture_close_flat(f);
    copy_cache(s->older, f->path);
    fixture_open(f);
    assert_int_equal(fixture_position(f).withheld, 0);
    fixture_expect(f, "own", "5");
    fixture_sync(f);
    fixture_expect(f, "n", "11");
    fixture_check(f);
}

/* A rotation leaves an edit under the former client id until its version is pulled. A cache from
 * before the outbox was found to be older has that client id, too, and is no sign that the outbox
 * has an old page. */
static void test_an_older_cache_does_not_undo_a_rotation(void **state)
{
    scene *s = *state;
    fixture *f = &s->f;
    char client[sizeof fixture_position(f).client];
    lose_rejection(s);
    fixture_copy_tree(f->path, s->found);
    fixture_open(f);
    int64_t decided = fixture_mutate(f, "add", "{\"id\":\"own\",\"by\":5}");
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":1}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    int64_t waiting = fixture_mutate(f, "add", "{\"id\":\"own\",\"by\":20}");
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    snprintf(client, sizeof client, "%s", fixture_position(f).client);
    fixture_close_flat(f);
    copy_cache(s->found, f->path);
    fixture_open(f);
    assert_string_equal(fixture_position(f).client, client);
    assert_int_equal(find_in_inbox(f, "damaged"), 0);
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, decided), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(fixture_outcome(f, waiting), KEDGE_OUTCOME_APPLIED);
    fixture_expect_canonical(f, "own", "25");
    fixture_check(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rejections_that_an_older_outbox_has_lost_are_asked_for_again),
        TEST(test_a_rejection_comes_back_wherever_the_opening_is_killed),
        TEST(test_a_rejection_comes_back_wherever_the_opening_loses_power),
        TEST(test_a_rejection_comes_back_wherever_the_opening_finds_the_disk_full),
        TEST(test_a_rejection_comes_back_when_the_disk_is_full_from_any_write_on),
        TEST(test_a_damaged_row_does_not_hide_that_the_outbox_is_older),
        TEST(test_a_damaged_row_whose_rejection_is_lost_is_told),
        TEST(test_healing_gives_out_no_sequence_of_an_edit_that_is_lost),
        TEST(test_a_cancelled_edit_that_comes_back_is_not_shown),
        TEST(test_edits_stay_visible_when_the_outbox_has_lost_other_edits_only),
        TEST(test_an_older_cache_withholds_no_edit_however_old_it_is),
        TEST(test_an_older_cache_does_not_undo_a_rotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
