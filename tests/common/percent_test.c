/* Percent-encoding: what is encoded, and what a decoder takes. */
#include "common/percent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_every_byte_but_the_unreserved_is_encoded(void **state)
{
    char all[256];
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    kedge_percent_encode((kedge_bytes){all, 256}, KEDGE_PERCENT_UNRESERVED, &out);
    assert_int_equal(out.size, 66 + 3 * (256 - 66));
    assert_non_null(strstr(out.data, "%2A%2B%2C-.%2F0123456789%3A"));
    assert_non_null(strstr(out.data, "%5E_%60abc"));
    assert_non_null(strstr(out.data, "%7D~%7F%80"));
    kedge_buffer_free(&out);
}

static void test_what_is_kept_is_the_callers_choice(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_percent_encode(KEDGE_BYTES("/a/b c/."), KEDGE_PERCENT_UNRESERVED "/", &out);
    assert_string_equal(out.data, "/a/b%20c/.");
    kedge_buffer_clear(&out);
    kedge_percent_encode(KEDGE_BYTES("/."), "-_~", &out);
    assert_string_equal(out.data, "%2F%2E");
    kedge_buffer_free(&out);
}

static void test_what_was_encoded_is_decoded_to_the_same(void **state)
{
    kedge_buffer encoded = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer decoded = kedge_buffer_make(&kedge_allocator_default);
    kedge_bytes text = KEDGE_BYTES("a/b?c=d&e+f %41 \xC3\xA9 \xF0\x9F\x98\x80 \x01\x7F");
    (void)state;
    kedge_percent_encode(text, KEDGE_PERCENT_UNRESERVED, &encoded);
    assert_true(kedge_percent_decode(kedge_buffer_bytes(&encoded), &decoded, NULL));
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&decoded), text));
    kedge_buffer_free(&encoded);
    kedge_buffer_free(&decoded);
}

static void test_a_malformed_escape_a_nul_and_no_utf8_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *code;
    } wrong[] = {{"a%", "invalid-escape"},  {"a%4", "invalid-escape"},    {"%4G", "invalid-escape"},
                 {"%G4", "invalid-escape"}, {"%00", "invalid-escape"},    {"%FF", "invalid-utf8"},
                 {"%C3x", "invalid-utf8"},  {"%ED%A0%80", "invalid-utf8"}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_error error = {0};
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        assert_false(kedge_percent_decode(kedge_bytes_of(wrong[i].text), &out, &error));
        assert_string_equal(error.code, wrong[i].code);
        kedge_buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_but_the_unreserved_is_encoded),
        cmocka_unit_test(test_what_is_kept_is_the_callers_choice),
        cmocka_unit_test(test_what_was_encoded_is_decoded_to_the_same),
        cmocka_unit_test(test_a_malformed_escape_a_nul_and_no_utf8_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
