/* Errors as values: filling them in, cutting them, their names; and the library's version. */
#include "common/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_failing_fills_the_error_and_returns_the_status(void **state)
{
    (void)state;
    kedge_error error = {0};
    assert_int_equal(kedge_fail(&error, KEDGE_IO, "disk", "byte %d of %s", 7, "x"), KEDGE_IO);
    assert_int_equal(error.status, KEDGE_IO);
    assert_string_equal(error.code, "disk");
    assert_string_equal(error.message, "byte 7 of x");
}

static void test_failing_without_an_error_to_fill_only_returns_the_status(void **state)
{
    (void)state;
    assert_int_equal(kedge_fail(NULL, KEDGE_BUSY, "busy", "%s", "x"), KEDGE_BUSY);
    assert_int_equal(kedge_fail_no_memory(NULL), KEDGE_NO_MEMORY);
}

static void test_an_error_can_be_wrapped_into_itself(void **state)
{
    (void)state;
    kedge_error error = {0};
    kedge_fail(&error, KEDGE_IO, "disk", "the disk failed");
    kedge_fail(&error, KEDGE_CORRUPT, error.code, "opening: %s", error.message);
    assert_string_equal(error.code, "disk");
    assert_string_equal(error.message, "opening: the disk failed");
}

static void test_a_long_message_is_cut_between_characters(void **state)
{
    (void)state;
    static const char *const euro = "\xE2\x82\xAC";
    for (size_t lead = 0; lead < 3; lead++) {
        char text[400] = "";
        memset(text, 'a', lead);
        for (size_t at = lead; at + 3 < sizeof text; at += 3)
            memcpy(text + at, euro, 3);
        kedge_error error = {0};
        kedge_fail(&error, KEDGE_IO, "disk", "%s", text);
        size_t size = strlen(error.message);
        assert_in_range(size, 253, 255);
        assert_int_equal((size - lead) % 3, 0);
        assert_memory_equal(error.message + size - 3, euro, 3);
    }
}

static void test_a_message_never_carries_broken_text_or_control_characters(void **state)
{
    (void)state;
    kedge_error error = {0};
    kedge_fail(&error, KEDGE_IO, "disk", "a%sb", "\xFF\n\x7F\xC3");
    assert_string_equal(error.message, "a????b");
}

static void test_every_status_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int a = KEDGE_OK; a <= KEDGE_INTERNAL; a++) {
        assert_string_not_equal(kedge_status_name((kedge_status)a), "unknown");
        for (int b = KEDGE_OK; b < a; b++) {
            assert_string_not_equal(kedge_status_name((kedge_status)a),
                                    kedge_status_name((kedge_status)b));
        }
    }
    assert_string_equal(kedge_status_name(KEDGE_DISK_FULL), "disk-full");
    assert_string_equal(kedge_status_name((kedge_status)999), "unknown");
}

static void test_the_version_is_the_one_compiled_against(void **state)
{
    (void)state;
    assert_string_equal(kedge_library_version(), KEDGE_VERSION_STRING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing_fills_the_error_and_returns_the_status),
        cmocka_unit_test(test_failing_without_an_error_to_fill_only_returns_the_status),
        cmocka_unit_test(test_an_error_can_be_wrapped_into_itself),
        cmocka_unit_test(test_a_long_message_is_cut_between_characters),
        cmocka_unit_test(test_a_message_never_carries_broken_text_or_control_characters),
        cmocka_unit_test(test_every_status_has_a_name_of_its_own),
        cmocka_unit_test(test_the_version_is_the_one_compiled_against),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
