/* Pulling: pokes, what a pull still lacks, pages, a disk that fails. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/error.h"

static void test_it_pulls_and_pushes_when_it_starts(void **state)
{
    trace *t = *state;
    trace_start(t, 0, 1, 2);
    trace_expect(t, "[    0] start at version 0\n"
                    "          send pull\n"
                    "          send push\n"
                    "          report connecting\n");
}

static void test_a_poke_of_a_newer_version_pulls_at_once(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n");
}

/* The pulls of a project that others edit all the time. */
static void test_after_long_work_edits_have_twice_its_time_before_the_next_pull(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    t->show_timer = true;
    t->took_ms = 400;
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_poke(t, 5);
    trace_applied(t, 4, 0);
    trace_poke(t, 6);
    trace_timer(t);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "          timer in 31000\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "          timer in 40000\n"
                    "[    0] poke of version 5\n"
                    "[    0] applied version 4, covers 0\n"
                    "          timer in 800\n"
                    "[    0] poke of version 6\n"
                    "[  800] timer\n"
                    "          send pull\n"
                    "          timer in 31000\n");
}

static void test_after_short_work_the_next_pull_begins_at_once(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    t->took_ms = KEDGE_CORE_REST_WORK_MS - 1;
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_poke(t, 5);
    trace_applied(t, 4, 0);
    assert_true(trace_sends(t, KEDGE_REQUEST_PULL));
    trace_skip(t);
}

static void test_pushes_go_on_between_the_pulls(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    t->took_ms = 400;
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_mutation(t);
    assert_true(trace_sends(t, KEDGE_REQUEST_PUSH));
    trace_pushed(t, 1, 5);
    assert_false(trace_sends(t, KEDGE_REQUEST_PULL));
    trace_timer(t);
    assert_true(trace_sends(t, KEDGE_REQUEST_PULL));
    assert_int_equal(t->now_ms, 800);
    trace_skip(t);
}

static void test_the_longest_work_holds_the_next_pull_up_for_five_seconds(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    t->took_ms = 20000;
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_poke(t, 5);
    assert_false(trace_sends(t, KEDGE_REQUEST_PULL));
    trace_timer(t);
    assert_true(trace_sends(t, KEDGE_REQUEST_PULL));
    assert_int_equal(t->now_ms, 5000);
    trace_skip(t);
}

static void test_a_poke_of_a_version_that_is_there_already_does_nothing(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 3);
    trace_poke(t, 2);
    trace_expect(t, "[    0] poke of version 3\n"
                    "[    0] poke of version 2\n");
}

static void test_a_poke_during_a_pull_pulls_again_after_it(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_poke(t, 6);
    trace_poke(t, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 6, 0);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] poke of version 6\n"
                    "[    0] poke of version 5\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 6, covers 0\n");
}

/* The backend was restored, and version 9 is of the lineage that it lost. */
static void
test_a_lower_poke_during_a_pull_is_not_hidden_by_a_version_that_never_comes(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 9);
    trace_poke(t, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 5, 0);
    trace_expect(t, "[    0] poke of version 9\n"
                    "          send pull\n"
                    "[    0] poke of version 5\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 5, covers 0\n");
}

static void test_a_poked_version_that_a_pull_does_not_bring_is_not_asked_for_again(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 9);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] poke of version 9\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n");
}

static void test_outcomes_and_bodies_are_fetched_before_the_store_gets_the_pull(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok_more(t, KEDGE_REQUEST_PULL, true, true);
    trace_ok_more(t, KEDGE_REQUEST_OUTCOMES, true, true);
    trace_ok_more(t, KEDGE_REQUEST_OUTCOMES, false, true);
    trace_ok_more(t, KEDGE_REQUEST_BODY, false, true);
    trace_ok(t, KEDGE_REQUEST_BODY);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok, more outcomes, more bodies\n"
                    "          send outcomes\n"
                    "[    0] outcomes ok, more outcomes, more bodies\n"
                    "          send outcomes\n"
                    "[    0] outcomes ok, more bodies\n"
                    "          send body\n"
                    "[    0] body ok, more bodies\n"
                    "          send body\n"
                    "[    0] body ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n");
}

static void test_a_body_that_fails_is_asked_for_again_without_the_pull(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok_more(t, KEDGE_REQUEST_PULL, false, true);
    trace_failed(t, KEDGE_REQUEST_BODY, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_BODY);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok, more bodies\n"
                    "          send body\n"
                    "[    0] body network\n"
                    "          report connecting: network\n"
                    "[   43] timer\n"
                    "          send body\n"
                    "[   43] body ok\n"
                    "          apply pull\n"
                    "          report online\n"
                    "[   43] applied version 4, covers 0\n");
}

static void test_a_first_pull_pages_through_the_snapshot(void **state)
{
    trace *t = *state;
    trace_start(t, 0, 1, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_PAGES);
    trace_ok(t, KEDGE_REQUEST_PAGE);
    trace_applied_as(t, KEDGE_APPLIED_PAGES);
    trace_ok_more(t, KEDGE_REQUEST_PAGE, false, true);
    trace_ok(t, KEDGE_REQUEST_BODY);
    trace_applied(t, 7, 0);
    trace_expect(t, "[    0] start at version 0\n"
                    "          send pull\n"
                    "          report connecting\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "          report online\n"
                    "[    0] pages follow\n"
                    "          send page\n"
                    "[    0] page ok\n"
                    "          apply page\n"
                    "[    0] pages follow\n"
                    "          send page\n"
                    "[    0] page ok, more bodies\n"
                    "          send body\n"
                    "[    0] body ok\n"
                    "          apply page\n"
                    "[    0] applied version 7, covers 0\n"
                    "          open stream\n");
}

static void test_pages_go_on_where_they_stopped_before_a_restart(void **state)
{
    trace *t = *state;
    t->position.staging = true;
    trace_start(t, 0, 1, 0);
    trace_ok(t, KEDGE_REQUEST_PAGE);
    t->position.staging = false;
    trace_applied(t, 7, 0);
    trace_expect(t, "[    0] start at version 0\n"
                    "          send page\n"
                    "          report connecting\n"
                    "[    0] page ok\n"
                    "          apply page\n"
                    "          report online\n"
                    "[    0] applied version 7, covers 0\n"
                    "          send pull\n"
                    "          open stream\n");
}

static void test_a_page_that_fails_is_asked_for_again(void **state)
{
    trace *t = *state;
    t->position.staging = true;
    trace_start(t, 0, 1, 0);
    trace_failed(t, KEDGE_REQUEST_PAGE, KEDGE_RESPONSE_TRANSIENT);
    trace_timer(t);
    trace_expect(t, "[    0] start at version 0\n"
                    "          send page\n"
                    "          report connecting\n"
                    "[    0] page transient\n"
                    "          report connecting: transient\n"
                    "[   60] timer\n"
                    "          send page\n");
}

static void test_pages_of_a_version_that_is_gone_are_dropped_and_pulled_anew(void **state)
{
    trace *t = *state;
    t->position.staging = true;
    trace_start(t, 0, 1, 0);
    trace_failed(t, KEDGE_REQUEST_PAGE, KEDGE_RESPONSE_GONE);
    t->position.staging = false;
    trace_applied_as(t, KEDGE_APPLIED_DONE);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_expect(t, "[    0] start at version 0\n"
                    "          send page\n"
                    "          report connecting\n"
                    "[    0] page gone\n"
                    "          drop the pages\n"
                    "          report connecting: gone\n"
                    "[    0] done\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "          report online\n");
}

static void test_a_delta_that_starts_elsewhere_is_pulled_again_and_then_backs_off(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_AGAIN);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_AGAIN);
    trace_timer(t);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] stale\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] stale\n"
                    "          report connecting\n"
                    "[   67] timer\n"
                    "          send pull\n");
}

/* The response is held: nothing is asked of the server again. */
static void test_a_disk_that_fails_gets_the_same_answer_again_after_a_while(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_FAILED);
    trace_timer(t);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] the disk failed\n"
                    "          report connecting: disk-full\n"
                    "[   43] timer\n"
                    "          apply pull\n"
                    "[   43] applied version 4, covers 0\n"
                    "          report online\n");
}

static void test_without_a_stream_it_pulls_every_minute(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_skip(t);
    trace_pass(t, KEDGE_CORE_PULL_INTERVAL_MS / 2);
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    trace_expect(t, "[30000] timer\n");
    trace_pass(t, KEDGE_CORE_PULL_INTERVAL_MS / 2);
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    trace_expect(t, "[60000] timer\n"
                    "          close stream\n"
                    "          send pull\n");
}

/* A server that queues pushes decides them later. */
static void test_without_a_stream_it_looks_often_for_what_it_has_pushed(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_pushed(t, 1, 0);
    trace_applied(t, 3, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_skip(t);
    trace_timer(t);
    trace_expect(t, "[ 1880] timer\n"
                    "          send pull\n");
}

static void test_a_response_that_the_store_does_not_take_is_told_and_pulled_again(void **state)
{
    trace *t = *state;
    kedge_core_event refused = {.kind = KEDGE_EVENT_APPLIED,
                                .applied = {.result = KEDGE_APPLIED_AGAIN}};
    kedge_fail(&refused.applied.error, KEDGE_PROTOCOL, "response-invalid", "as the test says");
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_event(t, refused, "not taken");
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_event(t, refused, "not taken");
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] not taken\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] not taken\n"
                    "          report connecting: response-invalid\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_pulls_and_pushes_when_it_starts, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_poke_of_a_newer_version_pulls_at_once, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_after_long_work_edits_have_twice_its_time_before_the_next_pull, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_after_short_work_the_next_pull_begins_at_once,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_pushes_go_on_between_the_pulls, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_the_longest_work_holds_the_next_pull_up_for_five_seconds, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_poke_of_a_version_that_is_there_already_does_nothing,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_poke_during_a_pull_pulls_again_after_it, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_lower_poke_during_a_pull_is_not_hidden_by_a_version_that_never_comes,
            trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_poked_version_that_a_pull_does_not_bring_is_not_asked_for_again, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_outcomes_and_bodies_are_fetched_before_the_store_gets_the_pull, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_body_that_fails_is_asked_for_again_without_the_pull,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_first_pull_pages_through_the_snapshot, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_pages_go_on_where_they_stopped_before_a_restart,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_page_that_fails_is_asked_for_again, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_pages_of_a_version_that_is_gone_are_dropped_and_pulled_anew, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_delta_that_starts_elsewhere_is_pulled_again_and_then_backs_off, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_disk_that_fails_gets_the_same_answer_again_after_a_while, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_without_a_stream_it_pulls_every_minute, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_without_a_stream_it_looks_often_for_what_it_has_pushed,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_response_that_the_store_does_not_take_is_told_and_pulled_again, trace_setup,
            trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
