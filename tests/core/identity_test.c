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
    trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_ANSWER_IDENTITY);
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

/* Its answer would be about ids that mean something else by then. */
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
        trace_failed(t, KEDGE_REQUEST_PUSH, KEDGE_ANSWER_IDENTITY);
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
    trace_failed(t, KEDGE_REQUEST_RETIRE, KEDGE_ANSWER_NETWORK);
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

static void test_a_restored_backend_that_never_knew_the_client_has_nothing_to_retire(void **state)
{
    trace *t = *state;
    trace_settle(t, 9);
    trace_stream_up(t, 1);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied_as(t, KEDGE_APPLIED_LOST);
    trace_failed(t, KEDGE_REQUEST_RETIRE, KEDGE_ANSWER_IDENTITY);
    trace_expect(t, "[    0] stream up\n"
                    "[    0] poke of version 1\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] another lineage\n"
                    "          send retire\n"
                    "[    0] retire identity\n"
                    "          rotate to another lineage\n");
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
            test_a_restored_backend_that_never_knew_the_client_has_nothing_to_retire, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_rotations_that_lead_nowhere_back_off, trace_setup,
                                        trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
