/* Clocks that jump and clocks that stand still. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_a_clock_that_goes_back_makes_no_wait_longer(void **state)
{
    trace *t = *state;
    trace_pass(t, 1000000);
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    int64_t wait = t->timer_ms - t->now_ms;
    t->now_ms = 5;
    trace_skip(t);
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    assert_true(t->timer_ms > t->now_ms);
    assert_true(t->timer_ms - t->now_ms <= wait);
    trace_timer(t);
    trace_expect(t, "[    5] timer\n"
                    "[   99] timer\n"
                    "          send push\n");
}

static void test_a_clock_that_jumps_ahead_ends_waits_early_and_nothing_else(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_pass(t, INT64_C(100000000000));
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    trace_timer(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[100000000000] timer\n"
                    "          cancel push\n"
                    "          close stream\n"
                    "          send pull\n"
                    "          report connecting: request-timeout\n"
                    "[100000000044] timer\n"
                    "          open stream\n");
}

static void test_while_the_clock_stands_still_the_timer_is_always_ahead(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    for (int i = 0; i < 100; i++) {
        trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
        trace_mutation(t);
        assert_true(t->timer_ms > t->now_ms);
        trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    }
    trace_skip(t);
}

static void test_at_the_end_of_the_clock_waits_end_with_it(void **state)
{
    trace *t = *state;
    t->show_timer = true;
    trace_pass(t, INT64_MAX - 11);
    trace_start(t, 3, 1, 0);
    trace_expect(t, "[9223372036854775796] start at version 3\n"
                    "          send pull\n"
                    "          report connecting\n"
                    "          timer in 10\n");
    assert_int_equal(t->core.pull.guard_ms, INT64_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_clock_that_goes_back_makes_no_wait_longer,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_clock_that_jumps_ahead_ends_waits_early_and_nothing_else, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_while_the_clock_stands_still_the_timer_is_always_ahead,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_at_the_end_of_the_clock_waits_end_with_it, trace_setup,
                                        trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
