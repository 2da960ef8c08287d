/* A client id that is spent, and a backend of another lineage. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_a_push_refused_for_its_identity_pulls_first_then_retires_then_rotates(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_IDENTITY);
    trace_mutation(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_ok_more(t, KEDGE_REQUEST_RETIRE, true, false);
    trace_ok(t, KEDGE_REQUEST_OUTCOMES);
    trace_rotated(t, 2);
    trace_pushed(t, 2, 5);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 5, 2);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push identity\n"
                    "          send pull\n"
                    "          report connecting: identity\n"
                    "[    0] mutation 2\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] rotate\n"
                    "          send retire\n"
                    "[    0] retire ok, more outcomes\n"
                    "          send outcomes\n"
                    "[    0] outcomes ok\n"
                    "          rotate\n"
                    "[    0] rotated\n"
                    "          send pull\n"
                    "          send push\n"
                    "          report online\n"
                    "[    0] pushed through 2, in version 5\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 5, covers 2\n");
}

/* Its response would be about ids that mean something else by then. */
static void test_a_running_push_is_given_up_when_its_client_is_retired(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_mutation(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_pushed(t, 1, 5);
    trace_ok(t, KEDGE_REQUEST_RETIRE);
    trace_rotated(t, 1);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] rotate\n"
                    "          cancel push\n"
                    "          send retire\n"
                    "[    0] pushed through 1, in version 5\n"
                    "[    0] retire ok\n"
                    "          rotate\n"
                    "[    0] rotated\n"
                    "          send pull\n"
                    "          send push\n");
}

static void test_a_refusal_that_pulls_do_not_explain_ends_in_a_rotation(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    for (int i = 0; i < KEDGE_CORE_IDENTITY_MAX; i++) {
        if (i > 0) trace_timer(t);
        trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_IDENTITY);
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied(t, 3, 0);
    }
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] push identity\n"
                    "          send pull\n"
                    "          report connecting: identity\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 3, covers 0\n"
                    "[   94] timer\n"
                    "          send push\n"
                    "[   94] push identity\n"
                    "          send pull\n"
                    "[   94] pull ok\n"
                    "          apply pull\n"
                    "[   94] applied version 3, covers 0\n"
                    "[  217] timer\n"
                    "          send push\n"
                    "[  217] push identity\n"
                    "          send pull\n"
                    "[  217] pull ok\n"
                    "          apply pull\n"
                    "[  217] applied version 3, covers 0\n"
                    "          send retire\n");
}

static void test_a_rotation_survives_a_network_that_fails_and_a_full_disk(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_failed(t, KEDGE_REQUEST_RETIRE, KEDGE_RESPONSE_NETWORK);
    trace_timer(t);
    trace_ok(t, KEDGE_REQUEST_RETIRE);
    trace_applied_as(t, KEDGE_APPLIED_FAILED);
    trace_timer(t);
    trace_rotated(t, 0);
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] rotate\n"
                    "          send retire\n"
                    "[    0] retire network\n"
                    "          report connecting: network\n"
                    "[   85] timer\n"
                    "          send retire\n"
                    "[   85] retire ok\n"
                    "          rotate\n"
                    "[   85] the disk failed\n"
                    "          report connecting: disk-full\n"
                    "[  128] timer\n"
                    "          rotate\n"
                    "[  128] rotated\n"
                    "          send pull\n"
                    "          report online\n");
}

/* Retired, so that no push that is still under way can be decided by the restored backend. */
static void
test_another_lineage_is_paged_in_then_the_old_client_is_retired_then_it_rotates(void **state)
{
    trace *t = *state;
    trace_settle(t, 9);
    trace_stream_up(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_PAGES);
    trace_ok(t, KEDGE_REQUEST_PAGE);
    trace_applied_as(t, KEDGE_APPLIED_LOST);
    trace_ok(t, KEDGE_REQUEST_RETIRE);
    t->position.version = 4;
    trace_rotated(t, 3);
    trace_pushed(t, 3, 6);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 6, 3);
    trace_expect(t, "[    0] stream up\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] pages follow\n"
                    "          send page\n"
                    "[    0] page ok\n"
                    "          apply page\n"
                    "[    0] another lineage\n"
                    "          send retire\n"
                    "[    0] retire ok\n"
                    "          rotate to another lineage\n"
                    "[    0] rotated\n"
                    "          send pull\n"
                    "          send push\n"
                    "[    0] pushed through 3, in version 6\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 6, covers 3\n");
}

/* The edits of the one are not sent as the other's, whatever became of the lineage. */
static void test_a_client_of_another_user_is_not_rotated_to_another_lineage_either(void **state)
{
    trace *t = *state;
    trace_settle(t, 9);
    trace_stream_up(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_LOST);
    trace_failed(t, KEDGE_REQUEST_RETIRE, KEDGE_RESPONSE_FOREIGN);
    trace_timer(t);
    trace_applied_as(t, KEDGE_APPLIED_DONE);
    trace_expect(t, "[    0] stream up\n"
                    "[    0] poke of version 1\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] another lineage\n"
                    "          send retire\n"
                    "[    0] retire foreign\n"
                    "          close stream\n"
                    "          report stopped: foreign\n"
                    "[   67] timer\n"
                    "          drop the pages\n"
                    "[   67] done\n");
}

static void test_rotations_that_lead_nowhere_back_off(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    for (int i = 0; i < 2; i++) {
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied_as(t, KEDGE_APPLIED_ROTATE);
        if (i == 1) trace_timer(t);
        trace_ok(t, KEDGE_REQUEST_RETIRE);
        trace_rotated(t, 0);
    }
    trace_expect(t, "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] rotate\n"
                    "          send retire\n"
                    "[    0] retire ok\n"
                    "          rotate\n"
                    "[    0] rotated\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] rotate\n"
                    "          report connecting\n"
                    "[   31] timer\n"
                    "          send retire\n"
                    "[   31] retire ok\n"
                    "          rotate\n"
                    "[   31] rotated\n"
                    "          send pull\n"
                    "          report online\n");
}

/* Each round goes well: pulled, pushed, answered, and the next pull says that this id, too, is
 * spent. */
static void round_that_spends_a_client(trace *t)
{
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, t->position.version + 1, 0);
    trace_pushed(t, 1, t->position.version + 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
}

static void rotate_to_one_pending(trace *t)
{
    trace_ok(t, KEDGE_REQUEST_RETIRE);
    trace_rotated(t, 1);
}

static void test_the_third_rotation_within_a_minute_waits_and_the_status_says_why(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_IDENTITY);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_pass(t, 500);
    rotate_to_one_pending(t);
    trace_skip(t);
    trace_pass(t, 500);
    round_that_spends_a_client(t);
    rotate_to_one_pending(t);
    round_that_spends_a_client(t);
    trace_poke(t, 20);
    trace_mutation(t);
    trace_simple(t, KEDGE_EVENT_ONLINE, "online");
    trace_pass(t, 39000);
    trace_simple(t, KEDGE_EVENT_PING, "ping");
    trace_timer(t);
    rotate_to_one_pending(t);
    trace_expect(t, "[ 1000] pull ok\n"
                    "          apply pull\n"
                    "[ 1000] applied version 4, covers 0\n"
                    "[ 1000] pushed through 1, in version 5\n"
                    "          send pull\n"
                    "[ 1000] pull ok\n"
                    "          apply pull\n"
                    "[ 1000] rotate\n"
                    "          send retire\n"
                    "[ 1000] retire ok\n"
                    "          rotate\n"
                    "[ 1000] rotated\n"
                    "          send pull\n"
                    "          send push\n"
                    "[ 1000] pull ok\n"
                    "          apply pull\n"
                    "[ 1000] applied version 5, covers 0\n"
                    "[ 1000] pushed through 1, in version 6\n"
                    "          send pull\n"
                    "[ 1000] pull ok\n"
                    "          apply pull\n"
                    "[ 1000] rotate\n"
                    "          report connecting: client-id-unstable\n"
                    "[ 1000] poke of version 20\n"
                    "[ 1000] mutation 2\n"
                    "[ 1000] online\n"
                    "[40000] ping\n"
                    "[60500] timer\n"
                    "          send retire\n"
                    "          report online\n"
                    "[60500] retire ok\n"
                    "          rotate\n"
                    "[60500] rotated\n"
                    "          send pull\n"
                    "          send push\n");
}

/* One rotation after the other, each wanted as soon as the one before has ended. */
static void test_further_rotations_wait_twice_as_long_each_up_to_eight_minutes(void **state)
{
    static const int64_t waits_ms[] = {0, 0, 60000, 120000, 240000, 480000, 480000, 480000};
    trace *t = *state;
    trace_settle(t, 3);
    trace_poke(t, 4);
    for (size_t i = 0; i < sizeof waits_ms / sizeof waits_ms[0]; i++) {
        int64_t before_ms = t->now_ms;
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied_as(t, i % 2 == 0 ? KEDGE_APPLIED_ROTATE : KEDGE_APPLIED_LOST);
        while (!trace_sends(t, KEDGE_REQUEST_RETIRE))
            trace_timer(t);
        assert_in_range(t->now_ms - before_ms, waits_ms[i] > 100 ? waits_ms[i] - 100 : 0,
                        waits_ms[i] + 100);
        trace_ok(t, KEDGE_REQUEST_RETIRE);
        trace_rotated(t, 0);
    }
}

static void spend_two_clients(trace *t)
{
    for (int i = 0; i < 2; i++) {
        trace_poke(t, t->position.version + 1);
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied_as(t, KEDGE_APPLIED_ROTATE);
        if (!trace_sends(t, KEDGE_REQUEST_RETIRE)) trace_timer(t);
        trace_ok(t, KEDGE_REQUEST_RETIRE);
        trace_rotated(t, 0);
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied(t, t->position.version + 1, 0);
    }
}

static void test_a_refusal_for_good_is_told_also_while_a_rotation_waits(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    spend_two_clients(t);
    trace_mutation(t);
    trace_poke(t, t->position.version + 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_skip(t);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_REFUSED);
    trace_expect(t, "[    0] rotate\n"
                    "          report connecting: client-id-unstable\n"
                    "[    0] push refused\n"
                    "          close stream\n"
                    "          report stopped: refused\n");
}

static void test_after_a_quarter_of_an_hour_rotations_count_anew(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    spend_two_clients(t);
    trace_pass(t, KEDGE_CORE_ROTATE_CALM_MS);
    trace_simple(t, KEDGE_EVENT_PING, "ping");
    spend_two_clients(t);
    assert_int_equal(t->now_ms, KEDGE_CORE_ROTATE_CALM_MS);
}

static void test_a_sync_ends_with_the_reason_when_a_rotation_has_to_wait(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    spend_two_clients(t);
    trace_skip(t);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_ROTATE);
    trace_simple(t, KEDGE_EVENT_SYNC, "sync");
    trace_expect(t, "[    0] sync\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] rotate\n"
                    "          report connecting: client-id-unstable\n"
                    "          synced client-id-unstable\n"
                    "[    0] sync\n"
                    "          synced client-id-unstable\n");
}

/* Only pushes are refused: what others change is pulled all the same. */
static void test_pulls_go_on_while_a_rotation_waits_that_only_pushes_asked_for(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    spend_two_clients(t);
    trace_mutation(t);
    for (int i = 0; i < KEDGE_CORE_IDENTITY_MAX; i++) {
        if (i > 0) trace_timer(t);
        trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_RESPONSE_IDENTITY);
        if (i == KEDGE_CORE_IDENTITY_MAX - 1) trace_skip(t);
        trace_ok(t, KEDGE_REQUEST_PULL);
        trace_applied(t, 5, 0);
    }
    trace_pass(t, 30000);
    trace_poke(t, 6);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 6, 0);
    trace_timer(t);
    trace_expect(t, "[  221] pull ok\n"
                    "          apply pull\n"
                    "[  221] applied version 5, covers 0\n"
                    "          report connecting: client-id-unstable\n"
                    "[30221] poke of version 6\n"
                    "          send pull\n"
                    "[30221] pull ok\n"
                    "          apply pull\n"
                    "[30221] applied version 6, covers 0\n"
                    "[60000] timer\n"
                    "          send retire\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_push_refused_for_its_identity_pulls_first_then_retires_then_rotates, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_running_push_is_given_up_when_its_client_is_retired,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_refusal_that_pulls_do_not_explain_ends_in_a_rotation,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_rotation_survives_a_network_that_fails_and_a_full_disk, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_another_lineage_is_paged_in_then_the_old_client_is_retired_then_it_rotates,
            trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_client_of_another_user_is_not_rotated_to_another_lineage_either, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_rotations_that_lead_nowhere_back_off, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_the_third_rotation_within_a_minute_waits_and_the_status_says_why, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_further_rotations_wait_twice_as_long_each_up_to_eight_minutes, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_refusal_for_good_is_told_also_while_a_rotation_waits,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_after_a_quarter_of_an_hour_rotations_count_anew,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_sync_ends_with_the_reason_when_a_rotation_has_to_wait, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_pulls_go_on_while_a_rotation_waits_that_only_pushes_asked_for, trace_setup,
            trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
