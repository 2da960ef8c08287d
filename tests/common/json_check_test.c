/* What text is accepted: I-JSON (RFC 7493) and nothing else. */
#include "common/json_tokens.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct refused_row {
    kedge_bytes text;
    const char *code;
    size_t offset;
} refused_row;

#define REFUSED(text, code, offset)                                                                \
    {                                                                                              \
        {(text), sizeof(text) - 1}, (code), (offset)                                               \
    }

static void assert_refused(const refused_row *row)
{
    kedge_error error = {0};
    char place[32];
    kedge_status status =
        kedge_json_check(row->text, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, &error);
    if (status != KEDGE_INVALID_JSON || strcmp(error.code, row->code) != 0) {
        print_error("%.*s: %s %s\n", (int)row->text.size, row->text.data, error.code,
                    error.message);
    }
    assert_int_equal(status, KEDGE_INVALID_JSON);
    assert_int_equal(error.status, KEDGE_INVALID_JSON);
    assert_string_equal(error.code, row->code);
    snprintf(place, sizeof place, "at byte %zu:", row->offset);
    if (strstr(error.message, place) == NULL) print_error("%s\n", error.message);
    assert_non_null(strstr(error.message, place));
}

#define ASSERT_ALL_REFUSED(rows)                                                                   \
    for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++)                                  \
    assert_refused(&(rows)[i])

static kedge_status check(kedge_bytes text)
{
    return kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL);
}

static void test_every_kind_of_value_is_accepted(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1.5e+10",
        "-12.5E-3",
        "\"\"",
        "\"a\\n\\u00e9\xC3\xA9\"",
        "[]",
        "{}",
        " [ 1 , 2 ] ",
        "\r\n\t{ \"a\" : { } , \"b\" : [ [ ] ] }\n",
        "\"\\ud83d\\ude00\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\xF4\x8F\xBF\xBF\"",
        "\"\x7F\"",
        "{\"__proto__\":{\"constructor\":1},\"constructor\":2,\"\":3}",
        /* Noncharacters: RFC 7493 wants none, Unicode (corrigendum 9) allows them; they stay. */
        "\"\\uffff\xEF\xBF\xBE\"",
        /* As objects of different parents, or different by their case, names may repeat. */
        "{\"a\":{\"a\":1},\"A\":[{\"a\":1},{\"a\":2}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (check(kedge_bytes_of(texts[i])) != KEDGE_OK) print_error("%s\n", texts[i]);
        assert_int_equal(check(kedge_bytes_of(texts[i])), KEDGE_OK);
    }
}

static void test_broken_grammar_is_refused_where_it_breaks(void **state)
{
    (void)state;
    static const refused_row rows[] = {
        REFUSED("", "json-syntax", 0),
        REFUSED("  ", "json-syntax", 2),
        REFUSED("nul", "json-syntax", 0),
        REFUSED("nulL", "json-syntax", 0),
        REFUSED("True", "json-syntax", 0),
        REFUSED("NaN", "json-syntax", 0),
        REFUSED("Infinity", "json-syntax", 0),
        REFUSED("-Infinity", "json-syntax", 0),
        REFUSED("undefined", "json-syntax", 0),
        REFUSED("'a'", "json-syntax", 0),
        REFUSED("[", "json-syntax", 1),
        REFUSED("[1", "json-syntax", 2),
        REFUSED("[1,", "json-syntax", 3),
        REFUSED("[1,]", "json-syntax", 3),
        REFUSED("[,1]", "json-syntax", 1),
        REFUSED("[1 2]", "json-syntax", 3),
        REFUSED("[1}", "json-syntax", 2),
        REFUSED("{", "json-syntax", 1),
        REFUSED("{\"a\"", "json-syntax", 4),
        REFUSED("{\"a\":", "json-syntax", 5),
        REFUSED("{\"a\":1", "json-syntax", 6),
        REFUSED("{\"a\":1,}", "json-syntax", 7),
        REFUSED("{a:1}", "json-syntax", 1),
        REFUSED("{1:1}", "json-syntax", 1),
        REFUSED("{\"a\" 1}", "json-syntax", 5),
        REFUSED("{\"a\":1]", "json-syntax", 6),
        REFUSED("]", "json-syntax", 0),
        REFUSED("/**/1", "json-syntax", 0),
        REFUSED("1/**/", "json-syntax", 1),
        REFUSED("1 2", "json-syntax", 2),
        REFUSED("{}{}", "json-syntax", 2),
        REFUSED("{\"a\":1}\0", "json-syntax", 7),
        REFUSED("\0", "json-syntax", 0),
        REFUSED("\xEF\xBB\xBF{}", "json-syntax", 0),
        REFUSED("[1\f]", "json-syntax", 2),
        REFUSED("\xC2\xA0"
                "1",
                "json-syntax", 0),
    };
    ASSERT_ALL_REFUSED(rows);
}

static void test_numbers_follow_the_grammar_and_the_range_of_a_double(void **state)
{
    (void)state;
    static const refused_row rows[] = {
        REFUSED("01", "json-syntax", 1),
        REFUSED("-01", "json-syntax", 2),
        REFUSED("+1", "json-syntax", 0),
        REFUSED("-", "json-syntax", 0),
        REFUSED("1.", "json-syntax", 0),
        REFUSED(".5", "json-syntax", 0),
        REFUSED("1.e5", "json-syntax", 0),
        REFUSED("1e", "json-syntax", 0),
        REFUSED("1e+", "json-syntax", 0),
        REFUSED("0x10", "json-syntax", 1),
        REFUSED("1_000", "json-syntax", 1),
        REFUSED("1e5.5", "json-syntax", 3),
        REFUSED("[1e999]", "json-number-range", 1),
        REFUSED("-1.8e308", "json-number-range", 0),
    };
    ASSERT_ALL_REFUSED(rows);
}

static void test_strings_hold_neither_control_characters_nor_broken_escapes(void **state)
{
    (void)state;
    static const refused_row rows[] = {
        REFUSED("\"", "json-syntax", 1),          REFUSED("\"abc", "json-syntax", 4),
        REFUSED("\"a\nb\"", "json-syntax", 2),    REFUSED("\"\x1F\"", "json-syntax", 1),
        REFUSED("\"\0\"", "json-syntax", 1),      REFUSED("\"\\a\"", "json-syntax", 1),
        REFUSED("\"\\\"", "json-syntax", 3),      REFUSED("\"\\u12\"", "json-syntax", 1),
        REFUSED("\"\\u12G4\"", "json-syntax", 1), REFUSED("\"\\U0041\"", "json-syntax", 1),
        REFUSED("\"\\\n\"", "json-syntax", 1),    REFUSED("\"\\x41\"", "json-syntax", 1),
        REFUSED("[\"\\u0000\"]", "json-nul", 2),  REFUSED("{\"\\u0000\":1}", "json-nul", 2),
    };
    ASSERT_ALL_REFUSED(rows);
}

static void test_a_surrogate_without_its_other_half_is_refused(void **state)
{
    (void)state;
    static const refused_row rows[] = {
        REFUSED("\"\\ud800\"", "json-surrogate", 1),
        REFUSED("\"\\udfff\"", "json-surrogate", 1),
        REFUSED("\"\\ud83dx\"", "json-surrogate", 1),
        REFUSED("\"\\ud83d\\n\"", "json-surrogate", 1),
        REFUSED("\"\\ud83d\\ud83d\\ude00\"", "json-surrogate", 1),
        REFUSED("\"\\ude00\\ud83d\"", "json-surrogate", 1),
        REFUSED("\"\\ud83d\\ude0\"", "json-surrogate", 1),
        REFUSED("{\"\\uDEAD\":1}", "json-surrogate", 2),
    };
    ASSERT_ALL_REFUSED(rows);
}

static void test_broken_utf8_is_refused(void **state)
{
    (void)state;
    static const refused_row rows[] = {
        REFUSED("\"\x80\"", "json-utf8", 1),         /* continues nothing */
        REFUSED("\"abcdefgh\xC3\"", "json-utf8", 9), /* cut by the quote */
        REFUSED("\"\xC3", "json-utf8", 1),           /* cut by the end */
        REFUSED("\"\xE2\x82\"", "json-utf8", 1),     /* two of three bytes */
        REFUSED("\"\xF0\x9F\x98\"", "json-utf8", 1), /* three of four */
        REFUSED("\"\xC0\xAF\"", "json-utf8", 1),     /* overlong */
        REFUSED("\"\xC1\xBF\"", "json-utf8", 1),
        REFUSED("\"\xE0\x80\xAF\"", "json-utf8", 1),
        REFUSED("\"\xE0\x9F\xBF\"", "json-utf8", 1),
        REFUSED("\"\xF0\x80\x80\xAF\"", "json-utf8", 1),
        REFUSED("\"\xF0\x8F\xBF\xBF\"", "json-utf8", 1),
        REFUSED("\"\xED\xA0\x80\"", "json-utf8", 1), /* a surrogate */
        REFUSED("\"\xED\xBF\xBF\"", "json-utf8", 1),
        REFUSED("\"\xF4\x90\x80\x80\"", "json-utf8", 1), /* above U+10FFFF */
        REFUSED("\"\xF5\x80\x80\x80\"", "json-utf8", 1),
        REFUSED("\"\xFF\"", "json-utf8", 1),
        REFUSED("{\"\xFE\":1}", "json-utf8", 2),
    };
    ASSERT_ALL_REFUSED(rows);
}

static void test_two_members_of_one_name_are_refused_however_they_are_spelled(void **state)
{
    (void)state;
    static const refused_row rows[] = {
        REFUSED("{\"a\":1,\"a\":2}", "json-duplicate-member", 7),
        REFUSED("{\"a\":1,\"\\u0061\":2}", "json-duplicate-member", 7),
        REFUSED("{\"\\u0061\":1,\"b\":0,\"a\":2}", "json-duplicate-member", 18),
        REFUSED("{\"\":1,\"\":1}", "json-duplicate-member", 6),
        REFUSED("{\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":2}", "json-duplicate-member", 18),
        REFUSED("{\"\\/\":1,\"/\":2}", "json-duplicate-member", 8),
        REFUSED("[{\"x\":{\"b\":1,\"a\":1,\"b\":1}}]", "json-duplicate-member", 19),
        REFUSED("{\"__proto__\":1,\"__proto__\":1}", "json-duplicate-member", 15),
    };
    ASSERT_ALL_REFUSED(rows);
}

/* Members k0 … in an order that is not canonical; the last one repeats number `twin`, escaped. */
static void write_members(kedge_buffer *text, size_t count, size_t twin)
{
    kedge_buffer_append_byte(text, '{');
    for (size_t i = count; i-- > 0;)
        kedge_buffer_append_format(text, "\"k%zu\":%zu,", i, i);
    if (twin < count) {
        kedge_buffer_append_format(text, "\"\\u006b%zu\":0}", twin);
    } else {
        kedge_buffer_append_text(text, "\"end\":0}");
    }
}

static void test_a_twin_is_found_among_any_number_of_members(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 1000, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t count = counts[i];
        size_t twins[] = {0, count / 2, count - 1, count};
        for (size_t k = 0; k < 4; k++) {
            kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
            write_members(&text, count, twins[k]);
            kedge_status expected = twins[k] < count ? KEDGE_INVALID_JSON : KEDGE_OK;
            assert_int_equal(check(kedge_buffer_bytes(&text)), expected);
            kedge_buffer_free(&text);
        }
    }
}

static kedge_bytes nested(char *text, size_t depth, char open, char close)
{
    memset(text, open, depth);
    memset(text + depth, close, depth);
    return (kedge_bytes){text, 2 * depth};
}

static void test_64_levels_are_allowed_and_65_are_not(void **state)
{
    (void)state;
    char text[200];
    kedge_error error = {0};
    assert_int_equal(check(nested(text, 64, '[', ']')), KEDGE_OK);
    assert_int_equal(
        kedge_json_check(nested(text, 65, '[', ']'), 64, &kedge_allocator_default, &error),
        KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "json-too-deep");
    assert_non_null(strstr(error.message, "at byte 64"));
    assert_int_equal(
        kedge_json_check(nested(text, 65, '[', ']'), UINT32_MAX, &kedge_allocator_default, NULL),
        KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(kedge_json_check(nested(text, 3, '[', ']'), 2, &kedge_allocator_default, NULL),
                     KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(kedge_json_check(KEDGE_BYTES("1"), 0, &kedge_allocator_default, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_json_check(KEDGE_BYTES("[]"), 0, &kedge_allocator_default, NULL),
                     KEDGE_LIMIT_EXCEEDED);
}

static void test_a_text_of_nothing_but_brackets_costs_no_stack(void **state)
{
    (void)state;
    size_t size = 4u * 1024 * 1024;
    char *text = malloc(size);
    assert_non_null(text);
    kedge_bytes value;
    nested(text, size / 2, '[', ']');
    assert_int_equal(check((kedge_bytes){text, size}), KEDGE_LIMIT_EXCEEDED);
    assert_true(kedge_json_skip((kedge_bytes){text, size}, &value, NULL));
    assert_int_equal(value.size, size);
    assert_false(kedge_json_skip((kedge_bytes){text, size - 1}, &value, NULL));
    free(text);
}

/* Counts what is asked for, and refuses it when `refuses` is set. */
typedef struct counter {
    size_t asked;
    bool refuses;
} counter;

static void *count_allocate(void *context, size_t size)
{
    counter *count = context;
    count->asked++;
    return count->refuses ? NULL : malloc(size);
}

static void *count_reallocate(void *context, void *block, size_t size)
{
    counter *count = context;
    count->asked++;
    return count->refuses ? NULL : realloc(block, size);
}

static void count_release(void *context, void *block)
{
    (void)context;
    free(block);
}

static void test_the_keys_of_a_large_object_take_memory_from_the_given_allocator(void **state)
{
    (void)state;
    char text[1024];
    size_t size = 0;
    counter count = {0};
    kedge_allocator allocator = {count_allocate, count_reallocate, count_release, &count};
    for (int i = 0; i < 2 * KEDGE_JSON_INLINE_ENTRIES; i++)
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%c\"%d\":1", i == 0 ? '{' : ',', i);
    text[size++] = '}';
    kedge_bytes object = {text, size};
    assert_int_equal(kedge_json_check(object, 1, &allocator, NULL), KEDGE_OK);
    assert_true(count.asked > 0);
    count.refuses = true;
    assert_int_equal(kedge_json_check(object, 1, &allocator, NULL), KEDGE_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_keys_of_a_large_object_take_memory_from_the_given_allocator),
        cmocka_unit_test(test_every_kind_of_value_is_accepted),
        cmocka_unit_test(test_broken_grammar_is_refused_where_it_breaks),
        cmocka_unit_test(test_numbers_follow_the_grammar_and_the_range_of_a_double),
        cmocka_unit_test(test_strings_hold_neither_control_characters_nor_broken_escapes),
        cmocka_unit_test(test_a_surrogate_without_its_other_half_is_refused),
        cmocka_unit_test(test_broken_utf8_is_refused),
        cmocka_unit_test(test_two_members_of_one_name_are_refused_however_they_are_spelled),
        cmocka_unit_test(test_a_twin_is_found_among_any_number_of_members),
        cmocka_unit_test(test_64_levels_are_allowed_and_65_are_not),
        cmocka_unit_test(test_a_text_of_nothing_but_brackets_costs_no_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
