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
                    "          send push\n"
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
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_ANSWER_NETWORK);
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
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_ANSWER_REFUSED);
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
        cmocka_unit_test_setup_teardown(test_a_sync_goes_on_across_a_rotation, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_sync_offline_or_stopped_ends_at_once, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_going_offline_ends_a_sync, trace_setup,
                                        trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
