/* Reading without a tree: skipping, walking, typed reads, and what mutators read of their args. */
#include "common/json.h"

#include "tests/support/failing_allocator.h"

#include <kedge/mutator.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct skip_row {
    const char *text;
    const char *value; /* NULL: does not end */
    const char *rest;
} skip_row;

static void test_a_value_is_cut_out_by_its_quotes_and_brackets(void **state)
{
    (void)state;
    static const skip_row rows[] = {
        {"1", "1", ""},
        {" \n1 ,2", "1", " ,2"},
        {"\"a\\\"b\"x", "\"a\\\"b\"", "x"},
        {"\"a\\\\\"x", "\"a\\\\\"", "x"},
        {"{\"a\":\"}\"},1", "{\"a\":\"}\"}", ",1"},
        {"[1,[2,\"]\"]]]", "[1,[2,\"]\"]]", "]"},
        {"truefalse]", "truefalse", "]"},
        {"{\"a\":1],2", "{\"a\":1]", ",2"}, /* broken, but its end is clear */
        {"{\"a\":\"\\ud800\",\"a\":1e999}!", "{\"a\":\"\\ud800\",\"a\":1e999}", "!"},
        {"", NULL, NULL},
        {"  ", NULL, NULL},
        {",1", NULL, NULL},
        {"]", NULL, NULL},
        {":", NULL, NULL},
        {"\"abc", NULL, NULL},
        {"\"abc\\", NULL, NULL},
        {"\"abc\\\"", NULL, NULL},
        {"[1,2", NULL, NULL},
        {"{\"a\":\"}", NULL, NULL},
        {"[[]", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kedge_bytes value = KEDGE_BYTES("untouched");
        kedge_bytes rest = KEDGE_BYTES("untouched");
        bool found = kedge_json_skip(kedge_bytes_of(rows[i].text), &value, &rest);
        assert_int_equal(found, rows[i].value != NULL);
        const char *expected = found ? rows[i].value : "untouched";
        if (!kedge_bytes_equal_text(value, expected)) fail_msg("%s", rows[i].text);
        assert_true(kedge_bytes_equal_text(rest, found ? rows[i].rest : "untouched"));
    }
    assert_false(kedge_json_skip(kedge_bytes_of(NULL), &(kedge_bytes){0}, NULL));
}

static void test_a_bad_mutation_harms_only_itself(void **state)
{
    (void)state;
    kedge_bytes element;
    size_t good = 0;
    size_t bad = 0;
    kedge_json_iterator elements = kedge_json_iterate(kedge_bytes_of(
        "[{\"id\":1}, {\"id\":\"\\ud800\"}, {\"id\":1e999}, {\"id\":4,\"id\":4}, {\"id\":5}]"));
    while (kedge_json_next_element(&elements, &element)) {
        if (kedge_json_check(element, 64, &kedge_allocator_default, NULL) == KEDGE_OK)
            good++;
        else
            bad++;
    }
    assert_false(elements.failed);
    assert_int_equal(good, 2);
    assert_int_equal(bad, 3);
}

static void test_members_come_in_the_order_of_the_text(void **state)
{
    (void)state;
    kedge_bytes key;
    kedge_bytes value;
    kedge_json_iterator members =
        kedge_json_iterate(kedge_bytes_of(" { \"b\" : 1 , \"a\" : [ 2 , {} ] } "));
    assert_true(kedge_json_next_member(&members, &key, &value));
    assert_true(kedge_bytes_equal_text(key, "\"b\""));
    assert_true(kedge_bytes_equal_text(value, "1"));
    assert_true(kedge_json_next_member(&members, &key, &value));
    assert_true(kedge_bytes_equal_text(key, "\"a\""));
    assert_true(kedge_bytes_equal_text(value, "[ 2 , {} ]"));
    assert_false(kedge_json_next_member(&members, &key, &value));
    assert_false(kedge_json_next_member(&members, &key, &value));
    assert_false(members.failed);
}

static void test_walking_says_when_the_text_is_broken(void **state)
{
    (void)state;
    static const char *const objects[] = {
        "[]",       "1",          "",          "{",     "{\"a\"}",           "{\"a\":}",
        "{,}",      "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{\"a\":1 \"b\":2}", "{\"a\":1]",
        "{\"a\":1", "{}x",        "{1:2}"};
    static const char *const arrays[] = {"{}",  "1",    "",    "[",  "[1 2]",
                                         "[,]", "[1,]", "[1}", "[1", "[]]"};
    kedge_bytes key;
    kedge_bytes value;
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        kedge_json_iterator members = kedge_json_iterate(kedge_bytes_of(objects[i]));
        while (kedge_json_next_member(&members, &key, &value))
            assert_true(value.size > 0);
        if (!members.failed) fail_msg("%s", objects[i]);
        assert_false(kedge_json_next_member(&members, &key, &value));
    }
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        kedge_json_iterator elements = kedge_json_iterate(kedge_bytes_of(arrays[i]));
        while (kedge_json_next_element(&elements, &value))
            assert_true(value.size > 0);
        if (!elements.failed) fail_msg("%s", arrays[i]);
    }
}

static void test_a_member_is_found_by_its_decoded_name(void **state)
{
    (void)state;
    kedge_bytes object = kedge_bytes_of("{\"\\u0061\":1,\"\\ud83d\\ude00\":2,\"a\":3,\"q\\\"\":4,"
                                        "\"\":5,\"__proto__\":6}");
    int64_t number = 0;
    assert_true(kedge_json_member_integer(object, "a", &number));
    assert_int_equal(number, 1);
    assert_true(kedge_json_member_integer(object, "\xF0\x9F\x98\x80", &number));
    assert_int_equal(number, 2);
    assert_true(kedge_json_member_integer(object, "q\"", &number));
    assert_int_equal(number, 4);
    assert_true(kedge_json_member_integer(object, "", &number));
    assert_int_equal(number, 5);
    assert_true(kedge_json_member_integer(object, "__proto__", &number));
    assert_int_equal(number, 6);
    assert_false(kedge_json_member_integer(object, "ab", &number));
    assert_false(kedge_json_member_integer(object, "\\u0061", &number));
    assert_false(kedge_json_member_integer(kedge_bytes_of("[\"a\",1]"), "a", &number));
    assert_int_equal(number, 6);
}

static void test_keys_are_ordered_by_utf16_and_compared_decoded(void **state)
{
    (void)state;
    static const char *const ascending[] = {"\"\"",
                                            "\"\\n\"",
                                            "\"A\"",
                                            "\"\\u0061\"",
                                            "\"a\\u0000\"",
                                            "\"ab\"",
                                            "\"\xC3\xA9\"",
                                            "\"\\ud83d\\ude00\"",
                                            "\"\xEE\x80\x80\""};
    size_t count = sizeof ascending / sizeof ascending[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            int order =
                kedge_json_key_compare(kedge_bytes_of(ascending[i]), kedge_bytes_of(ascending[k]));
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
    assert_int_equal(kedge_json_key_compare(KEDGE_BYTES("\"a\""), KEDGE_BYTES("\"\\u0061\"")), 0);
}

static void test_integers_are_whole_and_at_most_2_to_the_53_minus_1(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"-12", true, -12},
        {"1e3", true, 1000},
        {"1.0", true, 1},
        {"9007199254740991", true, INT64_C(9007199254740991)},
        {"-9007199254740991", true, -INT64_C(9007199254740991)},
        {"9007199254740992", false, 7},
        {"9223372036854775808", false, 7},
        {"1e300", false, 7},
        {"0.5", false, 7},
        {"\"1\"", false, 7},
        {"null", false, 7},
        {"1 ", false, 7},
        {"01", false, 7},
        {"", false, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t value = 7;
        assert_int_equal(kedge_json_to_integer(kedge_bytes_of(rows[i].text), &value), rows[i].ok);
        assert_int_equal(value, rows[i].value);
    }
}

static void test_strings_are_decoded_into_the_room_there_is(void **state)
{
    (void)state;
    char chars[8] = "before";
    assert_true(kedge_json_to_chars(kedge_bytes_of("\"\\u00e9\\n\\ud83d\\ude00\""), chars, 8));
    assert_string_equal(chars, "\xC3\xA9\n\xF0\x9F\x98\x80");
    assert_false(kedge_json_to_chars(kedge_bytes_of("\"12345678\""), chars, 8));
    assert_false(kedge_json_to_chars(kedge_bytes_of("\"a\\u0000b\""), chars, 8));
    assert_false(kedge_json_to_chars(kedge_bytes_of("17"), chars, 8));
    assert_false(kedge_json_to_chars(kedge_bytes_of("\""), chars, 8));
    assert_false(kedge_json_to_chars(kedge_bytes_of("\"\""), chars, 0));
    assert_string_equal(chars, "\xC3\xA9\n\xF0\x9F\x98\x80");
    assert_true(kedge_json_to_chars(kedge_bytes_of("\"\""), chars, 1));
    assert_string_equal(chars, "");
    assert_true(kedge_json_member_chars(kedge_bytes_of("{\"a\":\"x\"}"), "a", chars, 8));
    assert_string_equal(chars, "x");
    assert_false(kedge_json_member_chars(kedge_bytes_of("{\"a\":1}"), "a", chars, 8));
}

static void test_text_is_appended_or_nothing_is(void **state)
{
    (void)state;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&out, "kept ");
    assert_true(kedge_json_to_text(kedge_bytes_of("\"a\\/b\""), &out));
    assert_string_equal(out.data, "kept a/b");
    assert_false(kedge_json_to_text(kedge_bytes_of("\"abc\\ud800\""), &out));
    assert_false(kedge_json_to_text(kedge_bytes_of("[]"), &out));
    assert_string_equal(out.data, "kept a/b");
    assert_int_equal(out.size, 8);
    kedge_buffer_free(&out);
}

static void test_text_is_copied_into_an_arena_which_tells_a_lack_of_memory(void **state)
{
    (void)state;
    failing_allocator failing;
    kedge_bytes copy = {NULL, 0};
    failing_allocator_init(&failing);
    kedge_arena arena = kedge_arena_make(&failing.allocator);
    assert_true(kedge_json_copy_text(kedge_bytes_of("\"a\\u00e9\""), &arena, &copy));
    assert_string_equal(copy.data, "a\xc3\xa9");
    assert_int_equal(copy.size, 3);
    assert_false(kedge_json_copy_text(kedge_bytes_of("\"\\ud800\""), &arena, &copy));
    assert_false(kedge_json_copy_text(kedge_bytes_of("1"), &arena, &copy));
    assert_int_equal(kedge_arena_status(&arena, NULL), KEDGE_OK);
    kedge_arena_free(&arena);
    failing_allocator_arm(&failing, 1, false);
    assert_false(kedge_json_copy_text(kedge_bytes_of("\"a\""), &arena, &copy));
    assert_true(kedge_json_copy_text(kedge_bytes_of("\"b\""), &arena, &copy));
    assert_string_equal(copy.data, "b");
    assert_int_equal(kedge_arena_status(&arena, NULL), KEDGE_NO_MEMORY);
    kedge_arena_free(&arena);
    assert_int_equal(kedge_arena_status(&arena, NULL), KEDGE_OK);
    assert_null(kedge_arena_take_array(&arena, SIZE_MAX / 2, 4));
    assert_int_equal(kedge_arena_status(&arena, NULL), KEDGE_NO_MEMORY);
    kedge_arena_free(&arena);
    assert_int_equal(failing.living, 0);
}

static void test_text_equals_only_the_whole_decoded_text(void **state)
{
    (void)state;
    assert_true(kedge_json_text_equals(kedge_bytes_of("\"abc\""), "abc"));
    assert_true(kedge_json_text_equals(kedge_bytes_of("\"\\u0061b\\u0063\""), "abc"));
    assert_true(kedge_json_text_equals(kedge_bytes_of("\"\""), ""));
    assert_false(kedge_json_text_equals(kedge_bytes_of("\"\\u0061b\""), "abc"));
    assert_false(kedge_json_text_equals(kedge_bytes_of("\"\\u0061bcd\""), "abc"));
    assert_false(kedge_json_text_equals(kedge_bytes_of("\"abc\""), "ab"));
    assert_false(kedge_json_text_equals(kedge_bytes_of("abc"), "abc"));
    assert_false(kedge_json_text_equals(kedge_bytes_of("\""), ""));
}

/* ---- args of mutators ---- */

static const char args[] = "{\"id\":\"n\\u00e91\",\"order\":-5,\"ratio\":0.5,\"none\":null}";

static void test_a_mutator_reads_text_and_integers_of_its_args(void **state)
{
    (void)state;
    char text[5] = "";
    size_t size = 0;
    int64_t number = 0;
    assert_int_equal(kedge_args_text(args, sizeof args - 1, "id", text, sizeof text, &size, NULL),
                     KEDGE_OK);
    assert_string_equal(text, "n\xC3\xA9"
                              "1");
    assert_int_equal(size, 4);
    assert_int_equal(kedge_args_integer(args, sizeof args - 1, "order", &number, NULL), KEDGE_OK);
    assert_int_equal(number, -5);
}

static void test_a_mutator_learns_which_member_was_wrong_and_how(void **state)
{
    (void)state;
    static const struct {
        const char *object;
        const char *member;
        kedge_status text;
        kedge_status integer;
    } rows[] = {
        {args, "missing", KEDGE_NOT_FOUND, KEDGE_NOT_FOUND},
        {args, "ratio", KEDGE_INVALID_ARGUMENT, KEDGE_INVALID_ARGUMENT},
        {args, "none", KEDGE_INVALID_ARGUMENT, KEDGE_INVALID_ARGUMENT},
        {args, "id", KEDGE_LIMIT_EXCEEDED, KEDGE_INVALID_ARGUMENT},
        {"[1]", "id", KEDGE_INVALID_ARGUMENT, KEDGE_INVALID_ARGUMENT},
        {"", "id", KEDGE_INVALID_ARGUMENT, KEDGE_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[4] = "old";
        size_t size = 99;
        int64_t number = 99;
        kedge_error error = {0};
        size_t object_size = strlen(rows[i].object);
        assert_int_equal(kedge_args_text(rows[i].object, object_size, rows[i].member, text,
                                         sizeof text, &size, &error),
                         rows[i].text);
        assert_non_null(strstr(error.message, rows[i].member));
        assert_int_equal(
            kedge_args_integer(rows[i].object, object_size, rows[i].member, &number, &error),
            rows[i].integer);
        assert_string_equal(text, "old");
        assert_int_equal(size, 99);
        assert_int_equal(number, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_is_cut_out_by_its_quotes_and_brackets),
        cmocka_unit_test(test_a_bad_mutation_harms_only_itself),
        cmocka_unit_test(test_members_come_in_the_order_of_the_text),
        cmocka_unit_test(test_walking_says_when_the_text_is_broken),
        cmocka_unit_test(test_a_member_is_found_by_its_decoded_name),
        cmocka_unit_test(test_keys_are_ordered_by_utf16_and_compared_decoded),
        cmocka_unit_test(test_integers_are_whole_and_at_most_2_to_the_53_minus_1),
        cmocka_unit_test(test_strings_are_decoded_into_the_room_there_is),
        cmocka_unit_test(test_text_is_appended_or_nothing_is),
        cmocka_unit_test(test_text_is_copied_into_an_arena_which_tells_a_lack_of_memory),
        cmocka_unit_test(test_text_equals_only_the_whole_decoded_text),
        cmocka_unit_test(test_a_mutator_reads_text_and_integers_of_its_args),
        cmocka_unit_test(test_a_mutator_learns_which_member_was_wrong_and_how),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
