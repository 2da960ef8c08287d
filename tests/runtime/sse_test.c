/* The event stream parser, against the rules of the WHATWG HTML standard, 9.2.6. */
#include "sdk/net/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What came, as "event=data;" with LF shown as "|". */
typedef struct heard {
    kedge_buffer text;
    int stop_after; /* events; 0: never */
    int count;
} heard;

static bool hear(void *context, kedge_bytes event, kedge_bytes data)
{
    heard *got = context;
    kedge_buffer_append_bytes(&got->text, event);
    kedge_buffer_append_byte(&got->text, '=');
    for (size_t i = 0; i < data.size; i++) {
        kedge_buffer_append_byte(&got->text, data.data[i] == '\n' ? '|' : data.data[i]);
    }
    kedge_buffer_append_byte(&got->text, ';');
    return ++got->count != got->stop_after;
}

/* Feeds in portions of `portion` bytes. */
static kedge_status feed(heard *got, const char *stream, size_t size, size_t portion)
{
    kedge_sse sse = kedge_sse_make(&kedge_allocator_default, hear, got);
    kedge_status status = KEDGE_OK;
    for (size_t at = 0; at < size && status == KEDGE_OK; at += portion) {
        size_t now = size - at < portion ? size - at : portion;
        status = kedge_sse_feed(&sse, (kedge_bytes){stream + at, now}, NULL);
    }
    kedge_sse_free(&sse);
    return status;
}

/* However the bytes are cut, the events are the same. */
static void expect(const char *stream, const char *events)
{
    size_t size = strlen(stream);
    for (size_t portion = 1; portion <= size; portion++) {
        heard got = {.text = kedge_buffer_make(&kedge_allocator_default)};
        assert_int_equal(feed(&got, stream, size, portion), KEDGE_OK);
        assert_string_equal(got.text.data == NULL ? "" : got.text.data, events);
        kedge_buffer_free(&got.text);
    }
}

static void test_an_event_has_a_name_and_data(void **state)
{
    (void)state;
    expect("event: poke\ndata: {\"version\":7}\n\n", "poke={\"version\":7};");
    expect("data: one\n\ndata:two\n\n", "message=one;message=two;");
    expect("data:  two spaces\n\n", "message= two spaces;");
    expect("event: a\nevent: b\ndata: x\n\n", "b=x;");
}

static void test_a_line_ends_in_any_of_three_ways(void **state)
{
    (void)state;
    expect("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "message=a;message=b;message=c;");
    expect("data: a\r\ndata: b\r\n\r\n", "message=a|b;");
}

static void test_several_data_lines_make_one_text(void **state)
{
    (void)state;
    expect("data: a\ndata\ndata: b\n\n", "message=a||b;");
    expect("data\n\n", "message=;");
    expect("data\ndata\n\n", "message=|;");
}

static void test_an_event_without_data_is_none(void **state)
{
    (void)state;
    expect("event: ping\n\ndata: x\n\n", "message=x;");
    expect("\n\n\n", "");
}

static void test_comments_and_unknown_fields_are_ignored(void **state)
{
    (void)state;
    expect(": hello\n:\nid: 4\nretry: 10\nother\nother: x\ndata: x\n\n", "message=x;");
}

static void test_a_byte_order_mark_is_ignored_at_the_start_only(void **state)
{
    (void)state;
    expect("\xEF\xBB\xBF"
           "data: a\n\n",
           "message=a;");
    expect("data: a\n\n\xEF\xBB\xBF"
           "data: b\n\n",
           "message=a;");
}

static void test_an_event_that_never_ends_is_not_told(void **state)
{
    (void)state;
    expect("data: a\n\ndata: b\n", "message=a;");
}

static void test_a_line_over_the_limit_is_refused(void **state)
{
    (void)state;
    char *long_line = malloc(KEDGE_SSE_LINE_MAX + 1);
    assert_non_null(long_line);
    memset(long_line, 'x', KEDGE_SSE_LINE_MAX + 1);
    for (size_t portion = 1000; portion <= KEDGE_SSE_LINE_MAX + 1; portion += 64537) {
        heard got = {.text = kedge_buffer_make(&kedge_allocator_default)};
        assert_int_equal(feed(&got, long_line, KEDGE_SSE_LINE_MAX, portion), KEDGE_OK);
        assert_int_equal(feed(&got, long_line, KEDGE_SSE_LINE_MAX + 1, portion), KEDGE_PROTOCOL);
        kedge_buffer_free(&got.text);
    }
    free(long_line);
}

static void test_data_over_the_limit_is_refused(void **state)
{
    (void)state;
    kedge_buffer stream = kedge_buffer_make(&kedge_allocator_default);
    heard got = {.text = kedge_buffer_make(&kedge_allocator_default)};
    for (int i = 0; i < KEDGE_SSE_LINE_MAX / 8 + 1; i++) {
        kedge_buffer_append_text(&stream, "data: 1234567\n");
    }
    assert_int_equal(feed(&got, stream.data, stream.size, stream.size), KEDGE_PROTOCOL);
    kedge_buffer_free(&stream);
    kedge_buffer_free(&got.text);
}

static void test_the_function_can_end_the_feeding(void **state)
{
    (void)state;
    const char *stream = "data: a\n\ndata: b\n\ndata: c\n\n";
    heard got = {.text = kedge_buffer_make(&kedge_allocator_default), .stop_after = 2};
    assert_int_equal(feed(&got, stream, strlen(stream), strlen(stream)), KEDGE_CANCELLED);
    assert_string_equal(got.text.data, "message=a;message=b;");
    kedge_buffer_free(&got.text);
}

/* Random streams of the grammar's own pieces, cut at random places: memory-safe (run under a
 * sanitizer), and equal to the uncut stream. */
static void test_any_bytes_in_any_portions_are_survived(void **state)
{
    static const char *const pieces[] = {
        "data", "event", ":", " ", "\n", "\r", "\r\n", "x", "\n\n", "\xEF\xBB\xBF", "\xFF", "id:1"};
    uint64_t random = 42;
    (void)state;
    for (int run = 0; run < 2000; run++) {
        kedge_buffer stream = kedge_buffer_make(&kedge_allocator_default);
        heard whole = {.text = kedge_buffer_make(&kedge_allocator_default)};
        heard cut = {.text = kedge_buffer_make(&kedge_allocator_default)};
        for (int i = 0; i < 60; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            kedge_buffer_append_text(&stream, pieces[(random >> 33) % 12]);
        }
        kedge_buffer_append_byte(&stream, '\0');
        size_t portion = (size_t)(random >> 40) % 7 + 1;
        assert_int_equal(feed(&whole, stream.data, stream.size, stream.size), KEDGE_OK);
        assert_int_equal(feed(&cut, stream.data, stream.size, portion), KEDGE_OK);
        assert_true(
            kedge_bytes_equal(kedge_buffer_bytes(&whole.text), kedge_buffer_bytes(&cut.text)));
        kedge_buffer_free(&stream);
        kedge_buffer_free(&whole.text);
        kedge_buffer_free(&cut.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event_has_a_name_and_data),
        cmocka_unit_test(test_a_line_ends_in_any_of_three_ways),
        cmocka_unit_test(test_several_data_lines_make_one_text),
        cmocka_unit_test(test_an_event_without_data_is_none),
        cmocka_unit_test(test_comments_and_unknown_fields_are_ignored),
        cmocka_unit_test(test_a_byte_order_mark_is_ignored_at_the_start_only),
        cmocka_unit_test(test_an_event_that_never_ends_is_not_told),
        cmocka_unit_test(test_a_line_over_the_limit_is_refused),
        cmocka_unit_test(test_data_over_the_limit_is_refused),
        cmocka_unit_test(test_the_function_can_end_the_feeding),
        cmocka_unit_test(test_any_bytes_in_any_portions_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
