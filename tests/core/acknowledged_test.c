/* What the server has acknowledged is not sent again, however long the pull takes that covers it;
 * and whatever makes the acknowledgement doubtful has all that is pending sent again. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A snapshot is being pulled, and two edits were acknowledged meanwhile. */
static void acknowledge_two(trace *t)
{
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_PAGES);
    trace_mutation(t);
    trace_pushed(t, 1, 5);
    trace_mutation(t);
    trace_pushed(t, 2, 6);
    trace_skip(t);
}

static void test_during_a_long_pull_each_edit_is_sent_once(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_PAGES);
    trace_skip(t);
    trace_mutation(t);
    trace_pushed(t, 1, 5);
    trace_pass(t, 9000);
    trace_mutation(t);
    trace_pushed(t, 2, 6);
    trace_ok(t, KEDGE_REQUEST_PAGE);
    trace_applied_as(t, KEDGE_APPLIED_PAGES);
    trace_pass(t, 9000);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_NETWORK);
    trace_mutation(t);
    trace_pushed(t, 4, 7);
    trace_ok(t, KEDGE_REQUEST_PAGE);
    trace_applied(t, 4, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 7, 4);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] pushed through 1, in version 5\n"
                    "[ 9000] mutation 2\n"
                    "          send push after 1\n"
                    "[ 9000] pushed through 2, in version 6\n"
                    "[ 9000] page ok\n"
                    "          apply page\n"
                    "[ 9000] pages follow\n"
                    "          send page\n"
                    "[18000] mutation 3\n"
                    "          send push after 2\n"
                    "[18000] push network\n"
                    "          report connecting: network\n"
                    "[18000] mutation 4\n"
                    "          send push after 2\n"
                    "[18000] pushed through 4, in version 7\n"
                    "          report online\n"
                    "[18000] page ok\n"
                    "          apply page\n"
                    "[18000] applied version 4, covers 0\n"
                    "          send pull\n"
                    "[18000] pull ok\n"
                    "          apply pull\n"
                    "[18000] applied version 7, covers 4\n"
                    "[18000] mutation 5\n"
                    "          send push\n");
}

static void test_a_gap_has_all_sent_again(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_GAP);
    trace_timer(t);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push after 2\n"
                    "[    0] push gap\n"
                    "          report connecting: gap\n"
                    "[   97] timer\n"
                    "          send push\n");
}

/* Once a pull has begun and ended. */
static void test_a_refusal_of_the_client_id_has_all_sent_again(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_IDENTITY);
    trace_ok(t, KEDGE_REQUEST_PAGE);
    trace_applied(t, 4, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_timer(t);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push after 2\n"
                    "[    0] push identity\n"
                    "          report connecting: identity\n"
                    "[    0] page ok\n"
                    "          apply page\n"
                    "[    0] applied version 4, covers 0\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "[   97] timer\n"
                    "          send push\n");
}

static void test_another_user_has_all_sent_again(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_FOREIGN);
    trace_token(t, true);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push after 2\n"
                    "[    0] push foreign\n"
                    "          cancel page\n"
                    "          close stream\n"
                    "          report stopped: foreign\n"
                    "[    0] token\n"
                    "          send page\n"
                    "          send push\n"
                    "          open stream\n"
                    "          report connecting: foreign\n");
}

/* All pending edits have new ids. They are the old numbers here, and mean other mutations. */
static void test_a_new_client_id_has_all_sent_again(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    trace_ok(t, KEDGE_REQUEST_PAGE);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_ok(t, KEDGE_REQUEST_RETIRE);
    trace_rotated(t, 2);
    trace_expect(t, "[    0] page ok\n"
                    "          apply page\n"
                    "[    0] rotate\n"
                    "          send retire\n"
                    "[    0] retire ok\n"
                    "          rotate\n"
                    "[    0] rotated\n"
                    "          send pull\n"
                    "          send push\n");
}

static void test_going_online_has_all_sent_again(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    trace_simple(t, KEDGE_EVENT_OFFLINE, "offline");
    trace_pass(t, 100);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_expect(t, "[    0] offline\n"
                    "          cancel page\n"
                    "          close stream\n"
                    "          report offline\n"
                    "[  100] online\n"
                    "          send page\n"
                    "          send push\n"
                    "          open stream\n"
                    "          report connecting\n");
}

/* The app only says once more that the network is there. */
static void test_going_online_while_online_sends_nothing_again(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_pushed(t, 3, 7);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push after 2\n"
                    "[    0] online\n"
                    "[    0] pushed through 3, in version 7\n"
                    "[    0] mutation 4\n"
                    "          send push after 3\n");
}

/* Two edits were acknowledged, of which a pull covers `covered`; then pulls are blocked. */
static void block_after_two(trace *t, int64_t covered)
{
    trace_settle(t, 3);
    trace_mutation(t);
    trace_mutation(t);
    trace_pushed(t, 1, 4);
    trace_pushed(t, 2, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, covered);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_BLOCKED);
    trace_skip(t);
}

/* The push that runs begins after what is doubtful now. */
static void test_going_online_during_a_push_has_all_sent_again_after_it(void **state)
{
    trace *t = *state;
    block_after_two(t, 1);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_pushed(t, 3, 6);
    trace_pushed(t, 3, 6);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push after 2\n"
                    "[    0] online\n"
                    "          send pull\n"
                    "[    0] pushed through 3, in version 6\n"
                    "          send push\n"
                    "          report online\n"
                    "[    0] pushed through 3, in version 6\n"
                    "[    0] mutation 4\n"
                    "          send push after 3\n");
}

/* It is not when it holds all that is pending. */
static void test_going_online_during_a_push_of_all_that_is_pending_sends_it_once(void **state)
{
    trace *t = *state;
    block_after_two(t, 2);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_pushed(t, 3, 6);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push\n"
                    "[    0] online\n"
                    "          send pull\n"
                    "[    0] pushed through 3, in version 6\n"
                    "          report online\n"
                    "[    0] mutation 4\n"
                    "          send push after 3\n");
}

/* Not even a push that succeeds every three seconds puts it off. */
static void test_what_pulls_do_not_cover_is_sent_again_while_edits_go_on(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    for (int i = 1; i <= 4; i++) {
        if (i == 4) trace_skip(t);
        trace_mutation(t);
        trace_queued(t, i);
        trace_pass(t, 1000);
        trace_poke(t, 3 + i);
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied(t, 3 + i, 0);
        trace_pass(t, 2000);
    }
    trace_expect(t, "[ 9000] mutation 4\n"
                    "          send pull\n"
                    "          send push after 3\n"
                    "[ 9000] queued through 4\n"
                    "[10000] poke of version 7\n"
                    "          send push\n"
                    "[10000] pull ok\n"
                    "          apply pull\n"
                    "[10000] applied version 7, covers 0\n");
}

/* A pull that began before the acknowledgement cannot cover it, however long it takes. */
static void test_a_pull_that_began_earlier_is_no_stall(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    for (int i = 0; i < 3; i++) {
        trace_pass(t, 20000);
        trace_simple(t, KEDGE_EVENT_PING, "ping");
        trace_ok(t, KEDGE_REQUEST_PAGE);
        trace_applied_as(t, KEDGE_APPLIED_PAGES);
    }
    trace_ok(t, KEDGE_REQUEST_PAGE);
    trace_applied(t, 4, 0);
    trace_mutation(t);
    trace_expect(t, "[20000] ping\n"
                    "[20000] page ok\n"
                    "          apply page\n"
                    "[20000] pages follow\n"
                    "          send page\n"
                    "[40000] ping\n"
                    "[40000] page ok\n"
                    "          apply page\n"
                    "[40000] pages follow\n"
                    "          send page\n"
                    "[60000] ping\n"
                    "[60000] page ok\n"
                    "          apply page\n"
                    "[60000] pages follow\n"
                    "          send page\n"
                    "[60000] page ok\n"
                    "          apply page\n"
                    "[60000] applied version 4, covers 0\n"
                    "          send pull\n"
                    "[60000] mutation 3\n"
                    "          send push after 2\n");
}

static void test_a_cache_that_was_set_aside_has_all_sent_again(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    t->position.version = 0;
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push\n");
}

/* A file of the folder turned out to be older. */
static void test_what_is_pending_again_is_sent_again(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_pushed(t, 1, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_mutation(t);
    trace_pushed(t, 2, 5);
    trace_skip(t);
    t->position.lowest_pending_id = 1;
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push\n");
}

/* In it the ids of the running push mean other mutations. */
static void test_an_older_outbox_has_all_sent_again_whatever_a_running_push_held(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_mutation(t);
    t->position.highest_id = 0;
    trace_mutation(t);
    trace_queued(t, 1);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] mutation 2\n"
                    "[    0] mutation 1\n"
                    "[    0] queued through 1\n"
                    "          send push\n");
}

/* The rest of a backlog, which waited for the pull that covers the part before it, does not wait
 * for what is doubtful now. */
static void test_when_all_is_sent_again_a_backlog_does_not_wait(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 2500);
    trace_pushed(t, 1000, 4);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_OFFLINE, "offline");
    trace_skip(t);
    trace_pass(t, 100);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_pushed(t, 1000, 4);
    trace_expect(t, "[  100] online\n"
                    "          send pull\n"
                    "          send push\n"
                    "          report connecting\n"
                    "[  100] pushed through 1000, in version 4\n"
                    "          report online\n");
}

/* What was acknowledged before holds. */
static void test_a_push_that_is_too_large_is_made_shorter_at_its_end(void **state)
{
    trace *t = *state;
    acknowledge_two(t);
    trace_mutation(t);
    trace_too_large(t, 1);
    trace_pushed(t, 3, 7);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 3\n"
                    "          send push after 2\n"
                    "[    0] push of 1 too large\n"
                    "          send push after 2 by upload of 1\n"
                    "[    0] pushed through 3, in version 7\n"
                    "[    0] mutation 4\n"
                    "          send push after 3\n");
}

/* A push has what the store has when it is made: also an edit of another process that has not told
 * of it yet. */
static void test_an_edit_that_was_not_told_is_not_sent_again_when_it_is(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_pushed(t, 2, 4);
    trace_mutation(t);
    trace_mutation(t);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] pushed through 2, in version 4\n"
                    "          send pull\n"
                    "[    0] mutation 2\n"
                    "[    0] mutation 3\n"
                    "          send push after 2\n");
}

int main(void)
{
#define TRACE(test) cmocka_unit_test_setup_teardown(test, trace_setup, trace_teardown)
    const struct CMUnitTest tests[] = {
        TRACE(test_during_a_long_pull_each_edit_is_sent_once),
        TRACE(test_a_gap_has_all_sent_again),
        TRACE(test_a_refusal_of_the_client_id_has_all_sent_again),
        TRACE(test_another_user_has_all_sent_again),
        TRACE(test_a_new_client_id_has_all_sent_again),
        TRACE(test_going_online_has_all_sent_again),
        TRACE(test_going_online_while_online_sends_nothing_again),
        TRACE(test_going_online_during_a_push_has_all_sent_again_after_it),
        TRACE(test_going_online_during_a_push_of_all_that_is_pending_sends_it_once),
        TRACE(test_what_pulls_do_not_cover_is_sent_again_while_edits_go_on),
        TRACE(test_a_pull_that_began_earlier_is_no_stall),
        TRACE(test_a_cache_that_was_set_aside_has_all_sent_again),
        TRACE(test_what_is_pending_again_is_sent_again),
        TRACE(test_an_older_outbox_has_all_sent_again_whatever_a_running_push_held),
        TRACE(test_when_all_is_sent_again_a_backlog_does_not_wait),
        TRACE(test_a_push_that_is_too_large_is_made_shorter_at_its_end),
        TRACE(test_an_edit_that_was_not_told_is_not_sent_again_when_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
