/* Policies: what a role may call, and each thing that is wrong in one. */
#include "backend/base/policy.h"

/* cmocka.h wants these in front of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/environment.h"

#define POLICY                                                                                     \
    "{\"roles\": {\"editor\": [\"notes.*\", \"kedge.put\"], \"owner\": [\"*\"], \"none\": []},"    \
    " \"default\": [\"notes.read\"]}"

static kedge_policy *policy;
static char message[KEDGE_POLICY_MESSAGE_SIZE];

static const kedge_allocator *allocator(void)
{
    return kedge_environment_system(NULL).allocator;
}

static int open_policy(void **state)
{
    (void)state;
    message[0] = '\0';
    return (int)kedge_policy_new(allocator(), POLICY, &policy, NULL);
}

static int close_policy(void **state)
{
    (void)state;
    kedge_policy_free(policy);
    policy = NULL;
    return 0;
}

static bool refuses(const char *role, const char *name, const char *args)
{
    return kedge_policy_refuses(policy, role, kedge_bytes_of(name), kedge_bytes_of(args), message);
}

static void test_a_role_may_call_what_its_names_and_their_beginnings_say(void **state)
{
    (void)state;
    assert_false(refuses("editor", "notes.add", "null"));
    assert_false(refuses("editor", "notes.", "null"));
    assert_false(refuses("editor", "kedge.put", "null"));
    assert_true(refuses("editor", "kedge.putt", "null"));
    assert_true(refuses("editor", "kedge.pu", "null"));
    assert_true(refuses("editor", "notes", "null"));
    assert_true(refuses("editor", "", "null"));
    assert_false(refuses("owner", "kedge.delete", "null"));
    assert_false(refuses("owner", "anything", "null"));
}

static void test_the_default_is_for_roles_that_are_not_named(void **state)
{
    (void)state;
    const char *const others[] = {"", "admin", "Editor", "edito"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(refuses(others[i], "notes.read", "null"));
        assert_true(refuses(others[i], "notes.add", "null"));
    }
    assert_true(refuses("none", "notes.read", "null"));
}

static void test_each_part_of_a_batch_must_be_allowed(void **state)
{
    (void)state;
    assert_false(refuses("editor", "kedge.batch",
                         "{\"mutations\":[{\"args\":null,\"name\":\"notes.add\"},"
                         "{\"args\":null,\"name\":\"kedge.put\"}]}"));
    assert_true(refuses("editor", "kedge.batch",
                        "{\"mutations\":[{\"args\":null,\"name\":\"notes.add\"},"
                        "{\"args\":null,\"name\":\"kedge.delete\"}]}"));
    assert_non_null(strstr(message, "kedge.delete"));
    assert_false(refuses("none", "kedge.batch", "null")); /* the mutator rejects it */
}

static void test_the_place_of_a_cancelled_mutation_is_always_allowed(void **state)
{
    (void)state;
    assert_false(refuses("none", "kedge.noop", "null"));
    assert_false(
        kedge_policy_refuses(NULL, "none", KEDGE_BYTES("notes.add"), KEDGE_BYTES("null"), message));
}

static void test_the_message_names_the_mutator_the_role_and_what_it_may_call(void **state)
{
    (void)state;
    assert_true(refuses("editor", "kedge.delete", "null"));
    assert_string_equal(message, "the role \"editor\" may not call kedge.delete; it may call "
                                 "notes.*, kedge.put");
    assert_true(refuses("none", "kedge.delete", "null"));
    assert_string_equal(message,
                        "the role \"none\" may not call kedge.delete; it may call nothing");
}

static void test_a_message_of_many_long_names_is_cut(void **state)
{
    (void)state;
    char text[8192] = "{\"roles\":{},\"default\":[\"a\"";
    char name[65];
    bool changed;
    memset(name, 'n', 64);
    name[64] = '\0';
    for (int i = 0; i < 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",\"%s\"", name);
    snprintf(text + strlen(text), sizeof text - strlen(text), "]}");
    assert_int_equal(kedge_policy_set(policy, text, &changed, NULL), KEDGE_OK);
    assert_true(refuses(text, name + 1, "null")); /* a role of 4,000 bytes */
    assert_int_equal(strlen(message), KEDGE_POLICY_MESSAGE_SIZE - 1);
}

static void check_wrong(const char *text, const char *named)
{
    kedge_error error = {0};
    bool changed = false;
    if (kedge_policy_set(policy, text, &changed, &error) != KEDGE_INVALID_ARGUMENT)
        fail_msg("accepted: %s", text);
    assert_string_equal(error.code, "policy-invalid");
    if (strstr(error.message, named) == NULL) fail_msg("%s: %s", text, error.message);
    assert_false(changed);
    assert_false(refuses("editor", "notes.add", "null")); /* the one of before stays */
}

static void test_a_wrong_policy_names_the_member_and_what_is_allowed(void **state)
{
    (void)state;
    check_wrong("", "not JSON");
    check_wrong("{", "not JSON");
    check_wrong("[]", "not a JSON object");
    check_wrong("{\"roles\":{},\"roles\":{},\"default\":[]}", "not JSON");
    check_wrong("{\"roles\":{},\"default\":[\"a\\u0000\"]}", "not JSON");
    check_wrong("{\"default\":[]}", "\"roles\" of the policy is wrong: it is missing");
    check_wrong("{\"roles\":{}}", "\"default\" of the policy is wrong: it is missing");
    check_wrong("{\"roles\":[],\"default\":[]}", "\"roles\"");
    check_wrong("{\"roles\":{},\"default\":\"*\"}", "\"default\"");
    check_wrong("{\"roles\":{},\"default\":[],\"rules\":{}}", "\"rules\"");
    check_wrong("{\"roles\":{\"editor\":\"*\"},\"default\":[]}", "\"roles.editor\"");
    const char *const names[] = {"1",      "\"\"",           "\"a b\"",    "\"a*b\"", "\"**\"",
                                 "\"-a\"", "\"kedge.putt\"", "\"kedge.\"", "null",    "[\"a\"]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"roles\":{\"editor\":[\"a\",%s]},\"default\":[]}", names[i]);
        check_wrong(text, "\"roles.editor\"");
        assert_true(refuses("editor", "a", "null"));
    }
}

static void test_a_policy_has_at_most_so_many_roles_and_names(void **state)
{
    (void)state;
    char text[16384];
    bool changed;
    for (int roles = KEDGE_POLICY_ROLES_MAX; roles <= KEDGE_POLICY_ROLES_MAX + 1; roles++) {
        snprintf(text, sizeof text, "{\"default\":[\"notes.add\"],\"roles\":{");
        for (int i = 0; i < roles; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s\"r%d\":[]",
                     i == 0 ? "" : ",", i);
        snprintf(text + strlen(text), sizeof text - strlen(text), "}}");
        kedge_status status = kedge_policy_set(policy, text, &changed, NULL);
        assert_int_equal(status == KEDGE_OK, roles == KEDGE_POLICY_ROLES_MAX);
    }
    for (int names = KEDGE_POLICY_NAMES_MAX; names <= KEDGE_POLICY_NAMES_MAX + 1; names++) {
        snprintf(text, sizeof text, "{\"roles\":{},\"default\":[");
        for (int i = 0; i < names; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s\"n%d\"",
                     i == 0 ? "" : ",", i);
        snprintf(text + strlen(text), sizeof text - strlen(text), "]}");
        kedge_status status = kedge_policy_set(policy, text, &changed, NULL);
        assert_int_equal(status == KEDGE_OK, names == KEDGE_POLICY_NAMES_MAX);
    }
}

static void test_it_is_told_whether_another_text_says_something_else(void **state)
{
    (void)state;
    bool changed = true;
    assert_int_equal(kedge_policy_set(policy, " " POLICY, &changed, NULL), KEDGE_OK);
    assert_false(changed);
    assert_int_equal(kedge_policy_set(policy, "{\"roles\":{},\"default\":[]}", &changed, NULL),
                     KEDGE_OK);
    assert_true(changed);
    assert_true(refuses("owner", "notes.add", "null"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_role_may_call_what_its_names_and_their_beginnings_say, open_policy,
            close_policy),
        cmocka_unit_test_setup_teardown(test_the_default_is_for_roles_that_are_not_named,
                                        open_policy, close_policy),
        cmocka_unit_test_setup_teardown(test_each_part_of_a_batch_must_be_allowed, open_policy,
                                        close_policy),
        cmocka_unit_test_setup_teardown(test_the_place_of_a_cancelled_mutation_is_always_allowed,
                                        open_policy, close_policy),
        cmocka_unit_test_setup_teardown(
            test_the_message_names_the_mutator_the_role_and_what_it_may_call, open_policy,
            close_policy),
        cmocka_unit_test_setup_teardown(test_a_message_of_many_long_names_is_cut, open_policy,
                                        close_policy),
        cmocka_unit_test_setup_teardown(test_a_wrong_policy_names_the_member_and_what_is_allowed,
                                        open_policy, close_policy),
        cmocka_unit_test_setup_teardown(test_a_policy_has_at_most_so_many_roles_and_names,
                                        open_policy, close_policy),
        cmocka_unit_test_setup_teardown(test_it_is_told_whether_another_text_says_something_else,
                                        open_policy, close_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
