/* The end of an outage: the first channel that reaches the server lets the others try at once; and
 * why a server of which one route keeps failing is not stormed. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void stream_down(trace *t, kedge_status status)
{
    trace_event(t,
                (kedge_core_event){.kind = KEDGE_EVENT_STREAM_DOWN,
                                   .stream_down = {.error = {.status = status}}},
                "stream down");
}

/* A round in which all three fail, after a backoff that has surely ended. */
static void fail_all(trace *t, kedge_response_class response)
{
    trace_pass(t, KEDGE_CORE_BACKOFF_MAX_MS);
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    trace_failed(t, KEDGE_REQUEST_PUSH, response);
    trace_failed(t, KEDGE_REQUEST_PULL, response);
    stream_down(t, KEDGE_NETWORK);
}

/* All three channels have failed for minutes, and wait: the pull until 1005000, the others for
 * longer. An edit has used up the push's wake. */
static void be_in_an_outage(trace *t, kedge_response_class response)
{
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, response);
    stream_down(t, KEDGE_NETWORK);
    trace_failed(t, KEDGE_REQUEST_PULL, response);
    for (int i = 0; i < 12; i++)
        fail_all(t, response);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, response);
    assert_true(t->core.push.wake_spent);
    trace_skip(t);
    t->now_ms = 1000000; /* so that the traces show round numbers */
    t->core.pull.at_ms = 1005000;
    t->core.push.at_ms = t->core.stream.at_ms = 1040000;
    t->timer_ms = 1005000;
}

static void test_the_pull_lets_push_and_stream_try_at_once(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_expect(t, "[1005000] timer\n"
                    "          send pull\n"
                    "[1005000] pull ok\n"
                    "          apply pull\n"
                    "[1005000] applied version 3, covers 0\n"
                    "          send push\n"
                    "          open stream\n");
}

static void test_the_push_lets_pull_and_stream_try_at_once(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    t->core.pull.wake_spent = true;
    t->core.push.at_ms = t->timer_ms = 1002000;
    trace_timer(t);
    trace_pushed(t, 2, 4);
    trace_expect(t, "[1002000] timer\n"
                    "          send push\n"
                    "[1002000] pushed through 2, in version 4\n"
                    "          send pull\n"
                    "          open stream\n");
}

static void test_the_stream_lets_pull_and_push_try_at_once(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    t->core.stream.at_ms = t->timer_ms = 1001500;
    trace_timer(t);
    stream_down(t, KEDGE_TIMEOUT);
    t->core.stream.at_ms = t->timer_ms = 1002000;
    trace_timer(t);
    trace_simple(t, KEDGE_EVENT_STREAM_UP, "stream up");
    trace_expect(t, "[1001500] timer\n"
                    "          open stream\n"
                    "[1001500] stream down\n"
                    "[1002000] timer\n"
                    "          open stream\n"
                    "[1002000] stream up\n"
                    "          send pull\n"
                    "          send push\n");
}

/* The first response of a snapshot in pages is not applied by itself. */
static void test_a_page_of_a_snapshot_is_a_success_too(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_PAGES);
    trace_ok(t, KEDGE_REQUEST_PAGE);
    trace_applied_as(t, KEDGE_APPLIED_PAGES);
    trace_expect(t, "[1005000] timer\n"
                    "          send pull\n"
                    "[1005000] pull ok\n"
                    "          apply pull\n"
                    "[1005000] pages follow\n"
                    "          send page\n"
                    "[1005000] page ok\n"
                    "          apply page\n"
                    "[1005000] pages follow\n"
                    "          send page\n"
                    "          send push\n"
                    "          open stream\n");
}

/* A request that gets no response until its deadline counts from its beginning. */
static void test_a_pull_that_hung_during_the_outage_counts_from_its_beginning(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    t->core.push.at_ms = 60000;
    trace_pass(t, 30000);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_skip(t);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[30085] timer\n"
                    "          send pull\n"
                    "[30085] pull ok\n"
                    "          apply pull\n"
                    "[30085] applied version 4, covers 0\n"
                    "          send push\n");
}

static void test_a_transport_that_was_given_up_counts_too(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_PING, "ping");
    trace_timer(t); /* both are given up */
    t->core.push.at_ms = 60000;
    trace_skip(t);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[31077] timer\n"
                    "          send pull\n"
                    "[31077] pull ok\n"
                    "          apply pull\n"
                    "[31077] applied version 4, covers 0\n"
                    "          send push of 500\n");
}

/* Nothing was heard from the server for 40 seconds. */
static void test_a_silent_stream_counts_from_when_it_was_heard_last(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    t->core.push.at_ms = 60000;
    trace_pass(t, KEDGE_CORE_STREAM_SILENCE_MS);
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    trace_timer(t);
    trace_simple(t, KEDGE_EVENT_STREAM_UP, "stream up");
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push network\n"
                    "          report connecting: network\n"
                    "[40000] timer\n"
                    "          close stream\n"
                    "          send pull\n"
                    "[40043] timer\n"
                    "          open stream\n"
                    "[40043] stream up\n"
                    "          send push\n");
}

/* ---- what does not end a backoff ---- */

static void test_a_server_that_asked_for_patience_gets_it(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    t->core.push.at_ms = t->timer_ms = 1002000;
    trace_timer(t);
    trace_retry_after(t, KEDGE_REQUEST_PUSH, 60000);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_expect(t, "[1002000] timer\n"
                    "          send push\n"
                    "[1002000] push transient\n"
                    "          report connecting: transient\n"
                    "[1005000] timer\n"
                    "          send pull\n"
                    "[1005000] pull ok\n"
                    "          apply pull\n"
                    "[1005000] applied version 3, covers 0\n"
                    "          open stream\n");
}

/* It is what tells that the outage is over, all the same. */
static void test_a_channel_that_was_asked_for_patience_tells_the_others_later(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_retry_after(t, KEDGE_REQUEST_PULL, 2000);
    trace_skip(t);
    t->core.pull.at_ms = t->timer_ms = 1008000;
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_expect(t, "[1008000] timer\n"
                    "          send pull\n"
                    "[1008000] pull ok\n"
                    "          apply pull\n"
                    "[1008000] applied version 3, covers 0\n"
                    "          send push\n"
                    "          open stream\n");
}

/* Its 500, or a 429 without Retry-After: the server is in reach, so the push does not wait for it
 * to be. */
static void test_a_push_that_the_server_itself_failed_keeps_its_backoff(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    t->core.push.at_ms = t->timer_ms = 1002000;
    trace_timer(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_TRANSIENT);
    t->core.push.at_ms = 1040000;
    t->timer_ms = 1005000;
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_expect(t, "[1002000] timer\n"
                    "          send push\n"
                    "[1002000] push transient\n"
                    "          report connecting: transient\n"
                    "[1005000] timer\n"
                    "          send pull\n"
                    "[1005000] pull ok\n"
                    "          apply pull\n"
                    "[1005000] applied version 3, covers 0\n"
                    "          open stream\n");
}

static void test_what_fails_inside_the_server_is_no_outage(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_TRANSIENT);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    assert_false(trace_sends(t, KEDGE_REQUEST_PUSH));
    trace_skip(t);
}

static void test_a_failure_of_a_moment_is_no_outage(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    t->core.push.at_ms = 20000;
    trace_poke(t, 4); /* wakes the push, too */
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    t->core.push.at_ms = 20000;
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_skip(t);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[   67] timer\n"
                    "          send pull\n"
                    "[   67] pull ok\n"
                    "          apply pull\n"
                    "[   67] applied version 4, covers 0\n");
}

/* ---- one route that keeps failing ---- */

static void pull_well(trace *t, int64_t version)
{
    trace_poke(t, version);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, version, 0);
}

/* The outage was over, and the push fails all the same: no pull after that shortens its backoff,
 * until there is another outage. */
static void test_a_push_that_fails_after_the_outage_waits_until_the_next_one(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    assert_true(trace_sends(t, KEDGE_REQUEST_PUSH));
    trace_simple(t, KEDGE_EVENT_STREAM_UP, "stream up");
    uint32_t failures = t->core.push.failures;
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    assert_int_equal(t->core.push.failures, failures + 1);
    t->core.push.at_ms = 1060000;
    for (int i = 0; i < 20; i++) {
        pull_well(t, 4 + i);
        trace_pass(t, 1000);
    }
    assert_int_equal(t->core.push.failures, failures + 1);
    assert_int_equal(t->core.push.at_ms, 1060000);
    trace_skip(t);
    stream_down(t, KEDGE_NETWORK);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_pass(t, KEDGE_CORE_OUTAGE_MS);
    t->core.stream.at_ms = 1060000;
    trace_simple(t, KEDGE_EVENT_TIMER, "timer");
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 23, 0);
    trace_expect(t, "[1025000] stream down\n"
                    "          send pull\n"
                    "[1025000] pull network\n"
                    "[1026000] timer\n"
                    "          send pull\n"
                    "[1026000] pull ok\n"
                    "          apply pull\n"
                    "[1026000] applied version 23, covers 0\n"
                    "          send push\n"
                    "          open stream\n");
}

/* For an hour each push fails, and each second pull with it, and somebody edits all the time. */
static void test_a_push_that_never_gets_through_waits_ever_longer_while_pulls_flap(void **state)
{
    trace *t = *state;
    int64_t pushes = 0;
    trace_settle(t, 3);
    trace_mutation(t);
    for (int64_t version = 4; t->now_ms < 3600000; version++) {
        trace_pass(t, 200);
        trace_poke(t, version);
        if (t->core.push.running) {
            pushes++;
            trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
        }
        if (!t->core.pull.running) trace_simple(t, KEDGE_EVENT_TIMER, "timer");
        if (version % 2 == 0) trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
        if (!t->core.pull.running) continue;
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied(t, version, 0);
        trace_skip(t);
    }
    assert_in_range(pushes, 120, 300); /* a backoff takes half a minute, and has two attempts */
    trace_skip(t);
}

static void test_a_clock_that_goes_back_takes_the_beginning_of_the_outage_with_it(void **state)
{
    trace *t = *state;
    be_in_an_outage(t, KEDGE_RESPONSE_NETWORK);
    t->core.pull.lost_ms = t->now_ms - 500000;
    t->now_ms = 5000;
    trace_simple(t, KEDGE_EVENT_PING, "ping");
    trace_skip(t);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    assert_true(trace_sends(t, KEDGE_REQUEST_PUSH));
    trace_skip(t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, trace_setup, trace_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_pull_lets_push_and_stream_try_at_once),
        TEST(test_the_push_lets_pull_and_stream_try_at_once),
        TEST(test_the_stream_lets_pull_and_push_try_at_once),
        TEST(test_a_page_of_a_snapshot_is_a_success_too),
        TEST(test_a_pull_that_hung_during_the_outage_counts_from_its_beginning),
        TEST(test_a_transport_that_was_given_up_counts_too),
        TEST(test_a_silent_stream_counts_from_when_it_was_heard_last),
        TEST(test_a_server_that_asked_for_patience_gets_it),
        TEST(test_a_channel_that_was_asked_for_patience_tells_the_others_later),
        TEST(test_a_push_that_the_server_itself_failed_keeps_its_backoff),
        TEST(test_what_fails_inside_the_server_is_no_outage),
        TEST(test_a_failure_of_a_moment_is_no_outage),
        TEST(test_a_push_that_fails_after_the_outage_waits_until_the_next_one),
        TEST(test_a_push_that_never_gets_through_waits_ever_longer_while_pulls_flap),
        TEST(test_a_clock_that_goes_back_takes_the_beginning_of_the_outage_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
