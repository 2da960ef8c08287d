/* A server in queued mode: a push is answered before it is decided. What was pushed is not pushed
 * again and again, and what covers it is found, told or not. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_a_queued_push_waits_for_the_poke_of_its_version(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_queued(t, 1);
    trace_pass(t, 40);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] queued through 1\n"
                    "[   40] poke of version 4\n"
                    "          send pull\n"
                    "[   40] pull ok\n"
                    "          apply pull\n"
                    "[   40] applied version 4, covers 1\n");
}

static void test_edits_are_pushed_after_those_that_are_queued(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_queued(t, 1);
    trace_mutation(t);
    trace_mutation(t);
    trace_queued(t, 2);
    trace_queued(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 3);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] queued through 1\n"
                    "[    0] mutation 2\n"
                    "          send push after 1\n"
                    "[    0] mutation 3\n"
                    "[    0] queued through 2\n"
                    "          send push after 2\n"
                    "[    0] queued through 3\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 3\n"
                    "[    0] mutation 4\n"
                    "          send push\n");
}

static void test_a_backlog_is_queued_batch_by_batch_at_once(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    for (int i = 0; i < 2500; i++)
        trace_mutation(t);
    trace_skip(t);
    trace_queued(t, 1000);
    trace_queued(t, 2000);
    trace_queued(t, 2500);
    trace_expect(t, "[    0] queued through 1000\n"
                    "          send push after 1000\n"
                    "[    0] queued through 2000\n"
                    "          send push after 2000\n"
                    "[    0] queued through 2500\n");
}

/* A pull was faster than the response: there is nothing to look for. */
static void test_a_queued_push_that_a_pull_has_covered_is_not_looked_for(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_queued(t, 1);
    trace_pass(t, KEDGE_CORE_PULL_INTERVAL_MS / 2);
    trace_poke(t, 4);
    trace_pass(t, KEDGE_CORE_PULL_INTERVAL_MS / 2);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n"
                    "[    0] queued through 1\n"
                    "[30000] poke of version 4\n"
                    "[60000] mutation 2\n"
                    "          send push\n");
}

/* Nobody pokes: it looks by itself. */
static void test_without_a_poke_it_looks_after_a_second_and_then_ever_later(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_queued(t, 1);
    trace_skip(t);
    for (int i = 0; i < 2; i++) {
        trace_timer(t);
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied(t, 3, 0);
    }
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[  906] timer\n"
                    "          send pull\n"
                    "[  906] pull ok\n"
                    "          apply pull\n"
                    "[  906] applied version 3, covers 0\n"
                    "[ 2877] timer\n"
                    "          send pull\n"
                    "[ 2877] pull ok\n"
                    "          apply pull\n"
                    "[ 2877] applied version 3, covers 0\n"
                    "[ 6743] timer\n"
                    "          send pull\n"
                    "[ 6743] pull ok\n"
                    "          apply pull\n"
                    "[ 6743] applied version 4, covers 1\n");
}

typedef struct sent {
    int pushes;
    int pulls;
} sent;

/* A server that queues every push and decides none, for so long. */
static sent against_a_dead_queue(trace *t, int64_t milliseconds)
{
    sent count = {0};
    int64_t end = t->now_ms + milliseconds;
    while (t->timer_ms < end) {
        trace_timer(t);
        if (trace_sends(t, KEDGE_REQUEST_PUSH)) {
            count.pushes++;
            trace_queued(t, t->position.highest_id);
        }
        if (trace_sends(t, KEDGE_REQUEST_PULL)) {
            count.pulls++;
            trace_ok(t, KEDGE_REQUEST_PULL);
            trace_applied(t, 3, 0);
        }
        trace_simple(t, KEDGE_EVENT_PING, "ping");
    }
    return count;
}

static void test_a_queue_that_stands_still_is_not_hammered(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_queued(t, 1);
    sent first = against_a_dead_queue(t, 60000);
    assert_in_range(first.pushes, 2, 3); /* after 10 s and 20 s more */
    assert_in_range(first.pulls, 5, 16);
    sent hour = against_a_dead_queue(t, 3600000);
    assert_in_range(hour.pushes, 8, 15);
    assert_in_range(hour.pulls, 60, 150);
    trace_skip(t);
}

static void test_what_stalls_is_pushed_again_from_the_lowest_uncovered_id(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_queued(t, 1);
    trace_mutation(t);
    trace_queued(t, 2);
    trace_skip(t);
    while (!trace_sends(t, KEDGE_REQUEST_PUSH)) {
        trace_skip(t);
        trace_timer(t);
        if (!trace_sends(t, KEDGE_REQUEST_PULL)) continue;
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied(t, 3, 0);
    }
    trace_queued(t, 2);
    trace_poke(t, 4);
    trace_expect(t, "[10000] timer\n"
                    "          send push\n"
                    "[10000] queued through 2\n"
                    "[10000] poke of version 4\n"
                    "          send pull\n");
}

/* The next push was decided at once: the mode changed, or all of it was known. */
static void test_an_answer_that_is_decided_ends_the_queueing(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_queued(t, 1);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_GAP);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_timer(t);
    trace_pushed(t, 2, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 2);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] queued through 1\n"
                    "[    0] mutation 2\n"
                    "          send push after 1\n"
                    "[    0] push gap\n"
                    "          send pull\n"
                    "          report connecting: gap\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 3, covers 0\n"
                    "[   85] timer\n"
                    "          send push\n"
                    "[   85] pushed through 2, in version 4\n"
                    "          send pull\n"
                    "          report online\n"
                    "[   85] pull ok\n"
                    "          apply pull\n"
                    "[   85] applied version 4, covers 2\n");
}

static void test_a_sync_ends_when_what_was_queued_is_covered(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_queued(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] sync\n"
                    "          send pull\n"
                    "[    0] queued through 1\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 3, covers 0\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n"
                    "          synced ok\n");
}

int main(void)
{
#define TRACE(test) cmocka_unit_test_setup_teardown(test, trace_setup, trace_teardown)
    const struct CMUnitTest tests[] = {
        TRACE(test_a_queued_push_waits_for_the_poke_of_its_version),
        TRACE(test_edits_are_pushed_after_those_that_are_queued),
        TRACE(test_a_backlog_is_queued_batch_by_batch_at_once),
        TRACE(test_a_queued_push_that_a_pull_has_covered_is_not_looked_for),
        TRACE(test_without_a_poke_it_looks_after_a_second_and_then_ever_later),
        TRACE(test_a_queue_that_stands_still_is_not_hammered),
        TRACE(test_what_stalls_is_pushed_again_from_the_lowest_uncovered_id),
        TRACE(test_an_answer_that_is_decided_ends_the_queueing),
        TRACE(test_a_sync_ends_when_what_was_queued_is_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
