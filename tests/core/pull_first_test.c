/* A push with client-only edits, which run again when they are sent, waits for a pull. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_a_push_waits_for_a_pull_that_began_after_all_pushes(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_pushed(t, 1, 5);
    trace_mutation(t);
    assert_false(t->actions.list[0].push.fresh);
    trace_pull_first(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 5, 1);
    assert_int_equal(t->actions.list[0].kind, KEDGE_ACTION_PUSH);
    assert_true(t->actions.list[0].push.fresh);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pushed through 1, in version 5\n"
                    "[    0] mutation 2\n"
                    "          send push after 1\n"
                    "[    0] push waits for a pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 5, covers 1\n"
                    "          send push\n");
}

/* The response of a push comes when a pull has covered all of it: nothing else wants a pull. */
static void test_a_push_that_waits_for_a_pull_causes_one(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_poke(t, 4);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 1);
    trace_pushed(t, 1, 4);
    trace_mutation(t);
    trace_pull_first(t);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 4, 0);
    trace_expect(t, "[    0] mutation 1\n"
                    "          send push\n"
                    "[    0] poke of version 4\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 1\n"
                    "[    0] pushed through 1, in version 4\n"
                    "[    0] mutation 2\n"
                    "          send push\n"
                    "[    0] push waits for a pull\n"
                    "          send pull\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "[    0] applied version 4, covers 0\n"
                    "          send push\n");
}

/* Otherwise a full disk, say, would keep the edits from the server. */
static void test_a_push_does_not_wait_for_a_pull_that_fails(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_mutation(t);
    trace_pushed(t, 1, 4);
    trace_mutation(t);
    trace_pull_first(t);
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    assert_int_equal(t->actions.list[0].kind, KEDGE_ACTION_PUSH);
    assert_true(t->actions.list[0].push.fresh);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, trace_setup, trace_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_push_waits_for_a_pull_that_began_after_all_pushes),
        TEST(test_a_push_that_waits_for_a_pull_causes_one),
        TEST(test_a_push_does_not_wait_for_a_pull_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
