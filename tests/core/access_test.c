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

static void start_with_a_token(trace *t, int64_t pending)
{
    kedge_core_init(&t->core, false);
    trace_start(t, 3, 1, pending);
    trace_token(t, true);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
}

/* Its pulls succeed. They tell that the client is not known, so it is to be retired. */
static void test_the_token_of_another_user_is_asked_for_again_and_a_pull_begins_anew(void **state)
{
    trace *t = *state;
    start_with_a_token(t, 0);
    trace_skip(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_failed(t, KEDGE_REQUEST_RETIRE, KEDGE_RESPONSE_FOREIGN);
    trace_timer(t);
    trace_applied_as(t, KEDGE_APPLIED_DONE);
    trace_token(t, true);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] pull ok\n"
                    "          apply pull\n"
                    "          report online\n"
                    "[    0] rotate\n"
                    "          send retire\n"
                    "[    0] retire foreign\n"
                    "          ask token\n"
                    "          report connecting: foreign\n"
                    "[   72] timer\n"
                    "          drop the pages\n"
                    "[   72] done\n"
                    "[   72] token\n"
                    "          send pull\n"
                    "[   72] pull ok\n"
                    "          apply pull\n"
                    "[   72] applied version 4, covers 0\n"
                    "          open stream\n"
                    "          report online\n");
}

static void test_a_second_token_of_another_user_stops_it_though_a_pull_succeeds(void **state)
{
    trace *t = *state;
    start_with_a_token(t, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_failed(t, KEDGE_REQUEST_RETIRE, KEDGE_RESPONSE_FOREIGN);
    trace_timer(t);
    trace_applied_as(t, KEDGE_APPLIED_DONE);
    trace_skip(t);
    trace_token(t, true);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_timer(t);
    trace_failed(t, KEDGE_REQUEST_RETIRE, KEDGE_RESPONSE_FOREIGN);
    trace_mutation(t);
    trace_timer(t);
    trace_applied_as(t, KEDGE_APPLIED_DONE);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_FOREIGN);
    trace_expect(t, "[   72] token\n"
                    "          send pull\n"
                    "[   72] pull ok\n"
                    "          apply pull\n"
                    "[   72] rotate\n"
                    "[  110] timer\n"
                    "          send retire\n"
                    "[  110] retire foreign\n"
                    "          report stopped: foreign\n"
                    "[  110] mutation 1\n"
                    "[  281] timer\n"
                    "          drop the pages\n"
                    "[  281] done\n"
                    "[  281] online\n"
                    "          send pull\n"
                    "          send push\n"
                    "          report connecting: foreign\n"
                    "[  281] push foreign\n"
                    "          ask token\n");
}

/* A database without a token function. */
static void test_another_user_without_a_token_stops_it_at_once(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_FOREIGN);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push foreign\n"
                    "          close stream\n"
                    "          report stopped: foreign\n"
                    "[    0] sync\n"
                    "          synced foreign\n");
}

/* The pull was another user's, and the push has brought the right token meanwhile. */
static void test_a_pull_with_the_token_before_leads_to_no_rotation(void **state)
{
    trace *t = *state;
    start_with_a_token(t, 1);
    trace_skip(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_FOREIGN);
    trace_token(t, true);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_applied_as(t, KEDGE_APPLIED_DONE);
    trace_expect(t, "[    0] push foreign\n"
                    "          ask token\n"
                    "          report connecting: foreign\n"
                    "[    0] token\n"
                    "          send push\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] rotate\n"
                    "          drop the pages\n"
                    "[    0] done\n"
                    "          send pull\n");
}

static void test_a_rotation_that_waits_is_given_up_for_another_token(void **state)
{
    trace *t = *state;
    start_with_a_token(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_AGAIN);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_skip(t);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_FOREIGN);
    trace_token(t, true);
    trace_applied_as(t, KEDGE_APPLIED_DONE);
    trace_expect(t, "[    0] rotate\n"
                    "          report connecting\n"
                    "[    0] push foreign\n"
                    "          ask token\n"
                    "          report connecting: foreign\n"
                    "[    0] token\n"
                    "          drop the pages\n"
                    "          send push\n"
                    "[    0] done\n"
                    "          send pull\n");
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
        cmocka_unit_test_setup_teardown(
            test_the_token_of_another_user_is_asked_for_again_and_a_pull_begins_anew, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_second_token_of_another_user_stops_it_though_a_pull_succeeds, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_another_user_without_a_token_stops_it_at_once,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_pull_with_the_token_before_leads_to_no_rotation,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_rotation_that_waits_is_given_up_for_another_token,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_shutting_down_gives_up_everything_and_is_final,
                                        trace_setup, trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
