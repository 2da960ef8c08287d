/* Uploads: what is asked for, what is granted, and the push that names one. */
#include "wire/upload.h"

#include "tests/wire/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void test_an_upload_has_these_bytes(void **state)
{
    kedge_wire_upload_request request = {.size_bytes = 70000};
    kedge_wire_upload_response response = {.url = "https://b.example/k?a=1",
                                           .headers = {{"x-sum", "abc="}, {"x-size", "7"}},
                                           .header_count = 2,
                                           .expires_in_ms = 300000};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_hex_decode(KEDGE_BYTES(HASH), request.sha256, sizeof request.sha256);
    kedge_wire_upload_request_write(&request, &out);
    assert_string_equal(out.data, "{\"sha256\":\"" HASH "\",\"bytes\":70000}");
    kedge_buffer_clear(&out);
    kedge_wire_upload_response_write(&response, &out);
    assert_string_equal(out.data, "{\"url\":\"https://b.example/k?a=1\",\"headers\":{"
                                  "\"x-sum\":\"abc=\",\"x-size\":\"7\"},"
                                  "\"expires_in_ms\":300000}");
    kedge_buffer_clear(&out);
    kedge_wire_upload_reference_write(request.sha256, &out);
    assert_string_equal(out.data, "{\"pushVersion\":1,\"upload\":\"" HASH "\"}");
    kedge_buffer_free(&out);
}

static void check_request(draw *from)
{
    bool named = false;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_wire_upload_request read;
    kedge_wire_upload_request request = {.size_bytes =
                                             draw_integer(from, 1, KEDGE_LIMIT_MUTATION_ID)};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    draw_bytes(from, request.sha256, sizeof request.sha256);
    kedge_wire_upload_request_write(&request, &out);
    kedge_wire_request body = {.body = kedge_buffer_bytes(&out)};
    assert_int_equal(kedge_wire_upload_request_read(&body, &read, NULL), KEDGE_OK);
    assert_memory_equal(read.sha256, request.sha256, sizeof read.sha256);
    assert_int_equal(read.size_bytes, request.size_bytes);
    kedge_buffer_clear(&out);
    kedge_wire_upload_reference_write(request.sha256, &out);
    body.body = kedge_buffer_bytes(&out);
    assert_int_equal(kedge_wire_upload_reference_read(&body, &named, hash, NULL), KEDGE_OK);
    assert_true(named);
    assert_memory_equal(hash, request.sha256, sizeof hash);
    kedge_buffer_free(&out);
}

static void check_response(draw *from)
{
    char texts[2 * KEDGE_WIRE_UPLOAD_HEADERS_MAX + 1][64];
    kedge_wire_upload_response read;
    kedge_wire_upload_response response = {
        .url = texts[0],
        .header_count = draw_count(from, KEDGE_WIRE_UPLOAD_HEADERS_MAX),
        .expires_in_ms = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID)};
    draw_chars(from, texts[0], sizeof texts[0]);
    for (size_t i = 0; i < response.header_count; i++) {
        char *name = texts[2 * i + 1];
        char *value = texts[2 * i + 2];
        snprintf(name, sizeof texts[0], "x-%zu", i);
        draw_chars(from, value, sizeof texts[0]);
        response.headers[i] = (kedge_wire_upload_header){name, value};
    }
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_upload_response_write(&response, &out);
    assert_int_equal(kedge_wire_upload_response_read(&kedge_allocator_default,
                                                     kedge_buffer_bytes(&out), &read, NULL),
                     KEDGE_OK);
    assert_string_equal(read.url, response.url);
    assert_int_equal(read.expires_in_ms, response.expires_in_ms);
    assert_int_equal(read.header_count, response.header_count);
    for (size_t i = 0; i < read.header_count; i++) {
        assert_string_equal(read.headers[i].name, response.headers[i].name);
        assert_string_equal(read.headers[i].value, response.headers[i].value);
    }
    kedge_wire_upload_response_free(&read);
    kedge_buffer_free(&out);
}

static void test_an_upload_that_was_written_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        check_request(&from);
        check_response(&from);
        draw_end(&from);
    }
}

static void test_a_grant_that_is_not_kedges_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "{}",
        "[]",
        "{\"url\":1,\"headers\":{}}",
        "{\"url\":\"a\"}",
        "{\"url\":\"a\",\"headers\":[]}",
        "{\"url\":\"a\",\"headers\":{\"a\":1}}",
        "{\"url\":\"a\",\"headers\":{\"1\":\"\",\"2\":\"\",\"3\":\"\",\"4\":\"\",\"5\":\"\","
        "\"6\":\"\",\"7\":\"\",\"8\":\"\",\"9\":\"\"}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_wire_upload_response read;
        kedge_error error = {0};
        assert_int_equal(kedge_wire_upload_response_read(&kedge_allocator_default,
                                                         kedge_bytes_of(wrong[i]), &read, &error),
                         KEDGE_PROTOCOL);
        assert_string_equal(error.code, "response-invalid");
        kedge_wire_upload_response_free(&read);
    }
}

static void test_a_push_with_mutations_names_no_upload(void **state)
{
    static const char *const others[] = {"{\"pushVersion\":1,\"upload\":\"" HASH
                                         "\",\"mutations\":[]}",
                                         "{\"pushVersion\":2,\"upload\":\"" HASH "\"}",
                                         "{\"upload\":\"" HASH "\"}",
                                         "{\"pushVersion\":1}",
                                         "[]",
                                         "{"};
    bool named = true;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_error error = {0};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        kedge_wire_request body = {.body = kedge_bytes_of(others[i])};
        assert_int_equal(kedge_wire_upload_reference_read(&body, &named, hash, NULL), KEDGE_OK);
        assert_false(named);
    }
    kedge_wire_request body = {.body = KEDGE_BYTES("{\"pushVersion\":1,\"upload\":\"A\"}")};
    assert_int_equal(kedge_wire_upload_reference_read(&body, &named, hash, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.message, "upload must be 64 lower-case hexadecimal digits");
}

static void test_a_long_body_or_one_that_was_cut_off_names_no_upload(void **state)
{
    char body[2048];
    bool named = true;
    uint8_t hash[KEDGE_SHA256_SIZE];
    (void)state;
    snprintf(body, sizeof body, "{\"pushVersion\":1,\"upload\":\"" HASH "\"%1024s}", "");
    kedge_wire_request request = {.body = kedge_bytes_of(body)};
    assert_int_equal(kedge_wire_upload_reference_read(&request, &named, hash, NULL), KEDGE_OK);
    assert_false(named);
    request = (kedge_wire_request){
        .body = KEDGE_BYTES("{\"pushVersion\":1,\"upload\":\"" HASH "\"}"), .truncated = true};
    assert_int_equal(kedge_wire_upload_reference_read(&request, &named, hash, NULL), KEDGE_OK);
    assert_false(named);
}

static void test_a_header_that_is_too_long_is_refused(void **state)
{
    char body[1024];
    char name[600];
    kedge_wire_upload_response read;
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(body, sizeof body, "{\"url\":\"u\",\"headers\":{\"%s\":\"v\"}}", name);
    assert_int_equal(kedge_wire_upload_response_read(&kedge_allocator_default, kedge_bytes_of(body),
                                                     &read, NULL),
                     KEDGE_PROTOCOL);
    kedge_wire_upload_response_free(&read);
    read = (kedge_wire_upload_response){.url = NULL};
    kedge_wire_upload_response_free(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_upload_has_these_bytes),
        cmocka_unit_test(test_an_upload_that_was_written_is_read_as_the_same),
        cmocka_unit_test(test_a_grant_that_is_not_kedges_is_refused),
        cmocka_unit_test(test_a_push_with_mutations_names_no_upload),
        cmocka_unit_test(test_a_long_body_or_one_that_was_cut_off_names_no_upload),
        cmocka_unit_test(test_a_header_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
