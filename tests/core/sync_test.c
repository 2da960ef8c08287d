/* Waits of kedge_sync. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_a_sync_with_nothing_pending_ends_after_one_pull(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_expect(t, "[    0] sync\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 3, covers 0\n"
                    "          synced ok\n");
}

/* What is written during the wait does not lengthen it. */
static void test_a_sync_ends_when_what_was_pending_is_covered(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_mutation(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_pushed(t, 1, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] sync\n"
                    "          send pull\n"
                    "[    0] mutation 2\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 3, covers 0\n"
                    "[    0] pushed through 1, in version 4\n"
                    "          send pull\n"
                    "          send push after 1\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n"
                    "          synced ok\n");
}

static void test_a_pull_that_ran_before_the_sync_does_not_count(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] sync\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "          synced ok\n");
}

static void test_a_failed_request_does_not_end_a_sync(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_expect(t, "[    0] sync\n"
                    "          send pull\n"
                    "[    0] pull network\n"
                    "          report connecting: network\n"
                    "[   94] timer\n"
                    "          send pull\n"
                    "[   94] pull ok\n"
                    "          apply pull\n"
                    "[   94] applied version 3, covers 0\n"
                    "          report online\n"
                    "          synced ok\n");
}

/* Both channels have failed so often that they wait for up to a minute. */
static void be_in_a_long_outage(trace *t)
{
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    for (int i = 0; i < 12; i++) {
        trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
        trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
        trace_pass(t, KEDGE_CORE_BACKOFF_MAX_MS);
        t->core.stream_heard_ms = t->now_ms;
        trace_timer(t);
    }
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_poke(t, 4);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    assert_true(t->core.push.wake_spent);
    assert_true(t->core.pull.wake_spent);
    trace_skip(t);
    t->now_ms = 1000000; /* so that the traces show round numbers */
    t->core.stream_heard_ms = t->now_ms;
    t->core.push.at_ms = t->core.pull.at_ms = t->now_ms + 50000;
}

static void test_a_sync_does_not_wait_out_a_backoff_though_the_wakes_are_spent(void **state)
{
    trace *t = *state;
    be_in_a_long_outage(t);
    trace_mutation(t);
    trace_poke(t, 5);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_expect(t, "[1000000] mutation 3\n"
                    "[1000000] poke of version 5\n"
                    "[1000000] sync\n"
                    "          send pull\n"
                    "          send push\n");
}

static void test_what_the_app_asks_again_is_tried_once_a_second(void **state)
{
    trace *t = *state;
    be_in_a_long_outage(t);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    t->core.push.at_ms = t->core.pull.at_ms = t->now_ms + 50000;
    trace_skip(t);
    trace_simple(t, KEDGE_EVENT_HURRY, "hurry");
    trace_pass(t, 500);
    trace_simple(t, KEDGE_EVENT_HURRY, "hurry");
    trace_timer(t);
    trace_expect(t, "[1000000] hurry\n"
                    "[1000500] hurry\n"
                    "[1001000] timer\n"
                    "          send pull\n"
                    "          send push\n");
}

/* What runs may hang on a network that is gone. */
static void test_what_is_asked_while_a_request_fails_holds_for_the_next(void **state)
{
    trace *t = *state;
    be_in_a_long_outage(t);
    t->core.pull.at_ms = t->now_ms;
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_pass(t, 10000);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_expect(t, "[1000000] timer\n"
                    "          send pull\n"
                    "[1000000] sync\n"
                    "          send push\n"
                    "[1010000] pull network\n"
                    "          send pull\n");
}

/* The store fails at once, so that whoever asks whenever it failed would keep the disk busy. */
static void test_a_full_disk_is_tried_once_a_second_however_often_the_app_asks(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_FAILED);
    t->core.pull.at_ms = t->now_ms + 50000;
    trace_skip(t);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    t->core.pull.at_ms = t->now_ms + 50000;
    trace_applied_as(t, KEDGE_APPLIED_FAILED);
    t->core.pull.at_ms = t->now_ms + 50000;
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_timer(t);
    trace_expect(t, "[    0] sync\n"
                    "          apply pull\n"
                    "[    0] the disk failed\n"
                    "[    0] sync\n"
                    "[ 1000] timer\n"
                    "          apply pull\n");
}

static void test_retry_after_holds_for_a_sync_too(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_retry_after(t, KEDGE_REQUEST_PUSH, 5000);
    trace_skip(t);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    assert_false(trace_sends(t, KEDGE_REQUEST_PUSH));
    assert_true(trace_sends(t, KEDGE_REQUEST_PULL));
    trace_timer(t);
    assert_int_equal(t->now_ms, 5000);
    assert_true(trace_sends(t, KEDGE_REQUEST_PUSH));
    trace_skip(t);
}

/* Also when the server itself has failed the push, of which no channel tells the others otherwise:
 * see outage_test.c. */
static void test_while_a_sync_waits_one_channel_tells_the_other_of_its_success(void **state)
{
    trace *t = *state;
    be_in_a_long_outage(t);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_TRANSIENT);
    t->core.push.at_ms = t->now_ms + 50000;
    trace_skip(t);
    trace_pass(t, 2000);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[1002000] pull ok\n"
                    "          apply pull\n"
                    "[1002000] applied version 4, covers 0\n"
                    "          send push\n");
}

static void test_a_sync_goes_on_across_a_rotation(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_ok(t, KEDGE_REQUEST_RETIRE);
    trace_rotated(t, 1);
    trace_pushed(t, 1, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 5, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] sync\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] rotate\n"
                    "          cancel push\n"
                    "          send retire\n"
                    "[    0] retire ok\n"
                    "          rotate\n"
                    "[    0] rotated\n"
                    "          send pull\n"
                    "          send push\n"
                    "[    0] pushed through 1, in version 5\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 5, covers 1\n"
                    "          synced ok\n");
}

static void test_a_sync_offline_or_stopped_ends_at_once(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_simple(t, KEDGE_EVENT_OFFLINE, "offline");
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_REFUSED);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_expect(t, "[    0] offline\n"
                    "          close stream\n"
                    "          report offline\n"
                    "[    0] sync\n"
                    "          synced offline\n"
                    "[    0] online\n"
                    "          send pull\n"
                    "          open stream\n"
                    "          report connecting\n"
                    "[    0] pull refused\n"
                    "          close stream\n"
                    "          report stopped: refused\n"
                    "[    0] sync\n"
                    "          synced refused\n");
}

/* It is not stopped: the project may be created. */
static void test_an_absent_project_ends_a_sync_and_is_asked_for_again(void **state)
{
    trace *t = *state;
    trace_start(t, 0, 1, 0);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_LATER);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_LATER);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 1, 0);
    trace_expect(t, "[    0] start at version 0\n"
                    "          send pull\n"
                    "          report connecting\n"
                    "[    0] sync\n"
                    "[    0] pull later\n"
                    "          send pull\n"
                    "          report connecting: later\n"
                    "          synced later\n"
                    "[    0] pull later\n"
                    "[  124] timer\n"
                    "          send pull\n"
                    "[  124] pull ok\n"
                    "          apply pull\n"
                    "[  124] applied version 1, covers 0\n"
                    "          open stream\n"
                    "          report online\n");
}

static void test_going_offline_ends_a_sync(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_simple(t, KEDGE_EVENT_OFFLINE, "offline");
    trace_expect(t, "[    0] sync\n"
                    "          send pull\n"
                    "[    0] offline\n"
                    "          cancel pull\n"
                    "          close stream\n"
                    "          report offline\n"
                    "          synced offline\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_sync_with_nothing_pending_ends_after_one_pull,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_sync_ends_when_what_was_pending_is_covered,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_pull_that_ran_before_the_sync_does_not_count,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_failed_request_does_not_end_a_sync, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_sync_does_not_wait_out_a_backoff_though_the_wakes_are_spent, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_what_the_app_asks_again_is_tried_once_a_second,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_full_disk_is_tried_once_a_second_however_often_the_app_asks, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_asked_while_a_request_fails_holds_for_the_next,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_retry_after_holds_for_a_sync_too, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_while_a_sync_waits_one_channel_tells_the_other_of_its_success, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_sync_goes_on_across_a_rotation, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_an_absent_project_ends_a_sync_and_is_asked_for_again,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_sync_offline_or_stopped_ends_at_once, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_going_offline_ends_a_sync, trace_setup,
                                        trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
