/* The response to kedge_history, as an app gets it. */
#include "common/json.h"
#include "sdk/runtime/history.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kedge_status reshape(const kedge_allocator *allocator, const char *body, char text[512])
{
    kedge_buffer versions = kedge_buffer_make(allocator);
    kedge_status status = kedge_history_reshape(kedge_bytes_of(body), &versions, NULL);
    if (status != KEDGE_OK) assert_int_equal(versions.size, 0);
    snprintf(text, 512, "%.*s", status == KEDGE_OK ? (int)versions.size : 0, versions.data);
    kedge_buffer_free(&versions);
    return status;
}

static void test_a_list_of_versions_is_given_with_the_members_of_the_reference(void **state)
{
    char text[512];
    (void)state;
    assert_int_equal(reshape(&kedge_allocator_default,
                             "{\"versions\":[{\"version\":2,\"other\":1,\"created\":7,"
                             "\"mutations\":[{\"name\":\"n\",\"digest\":\"d\",\"id\":1}]}]}",
                             text),
                     KEDGE_OK);
    assert_string_equal(text, "[{\"created\":7,\"mutations\":[{\"id\":1,\"name\":\"n\"}],"
                              "\"version\":2}]");
}

/* As deep as edits may bring them; a response is nested deeper. */
static void test_args_and_project_records_may_have_all_their_depth(void **state)
{
    char deep[2 * KEDGE_LIMIT_JSON_DEPTH + 1] = "", body[512], expected[512], text[512];
    (void)state;
    memset(deep, '[', KEDGE_LIMIT_JSON_DEPTH);
    memset(deep + KEDGE_LIMIT_JSON_DEPTH, ']', KEDGE_LIMIT_JSON_DEPTH);
    snprintf(body, sizeof body,
             "{\"versions\":[{\"project\":%s,\"mutations\":[{\"args\":%s}],\"version\":1}]}", deep,
             deep);
    snprintf(expected, sizeof expected, "[{\"mutations\":[{\"args\":%s}],\"version\":1}]", deep);
    assert_int_equal(reshape(&kedge_allocator_default, body, text), KEDGE_OK);
    assert_string_equal(text, expected);
}

static void test_what_is_no_list_of_versions_is_refused(void **state)
{
    static const char *const bodies[] = {"",
                                         "{",
                                         "[]",
                                         "{}",
                                         "{\"versions\":{}}",
                                         "{\"versions\":[]",
                                         "{\"versions\":[]}]",
                                         "{\"versions\":[1]}",
                                         "{\"versions\":[{\"version\":01}]}",
                                         "{\"versions\":[{\"mutations\":{}}]}",
                                         "{\"versions\":[{\"version\":1,\"mutations\" [{}]}]}",
                                         "{\"versions\":[{\"version\":1 \"mutations\":[{}]}]}",
                                         "{\"versions\":[{\"mutations\":[{\"id\":1 \"args\":2}]}]}",
                                         "{\"versions\":[{\"mutations\":[1]}]}",
                                         "{\"versions\":[{\"mutations\":[{\"args\":[01]}]}]}"};
    char text[512];
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_int_equal(reshape(&kedge_allocator_default, bodies[i], text), KEDGE_PROTOCOL);
}

static bool reshape_with(const kedge_allocator *allocator, void *context)
{
    char text[512];
    kedge_status status = reshape(allocator, context, text);
    if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NO_MEMORY);
    return status == KEDGE_OK;
}

/* The args have so many members that the check of them takes memory. */
static void test_without_memory_the_response_is_not_taken_for_a_wrong_one(void **state)
{
    char body[4096];
    (void)state;
    int used = snprintf(body, sizeof body, "{\"versions\":[{\"mutations\":[{\"args\":{");
    for (int i = 0; i < 200; i++)
        used +=
            snprintf(body + used, sizeof body - (size_t)used, "%s\"%03d\":1", i == 0 ? "" : ",", i);
    snprintf(body + used, sizeof body - (size_t)used, "}}]}]}");
    assert_true(failing_allocator_try_every_call(reshape_with, body, 0) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_of_versions_is_given_with_the_members_of_the_reference),
        cmocka_unit_test(test_args_and_project_records_may_have_all_their_depth),
        cmocka_unit_test(test_what_is_no_list_of_versions_is_refused),
        cmocka_unit_test(test_without_memory_the_response_is_not_taken_for_a_wrong_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
