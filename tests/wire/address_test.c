/* Addresses: how paths are cut and matched, and what a query says. */
#include "wire/address.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool matches(const char *pattern, const char *path)
{
    kedge_wire_path parts;
    kedge_wire_path wanted;
    assert_true(kedge_wire_path_cut(kedge_bytes_of(pattern), &wanted));
    return kedge_wire_path_cut(kedge_bytes_of(path), &parts) &&
           kedge_wire_path_matches(&wanted, &parts);
}

static void test_a_path_matches_a_pattern_part_by_part(void **state)
{
    (void)state;
    assert_true(matches(KEDGE_WIRE_PATH_EVENTS, "/v1/orgs/o/projects/p/events"));
    assert_true(matches(KEDGE_WIRE_PATH_EVENTS, "/v1/orgs//projects/%2F/events"));
    assert_true(matches(KEDGE_WIRE_PATH_TICKET, "/v1/orgs/o/projects/p/events/ticket"));
    assert_false(matches(KEDGE_WIRE_PATH_EVENTS, "/v1/orgs/o/projects/p/events/"));
    assert_false(matches(KEDGE_WIRE_PATH_EVENTS, "/v1/orgs/o/x/projects/p/events"));
    assert_false(matches(KEDGE_WIRE_PATH_EVENTS, "v1/orgs/o/projects/p/events"));
    assert_false(matches(KEDGE_WIRE_PATH_EVENTS, "/v1/orgs/o/project/p/events"));
    assert_false(matches(KEDGE_WIRE_PATH_EVENTS, ""));
    assert_false(matches(KEDGE_WIRE_PATH_EVENTS, "/1/2/3/4/5/6/7/8/9/10/11/12/13"));
}

static void test_a_parameter_is_found_once_and_may_be_absent(void **state)
{
    kedge_bytes value = {NULL, 0};
    bool present;
    kedge_error error = {0};
    (void)state;
    assert_int_equal(
        kedge_wire_query_find(KEDGE_BYTES("a=1&ab=2&&b=3=4&c"), "b", &value, &present, &error),
        KEDGE_OK);
    assert_true(present);
    assert_true(kedge_bytes_equal_text(value, "3=4"));
    assert_int_equal(kedge_wire_query_find(KEDGE_BYTES("a=1"), "b", &value, &present, &error),
                     KEDGE_OK);
    assert_false(present);
    assert_true(kedge_bytes_equal_text(value, "3=4"));
    assert_int_equal(kedge_wire_query_find(KEDGE_BYTES("a=1&a=1"), "a", &value, &present, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "query-invalid");
    assert_string_equal(error.message, "the parameter \"a\" is given twice");
}

static void test_a_whole_number_of_a_query_is_within_its_range_or_refused(void **state)
{
    static const char *const wrong[] = {
        "n=", "n=0", "n=101", "n=-1", "n=1.0", "n=1e1", "n=+1", "n=%31", "n=99999999999999999"};
    int64_t number = 7;
    kedge_error error = {0};
    (void)state;
    assert_int_equal(kedge_wire_query_integer(KEDGE_BYTES(""), "n", 1, 100, &number, &error),
                     KEDGE_OK);
    assert_int_equal(number, 7);
    assert_int_equal(kedge_wire_query_integer(KEDGE_BYTES("n=100"), "n", 1, 100, &number, &error),
                     KEDGE_OK);
    assert_int_equal(number, 100);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(
            kedge_wire_query_integer(kedge_bytes_of(wrong[i]), "n", 1, 100, &number, &error),
            KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.message,
                            "the parameter \"n\" must be a whole number from 1 to 100");
    }
}

static void test_a_text_of_a_query_is_decoded_or_refused(void **state)
{
    bool present;
    kedge_error error = {0};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    assert_int_equal(kedge_wire_query_text(KEDGE_BYTES("t=a%2Fb+c"), "t", &text, &present, &error),
                     KEDGE_OK);
    assert_true(present);
    assert_string_equal(text.data, "a/b+c");
    assert_int_equal(kedge_wire_query_text(KEDGE_BYTES("t=%F"), "t", &text, &present, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "query-invalid");
    kedge_buffer_free(&text);
}

static void test_a_version_is_latest_or_a_number_from_1_on(void **state)
{
    int64_t number = -1;
    (void)state;
    assert_true(kedge_wire_version_read(KEDGE_BYTES("latest"), &number));
    assert_int_equal(number, 0);
    assert_true(kedge_wire_version_read(KEDGE_BYTES("9007199254740991"), &number));
    assert_int_equal(number, KEDGE_LIMIT_MUTATION_ID);
    assert_false(kedge_wire_version_read(KEDGE_BYTES("9007199254740992"), &number));
    assert_false(kedge_wire_version_read(KEDGE_BYTES("0"), &number));
    assert_false(kedge_wire_version_read(KEDGE_BYTES(""), &number));
    assert_false(kedge_wire_version_read(KEDGE_BYTES("Latest"), &number));
}

static void test_a_parameter_that_is_given_twice_or_too_long_is_refused(void **state)
{
    char query[KEDGE_WIRE_PATH_BYTES_MAX + 8] = "t=";
    bool present = true;
    int64_t number;
    kedge_error error = {0};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    assert_int_equal(kedge_wire_query_integer(KEDGE_BYTES("t=1&t=2"), "t", 0, 9, &number, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_wire_query_text(KEDGE_BYTES("t=1&t=2"), "t", &text, &present, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_wire_query_text(KEDGE_BYTES("u=1"), "t", &text, &present, &error),
                     KEDGE_OK);
    assert_false(present);
    memset(query + 2, 'x', KEDGE_WIRE_PATH_BYTES_MAX + 1);
    assert_int_equal(kedge_wire_query_text(kedge_bytes_of(query), "t", &text, &present, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.message,
                        "the parameter \"t\" has 4097 bytes; at most 4096 are allowed");
    kedge_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_matches_a_pattern_part_by_part),
        cmocka_unit_test(test_a_parameter_is_found_once_and_may_be_absent),
        cmocka_unit_test(test_a_whole_number_of_a_query_is_within_its_range_or_refused),
        cmocka_unit_test(test_a_text_of_a_query_is_decoded_or_refused),
        cmocka_unit_test(test_a_version_is_latest_or_a_number_from_1_on),
        cmocka_unit_test(test_a_parameter_that_is_given_twice_or_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
