/* Numbers: RFC 8785's table, what ECMA-262 writes for some 2,000 doubles, and correct rounding. */
#include "common/json.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *numbers_file;

typedef struct row {
    uint64_t bits;
    const char *text;
} row;

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void assert_written_and_read(uint64_t bits, const char *text)
{
    char written[KEDGE_JSON_NUMBER_SIZE];
    double value = double_of(bits);
    double back;
    assert_int_equal(kedge_json_format_number(value, written), strlen(text));
    assert_string_equal(written, text);
    assert_true(kedge_json_to_number(kedge_bytes_of(text), &back));
    assert_true(back == value);
}

/* RFC 8785, appendix B. */
static void test_numbers_are_written_as_the_rfc_lists_them(void **state)
{
    (void)state;
    static const row rows[] = {
        {0x0000000000000000, "0"},
        {0x8000000000000000, "0"},
        {0x0000000000000001, "5e-324"},
        {0x8000000000000001, "-5e-324"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0xffefffffffffffff, "-1.7976931348623157e+308"},
        {0x4340000000000000, "9007199254740992"},
        {0xc340000000000000, "-9007199254740992"},
        {0x4430000000000000, "295147905179352830000"},
        {0x44b52d02c7e14af5, "9.999999999999997e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
        {0x444b1ae4d6e2ef4e, "999999999999999700000"},
        {0x444b1ae4d6e2ef4f, "999999999999999900000"},
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
        {0x3eb0c6f7a0b5ed8d, "0.000001"},
        {0x41b3de4355555553, "333333333.3333332"},
        {0x41b3de4355555554, "333333333.33333325"},
        {0x41b3de4355555555, "333333333.3333333"},
        {0x41b3de4355555556, "333333333.3333334"},
        {0x41b3de4355555557, "333333333.33333343"},
        {0xbecbf647612f3696, "-0.0000033333333333333333"},
        {0x43143ff3c1cb0959, "1424953923781206.2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_written_and_read(rows[i].bits, rows[i].text);
    }
}

static void assert_file_agrees(size_t rows_min)
{
    char line[128];
    size_t rows = 0;
    FILE *file = fopen(numbers_file, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#') continue;
        line[strcspn(line, "\n")] = '\0';
        char *text;
        uint64_t bits = strtoull(line, &text, 16);
        assert_written_and_read(bits, text + 1);
        rows++;
    }
    fclose(file);
    assert_true(rows >= rows_min);
}

static void test_numbers_are_written_as_another_implementation_writes_them(void **state)
{
    (void)state;
    assert_file_agrees(2000);
}

/* The nearest double decides; the digits that tell may come very late. */
static void test_reading_rounds_correctly_however_long_the_number_is(void **state)
{
    (void)state;
    static const char *const half = "9007199254740993"; /* between two doubles: to the even one */
    double value;
    assert_true(kedge_json_to_number(kedge_bytes_of(half), &value));
    assert_true(value == 9007199254740992.0);

    char text[3000];
    int size = snprintf(text, sizeof text, "%s.", half);
    memset(text + size, '0', 2000);
    text[size + 2000] = '1';
    assert_true(kedge_json_to_number((kedge_bytes){text, (size_t)size + 2001}, &value));
    assert_true(value == 9007199254740994.0);

    memset(text, '0', sizeof text);
    memcpy(text, "0.", 2);
    memcpy(text + 2500, "1e2499", 6);
    assert_true(kedge_json_to_number((kedge_bytes){text, 2506}, &value));
    assert_true(value == 1.0);
}

static void test_the_edges_of_the_range_are_where_a_double_has_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        double value;
    } rows[] = {
        {"1.7976931348623157e308", true, 1.7976931348623157e308},
        {"1.7976931348623158e308", true, 1.7976931348623157e308},
        {"1.7976931348623159e308", false, 0},
        {"1e309", false, 0},
        {"-1e999999999999999999999", false, 0},
        {"1e-999999999999999999999", true, 0},
        {"0e999999999999999999999", true, 0},
        {"5e-324", true, 5e-324},
        {"2.4703282292062327e-324", true, 0},
        {"2.4703282292062328e-324", true, 5e-324},
        {"2.2250738585072011e-308", true, 2.2250738585072011e-308},
        {"-0", true, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = 0;
        assert_int_equal(kedge_json_to_number(kedge_bytes_of(rows[i].text), &value), rows[i].ok);
        assert_true(value == rows[i].value);
        assert_false(signbit(value));
    }
}

/* In many places the decimal point is a comma, which printf and strtod follow. */
static void test_a_locale_with_a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "pt_BR.UTF-8"};
    size_t tried = 0;
    for (size_t i = 0; i < sizeof locales / sizeof locales[0]; i++) {
        if (setlocale(LC_ALL, locales[i]) == NULL) continue;
        assert_string_equal(localeconv()->decimal_point, ",");
        assert_file_agrees(2000);
        tried++;
    }
    setlocale(LC_ALL, "C");
    if (tried == 0) skip();
}

static void test_a_number_that_has_no_text_is_written_as_null(void **state)
{
    (void)state;
    char text[KEDGE_JSON_NUMBER_SIZE];
    assert_int_equal(kedge_json_format_number((double)INFINITY, text), 4);
    assert_string_equal(text, "null");
    kedge_json_format_number((double)NAN, text);
    assert_string_equal(text, "null");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s NUMBERS.txt\n", argv[0]);
        return 2;
    }
    numbers_file = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_written_as_the_rfc_lists_them),
        cmocka_unit_test(test_numbers_are_written_as_another_implementation_writes_them),
        cmocka_unit_test(test_reading_rounds_correctly_however_long_the_number_is),
        cmocka_unit_test(test_the_edges_of_the_range_are_where_a_double_has_them),
        cmocka_unit_test(test_a_locale_with_a_decimal_comma_changes_nothing),
        cmocka_unit_test(test_a_number_that_has_no_text_is_written_as_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
