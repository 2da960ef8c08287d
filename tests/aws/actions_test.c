/* The set of actions that a process used, as it is appended to a file. */
#include "backend/aws/actions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void observe(kedge_aws_actions *actions, const char *action)
{
    const kedge_aws_observation observation = {
        .action = action, .status = 200, .tries = 1, .code = ""};
    kedge_aws_actions_observe(actions, &observation);
}

static void test_each_name_of_an_action_gets_a_line(void **state)
{
    char file[] = "/tmp/kedge-actions-XXXXXX", text[256];
    kedge_aws_actions *actions = NULL;
    (void)state;
    int made = mkstemp(file);
    assert_true(made >= 0);
    assert_int_equal(kedge_aws_actions_new(&kedge_allocator_default, file, &actions, NULL),
                     KEDGE_OK);
    observe(actions, "dynamodb:GetItem");
    observe(actions, "dynamodb:GetItem");
    observe(actions, "dynamodb:PutItem dynamodb:DeleteItem dynamodb:ConditionCheckItem");
    kedge_aws_actions_free(actions);
    ssize_t size = read(made, text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = '\0';
    assert_string_equal(text, "dynamodb:GetItem\ndynamodb:PutItem\ndynamodb:DeleteItem\n"
                              "dynamodb:ConditionCheckItem\n");
    close(made);
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_name_of_an_action_gets_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
