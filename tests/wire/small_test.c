/* Small messages: problems, pokes, cookies and the parts of bodies. */
#include "wire/body.h"
#include "wire/cookie.h"
#include "wire/poke.h"
#include "wire/problem.h"

#include "tests/wire/draw.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define LINEAGE "0123456789abcdef0123456789abcdef"

/* ---- problems ---- */

static void test_a_problem_is_written_as_rfc_9457_has_it(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_wire_problem_write(409, "mutation-gap", "say \"why\"", &out);
    assert_string_equal(out.data, "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,"
                                  "\"code\":\"mutation-gap\",\"detail\":\"say \\\"why\\\"\"}");
    kedge_buffer_free(&out);
}

static void test_the_title_of_a_problem_is_the_phrase_of_its_status(void **state)
{
    static const struct {
        int status;
        const char *title;
    } titles[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {599, "Internal Server Error"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        kedge_bytes title;
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_problem_write(titles[i].status, "code", "detail", &out);
        assert_true(kedge_json_member(kedge_buffer_bytes(&out), "title", &title));
        assert_true(kedge_json_text_equals(title, titles[i].title));
        kedge_buffer_free(&out);
    }
}

static void test_a_problem_that_was_written_is_read_as_the_same(void **state)
{
    static const int statuses[] = {400, 401, 403, 404, 405, 409, 410, 413,
                                   415, 416, 418, 429, 500, 501, 503};
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        char code[64];
        char detail[512];
        kedge_wire_problem read;
        draw from = draw_begin(seed);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        int status = statuses[draw_count(&from, sizeof statuses / sizeof statuses[0] - 1)];
        draw_chars(&from, code, sizeof code);
        draw_chars(&from, detail, sizeof detail);
        kedge_wire_problem_write(status, code, detail, &out);
        assert_true(kedge_wire_problem_read(&kedge_allocator_default,
                                            KEDGE_BYTES(KEDGE_WIRE_PROBLEM_TYPE "; charset=utf-8"),
                                            kedge_buffer_bytes(&out), &read));
        assert_int_equal(read.status, status);
        assert_string_equal(read.code, code);
        assert_string_equal(read.detail, detail);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

static void test_what_is_no_problem_of_kedge_is_told_apart(void **state)
{
    kedge_wire_problem read;
    kedge_bytes type = KEDGE_BYTES(KEDGE_WIRE_PROBLEM_TYPE);
    (void)state;
    assert_false(kedge_wire_problem_read(&kedge_allocator_default, KEDGE_BYTES("text/html"),
                                         KEDGE_BYTES("{\"code\":\"a\"}"), &read));
    assert_false(
        kedge_wire_problem_read(&kedge_allocator_default, type, KEDGE_BYTES("<html>"), &read));
    assert_false(kedge_wire_problem_read(&kedge_allocator_default, type,
                                         KEDGE_BYTES("{\"title\":\"a\"}"), &read));
    assert_false(kedge_wire_problem_read(&kedge_allocator_default, type,
                                         KEDGE_BYTES("{\"code\":1}"), &read));
    assert_true(kedge_wire_problem_read(&kedge_allocator_default, type,
                                        KEDGE_BYTES("{\"code\":\"a\"}"), &read));
    assert_int_equal(read.status, 0);
    assert_string_equal(read.detail, "");
}

/* ---- pokes and tickets ---- */

static void test_a_poke_is_an_event_with_a_version(void **state)
{
    char event[KEDGE_WIRE_EVENT_BYTES_MAX];
    kedge_wire_poke poke = {KEDGE_LIMIT_MUTATION_ID};
    (void)state;
    size_t size = kedge_wire_poke_write(&poke, event);
    assert_string_equal(event, "event: poke\ndata: {\"version\":9007199254740991}\n\n");
    assert_int_equal(size, strlen(event));
    size = kedge_wire_ping_write(event);
    assert_string_equal(event, "event: ping\ndata: {}\n\n");
    assert_int_equal(size, strlen(event));
}

static void test_a_poke_that_was_written_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        char event[KEDGE_WIRE_EVENT_BYTES_MAX];
        kedge_wire_poke read;
        draw from = draw_begin(seed);
        kedge_wire_poke poke = {draw_integer(&from, 0, KEDGE_LIMIT_MUTATION_ID)};
        size_t front = strlen("event: poke\ndata: ");
        size_t size = kedge_wire_poke_write(&poke, event);
        assert_true(kedge_wire_poke_read(&kedge_allocator_default, KEDGE_BYTES("poke"),
                                         (kedge_bytes){event + front, size - front - 2}, &read));
        assert_int_equal(read.version, poke.version);
        draw_end(&from);
    }
}

static void test_an_event_without_a_version_is_no_poke(void **state)
{
    kedge_wire_poke read;
    (void)state;
    assert_false(kedge_wire_poke_read(&kedge_allocator_default, KEDGE_BYTES("ping"),
                                      KEDGE_BYTES("{\"version\":1}"), &read));
    assert_false(kedge_wire_poke_read(&kedge_allocator_default, KEDGE_BYTES("poke"),
                                      KEDGE_BYTES("{\"version\":-1}"), &read));
    assert_false(kedge_wire_poke_read(&kedge_allocator_default, KEDGE_BYTES("poke"),
                                      KEDGE_BYTES("{}"), &read));
    assert_false(kedge_wire_poke_read(&kedge_allocator_default, KEDGE_BYTES("poke"),
                                      KEDGE_BYTES("{"), &read));
}

static void test_a_ticket_is_an_object_of_its_own(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_wire_ticket_write("0af3", &out);
    assert_string_equal(out.data, "{\"ticket\":\"0af3\"}");
    kedge_buffer_free(&out);
}

/* ---- cookies ---- */

static void check_written(const kedge_wire_cookie *cookie, const char *text)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_wire_cookie_write(&writer, cookie);
    assert_string_equal(out.data, text);
    kedge_buffer_free(&out);
}

static void test_a_cookie_tells_its_version_only_where_the_order_runs_ahead(void **state)
{
    (void)state;
    kedge_wire_cookie cookie = kedge_wire_cookie_of(7, LINEAGE);
    check_written(&cookie, "{\"order\":7,\"lineage\":\"" LINEAGE "\"}");
    cookie.order = 9;
    check_written(&cookie, "{\"order\":9,\"lineage\":\"" LINEAGE "\",\"version\":7}");
    cookie = kedge_wire_cookie_of(0, "");
    check_written(&cookie, "null");
}

static void test_a_cookie_that_was_written_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_wire_cookie read;
        char lineage[KEDGE_WIRE_LINEAGE_SIZE] = "";
        int64_t version = draw_integer(&from, 0, INT64_C(1) << 51);
        if (draw_count(&from, 9) > 0) memcpy(lineage, draw_hex(&from, 32).data, 32);
        kedge_wire_cookie cookie = kedge_wire_cookie_of(version, lineage);
        if (draw_boolean(&from)) cookie.order += draw_integer(&from, 0, INT64_C(1) << 50);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_json_writer writer = kedge_json_write(&out);
        kedge_wire_cookie_write(&writer, &cookie);
        assert_true(kedge_wire_cookie_read(kedge_buffer_bytes(&out), &read));
        assert_int_equal(read.kind, cookie.kind);
        if (cookie.kind == KEDGE_WIRE_COOKIE_OURS) {
            assert_int_equal(read.order, cookie.order);
            assert_int_equal(read.version, cookie.version);
            assert_string_equal(read.lineage, cookie.lineage);
            assert_true(read.ordered);
        }
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

static void test_the_cookie_of_another_backend_is_told_apart_and_may_have_an_order(void **state)
{
    static const struct {
        const char *text;
        bool ordered;
        int64_t order;
    } others[] = {
        {"3.7", true, 3},
        {"-2", true, -2},
        {"1e300", false, 0},
        {"-1e300", false, 0},
        {"\"abc\"", false, 0},
        {"{}", false, 0},
        {"{\"order\":5}", true, 5},
        {"{\"order\":\"5\"}", false, 0},
        {"{\"order\":5,\"lineage\":7}", true, 5},
        {"{\"order\":5.5,\"lineage\":\"a\"}", true, 5},
        {"{\"order\":-1,\"lineage\":\"a\"}", true, -1},
        {"{\"order\":5,\"lineage\":\"a\",\"version\":6}", true, 5},
        {"{\"order\":5,\"lineage\":\"" LINEAGE "0\"}", true, 5},
    };
    kedge_wire_cookie read;
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_true(kedge_wire_cookie_read(kedge_bytes_of(others[i].text), &read));
        assert_int_equal(read.kind, KEDGE_WIRE_COOKIE_OTHER);
        assert_int_equal(read.ordered, others[i].ordered);
        if (read.ordered) assert_int_equal(read.order, others[i].order);
    }
    assert_false(kedge_wire_cookie_read(KEDGE_BYTES("[]"), &read));
    assert_false(kedge_wire_cookie_read(KEDGE_BYTES("true"), &read));
}

/* ---- parts of bodies ---- */

static void test_the_headers_of_a_part_are_as_rfc_9110_has_them(void **state)
{
    char header[KEDGE_WIRE_RANGE_SIZE];
    kedge_wire_body_part part = {10, 19, 100};
    kedge_buffer path = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_wire_body_request_write(KEDGE_BYTES("a b"), (const uint8_t[KEDGE_SHA256_SIZE]){0xAB},
                                  &path);
    assert_string_equal(path.data,
                        "collections/a%20b/bodies/ab00000000000000000000000000000000000000"
                        "000000000000000000000000");
    kedge_buffer_free(&path);
    kedge_wire_range_write(10, 19, header);
    assert_string_equal(header, "bytes=10-19");
    kedge_wire_content_range_write(&part, header);
    assert_string_equal(header, "bytes 10-19/100");
    kedge_wire_content_range_write_outside(100, header);
    assert_string_equal(header, "bytes */100");
}

static void test_a_part_that_was_asked_for_and_named_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        char header[KEDGE_WIRE_RANGE_SIZE];
        draw from = draw_begin(seed);
        kedge_wire_body_part part = {.size_bytes =
                                         draw_integer(&from, 1, INT64_C(999999999999999))};
        kedge_wire_body_part read = {.size_bytes = part.size_bytes};
        part.first = draw_integer(&from, 0, part.size_bytes - 1);
        part.last = draw_integer(&from, part.first, part.size_bytes - 1);
        kedge_wire_range_write(part.first, part.last, header);
        assert_int_equal(kedge_wire_range_read(kedge_bytes_of(header), &read),
                         KEDGE_WIRE_RANGE_PART);
        assert_memory_equal(&read, &part, sizeof part);
        memset(&read, 0, sizeof read);
        kedge_wire_content_range_write(&part, header);
        assert_true(kedge_wire_content_range_read(kedge_bytes_of(header), &read));
        assert_memory_equal(&read, &part, sizeof part);
        draw_end(&from);
    }
}

static void test_a_range_is_a_part_or_outside_or_ignored(void **state)
{
    static const struct {
        const char *header;
        kedge_wire_range range;
        int64_t first, last;
    } cases[] = {
        {"", KEDGE_WIRE_RANGE_ALL, 0, 0},
        {"items=0-1", KEDGE_WIRE_RANGE_ALL, 0, 0},
        {"bytes=5", KEDGE_WIRE_RANGE_ALL, 0, 0},
        {"bytes=-", KEDGE_WIRE_RANGE_ALL, 0, 0},
        {"bytes=5-4", KEDGE_WIRE_RANGE_ALL, 0, 0},
        {"bytes=0-1,3-4", KEDGE_WIRE_RANGE_ALL, 0, 0},
        {"bytes=2-", KEDGE_WIRE_RANGE_PART, 2, 9},
        {"bytes=2-99", KEDGE_WIRE_RANGE_PART, 2, 9},
        {"bytes=-3", KEDGE_WIRE_RANGE_PART, 7, 9},
        {"bytes=-30", KEDGE_WIRE_RANGE_PART, 0, 9},
        {"bytes=10-", KEDGE_WIRE_RANGE_OUTSIDE, 0, 0},
        {"bytes=-0", KEDGE_WIRE_RANGE_OUTSIDE, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kedge_wire_body_part part = {.size_bytes = 10};
        assert_int_equal(kedge_wire_range_read(kedge_bytes_of(cases[i].header), &part),
                         cases[i].range);
        if (cases[i].range != KEDGE_WIRE_RANGE_PART) continue;
        assert_int_equal(part.first, cases[i].first);
        assert_int_equal(part.last, cases[i].last);
    }
}

static void test_a_content_range_that_names_no_part_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "items 1-2/3",
                                        "bytes x",
                                        "bytes 1",
                                        "bytes 1-",
                                        "bytes 1-x",
                                        "bytes 1-2",
                                        "bytes 1-2/",
                                        "bytes 1-2/*",
                                        "bytes 1-2/3x",
                                        "bytes 2-1/3",
                                        "bytes 1-3/3",
                                        "bytes 0-0/0",
                                        "bytes 1-2/1234567890123456"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_wire_body_part part;
        assert_false(kedge_wire_content_range_read(kedge_bytes_of(wrong[i]), &part));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_problem_is_written_as_rfc_9457_has_it),
        cmocka_unit_test(test_the_title_of_a_problem_is_the_phrase_of_its_status),
        cmocka_unit_test(test_a_problem_that_was_written_is_read_as_the_same),
        cmocka_unit_test(test_what_is_no_problem_of_kedge_is_told_apart),
        cmocka_unit_test(test_a_poke_is_an_event_with_a_version),
        cmocka_unit_test(test_a_poke_that_was_written_is_read_as_the_same),
        cmocka_unit_test(test_an_event_without_a_version_is_no_poke),
        cmocka_unit_test(test_a_ticket_is_an_object_of_its_own),
        cmocka_unit_test(test_a_cookie_tells_its_version_only_where_the_order_runs_ahead),
        cmocka_unit_test(test_a_cookie_that_was_written_is_read_as_the_same),
        cmocka_unit_test(test_the_cookie_of_another_backend_is_told_apart_and_may_have_an_order),
        cmocka_unit_test(test_the_headers_of_a_part_are_as_rfc_9110_has_them),
        cmocka_unit_test(test_a_part_that_was_asked_for_and_named_is_read_as_the_same),
        cmocka_unit_test(test_a_range_is_a_part_or_outside_or_ignored),
        cmocka_unit_test(test_a_content_range_that_names_no_part_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
