/* Editing and syncing: what is visible, what is canonical, what is pending. */
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void test_an_edit_is_read_back_at_once_and_after_reopening(void **state)
{
    fixture *f = *state;
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":1}"), 1);
    assert_int_equal(fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":2}"), 2);
    fixture_expect(f, "a", "2");
    fixture_expect_canonical(f, "a", NULL);
    fixture_reopen(f);
    fixture_expect(f, "a", "2");
    kedge_store_position position = fixture_position(f);
    assert_int_equal(position.pending, 2);
    assert_int_equal(position.highest_id, 2);
    assert_int_equal(position.lowest_pending, 1);
    assert_int_equal(strlen(position.client), 32);
    fixture_check(f);
}

static void test_a_confirmed_edit_is_canonical_and_no_longer_pending(void **state)
{
    fixture *f = *state;
    int64_t sequence = fixture_mutate(f, "set", "{\"id\":\"a\",\"value\":{\"t\":\"x\"}}");
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_PENDING);
    fixture_sync(f);
    assert_int_equal(fixture_outcome(f, sequence), KEDGE_OUTCOME_APPLIED);
    fixture_expect(f, "a", "{\"t\":\"x\"}");
    fixture_expect_canonical(f, "a", "{\"t\":\"x\"}");
    kedge_store_position position = fixture_position(f);
    assert_int_equal(position.pending, 0);
    assert_int_equal(position.lmid, 1);
    assert_int_equal(position.version, 1);
    assert_int_equal(f->changes.count, 0);
    fixture_check(f);
}

static void test_pending_edits_are_replayed_on_what_others_did(void **state)
{
    fixture *f = *state;
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":10}");
    fixture_pull(f);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":2}");
    fixture_expect(f, "n", "13");
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":100}");
    fixture_pull(f);
    fixture_expect(f, "n", "103");
    fixture_expect_canonical(f, "n", "100");
    assert_int_equal(f->changes.count, 1);
    fixture_check(f);
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "103");
    fixture_check(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_edit_is_read_back_at_once_and_after_reopening,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_confirmed_edit_is_canonical_and_no_longer_pending,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_pending_edits_are_replayed_on_what_others_did, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
