/* A log project: entries that come in pieces, a state that differs from the server's, and a mutator
 * that this app lacks. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_the_next_piece_is_pulled_at_once_and_the_round_ends_with_the_last(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_MORE);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_MORE);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 9, 0);
    trace_expect(t, "[    0] sync\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] more\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] more\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 9, covers 0\n"
                    "          synced ok\n");
}

static void test_a_state_that_differs_is_pulled_anew_and_told_until_a_hash_agrees(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_DIVERGED);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] diverged\n"
                    "          send pull\n"
                    "          report online: diverged\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n");
    trace_poke(t, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    t->position.version = 5;
    trace_event(t,
                (kedge_core_event){.kind = KEDGE_EVENT_APPLIED,
                                   .has_position = true,
                                   .position = t->position,
                                   .applied = {.agrees = true}},
                "a hash agrees");
    trace_expect(t, "[    0] poke of version 5\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] a hash agrees\n"
                    "          report online\n");
}

static void block(trace *t)
{
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_BLOCKED);
}

static void test_without_a_mutator_pulls_stop_and_pushes_go_on(void **state)
{
    trace *t = *state;
    block(t);
    trace_poke(t, 5);
    trace_mutation(t);
    trace_pushed(t, 1, 6);
    trace_poke(t, 6);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] blocked\n"
                    "          report connecting: update-required\n"
                    "[    0] poke of version 5\n"
                    "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] pushed through 1, in version 6\n"
                    "[    0] poke of version 6\n"
                    "[    0] sync\n"
                    "          synced update-required\n");
}

/* No pull covers the first part, so the rest does not wait for one. */
static void test_without_a_mutator_a_backlog_goes_out_as_a_whole(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 2500);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_BLOCKED);
    trace_skip(t);
    trace_pushed(t, 1000, 4);
    trace_pushed(t, 2000, 5);
    trace_pushed(t, 2500, 6);
    trace_expect(t, "[    0] pushed through 1000, in version 4\n"
                    "          send push after 1000\n"
                    "[    0] pushed through 2000, in version 5\n"
                    "          send push after 2000\n"
                    "[    0] pushed through 2500, in version 6\n");
}

static void test_no_time_and_no_stream_pulls_for_a_core_that_lacks_a_mutator(void **state)
{
    trace *t = *state;
    block(t);
    trace_mutation(t);
    trace_pushed(t, 1, 6);
    trace_skip(t);
    for (int i = 0; i < 200; i++) {
        trace_pass(t, 30000);
        trace_simple(t, KEDGE_EVENT_TIMER, "timer");
        assert_false(trace_sends(t, KEDGE_REQUEST_PULL));
        assert_false(trace_sends(t, KEDGE_REQUEST_PUSH));
        trace_simple(t, KEDGE_EVENT_PING, "ping");
    }
    /* Each timer is the stream's. */
    for (int i = 0; i < 20; i++) {
        trace_simple(t, KEDGE_EVENT_STREAM_DOWN, "stream down");
        trace_skip(t);
        trace_timer(t);
        assert_non_null(strstr(t->text.data, "timer\n          open stream\n"));
        assert_false(trace_sends(t, KEDGE_REQUEST_PULL));
    }
}

static void test_a_push_that_is_refused_for_good_stops_a_core_that_lacks_a_mutator(void **state)
{
    trace *t = *state;
    block(t);
    trace_skip(t);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_REFUSED);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push refused\n"
                    "          close stream\n"
                    "          report stopped: refused\n");
}

static void test_going_online_again_tries_once_more(void **state)
{
    trace *t = *state;
    block(t);
    trace_skip(t);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    assert_true(trace_sends(t, KEDGE_REQUEST_PULL));
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_BLOCKED);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_skip(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] pull ok\n"
                    "          apply pull\n"
                    "          report online\n"
                    "[    0] applied version 4, covers 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_the_next_piece_is_pulled_at_once_and_the_round_ends_with_the_last, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_state_that_differs_is_pulled_anew_and_told_until_a_hash_agrees, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_without_a_mutator_pulls_stop_and_pushes_go_on,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_without_a_mutator_a_backlog_goes_out_as_a_whole,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_no_time_and_no_stream_pulls_for_a_core_that_lacks_a_mutator, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_push_that_is_refused_for_good_stops_a_core_that_lacks_a_mutator, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_going_online_again_tries_once_more, trace_setup,
                                        trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
