/* Failures: how long it waits, what wakes it, and why that cannot become a hot loop. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_failures_back_off_and_the_first_success_ends_it(void **state)
{
    trace *t = *state;
    t->show_timer = true;
    trace_start(t, 3, 1, 0);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_TRANSIENT);
    trace_timer(t);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_TRANSIENT);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_expect(t, "[    0] start at version 3\n"
                    "          send pull\n"
                    "          report connecting\n"
                    "          timer in 31000\n"
                    "[    0] pull network\n"
                    "          report connecting: network\n"
                    "          timer in 60\n"
                    "[   60] timer\n"
                    "          send pull\n"
                    "          timer in 31000\n"
                    "[   60] pull transient\n"
                    "          report connecting: transient\n"
                    "          timer in 124\n"
                    "[  184] timer\n"
                    "          send pull\n"
                    "          timer in 31000\n"
                    "[  184] pull transient\n"
                    "          timer in 363\n"
                    "[  547] timer\n"
                    "          send pull\n"
                    "          timer in 31000\n"
                    "[  547] pull ok\n"
                    "          apply pull\n"
                    "[  547] applied version 3, covers 0\n"
                    "          open stream\n"
                    "          report online\n"
                    "          timer in 40000\n");
}

static void test_retry_after_is_a_floor_that_no_wake_goes_below(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_retry_after(t, KEDGE_REQUEST_PUSH, 5000);
    trace_mutation(t);
    trace_timer(t);
    assert_true(t->now_ms >= 5000);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push transient\n"
                    "          report connecting: transient\n"
                    "[    0] mutation 2\n"
                    "[ 5000] timer\n"
                    "          send push\n");
}

static void test_retry_after_is_believed_for_ten_minutes_at_most(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_retry_after(t, KEDGE_REQUEST_PUSH, INT64_MAX);
    trace_skip(t);
    assert_true(t->core.push.at_ms >= KEDGE_CORE_RETRY_AFTER_MAX_MS);
    assert_true(t->core.push.at_ms <= KEDGE_CORE_RETRY_AFTER_MAX_MS + KEDGE_CORE_BACKOFF_MAX_MS);
}

/* However many mutations: one attempt by a wake, then one on schedule. */
static void test_a_mutation_wakes_a_waiting_push_once_a_period(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_TRANSIENT);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_TRANSIENT);
    trace_mutation(t);
    trace_mutation(t);
    trace_timer(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_TRANSIENT);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push transient\n"
                    "          report connecting: transient\n"
                    "[    0] mutation 2\n"
                    "          send push\n"
                    "[    0] push transient\n"
                    "[    0] mutation 3\n"
                    "[    0] mutation 4\n"
                    "[  185] timer\n"
                    "          send push\n"
                    "[  185] push transient\n"
                    "[  185] mutation 5\n"
                    "          send push\n");
}

static void test_a_poke_wakes_pull_and_push(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_poke(t, 4);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push network\n"
                    "          report connecting: network\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "          send push\n");
}

static void test_a_transport_that_never_answers_is_given_up(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_timer(t);
    assert_int_equal(t->now_ms, KEDGE_CORE_REQUEST_DEADLINE_MS + KEDGE_CORE_GUARD_MS);
    trace_pushed(t, 1, 4);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[31000] timer\n"
                    "          cancel push\n"
                    "          report connecting: request-timeout\n"
                    "[31000] pushed through 1, in version 4\n");
}

static void test_a_request_on_which_bytes_move_is_not_given_up(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    for (int i = 0; i < 10; i++) {
        trace_pass(t, 30000);
        trace_simple(t, KEDGE_EVENT_PUSH_MOVED, "push moved");
        trace_simple(t, KEDGE_EVENT_PING, "ping");
        trace_simple(t, KEDGE_EVENT_TIMER, "timer");
        assert_true(t->core.push.running);
    }
    trace_skip(t);
    while (t->core.push.running) {
        trace_simple(t, KEDGE_EVENT_PING, "ping");
        trace_timer(t);
    }
    assert_int_equal(t->now_ms, 300000 + KEDGE_CORE_REQUEST_DEADLINE_MS + KEDGE_CORE_GUARD_MS);
}

static void test_the_bytes_of_one_request_do_not_keep_another(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_pass(t, 20000);
    trace_simple(t, KEDGE_EVENT_PULL_STEP_MOVED, "pull moved");
    trace_simple(t, KEDGE_EVENT_PING, "ping");
    trace_pass(t, 11000);
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_simple(t, KEDGE_EVENT_PULL_STEP_MOVED, "pull moved");
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[20000] pull moved\n"
                    "[20000] ping\n"
                    "[31000] timer\n"
                    "          cancel push\n"
                    "          report connecting: request-timeout\n"
                    "[31000] pull ok\n"
                    "          apply pull\n"
                    "[31000] pull moved\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_failures_back_off_and_the_first_success_ends_it,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_retry_after_is_a_floor_that_no_wake_goes_below,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_retry_after_is_believed_for_ten_minutes_at_most,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_mutation_wakes_a_waiting_push_once_a_period,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_poke_wakes_pull_and_push, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_transport_that_never_answers_is_given_up,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_request_on_which_bytes_move_is_not_given_up,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_the_bytes_of_one_request_do_not_keep_another,
                                        trace_setup, trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
