/* UTF-8: each code point in each form, and whole texts. */
#include "common/utf8.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Encodes by arithmetic what the table of the Unicode standard describes by ranges. */
static size_t encode(uint32_t code_point, size_t size, char *out)
{
    static const unsigned char leads[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    for (size_t i = size; i-- > 1;) {
        out[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    out[0] = (char)(leads[size] | code_point);
    return size;
}

static size_t shortest_size(uint32_t code_point)
{
    return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
}

static void test_utf8_is_accepted_for_each_code_point_in_its_shortest_form_only(void **state)
{
    (void)state;
    for (uint32_t code_point = 0; code_point < 0x110400; code_point++) {
        bool scalar = code_point < 0x110000 && (code_point < 0xD800 || code_point > 0xDFFF);
        for (size_t size = shortest_size(code_point); size <= 4; size++) {
            char text[4];
            size_t valid = scalar && size == shortest_size(code_point) ? size : 0;
            encode(code_point, size, text);
            if (kedge_utf8_sequence(text, size) != valid) {
                fail_msg("U+%X in %zu bytes", code_point, size);
            }
            for (size_t cut = 0; cut < size; cut++) {
                if (kedge_utf8_sequence(text, cut) != 0) fail_msg("U+%X cut", code_point);
            }
        }
    }
}

static void test_text_is_utf8_only_if_all_of_it_is(void **state)
{
    (void)state;
    assert_true(kedge_bytes_are_utf8(kedge_bytes_of(NULL)));
    assert_true(kedge_bytes_are_utf8(KEDGE_BYTES("a\0\xC3\xA9\xF0\x9F\x98\x80")));
    assert_false(kedge_bytes_are_utf8(KEDGE_BYTES("a\xC3\xA9\xF0\x9F\x98")));
    assert_false(kedge_bytes_are_utf8(KEDGE_BYTES("\x80")));
    assert_false(kedge_bytes_are_utf8(KEDGE_BYTES("\xC3\xC3\xA9")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_is_accepted_for_each_code_point_in_its_shortest_form_only),
        cmocka_unit_test(test_text_is_utf8_only_if_all_of_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
