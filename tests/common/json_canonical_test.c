/* Canonical form: RFC 8785's examples, documents canonicalized by another implementation, and what
 * a failure leaves behind. */
#include "common/json.h"

#include "tests/support/failing_allocator.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *documents_file;

static void assert_normalizes_to(const char *text, const char *canonical)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    kedge_buffer_append_text(&out, "kept:");
    assert_int_equal(
        kedge_json_normalize(kedge_bytes_of(text), KEDGE_LIMIT_JSON_DEPTH, &out, &error), KEDGE_OK);
    assert_string_equal(out.data + 5, canonical);
    assert_memory_equal(out.data, "kept:", 5);

    kedge_buffer_clear(&out);
    assert_int_equal(kedge_json_canonical(kedge_bytes_of(text), &out, &error), KEDGE_OK);
    assert_string_equal(out.data, canonical);
    kedge_buffer_clear(&out);
    assert_int_equal(kedge_json_canonical(kedge_bytes_of(canonical), &out, &error), KEDGE_OK);
    assert_string_equal(out.data, canonical);
    kedge_buffer_free(&out);
}

static void test_the_examples_of_the_rfc_come_out_as_printed(void **state)
{
    (void)state;
    assert_normalizes_to(
        "{\n  \"numbers\": [333333333.33333329, 1E30, 4.50,\n"
        "              2e-3, 0.000000000000000000000000001],\n"
        "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
        "  \"literals\": [null, true, false]\n}\n",
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,"
        "0.002,1e-27],\"string\":\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
    assert_normalizes_to("{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\","
                         "\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\","
                         "\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\","
                         "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
                         "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xC2\x80\":\"Control\","
                         "\"\xC3\xB6\":\"Latin Small Letter O With Diaeresis\","
                         "\"\xE2\x82\xAC\":\"Euro Sign\","
                         "\"\xF0\x9F\x98\x80\":\"Emoji: Grinning Face\","
                         "\"\xEF\xAC\xB3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

static void test_escapes_numbers_and_space_have_one_spelling(void **state)
{
    (void)state;
    assert_normalizes_to("\"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0001\\u001F\\u007f\\/\"",
                         "\"\\b\\t\\n\\f\\r\\u0001\\u001f\x7F/\"");
    assert_normalizes_to("[-0, -0.0, 0e9, 1.0, 10e-1, 100E+1, 1e21, 0.0000001, 0.000001]",
                         "[0,0,0,1,1,1000,1e+21,1e-7,0.000001]");
    assert_normalizes_to("9007199254740993", "9007199254740992");
    assert_normalizes_to("0.1000000000000000055511151231257827", "0.1");
    assert_normalizes_to(" [ ] ", "[]");
    assert_normalizes_to("{ }", "{}");
    assert_normalizes_to("{\"b\":{\"d\":1,\"c\":[{\"z\":1,\"y\":2}]},\"a\":0}",
                         "{\"a\":0,\"b\":{\"c\":[{\"y\":2,\"z\":1}],\"d\":1}}");
    assert_normalizes_to("{\"aa\":1,\"a\":2,\"\":3,\"B\":4}", "{\"\":3,\"B\":4,\"a\":2,\"aa\":1}");
    assert_normalizes_to("{\"\\uffff\":1,\"\\ud800\\udc00\":2,\"\\ud7ff\":3}",
                         "{\"\xED\x9F\xBF\":3,\"\xF0\x90\x80\x80\":2,\"\xEF\xBF\xBF\":1}");
}

static bool read_line(FILE *file, char *line, size_t size)
{
    do {
        if (fgets(line, (int)size, file) == NULL) return false;
    } while (line[0] == '#');
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static void test_documents_come_out_as_from_another_implementation(void **state)
{
    (void)state;
    static char text[8192];
    static char canonical[8192];
    size_t documents = 0;
    FILE *file = fopen(documents_file, "r");
    assert_non_null(file);
    while (read_line(file, text, sizeof text) && read_line(file, canonical, sizeof canonical)) {
        assert_normalizes_to(text, canonical);
        documents++;
    }
    fclose(file);
    assert_true(documents >= 100);
}

static void test_what_fails_leaves_the_buffer_as_it_was(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"b\":1,\"a\":2", "[1,2,\"\\ud800\"]", "[1e999]", "", "nope", "{\"b\":1,\"a\":[tru]}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_error error = {0};
        kedge_buffer_append_text(&out, "kept");
        kedge_bytes text = kedge_bytes_of(texts[i]);
        assert_int_equal(kedge_json_normalize(text, 64, &out, &error), KEDGE_INVALID_JSON);
        assert_string_equal(out.data, "kept");
        assert_int_equal(kedge_json_canonical(text, &out, &error), KEDGE_INVALID_JSON);
        assert_string_equal(out.data, "kept");
        assert_int_equal(out.size, 4);
        kedge_buffer_free(&out);
    }
}

/* Deep, out of order, and with more open members than fit without memory. */
static void write_hard_document(kedge_buffer *text)
{
    for (int level = 0; level < 20; level++) {
        kedge_buffer_append_text(text, "{\"zz\":1.0,\"y\\u0079\":\"\\u0041\",\"x\":[1 ,2],\"a\":");
    }
    kedge_buffer_append_text(text, "null");
    for (int level = 0; level < 20; level++)
        kedge_buffer_append_byte(text, '}');
}

static bool normalize_hard_document(const kedge_allocator *allocator, void *context)
{
    const kedge_buffer *text = context;
    kedge_error error = {0};
    kedge_buffer out = kedge_buffer_make(allocator);
    kedge_status status = kedge_json_normalize(kedge_buffer_bytes(text), 64, &out, &error);
    if (status != KEDGE_OK) {
        assert_int_equal(status, KEDGE_NO_MEMORY);
        assert_string_equal(error.code, "out-of-memory");
        assert_int_equal(out.size, 0);
    }
    kedge_buffer_free(&out);
    return status == KEDGE_OK;
}

static void test_running_out_of_memory_anywhere_is_survived(void **state)
{
    (void)state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    write_hard_document(&text);
    assert_true(failing_allocator_try_every_call(normalize_hard_document, &text, 0) >= 10);
    kedge_buffer_free(&text);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CANONICAL.txt\n", argv[0]);
        return 2;
    }
    documents_file = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_examples_of_the_rfc_come_out_as_printed),
        cmocka_unit_test(test_escapes_numbers_and_space_have_one_spelling),
        cmocka_unit_test(test_documents_come_out_as_from_another_implementation),
        cmocka_unit_test(test_what_fails_leaves_the_buffer_as_it_was),
        cmocka_unit_test(test_running_out_of_memory_anywhere_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
