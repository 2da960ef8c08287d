/* Pushing: at once, one at a time, from the lowest uncovered id, again when it stalls. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_a_mutation_is_pushed_at_once_and_pulled_at_once(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_pass(t, 500);
    trace_mutation(t);
    trace_pass(t, 5);
    trace_pushed(t, 1, 4);
    trace_pass(t, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[  500] mutation 1\n"
                    "          send push\n"
                    "[  505] pushed through 1, in version 4\n"
                    "          send pull\n"
                    "[  510] pull ok\n"
                    "          apply pull\n"
                    "[  510] applied version 4, covers 1\n");
}

/* The poke of the same version comes before the response: one pull serves both. */
static void test_a_poke_that_overtakes_the_answer_of_a_push_saves_a_pull(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_pushed(t, 1, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pushed through 1, in version 4\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n");
}

static void test_a_pull_that_began_before_the_push_was_decided_is_followed_by_another(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_pushed(t, 1, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 5, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pushed through 1, in version 5\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 5, covers 1\n");
}

static void test_mutations_during_a_push_leave_together_after_it(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_mutation(t);
    trace_mutation(t);
    trace_pushed(t, 1, 4);
    trace_pushed(t, 3, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 5, 3);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] mutation 2\n"
                    "[    0] mutation 3\n"
                    "[    0] pushed through 1, in version 4\n"
                    "          send pull\n"
                    "          send push after 1\n"
                    "[    0] pushed through 3, in version 5\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 5, covers 3\n");
}

/* What pulls bring stays small: a backlog does not run ahead of them. */
static void test_a_backlog_goes_batch_by_batch_as_pulls_cover_it(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 2500);
    trace_pushed(t, 1000, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1000);
    trace_pushed(t, 2000, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 5, 2000);
    trace_pushed(t, 2500, 6);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 6, 2500);
    trace_expect(t, "[    0] start at version 3\n"
                    "          send pull\n"
                    "          send push\n"
                    "          report connecting\n"
                    "[    0] pushed through 1000, in version 4\n"
                    "          report online\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 3, covers 0\n"
                    "          send pull\n"
                    "          open stream\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1000\n"
                    "          send push\n"
                    "[    0] pushed through 2000, in version 5\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 5, covers 2000\n"
                    "          send push\n"
                    "[    0] pushed through 2500, in version 6\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 6, covers 2500\n");
}

/* The pull that covers the first batch overtakes the response to its push. */
static void test_the_rest_of_a_backlog_goes_out_though_its_pull_was_first(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 1500);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1000);
    trace_pushed(t, 1000, 4);
    trace_expect(t, "[    0] start at version 3\n"
                    "          send pull\n"
                    "          send push\n"
                    "          report connecting\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "          report online\n"
                    "[    0] applied version 4, covers 1000\n"
                    "          open stream\n"
                    "[    0] pushed through 1000, in version 4\n"
                    "          send push\n");
}

static void test_pending_that_was_pushed_but_stays_uncovered_is_pushed_again(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_pushed(t, 1, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_timer(t);
    trace_pushed(t, 1, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] pushed through 1, in version 0\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 3, covers 0\n"
                    "[10000] timer\n"
                    "          send push\n"
                    "[10000] pushed through 1, in version 4\n"
                    "          send pull\n"
                    "[10000] pull ok\n"
                    "          apply pull\n"
                    "[10000] applied version 4, covers 1\n");
}

static void test_a_push_that_is_too_large_is_halved_and_grows_back(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 1000);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_SHORTER);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_SHORTER);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 300);
    trace_pushed(t, 550, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 5, 550);
    trace_pushed(t, 863, 6);
    trace_expect(t, "[    0] start at version 3\n"
                    "          send pull\n"
                    "          send push\n"
                    "          report connecting\n"
                    "[    0] push shorter\n"
                    "          send push of 500\n"
                    "          report online\n"
                    "[    0] push shorter\n"
                    "          send push of 250\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 300\n"
                    "          send pull\n"
                    "          open stream\n"
                    "[    0] pushed through 550, in version 5\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 5, covers 550\n"
                    "          send push of 313\n"
                    "[    0] pushed through 863, in version 6\n"
                    "          send pull\n");
}

/* What a slow network could not take in time once, it would not take the next time either. */
static void test_a_push_that_was_not_taken_in_time_is_halved(void **state)
{
    trace *t = *state;
    kedge_core_event late = {
        .kind = KEDGE_EVENT_PUSH_ENDED,
        .push_ended = {.result = {.response = KEDGE_RESPONSE_NETWORK,
                                  .error = {.status = KEDGE_TIMEOUT, .code = "request-timeout"}}}};
    trace_start(t, 3, 1, 1000);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_skip(t);
    for (size_t bytes = KEDGE_CORE_PUSH_BYTES_MAX / 2; bytes >= KEDGE_CORE_PUSH_BYTES_SLOW;
         bytes /= 2) {
        trace_event(t, late, "push timed out");
        while (!trace_sends(t, KEDGE_REQUEST_PUSH))
            trace_timer(t);
        const kedge_core_action *push = t->actions.list;
        assert_int_equal(push->kind, KEDGE_ACTION_PUSH);
        assert_int_equal(push->push.size_max_bytes, bytes);
    }
    assert_int_equal(t->actions.list->push.count_max, 15);
    trace_event(t, late, "push timed out");
    while (!trace_sends(t, KEDGE_REQUEST_PUSH))
        trace_timer(t);
    assert_int_equal(t->actions.list->push.size_max_bytes, KEDGE_CORE_PUSH_BYTES_SLOW);
    trace_pushed(t, 15, 4); /* and it grows back */
    assert_true(t->core.push_size_max_bytes > KEDGE_CORE_PUSH_BYTES_SLOW);
    trace_skip(t);
}

static void test_a_push_that_the_core_gives_up_is_halved(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 1000);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_skip(t);
    trace_timer(t);
    while (!trace_sends(t, KEDGE_REQUEST_PUSH))
        trace_timer(t);
    const kedge_core_action *push = t->actions.list;
    while (push->kind != KEDGE_ACTION_PUSH)
        push++;
    assert_int_equal(push->push.size_max_bytes, KEDGE_CORE_PUSH_BYTES_MAX / 2);
    trace_skip(t);
}

static void test_a_mutation_that_is_too_large_for_a_push_is_uploaded(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_too_large(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_pushed(t, 1, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push of 1 too large\n"
                    "          send pull\n"
                    "          send push by upload of 1\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 3, covers 0\n"
                    "[    0] pushed through 1, in version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n"
                    "[    0] mutation 2\n"
                    "          send push\n");
}

/* An upload is three requests, each with the deadline of one. */
static void test_an_upload_is_given_the_time_of_its_three_requests(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_too_large(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_skip(t);
    while (t->now_ms < 3 * KEDGE_CORE_REQUEST_DEADLINE_MS) {
        assert_false(trace_sends(t, KEDGE_REQUEST_PUSH));
        trace_simple(t, KEDGE_EVENT_PING, "ping");
        trace_pass(t, 10000);
    }
    trace_pass(t, KEDGE_CORE_GUARD_MS);
    trace_skip(t);
    trace_simple(t, KEDGE_EVENT_PING, "ping");
    trace_expect(t, "[91000] ping\n"
                    "          cancel push\n"
                    "          report connecting: request-timeout\n");
}

/* A failed upload is repeated. When the server does not take that either, pushes and uploads go out
 * by turns, each after a backoff: the server may become another one. */
static void test_an_upload_that_the_server_does_not_take_backs_off(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_too_large(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_skip(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_TRANSIENT);
    trace_timer(t);
    trace_too_large(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_timer(t);
    trace_too_large(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_timer(t);
    trace_expect(t, "[    0] push transient\n"
                    "          report connecting: transient\n"
                    "[   67] timer\n"
                    "          send push by upload of 1\n"
                    "[   67] push of 1 too large\n"
                    "          send pull\n"
                    "          report connecting: push-too-large\n"
                    "[   67] pull ok\n"
                    "          apply pull\n"
                    "[   67] applied version 3, covers 0\n"
                    "[  110] timer\n"
                    "          send push\n"
                    "[  110] push of 1 too large\n"
                    "          send pull\n"
                    "[  110] pull ok\n"
                    "          apply pull\n"
                    "[  110] applied version 3, covers 0\n"
                    "[  485] timer\n"
                    "          send push by upload of 1\n");
}

/* Where the server does not tell how much it has read, halving ends at one mutation. */
static void test_a_push_that_cannot_be_halved_any_more_is_uploaded(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    int sends = 1;
    while (!t->core.push_upload) {
        trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_SHORTER);
        assert_true(++sends < 20);
    }
    assert_true(sends > 10);
    assert_true(trace_sends(t, KEDGE_REQUEST_PUSH));
}

static void test_after_a_gap_it_pulls_and_pushes_from_the_lowest_uncovered_id(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_GAP);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_timer(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push gap\n"
                    "          send pull\n"
                    "          report connecting: gap\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "[   94] timer\n"
                    "          send push\n");
}

static void test_a_push_for_which_the_store_had_nothing_backs_off(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_pushed(t, 0, 0);
    trace_timer(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] pushed through 0, in version 0\n"
                    "          report connecting\n"
                    "[   94] timer\n"
                    "          send push\n");
}

/* Only the failure of another request does. What waits is told again when that is over. */
static void test_a_push_that_waits_for_a_newer_server_leaves_the_connection_online(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_HELD);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_HELD);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_HELD);
    trace_timer(t);
    trace_pushed(t, 1, 5);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push held\n"
                    "          report online: held\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "          send push\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "[    0] sync\n"
                    "          send pull\n"
                    "[    0] push held\n"
                    "          send push\n"
                    "          synced held\n"
                    "[    0] pull network\n"
                    "          report connecting: network\n"
                    "[   25] timer\n"
                    "          send pull\n"
                    "[   25] pull ok\n"
                    "          apply pull\n"
                    "[   25] applied version 4, covers 0\n"
                    "          report online: held\n"
                    "[   25] push network\n"
                    "          report connecting: network\n"
                    "[  190] timer\n"
                    "          send push\n"
                    "[  190] push held\n"
                    "          report online: held\n"
                    "[  877] timer\n"
                    "          send push\n"
                    "[  877] pushed through 1, in version 5\n"
                    "          send pull\n"
                    "          report online\n");
}

/* The response was lost, or another process has pushed it. */
static void test_a_push_that_failed_is_over_when_a_pull_covers_what_it_held(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push network\n"
                    "          report connecting: network\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "          send push\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n"
                    "          report online\n"
                    "[    0] push network\n");
}

static void test_a_push_that_waited_for_a_newer_server_is_over_when_a_pull_covers_it(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_HELD);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push held\n"
                    "          report online: held\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "          send push\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n"
                    "          report online\n");
}

/* The pull had left before the push was refused. */
static void test_a_token_that_a_push_lacks_is_still_wanted_when_a_pull_covers_it(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_UNAUTHORIZED);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] push unauthorized\n"
                    "          ask token\n"
                    "          report connecting: unauthorized\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_mutation_is_pushed_at_once_and_pulled_at_once,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_poke_that_overtakes_the_answer_of_a_push_saves_a_pull, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_pull_that_began_before_the_push_was_decided_is_followed_by_another, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_mutations_during_a_push_leave_together_after_it,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_backlog_goes_batch_by_batch_as_pulls_cover_it,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_the_rest_of_a_backlog_goes_out_though_its_pull_was_first, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_pending_that_was_pushed_but_stays_uncovered_is_pushed_again, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_push_that_is_too_large_is_halved_and_grows_back,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_push_that_was_not_taken_in_time_is_halved,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_push_that_the_core_gives_up_is_halved, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_mutation_that_is_too_large_for_a_push_is_uploaded,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_an_upload_is_given_the_time_of_its_three_requests,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_an_upload_that_the_server_does_not_take_backs_off,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_push_that_cannot_be_halved_any_more_is_uploaded,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_after_a_gap_it_pulls_and_pushes_from_the_lowest_uncovered_id, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_push_that_waits_for_a_newer_server_leaves_the_connection_online, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_push_for_which_the_store_had_nothing_backs_off,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_push_that_failed_is_over_when_a_pull_covers_what_it_held, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_push_that_waited_for_a_newer_server_is_over_when_a_pull_covers_it, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_token_that_a_push_lacks_is_still_wanted_when_a_pull_covers_it, trace_setup,
            trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
