/* Online and offline, tokens, refusals, the end. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_offline_nothing_is_sent_and_online_everything_at_once(void **state)
{
    trace *t = *state;
    kedge_core_init(&t->core, false);
    trace_start(t, 3, 1, 0);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_expect(t, "[    0] start at version 3\n"
                    "          report offline\n"
                    "[    0] mutation 1\n"
                    "[    0] online\n"
                    "          send pull\n"
                    "          send push\n"
                    "          report connecting\n");
}

static void test_going_offline_gives_up_what_runs(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_simple(t, KEDGE_EVENT_OFFLINE, "offline");
    trace_mutation(t);
    trace_pushed(t, 1, 4);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] offline\n"
                    "          cancel push\n"
                    "          cancel pull\n"
                    "          close stream\n"
                    "          report offline\n"
                    "[    0] mutation 2\n"
                    "[    0] pushed through 1, in version 4\n"
                    "[    0] online\n"
                    "          send pull\n"
                    "          send push\n"
                    "          open stream\n"
                    "          report connecting\n");
}

static void test_a_token_that_is_not_accepted_is_asked_for_once(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_UNAUTHORIZED);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_UNAUTHORIZED);
    trace_mutation(t);
    trace_token(t, true);
    trace_pushed(t, 2, 5);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] push unauthorized\n"
                    "          ask token\n"
                    "          report connecting: unauthorized\n"
                    "[    0] pull unauthorized\n"
                    "[    0] mutation 2\n"
                    "[    0] token\n"
                    "          send pull\n"
                    "          send push\n"
                    "[    0] pushed through 2, in version 5\n");
}

static void test_a_fresh_token_that_is_not_accepted_either_stops_it(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_UNAUTHORIZED);
    trace_token(t, true);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_UNAUTHORIZED);
    trace_mutation(t);
    trace_token(t, true);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push unauthorized\n"
                    "          ask token\n"
                    "          report connecting: unauthorized\n"
                    "[    0] token\n"
                    "          send push\n"
                    "[    0] push unauthorized\n"
                    "          close stream\n"
                    "          report stopped: unauthorized\n"
                    "[    0] mutation 2\n"
                    "[    0] token\n"
                    "          send push\n"
                    "          open stream\n"
                    "          report connecting: unauthorized\n");
}

static void test_an_app_that_has_no_token_stops_it(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_UNAUTHORIZED);
    trace_token(t, false);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull unauthorized\n"
                    "          ask token\n"
                    "          report connecting: unauthorized\n"
                    "[    0] no token\n"
                    "          close stream\n"
                    "          report stopped: unauthorized\n");
}

/* A token that expired during an outage costs no further minute. */
static void test_a_fresh_token_is_used_at_once_though_the_wakes_are_spent(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_UNAUTHORIZED);
    t->core.push.at_ms = t->now_ms + 50000;
    trace_skip(t);
    trace_token(t, true);
    trace_expect(t, "[    0] token\n"
                    "          send push\n");
}

static void test_going_online_again_does_not_wait_out_a_backoff(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    t->core.push.at_ms = t->now_ms + 50000;
    trace_skip(t);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_expect(t, "[    0] online\n"
                    "          send push\n");
}

static void test_a_refusal_for_good_stops_it_until_the_app_says_online(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_REFUSED);
    trace_mutation(t);
    trace_poke(t, 5);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull refused\n"
                    "          cancel push\n"
                    "          close stream\n"
                    "          report stopped: refused\n"
                    "[    0] mutation 2\n"
                    "[    0] poke of version 5\n"
                    "[    0] online\n"
                    "          send pull\n"
                    "          send push\n"
                    "          open stream\n"
                    "          report connecting: refused\n");
}

static void test_shutting_down_gives_up_everything_and_is_final(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_simple(t, KEDGE_EVENT_SHUTDOWN, "shut down");
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] sync\n"
                    "[    0] shut down\n"
                    "          cancel push\n"
                    "          cancel pull\n"
                    "          close stream\n"
                    "          synced closed\n"
                    "[    0] mutation 2\n"
                    "[    0] online\n"
                    "[    0] sync\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_offline_nothing_is_sent_and_online_everything_at_once,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_going_offline_gives_up_what_runs, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_token_that_is_not_accepted_is_asked_for_once,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_fresh_token_that_is_not_accepted_either_stops_it,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_an_app_that_has_no_token_stops_it, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_fresh_token_is_used_at_once_though_the_wakes_are_spent, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_going_online_again_does_not_wait_out_a_backoff,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_refusal_for_good_stops_it_until_the_app_says_online,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_shutting_down_gives_up_everything_and_is_final,
                                        trace_setup, trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
