/* Writing JSON: commas, escapes, and text that is always accepted again. */
#include "common/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_commas_stand_between_values_and_nowhere_else(void **state)
{
    (void)state;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "a");
    kedge_json_begin_array(&writer);
    kedge_json_integer(&writer, INT64_MIN);
    kedge_json_number(&writer, 0.5);
    kedge_json_boolean(&writer, true);
    kedge_json_boolean(&writer, false);
    kedge_json_null(&writer);
    kedge_json_begin_array(&writer);
    kedge_json_end_array(&writer);
    kedge_json_begin_object(&writer);
    kedge_json_end_object(&writer);
    kedge_json_raw(&writer, KEDGE_BYTES("{\"raw\":1}"));
    kedge_json_end_array(&writer);
    kedge_json_key_bytes(&writer, KEDGE_BYTES("b\"c"));
    kedge_json_chars(&writer, "text");
    kedge_json_key(&writer, "d");
    kedge_json_integer(&writer, 7);
    kedge_json_end_object(&writer);
    assert_string_equal(out.data, "{\"a\":[-9223372036854775808,0.5,true,false,null,[],{},"
                                  "{\"raw\":1}],\"b\\\"c\":\"text\",\"d\":7}");
    kedge_buffer_free(&out);
}

static void assert_written(kedge_bytes text, const char *expected)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_json_text(&writer, text);
    assert_string_equal(out.data, expected);
    assert_int_equal(kedge_json_check(kedge_buffer_bytes(&out), 0, &kedge_allocator_default, NULL),
                     KEDGE_OK);
    kedge_buffer_free(&out);
}

#define FFFD "\xEF\xBF\xBD"

static void test_any_bytes_become_text_that_is_accepted_again(void **state)
{
    (void)state;
    assert_written(kedge_bytes_of(NULL), "\"\"");
    assert_written(KEDGE_BYTES("\"\\/\b\f\n\r\t\x01\x1F\x7F"),
                   "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\"");
    assert_written(KEDGE_BYTES("caf\xC3\xA9 \xF0\x9F\x98\x80"), "\"caf\xC3\xA9 \xF0\x9F\x98\x80\"");
    assert_written(KEDGE_BYTES("a\0b"), "\"a" FFFD "b\"");
    assert_written(KEDGE_BYTES("\x80"
                               "a\xC3"),
                   "\"" FFFD "a" FFFD "\"");
    assert_written(KEDGE_BYTES("\xED\xA0\x80"), "\"" FFFD FFFD FFFD "\"");
}

static void test_every_single_byte_becomes_text_that_is_accepted_again(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char text[3] = {'x', (char)byte, 'y'};
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_json_writer writer = kedge_json_write(&out);
        kedge_json_text(&writer, (kedge_bytes){text, 3});
        kedge_buffer again = kedge_buffer_make(&kedge_allocator_default);
        assert_int_equal(kedge_json_canonical(kedge_buffer_bytes(&out), &again, NULL), KEDGE_OK);
        assert_string_equal(out.data, again.data);
        assert_int_equal(
            kedge_json_check(kedge_buffer_bytes(&out), 0, &kedge_allocator_default, NULL),
            KEDGE_OK);
        kedge_buffer_free(&out);
        kedge_buffer_free(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas_stand_between_values_and_nowhere_else),
        cmocka_unit_test(test_any_bytes_become_text_that_is_accepted_again),
        cmocka_unit_test(test_every_single_byte_becomes_text_that_is_accepted_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
