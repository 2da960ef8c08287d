/* Reading what services answer with: XML and dates. */
#include "backend/aws/date.h"
#include "backend/aws/xml.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TRACE_SIZE 2048

/* "path=text;" of every element, in the order of their ends. */
static bool trace(void *context, const char *path, kedge_bytes text)
{
    char *out = context;
    size_t size = strlen(out);
    snprintf(out + size, TRACE_SIZE - size, "%s=%.*s;", path, (int)text.size, text.data);
    return true;
}

static kedge_status read_xml(const char *document, char *out, kedge_error *error)
{
    out[0] = '\0';
    return kedge_aws_xml_read(&kedge_allocator_default, kedge_bytes_of(document), trace, out,
                              error);
}

static void test_elements_come_with_their_paths(void **state)
{
    char out[TRACE_SIZE];
    (void)state;
    assert_int_equal(
        read_xml("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<List xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><More>false</More>"
                 "<Item><Key>a &amp; b</Key> <Size>1</Size></Item><Item><Key/></Item></List>\n",
                 out, NULL),
        KEDGE_OK);
    assert_string_equal(out, "List/More=false;List/Item/Key=a & b;List/Item/Size=1;List/Item= ;"
                             "List/Item/Key=;List/Item=;List=;");
}

static void test_names_come_without_their_prefix(void **state)
{
    char out[TRACE_SIZE];
    (void)state;
    assert_int_equal(read_xml("<s3:A xmlns:s3=\"x\"><s3:B>1</s3:B></s3:A>", out, NULL), KEDGE_OK);
    assert_string_equal(out, "A/B=1;A=;");
}

static void test_text_around_elements_stays_apart(void **state)
{
    char out[TRACE_SIZE];
    (void)state;
    assert_int_equal(read_xml("<A>one<B>two<![CDATA[<3>]]></B>four</A>", out, NULL), KEDGE_OK);
    assert_string_equal(out, "A/B=two<3>;A=onefour;");
}

static void test_what_is_no_whole_document_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "<A>",
        "<A></B>",
        "<A/><B/>",
        "<html><br></html>",
        "<A>&unknown;</A>",
        "<!DOCTYPE A [<!ENTITY e \"x\">]><A>&e;</A>",
        "<!DOCTYPE html><html/>",
        "{\"a\":1}",
    };
    char out[TRACE_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        kedge_error error = {0};
        assert_int_equal(read_xml(bad[i], out, &error), KEDGE_PROTOCOL);
        assert_string_equal(error.code, "xml-invalid");
    }
}

static void test_depth_and_text_are_bounded(void **state)
{
    kedge_buffer document = kedge_buffer_make(&kedge_allocator_default);
    char out[TRACE_SIZE];
    (void)state;
    for (int depth = KEDGE_AWS_XML_DEPTH_MAX; depth <= KEDGE_AWS_XML_DEPTH_MAX + 1; depth++) {
        kedge_buffer_clear(&document);
        for (int i = 0; i < depth; i++) {
            kedge_buffer_append_text(&document, "<A>");
        }
        for (int i = 0; i < depth; i++) {
            kedge_buffer_append_text(&document, "</A>");
        }
        assert_int_equal(read_xml(document.data, out, NULL),
                         depth == KEDGE_AWS_XML_DEPTH_MAX ? KEDGE_OK : KEDGE_PROTOCOL);
    }
    kedge_buffer_clear(&document);
    kedge_buffer_append_text(&document, "<A>");
    for (int i = 0; i <= KEDGE_AWS_XML_TEXT_BYTES_MAX; i++) {
        kedge_buffer_append_byte(&document, 'x');
    }
    kedge_buffer_append_text(&document, "</A>");
    assert_int_equal(read_xml(document.data, out, NULL), KEDGE_PROTOCOL);
    kedge_buffer_free(&document);
}

/* An element without content ends where it begins, also one that was refused. */
static void test_an_empty_element_out_of_bounds_is_not_told(void **state)
{
    kedge_buffer document = kedge_buffer_make(&kedge_allocator_default);
    char out[TRACE_SIZE];
    (void)state;
    for (size_t size = KEDGE_AWS_XML_PATH_BYTES_MAX - 2; size <= KEDGE_AWS_XML_PATH_BYTES_MAX + 200;
         size++) {
        kedge_buffer_clear(&document);
        kedge_buffer_append_byte(&document, '<');
        for (size_t i = 0; i < size; i++) {
            kedge_buffer_append_byte(&document, 'x');
        }
        kedge_buffer_append_text(&document, "/>");
        bool fits = size <= KEDGE_AWS_XML_PATH_BYTES_MAX - 2;
        assert_int_equal(read_xml(document.data, out, NULL), fits ? KEDGE_OK : KEDGE_PROTOCOL);
        assert_int_equal(strlen(out), fits ? size + 2 : 0);
    }
    kedge_buffer_clear(&document);
    for (int i = 0; i < KEDGE_AWS_XML_DEPTH_MAX; i++) {
        kedge_buffer_append_text(&document, "<A>");
    }
    kedge_buffer_append_byte(&document, '<');
    for (size_t i = 0; i < 400; i++) {
        kedge_buffer_append_byte(&document, 'x');
    }
    kedge_buffer_append_text(&document, "/>");
    assert_int_equal(read_xml(document.data, out, NULL), KEDGE_PROTOCOL);
    assert_string_equal(out, "");
    kedge_buffer_free(&document);
}

static bool read_with(const kedge_allocator *allocator, void *context)
{
    char out[TRACE_SIZE] = "";
    (void)context;
    kedge_status status =
        kedge_aws_xml_read(allocator, KEDGE_BYTES("<A><B>text</B>more</A>"), trace, out, NULL);
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
    return status == KEDGE_OK;
}

static void test_xml_survives_failing_memory(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(read_with, NULL, 100) > 0);
}

static void test_dates_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t time_ms;
    } dates[] = {
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777000},
        {"Thu, 29 Feb 2024 23:59:59 GMT", 1709251199000},
        {"Fri, 01 Mar 2024 00:00:00 GMT", 1709251200000},
        {"Wed, 31 Dec 2098 12:00:00 GMT", 4070865600000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        int64_t time_ms = -1;
        assert_true(kedge_aws_date_read(kedge_bytes_of(dates[i].text), &time_ms));
        assert_int_equal(time_ms, dates[i].time_ms);
    }
}

static void test_what_is_no_date_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, x6 Nov 1994 08:49:37 GMT",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t time_ms = -1;
        assert_false(kedge_aws_date_read(kedge_bytes_of(bad[i]), &time_ms));
        assert_int_equal(time_ms, -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_come_with_their_paths),
        cmocka_unit_test(test_names_come_without_their_prefix),
        cmocka_unit_test(test_text_around_elements_stays_apart),
        cmocka_unit_test(test_what_is_no_whole_document_is_refused),
        cmocka_unit_test(test_depth_and_text_are_bounded),
        cmocka_unit_test(test_an_empty_element_out_of_bounds_is_not_told),
        cmocka_unit_test(test_xml_survives_failing_memory),
        cmocka_unit_test(test_dates_are_read),
        cmocka_unit_test(test_what_is_no_date_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
