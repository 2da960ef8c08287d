/* Rows of the outbox that are missing or are damaged: what is told of them, and in which order the
 * rest goes on. */
#include "sdk/store/outbox_heal.h"
#include "sdk/store/repair.h"
#include "sdk/store/store_internal.h"
#include "tests/store/outbox_scenario.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- rows that are missing ---- */

static void test_a_pending_row_that_is_missing_is_told_and_does_not_block(void **state)
{
    fixture *f = *state;
    char code[64];
    outbox_fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "DELETE FROM pending WHERE sequence IN (6, 10, 12)"), 3);
    fixture_open(f);
    assert_int_equal(fixture_position(f).pending, 7);
    for (int i = 0; i < 2; i++) {
        assert_true(outbox_is_in_inbox(f, 6, code) && outbox_is_in_inbox(f, 10, code) &&
                    outbox_is_in_inbox(f, 12, code));
        assert_string_equal(code, "damaged");
        fixture_sync(f);
    }
    assert_int_equal(outbox_expect_accounted(f, "missing rows"), 3);
    assert_int_equal(outbox_applied(f, 11), 1);
}

static void test_a_damaged_edit_is_dismissed_and_cannot_be_resubmitted(void **state)
{
    fixture *f = *state;
    char code[64];
    outbox_fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(
        outbox_run_raw(f,
                       "UPDATE pending SET args = '{\"id\":\"e9\",\"by\":7}' WHERE sequence = 9"),
        1);
    fixture_open(f);
    assert_true(outbox_is_in_inbox(f, 9, code));
    int64_t sequence;
    assert_int_equal(kedge_store_resubmit(f->store, 9, &sequence, &f->changes, &f->error),
                     KEDGE_CONFLICT);
    assert_string_equal(f->error.code, "mutation-damaged");
    assert_int_equal(kedge_store_dismiss(f->store, 9, &f->error), KEDGE_OK);
    assert_false(outbox_is_in_inbox(f, 9, code));
    assert_int_equal(kedge_store_dismiss(f->store, 9, &f->error), KEDGE_NOT_FOUND);
    fixture_sync(f);
    assert_int_equal(outbox_applied(f, 9), 0);
    assert_int_equal(outbox_applied(f, 12), 1);
}

static void test_a_dismissed_damaged_edit_says_nothing_of_those_before_it(void **state)
{
    fixture *f = *state;
    char code[64];
    outbox_fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(
        outbox_run_raw(f, "UPDATE pending SET checksum = checksum + 1 WHERE sequence = 11"), 1);
    fixture_open(f);
    assert_int_equal(kedge_store_dismiss(f->store, 11, &f->error), KEDGE_OK);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "DELETE FROM pending WHERE sequence >= 10"), 3);
    fixture_open(f);
    assert_true(outbox_is_in_inbox(f, 10, code));
    assert_string_equal(code, "damaged");
    fixture_sync(f);
    assert_int_equal(outbox_applied(f, 9), 1);
}

static void test_a_damaged_edit_of_an_earlier_client_is_told_until_the_pull_shows_it(void **state)
{
    fixture *f = *state;
    char code[64];
    outbox_fill(f, true);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "UPDATE pending SET covered_version = 1 WHERE sequence = 6"),
                     1);
    assert_int_equal(outbox_run_raw(f, "DELETE FROM pending WHERE sequence = 7"), 1);
    fixture_open(f);
    assert_true(outbox_is_in_inbox(f, 6, code));
    assert_string_equal(code, "damaged");
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_reopen(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_sync(f);
    assert_int_equal(outbox_expect_accounted(f, "of an earlier client"), 1);
    assert_int_equal(outbox_applied(f, 6), 1);
    assert_int_equal(outbox_applied(f, 7), 1);
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
    outbox_restore_folder(f, before);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/outbox.db' AS after; INSERT INTO rejected SELECT * FROM after.rejected",
             after);
    assert_int_equal(outbox_run_raw(f, sql), 1);
}

static void test_a_damaged_edit_that_was_rejected_already_keeps_its_rejection(void **state)
{
    fixture *f = *state;
    char code[64];
    leave_rejection_half_pulled(f);
    assert_int_equal(outbox_run_raw(f, "UPDATE pending SET uid = zeroblob(16)"), 1);
    fixture_open(f);
    fixture_sync(f);
    assert_true(outbox_is_in_inbox(f, 1, code));
    assert_string_equal(code, "over-limit");
    assert_int_equal(fixture_position(f).rejected, 1);
    assert_int_equal(fixture_outcome(f, 1), KEDGE_OUTCOME_REJECTED);
}

static bool shows_args(fixture *f, int64_t sequence, const char *args)
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    bool shown = false;
    assert_int_equal(kedge_store_rejected_open(f->store, &list, NULL), KEDGE_OK);
    while (!shown && kedge_store_list_next(list, &mutation, NULL) == KEDGE_OK)
        shown = mutation.sequence == sequence && mutation.args_size == strlen(args) &&
                memcmp(mutation.args, args, mutation.args_size) == 0;
    kedge_store_list_close(list);
    return shown;
}

static void
test_a_damaged_rejection_of_an_edit_that_is_still_pending_keeps_its_sequence(void **state)
{
    static const char *const damages[] = {
        "UPDATE rejected SET args = '{\"id\":\"n\",\"limit\":7}'",
        "UPDATE rejected SET name = 'add'",
        "UPDATE rejected SET uid = zeroblob(16)",
        "UPDATE rejected SET digest = zeroblob(16)",
        "UPDATE rejected SET args = '', digest = NULL",
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        char whole[160];
        char code[64];
        snprintf(whole, sizeof whole, "%s/whole", f->folder);
        if (i == 0) {
            leave_rejection_half_pulled(f);
            fixture_copy_tree(f->path, whole);
        } else {
            fixture_close_flat(f);
            outbox_restore_folder(f, whole);
        }
        assert_int_equal(outbox_run_raw(f, damages[i]), 1);
        fixture_open(f);
        assert_true(outbox_is_in_inbox(f, 1, code));
        assert_string_equal(code, "damaged");
        assert_true(shows_args(f, 1, "{\"id\":\"n\",\"limit\":5}"));
        fixture_sync(f);
        assert_true(outbox_is_in_inbox(f, 1, code));
        assert_int_equal(fixture_position(f).rejected, 1);
    }
}

static void test_rows_that_the_totals_miss_are_counted(void **state)
{
    fixture *f = *state;
    outbox_fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "DELETE FROM rejected"), 1);
    assert_int_equal(outbox_run_raw(f, "DELETE FROM confirmed WHERE sequence = 2"), 1);
    fixture_open(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    fixture_reopen(f);
    assert_int_equal(fixture_position(f).unrecovered, 1);
    /* The backend is put back to before all edits: what the tail lacks is counted then. */
    naive_server_restore(f->server, 0);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 3); /* the rejected one once more */
    assert_int_equal(outbox_applied(f, 2), 0);
    assert_int_equal(outbox_applied(f, 1), 1);
}

static void test_rows_of_earlier_clients_that_the_tail_misses_are_counted(void **state)
{
    fixture *f = *state;
    outbox_fill(f, false);
    fixture_sync(f);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    for (int i = EDITS + 1; i <= EDITS + 3; i++)
        outbox_make_edit(f, i);
    fixture_sync(f);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "DELETE FROM confirmed WHERE sequence IN (2, 3, 14)"), 3);
    fixture_open(f);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 0); /* the backend has them */
    fixture_reopen(f);
    naive_server_restore(f->server, 0);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).unrecovered, 3);
    for (int i = 1; i <= EDITS + 3; i++)
        if (i != 5) assert_int_equal(outbox_applied(f, i), i != 2 && i != 3 && i != 14);
    fixture_reopen(f);
    assert_int_equal(fixture_position(f).unrecovered, 3);
}

static void test_the_tail_is_measured_anew_when_rows_of_it_are_missing(void **state)
{
    static const char difference[] = "SELECT (SELECT tail_bytes FROM meta) -"
                                     " (SELECT sum(length(args)) FROM confirmed)";
    fixture *f = *state;
    int64_t wrong = -1;
    outbox_fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "DELETE FROM confirmed WHERE sequence < 4"), 3);
    fixture_open(f);
    assert_int_equal(kedge_store_db_number(&f->store->outbox, difference, &wrong, NULL), KEDGE_OK);
    assert_int_equal(wrong, 0);
}

static void test_an_answered_rejection_that_is_damaged_stays_answered(void **state)
{
    fixture *f = *state;
    outbox_fill(f, false);
    assert_int_equal(kedge_store_dismiss(f->store, 5, &f->error), KEDGE_OK);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "UPDATE rejected SET timestamp = timestamp + 1"), 1);
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
        outbox_make_edit(f, i);
    fixture_close_flat(f);
    snprintf(before, sizeof before, "%s/before", f->folder);
    fixture_copy_tree(f->path, before);
    fixture_open(f);
    outbox_make_edit(f, 4);
    outbox_make_edit(f, 5);
    fixture_sync(f);
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/outbox.db' AS before; DELETE FROM meta;"
             " INSERT INTO meta SELECT * FROM before.meta",
             before);
    assert_int_equal(outbox_run_raw(f, sql), 2);
    fixture_open(f);
    assert_int_equal(fixture_position(f).rejected, 0);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    assert_int_equal(outbox_make_edit_anew(f, 6), 6);
    fixture_sync(f);
    for (int i = 1; i <= 6; i++)
        assert_int_equal(outbox_applied(f, i), 1);
}

/* ---- a damaged row while the folder is open ---- */

static void test_a_row_that_is_damaged_while_open_is_set_aside(void **state)
{
    fixture *f = *state;
    outbox_fill(f, false);
    assert_int_equal(outbox_run_raw(f, "UPDATE pending SET uid = zeroblob(16) WHERE sequence = 7"),
                     1);
    assert_int_equal(
        outbox_run_raw(f, "UPDATE pending SET covered_version = 1 WHERE sequence = 10"), 1);
    fixture_sync(f);
    assert_int_equal(outbox_expect_accounted(f, "while open"), 2);
    fixture_check(f);
}

static void test_a_push_has_no_gap_where_a_damaged_row_says_that_it_is_covered(void **state)
{
    fixture *f = *state;
    outbox_fill(f, false);
    assert_int_equal(
        outbox_run_raw(f, "UPDATE pending SET covered_version = 1 WHERE sequence = 10"), 1);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    assert_int_equal(fixture_position(f).rejected, 2); /* the fifth, and the damaged one */
    fixture_sync(f);
    assert_int_equal(outbox_expect_accounted(f, "said to be covered"), 1);
}

/* ---- a decided row that has not reached the tail yet ---- */

static void keep_outbox(void *context, const char *phase)
{
    const fixture *f = context;
    char from[200], to[200];
    if (strcmp(phase, "pull-before-delete") != 0) return;
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s/outbox.db%s", f->path, i == 0 ? "" : "-wal");
        snprintf(to, sizeof to, "%s/kept%s", f->folder, i == 0 ? "" : "-wal");
        fixture_copy_file(from, to);
    }
}

/* As a process leaves it that ends before a pull deletes what is covered now. */
static void leave_covered_row(fixture *f)
{
    char from[200], to[200];
    f->options.phase = keep_outbox;
    f->options.phase_context = f;
    fixture_reopen(f);
    outbox_make_edit(f, 1);
    assert_int_equal(fixture_push(f), NAIVE_OK);
    fixture_pull(f);
    fixture_close_flat(f);
    f->options.phase = NULL;
    for (int i = 0; i < 2; i++) {
        snprintf(to, sizeof to, "%s/outbox.db%s", f->path, i == 0 ? "" : "-wal");
        snprintf(from, sizeof from, "%s/kept%s", f->folder, i == 0 ? "" : "-wal");
        fixture_copy_file(from, to);
    }
}

static void
test_a_covered_edit_that_is_damaged_is_counted_when_the_backend_is_restored(void **state)
{
    fixture *f = *state;
    leave_covered_row(f);
    assert_int_equal(outbox_run_raw(f, "UPDATE pending SET timestamp = 7 WHERE sequence = 1"), 1);
    fixture_open(f);
    assert_int_equal(fixture_position(f).pending, 0);
    assert_int_equal(fixture_position(f).unrecovered, 0);
    naive_server_restore(f->server, 0);
    fixture_sync(f);
    assert_int_equal(outbox_applied(f, 1), 0);
    assert_int_equal(fixture_position(f).unrecovered, 1);
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
    outbox_fill(f, true);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "UPDATE pending SET args = '1' WHERE sequence IN (9, 11)"),
                     2);
    repair_into(f, "gaps"); /* pending are 6, 7, 8, 10 and 12, with the ids 1 to 5 */
    assert_int_equal(outbox_run_raw(f, "UPDATE pending SET args = '1' WHERE sequence IN (8, 10)"),
                     2);
    fixture_open(f);
    assert_true(outbox_read_entry(f, 8, code, message) && strcmp(code, "damaged") == 0);
    /* It was sent before the folder was repaired, under another name. */
    assert_string_equal(message, "this edit was damaged on the disk; the server may have it");
    assert_true(outbox_is_in_inbox(f, 10, code) && strcmp(code, "damaged") == 0);
    fixture_sync(f);
    assert_int_equal(outbox_expect_accounted(f, "gaps"), 4);
    assert_int_equal(outbox_applied(f, 12), 1);
    assert_int_equal(fixture_outcome(f, 8), KEDGE_OUTCOME_REJECTED);
    fixture_reopen(f);
    assert_int_equal(fixture_position(f).rejected, 5);
}

/* Both copies of `meta` may stand on one page. */
static void test_a_meta_from_before_a_rotation_gives_way_to_the_client_that_has_edits(void **state)
{
    fixture *f = *state;
    char before[160], sql[400];
    snprintf(before, sizeof before, "%s/before", f->folder);
    outbox_fill(f, false);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, before);
    fixture_open(f);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    int64_t pending = fixture_position(f).pending;
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/outbox.db' AS before; DELETE FROM meta;"
             " INSERT INTO meta SELECT * FROM before.meta",
             before);
    assert_int_equal(outbox_run_raw(f, sql), 2);
    fixture_open(f);
    assert_int_equal(fixture_position(f).pending, pending);
    fixture_sync(f);
    assert_int_equal(outbox_expect_accounted(f, "behind an old meta"), 0);
    fixture_check(f);
}

static void test_old_rows_of_before_a_rotation_stand_for_none_of_the_edits_made_since(void **state)
{
    fixture *f = *state;
    char old[160], sql[400], code[64];
    snprintf(old, sizeof old, "%s/old", f->folder);
    outbox_fill(f, false);
    fixture_close_flat(f);
    assert_int_equal(outbox_run_raw(f, "UPDATE pending SET uid = zeroblob(16) WHERE sequence = 6"),
                     1);
    fixture_open(f);
    fixture_close_flat(f);
    fixture_copy_tree(f->path, old);
    fixture_open(f);
    assert_int_equal(fixture_try_rotate(f), KEDGE_OK);
    fixture_sync(f);
    for (int i = 13; i <= 15; i++)
        assert_int_equal(outbox_make_edit_anew(f, i), i);
    fixture_close_flat(f);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/outbox.db' AS old; DELETE FROM pending;"
             " INSERT INTO pending SELECT * FROM old.pending",
             old);
    assert_int_equal(outbox_run_raw(f, sql), 7);
    fixture_open(f);
    for (int i = 13; i <= 15; i++)
        assert_true(outbox_is_in_inbox(f, i, code) && strcmp(code, "damaged") == 0);
    assert_int_equal(fixture_position(f).pending, 3);
    fixture_sync(f);
    for (int i = 7; i <= 12; i++)
        assert_int_equal(outbox_applied(f, i), 1);
}

/* ---- without memory ---- */

static bool read_legible(const kedge_allocator *allocator, void *context)
{
    kedge_store store = {.allocator = allocator};
    kedge_outbox_healing heal = {.store = &store};
    kedge_inbox_entry entry;
    const char *args = context;
    kedge_status status =
        kedge_inbox_read_legible(&heal, KEDGE_BYTES("add"), kedge_bytes_of(args), &entry, NULL);
    if (status != KEDGE_OK) {
        assert_int_equal(status, KEDGE_NO_MEMORY);
        return false;
    }
    assert_string_equal(entry.args.data, args);
    kedge_inbox_entry_free(&entry);
    return true;
}

/* Of so many members that their names need memory. */
static void test_the_args_of_a_damaged_edit_are_kept_as_they_are_or_not_at_all(void **state)
{
    (void)state;
    char args[1024];
    size_t used = 0;
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(args + used, sizeof args - used, "%c\"%02d\":1",
                                 i == 0 ? '{' : ',', i);
    snprintf(args + used, sizeof args - used, "}");
    assert_true(failing_allocator_try_every_call(read_legible, args, 0) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_pending_row_that_is_missing_is_told_and_does_not_block),
        TEST(test_a_damaged_edit_is_dismissed_and_cannot_be_resubmitted),
        TEST(test_a_dismissed_damaged_edit_says_nothing_of_those_before_it),
        TEST(test_a_damaged_edit_of_an_earlier_client_is_told_until_the_pull_shows_it),
        TEST(test_a_damaged_edit_that_was_rejected_already_keeps_its_rejection),
        TEST(test_a_damaged_rejection_of_an_edit_that_is_still_pending_keeps_its_sequence),
        TEST(test_rows_that_the_totals_miss_are_counted),
        TEST(test_rows_of_earlier_clients_that_the_tail_misses_are_counted),
        TEST(test_the_tail_is_measured_anew_when_rows_of_it_are_missing),
        TEST(test_an_answered_rejection_that_is_damaged_stays_answered),
        TEST(test_an_old_meta_says_nothing_of_edits_that_were_decided_since),
        TEST(test_damaged_edits_with_gaps_between_keep_their_order_and_their_names),
        TEST(test_a_row_that_is_damaged_while_open_is_set_aside),
        TEST(test_old_rows_of_before_a_rotation_stand_for_none_of_the_edits_made_since),
        TEST(test_a_meta_from_before_a_rotation_gives_way_to_the_client_that_has_edits),
        TEST(test_a_push_has_no_gap_where_a_damaged_row_says_that_it_is_covered),
        TEST(test_a_covered_edit_that_is_damaged_is_counted_when_the_backend_is_restored),
        cmocka_unit_test(test_the_args_of_a_damaged_edit_are_kept_as_they_are_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
