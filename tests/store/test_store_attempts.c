/* The rows that lead from the first attempt of a client-only edit to its newest one: old ones,
 * damaged ones, and those of a repaired folder. */
#include "sdk/store/repair.h"
#include "sdk/store/store_internal.h"
#include "tests/store/own_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* The row of the first attempt leads to the entry of the inbox, however old it is. */
static void test_an_old_entry_of_the_inbox_is_found_by_its_first_sequence(void **state)
{
    fixture *f = own_fixture_of(state);
    char says[128] = "";
    int64_t sequence = fixture_mutate(f, "own-add", ADD(1));
    for (int attempt = 1; attempt <= KEDGE_LIMIT_APPLY_ATTEMPTS; attempt++) {
        own_push_after_other(f, ADD(100));
        fixture_pull(f);
    }
    f->now_ms += KEDGE_LIMIT_CONFIRMED_TAIL_MS + 1;
    fixture_mutate(f, "add", ADD(1));
    fixture_sync(f);
    assert_int_equal(own_first_row(f, true, says, sizeof says), sequence);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_REJECTED);
    assert_int_equal(kedge_store_dismiss(f->store, sequence, NULL), KEDGE_OK);
    assert_int_equal(fixture_position(f).rejected, 0);
}

/* Damage may take the row of the first attempt. */
static void test_what_is_listed_is_found_by_the_sequence_it_is_listed_with(void **state)
{
    fixture *f = own_fixture_of(state);
    char says[128] = "";
    int64_t first = fixture_mutate(f, "own-refuse-over", "{\"id\":\"n\",\"limit\":150}");
    for (int attempt = 1; attempt <= 2; attempt++) {
        own_push_after_other(f, ADD(100));
        fixture_pull(f);
    }
    assert_int_equal(own_first_row(f, true, says, sizeof says), first);
    assert_int_equal(kedge_store_db_execute(&f->store->outbox,
                                            "DELETE FROM rejected WHERE state = 5", &f->error),
                     KEDGE_OK);
    int64_t listed = own_first_row(f, true, says, sizeof says);
    assert_int_equal(kedge_store_dismiss(f->store, listed, &f->error), KEDGE_OK);
    assert_int_equal(fixture_position(f).rejected, 0);
}

/* Whatever is wrong with the row of the first attempt, the newest one tells which one that was. */
static void test_a_damaged_first_attempt_leads_to_the_newest_one_again(void **state)
{
    static const char *const damage[] = {
        "UPDATE rejected SET message = 'x'", "UPDATE rejected SET args = 'x'",
        "UPDATE rejected SET state = 1", "DELETE FROM rejected; UPDATE totals SET rows = 1"};
    fixture *f = own_fixture_of(state);
    char says[128] = "";
    int64_t first = fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        assert_int_equal(kedge_store_db_execute(&f->store->outbox, damage[i], &f->error), KEDGE_OK);
        fixture_reopen(f);
        assert_int_equal(own_first_row(f, false, says, sizeof says), first);
        assert_int_equal(fixture_outcome(f, first), KEDGE_OUTCOME_PENDING);
        assert_int_equal(fixture_position(f).rejected, 0);
        fixture_expect(f, "n", "101");
    }
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "101");
    assert_int_equal(fixture_outcome(f, first), KEDGE_OUTCOME_APPLIED);
}

/* The damaged row stands where the rejection of the newest attempt belongs. */
static void test_a_rejection_finds_its_place_taken_by_a_damaged_row(void **state)
{
    fixture *f = own_fixture_of(state);
    int64_t first = fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    assert_int_equal(kedge_store_db_execute(&f->store->outbox,
                                            "UPDATE rejected SET sequence = sequence + 1",
                                            &f->error),
                     KEDGE_OK);
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    fixture_expect(f, "n", "201");
    assert_int_equal(fixture_position(f).pending, 1);
    assert_int_equal(fixture_position(f).rejected, 0);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "201");
    assert_int_equal(fixture_outcome(f, first), KEDGE_OUTCOME_APPLIED);
}

static void
test_a_repair_finds_the_newest_attempt_of_an_edit_and_shows_no_closed_entry(void **state)
{
    fixture *f = own_fixture_of(state);
    char says[128] = "", repaired[160];
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    int64_t dismissed = fixture_mutate(f, "own-refuse-over", "{\"id\":\"n\",\"limit\":9}");
    int64_t first = fixture_mutate(f, "own-add", ADD(1));
    own_push_after_other(f, ADD(100));
    fixture_pull(f);
    assert_int_equal(kedge_store_dismiss(f->store, dismissed, &f->error), KEDGE_OK);
    assert_int_equal(
        kedge_store_db_execute(&f->store->outbox, "UPDATE rejected SET message = 'x'", &f->error),
        KEDGE_OK);
    fixture_close(f);
    snprintf(repaired, sizeof repaired, "%s/repaired", f->folder);
    assert_int_equal(kedge_store_repair(&f->environment, f->path, repaired, &report, &f->error),
                     KEDGE_OK);
    assert_int_equal(report.pending, 1);
    assert_int_equal(report.damaged, 0);
    own_go_to(f, repaired);
    assert_int_equal(fixture_position(f).rejected, 0);
    assert_int_equal(own_first_row(f, false, says, sizeof says), first);
    assert_int_equal(fixture_outcome(f, first), KEDGE_OUTCOME_PENDING);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "101");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, own_set_up, own_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_old_entry_of_the_inbox_is_found_by_its_first_sequence),
        TEST(test_what_is_listed_is_found_by_the_sequence_it_is_listed_with),
        TEST(test_a_damaged_first_attempt_leads_to_the_newest_one_again),
        TEST(test_a_rejection_finds_its_place_taken_by_a_damaged_row),
        TEST(test_a_repair_finds_the_newest_attempt_of_an_edit_and_shows_no_closed_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
