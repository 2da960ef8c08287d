/* Dismissing many rejected edits at once: which ones, in which order, and what is left when it
 * fails on the way. */
#include "sdk/store/store_internal.h"
#include "tests/store/outbox_scenario.h"
#include "tests/store/own_scenario.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/sampling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define POINTS (200 / SAMPLING_FEWER)
/* Three turns, the last of them not full. */
#define MANY (2 * KEDGE_STORE_DISMISS_ROWS + 50)

/* ---- an inbox with entries ---- */

#define RAISED 9

/* The next edit, which the server is going to refuse: meanwhile notes/n is raised over the limit.
 * `before`: how often it was raised already. */
static int64_t make_refused(fixture *f, int before)
{
    char args[64];
    snprintf(args, sizeof args, "{\"id\":\"n\",\"limit\":%d}", before * RAISED + 1);
    return fixture_mutate(f, "refuse-over", args);
}

static void refuse_all(fixture *f)
{
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":9}");
    fixture_sync(f);
}

/* The entries of odd sequences, of so many edits; those between them are applied. */
static void fill(fixture *f, int edits)
{
    for (int i = 1; i <= edits; i++)
        assert_int_equal(i % 2 == 1 ? make_refused(f, 0) : outbox_make_edit_anew(f, i), i);
    refuse_all(f);
    assert_int_equal(fixture_position(f).rejected, (edits + 1) / 2);
}

/* The sequences that the inbox lists, as a text: "1 3 5". */
static const char *listed(fixture *f)
{
    static char text[256];
    kedge_mutation_list *list = NULL;
    kedge_mutation row = KEDGE_MUTATION_INIT;
    size_t size = 0;
    text[0] = '\0';
    assert_int_equal(kedge_store_rejected_open(f->store, &list, &f->error), KEDGE_OK);
    while (kedge_store_list_next(list, &row, &f->error) == KEDGE_OK) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%lld", size > 0 ? " " : "",
                                 (long long)row.sequence);
        assert_true(size < sizeof text);
    }
    kedge_store_list_close(list);
    return text;
}

static size_t dismiss_through(fixture *f, int64_t sequence)
{
    size_t dismissed = 0;
    if (kedge_store_dismiss_through(f->store, sequence, &dismissed, &f->error) != KEDGE_OK)
        fail_msg("%s", f->error.message);
    return dismissed;
}

/* ---- which ones ---- */

static void test_all_up_to_a_sequence_are_dismissed_and_no_other(void **state)
{
    fixture *f = *state;
    fill(f, 9);
    assert_int_equal(dismiss_through(f, 5), 3);
    assert_string_equal(listed(f), "7 9");
    assert_int_equal(fixture_position(f).rejected, 2);
    assert_int_equal(dismiss_through(f, 5), 0);
    assert_int_equal(dismiss_through(f, 8), 1);
    fixture_reopen(f);
    assert_string_equal(listed(f), "9");
    for (int64_t sequence = 1; sequence <= 9; sequence++)
        assert_int_equal(fixture_outcome(f, sequence),
                         sequence % 2 == 1 ? KEDGE_OUTCOME_REJECTED : KEDGE_OUTCOME_APPLIED);
    assert_int_equal(kedge_store_dismiss(f->store, 5, &f->error), KEDGE_NOT_FOUND);
    fixture_pull(f);
    assert_string_equal(listed(f), "9");
    fixture_check(f);
}

static void test_any_number_may_be_named(void **state)
{
    fixture *f = *state;
    assert_int_equal(dismiss_through(f, INT64_MAX), 0);
    fill(f, 3);
    assert_int_equal(dismiss_through(f, INT64_MIN), 0);
    assert_int_equal(dismiss_through(f, 0), 0);
    assert_string_equal(listed(f), "1 3");
    assert_int_equal(dismiss_through(f, INT64_MAX), 2);
    assert_string_equal(listed(f), "");
}

static void test_an_edit_that_is_rejected_after_the_list_was_read_stays(void **state)
{
    fixture *f = *state;
    fill(f, 5);
    assert_int_equal(make_refused(f, 1), 6);
    assert_string_equal(listed(f), "1 3 5");
    refuse_all(f);
    assert_string_equal(listed(f), "1 3 5 6");
    assert_int_equal(dismiss_through(f, 5), 3);
    assert_string_equal(listed(f), "6");
}

/* A pull notes rejections before the cache shows what was pulled. */
static void test_a_rejection_that_is_not_listed_yet_stays(void **state)
{
    own_fixture *own = *state;
    fixture *f = &own->f;
    char path[200];
    make_refused(f, 0);
    own->phase = "pull-before-cache";
    refuse_all(f);
    own->phase = NULL;
    snprintf(path, sizeof path, "%s/copy0", f->folder);
    own_go_to(f, path);
    assert_int_equal(fixture_position(f).pending, 1);
    assert_int_equal(dismiss_through(f, INT64_MAX), 0);
    fixture_sync(f);
    assert_string_equal(listed(f), "1");
    assert_int_equal(dismiss_through(f, INT64_MAX), 1);
}

static void test_damaged_edits_are_dismissed_with_the_others(void **state)
{
    fixture *f = *state;
    outbox_fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(
        outbox_run_raw(f, "UPDATE pending SET timestamp = timestamp + 1 WHERE sequence IN (9, 11)"),
        2);
    fixture_open(f);
    assert_string_equal(listed(f), "5 9 11");
    assert_int_equal(dismiss_through(f, 9), 2);
    assert_string_equal(listed(f), "11");
    fixture_sync(f);
    assert_string_equal(listed(f), "11");
    assert_int_equal(outbox_applied(f, 9), 0);
    assert_int_equal(outbox_applied(f, 12), 1);
}

/* The turn that finds the damage heals it and begins anew. */
static void test_an_entry_that_is_found_damaged_is_counted_once_with_those_before_it(void **state)
{
    fixture *f = *state;
    fill(f, 7);
    assert_int_equal(kedge_store_db_execute(&f->store->outbox,
                                            "UPDATE rejected SET message = 'x' WHERE sequence = 5",
                                            &f->error),
                     KEDGE_OK);
    assert_int_equal(dismiss_through(f, 5), 3);
    assert_string_equal(listed(f), "7");
    fixture_reopen(f);
    assert_string_equal(listed(f), "7");
}

/* Edit 1 is client-only and conflicts, edit 2 is rejected. Edit 1 is made again after it. */
static void make_attempts(fixture *f)
{
    assert_int_equal(fixture_mutate(f, "own-refuse-over", "{\"id\":\"n\",\"limit\":150}"), 1);
    assert_int_equal(fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":50}"), 2);
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    assert_string_equal(listed(f), "2");
    assert_int_equal(fixture_position(f).pending, 1);
}

static void lose_last_attempt(fixture *f)
{
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    assert_string_equal(listed(f), "2 1");
}

static void test_an_edit_that_is_made_again_stands_behind_those_that_were_rejected(void **state)
{
    fixture *f = own_fixture_of(state);
    make_attempts(f);
    assert_int_equal(dismiss_through(f, 1), 0);
    lose_last_attempt(f);
    assert_int_equal(dismiss_through(f, 2), 1);
    assert_string_equal(listed(f), "1");
    assert_int_equal(dismiss_through(f, 1), 1);
    assert_string_equal(listed(f), "");
    assert_int_equal(fixture_outcome(f, 1), KEDGE_OUTCOME_REJECTED);
}

static void test_the_last_edit_of_a_list_names_all_of_it(void **state)
{
    fixture *f = own_fixture_of(state);
    make_attempts(f);
    lose_last_attempt(f);
    assert_int_equal(dismiss_through(f, 1), 2);
    assert_string_equal(listed(f), "");
}

/* ---- more than one turn ---- */

/* Entries 1 to `count`, of one that the server has rejected. */
static void fill_many(fixture *f, int64_t count)
{
    static const char *const copy =
        "INSERT INTO {sealed rejected} (WITH RECURSIVE more(i) AS (SELECT 1 UNION ALL SELECT i + 1"
        " FROM more WHERE i + 1 < ?1) SELECT sequence + i AS sequence, client, id, uid, digest,"
        " name, args, timestamp, origin_client, origin_id, version, code, message, state,"
        " decided_ms FROM rejected, more)";
    kedge_store_db *db = &f->store->outbox;
    kedge_outbox_meta meta;
    assert_int_equal(make_refused(f, 0), 1);
    refuse_all(f);
    assert_int_equal(kedge_store_db_begin(db, &f->error), KEDGE_OK);
    assert_int_equal(kedge_store_db_change(db, copy, &f->error, "i", count), KEDGE_OK);
    assert_int_equal(kedge_outbox_meta_read(db, &meta, &f->error), KEDGE_OK);
    meta.last_sequence = count;
    assert_int_equal(kedge_outbox_count_rejected(db, &meta, &f->error), KEDGE_OK);
    assert_int_equal(kedge_outbox_meta_write(db, &meta, &f->error), KEDGE_OK);
    assert_int_equal(kedge_store_db_commit(db, &f->error), KEDGE_OK);
    assert_int_equal(fixture_position(f).rejected, count);
}

/* What the inbox lists is all after the first entries. Returns how many are listed. */
static int64_t check_rest(fixture *f, int64_t all)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation row = KEDGE_MUTATION_INIT;
    int64_t count = fixture_position(f).rejected, next = all - count + 1;
    assert_int_equal(kedge_store_rejected_open(f->store, &list, &f->error), KEDGE_OK);
    while (kedge_store_list_next(list, &row, &f->error) == KEDGE_OK)
        assert_int_equal(row.sequence, next++);
    kedge_store_list_close(list);
    assert_int_equal(next, all + 1);
    return count;
}

static void test_many_are_dismissed_in_more_than_one_turn(void **state)
{
    fixture *f = *state;
    fill_many(f, MANY);
    assert_int_equal(dismiss_through(f, MANY - 7), MANY - 7);
    assert_int_equal(check_rest(f, MANY), 7);
    fixture_reopen(f);
    assert_int_equal(check_rest(f, MANY), 7);
    assert_int_equal(fixture_outcome(f, 1), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(fixture_outcome(f, MANY - 7), KEDGE_OUTCOME_REJECTED);
    fixture_check(f);
}

/* A turn that is exactly full may be the last one. */
static void test_a_full_turn_may_be_the_last(void **state)
{
    fixture *f = *state;
    fill_many(f, KEDGE_STORE_DISMISS_ROWS);
    assert_int_equal(dismiss_through(f, INT64_MAX), KEDGE_STORE_DISMISS_ROWS);
    assert_int_equal(check_rest(f, KEDGE_STORE_DISMISS_ROWS), 0);
}

/* ---- faults ---- */

typedef struct trial {
    fixture f;
    fault_vfs *vfs;
    kedge_status status;
    size_t dismissed;
} trial;

/* Dismisses all entries of a copy of `whole`, on a disk of its own, while the `nth` call fails. */
static void try_once(trial *t, const char *whole, fault_kind kind, uint64_t nth, bool sticky)
{
    fixture_remove_tree(t->f.path);
    fixture_copy_tree(whole, t->f.path);
    t->vfs = fault_vfs_new("kedge-fault", nth);
    assert_non_null(t->vfs);
    t->f.options.vfs = "kedge-fault";
    fixture_open(&t->f);
    fault_vfs_arm(t->vfs, kind, nth, sticky);
    t->status = kedge_store_dismiss_through(t->f.store, INT64_MAX, &t->dismissed, &t->f.error);
}

static void end_trial(trial *t)
{
    fixture_close(&t->f);
    fault_vfs_free(t->vfs);
    t->f.options.vfs = NULL;
}

typedef void (*after_fault)(trial *t);

static void go_on(trial *t)
{
    fault_vfs_arm(t->vfs, FAULT_IO, 0, false);
    int64_t left = check_rest(&t->f, MANY);
    assert_int_equal(left, MANY - (int64_t)t->dismissed);
    assert_true(left == 0 || t->status != KEDGE_OK);
}

static void lose_power(trial *t)
{
    fault_vfs_crash(t->vfs);
    fixture_close(&t->f);
    fault_vfs_arm(t->vfs, FAULT_IO, 0, false);
    fault_vfs_power_cut(t->vfs);
    fixture_open(&t->f);
}

/* What was dismissed stays so, and with it the whole turn whose commit failed, or nothing of it. */
static void check_and_end(trial *t)
{
    fixture_reopen(&t->f);
    int64_t gone = MANY - check_rest(&t->f, MANY);
    assert_in_range(gone, t->dismissed, t->dismissed + KEDGE_STORE_DISMISS_ROWS);
    assert_true(gone == MANY || gone % KEDGE_STORE_DISMISS_ROWS == 0);
    assert_int_equal(dismiss_through(&t->f, INT64_MAX), MANY - gone);
    assert_int_equal(check_rest(&t->f, MANY), 0);
    end_trial(t);
}

static void fail_each(fault_kind kind, bool sticky, after_fault after)
{
    trial t = {.vfs = NULL};
    char whole[200];
    uint64_t stopped = 0;
    fixture_begin(&t.f);
    snprintf(whole, sizeof whole, "%s/whole", t.f.folder);
    fixture_open(&t.f);
    fill_many(&t.f, MANY);
    fixture_close_flat(&t.f);
    fixture_copy_tree(t.f.path, whole);
    try_once(&t, whole, kind, 0, false);
    uint64_t calls = fault_vfs_armed_calls(t.vfs);
    assert_int_equal(t.status, KEDGE_OK);
    end_trial(&t);
    for (uint64_t nth = 1; nth <= calls; nth += calls / POINTS + 1) {
        try_once(&t, whole, kind, nth, sticky);
        stopped += t.dismissed > 0 && t.dismissed < MANY;
        after(&t);
        check_and_end(&t);
    }
    print_message("%llu calls, %llu stops between turns\n", (unsigned long long)calls,
                  (unsigned long long)stopped);
    assert_true(stopped > 0);
    fixture_end(&t.f);
}

static void test_an_io_error_leaves_the_last_entries(void **state)
{
    (void)state;
    fail_each(FAULT_IO, false, go_on);
}

static void test_a_disk_that_stays_full_leaves_the_last_entries(void **state)
{
    (void)state;
    fail_each(FAULT_FULL, true, go_on);
}

static void test_a_power_cut_leaves_the_last_entries(void **state)
{
    (void)state;
    fail_each(FAULT_IO, true, lose_power);
}

#define TEST(name)     cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
#define OWN_TEST(name) cmocka_unit_test_setup_teardown(name, own_set_up, own_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_up_to_a_sequence_are_dismissed_and_no_other),
        TEST(test_any_number_may_be_named),
        TEST(test_an_edit_that_is_rejected_after_the_list_was_read_stays),
        OWN_TEST(test_a_rejection_that_is_not_listed_yet_stays),
        TEST(test_damaged_edits_are_dismissed_with_the_others),
        TEST(test_an_entry_that_is_found_damaged_is_counted_once_with_those_before_it),
        OWN_TEST(test_an_edit_that_is_made_again_stands_behind_those_that_were_rejected),
        OWN_TEST(test_the_last_edit_of_a_list_names_all_of_it),
        TEST(test_many_are_dismissed_in_more_than_one_turn),
        TEST(test_a_full_turn_may_be_the_last),
        cmocka_unit_test(test_an_io_error_leaves_the_last_entries),
        cmocka_unit_test(test_a_disk_that_stays_full_leaves_the_last_entries),
        cmocka_unit_test(test_a_power_cut_leaves_the_last_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
