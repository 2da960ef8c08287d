/* KEDGE_ASSERT where it is off: the condition is compiled, and never evaluated. */
#ifndef KEDGE_ASSERT_OFF
#define KEDGE_ASSERT_OFF
#endif
#include "common/assert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int evaluated;

static bool does_not_hold(void)
{
    evaluated++;
    return false;
}

static void without_assertions_a_condition_is_not_evaluated(void **state)
{
    (void)state;
    KEDGE_ASSERT(does_not_hold());
    assert_int_equal(evaluated, 0);
    assert_false(does_not_hold());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_assertions_a_condition_is_not_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
