/* A push that is too large for the server's front end, request by request: what is sent where, and
 * what each response means. */
#include "tests/core/scripted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GRANT                                                                                      \
    "{\"url\":\"http://blobs.example/b/k?sig=1\",\"headers\":{\"x-sum\":\"abc=\"},"                \
    "\"expires_in_ms\":300000}"

static char digest[65];

/* One mutation is pushed, and refused by something that is not Kedge; the upload is asked for. */
static void ask_for_an_upload(scripted *s)
{
    scripted_put(s, "a", 1);
    assert_string_equal(s->push.path, "push");
    scripted_respond_push(s, 413, "{\"message\":\"Request Entity Too Large\"}");
    assert_string_equal(s->push.method, "POST");
    assert_string_equal(s->push.path, "push/upload");
    assert_string_equal(s->push.url, "");
    int64_t bytes;
    kedge_bytes body = kedge_bytes_of(s->push.body);
    assert_true(kedge_json_member_chars(body, "sha256", digest, sizeof digest));
    assert_true(kedge_json_member_integer(body, "bytes", &bytes));
    assert_in_range(bytes, 20, 1000);
}

static void put_it(scripted *s)
{
    scripted_respond_push(s, 200, GRANT);
    assert_string_equal(s->push.method, "PUT");
    assert_string_equal(s->push.url, "http://blobs.example/b/k?sig=1");
}

static void test_an_upload_is_three_requests_in_a_row(void **state)
{
    scripted *s = *state;
    char expected[128];
    scripted_pulled(s, 0, 0, 0, "", "");
    kedge_driver_token(s->driver, "secret");
    ask_for_an_upload(s);
    assert_string_equal(s->push.token, "secret");
    put_it(s);
    assert_string_equal(s->push.token, "");
    assert_string_equal(s->push.headers, "x-sum: abc=\n");
    assert_memory_equal(s->push.body, "\x1f\x8b", 2);
    scripted_respond_push(s, 200, "");
    assert_string_equal(s->push.method, "POST");
    assert_string_equal(s->push.path, "push");
    assert_string_equal(s->push.token, "secret");
    assert_string_equal(s->push.url, "");
    snprintf(expected, sizeof expected, "{\"pushVersion\":1,\"upload\":\"%s\"}", digest);
    assert_string_equal(s->push.body, expected);
    scripted_respond_push(s, 200, "{\"kedge\":{\"version\":1}}");
    assert_int_equal(s->push.number, 0);
    scripted_put(s, "b", 2);
    assert_non_null(strstr(s->push.body, "\"mutations\""));
}

/* Time passes, and the upload is still under way. */
static void pass(scripted *s, int64_t milliseconds)
{
    uint64_t number = s->push.number;
    s->now_ms += milliseconds;
    kedge_driver_sync(s->driver);
    assert_int_equal(s->push.number, number);
}

static void test_each_request_of_an_upload_has_the_whole_deadline(void **state)
{
    scripted *s = *state;
    scripted_pulled(s, 0, 0, 0, "", "");
    ask_for_an_upload(s);
    put_it(s);
    for (int i = 0; i < 5; i++) {
        pass(s, KEDGE_LIMIT_REQUEST_DEADLINE_MS);
        kedge_driver_request_moved(s->driver, s->push.number);
    }
    pass(s, KEDGE_LIMIT_REQUEST_DEADLINE_MS); /* then the response comes */
    scripted_respond_push(s, 200, "");
    assert_string_equal(s->push.path, "push");
    pass(s, KEDGE_LIMIT_REQUEST_DEADLINE_MS);
    uint64_t number = s->push.number;
    s->now_ms += KEDGE_CORE_GUARD_MS;
    kedge_driver_sync(s->driver);
    assert_int_not_equal(s->push.number, number);
}

/* The next try is an ordinary push. */
static void check_no_uploads(scripted *s, int status, const char *code)
{
    scripted_pulled(s, 0, 0, 0, "", "");
    ask_for_an_upload(s);
    scripted_refuse_push(s, status, code);
    assert_int_equal(s->push.number, 0);
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    assert_string_equal(s->error.code, "push-too-large");
    scripted_respond_pull(s, 0, "");
    while (s->push.number == 0) {
        if (s->pull.number != 0) scripted_respond_pull(s, 0, "");
        scripted_timer(s);
    }
    assert_string_equal(s->push.path, "push");
}

static void test_a_server_without_uploads_takes_no_mutation_as_large(void **state)
{
    check_no_uploads(*state, 501, "uploads-not-served");
}

static void test_a_server_that_does_not_know_of_uploads_takes_no_mutation_as_large(void **state)
{
    check_no_uploads(*state, 404, "route-not-found");
}

static void test_an_upload_may_be_too_large_as_well(void **state)
{
    check_no_uploads(*state, 413, "push-too-large");
}

static void test_a_failed_upload_begins_anew(void **state)
{
    scripted *s = *state;
    scripted_pulled(s, 0, 0, 0, "", "");
    ask_for_an_upload(s);
    for (int at = 0; at < 6; at++) {
        assert_string_equal(s->push.path, "push/upload");
        assert_string_equal(s->push.method, "POST");
        if (at == 0) scripted_respond_push(s, 0, "");
        if (at == 1) scripted_respond_push(s, 200, "{\"url\":1}");
        if (at >= 2) put_it(s);
        if (at == 2) scripted_respond_push(s, 403, "<Error/>");
        if (at == 3) scripted_respond_push(s, 0, "");
        if (at >= 4) scripted_respond_push(s, 200, "");
        if (at == 4) scripted_refuse_push(s, 409, "upload-missing");
        if (at == 5) scripted_refuse_push(s, 409, "upload-damaged");
        static const char *const codes[] = {"connection-reset", "response-invalid",
                                            "upload-refused",   "connection-reset",
                                            "upload-missing",   "upload-damaged"};
        assert_int_equal(s->connection, KEDGE_CONNECTING);
        assert_string_equal(s->error.code, codes[at]);
        while (s->push.number == 0) {
            if (s->pull.number != 0) scripted_respond_pull(s, 0, "");
            scripted_timer(s);
        }
    }
    put_it(s);
    scripted_respond_push(s, 204, "");
    scripted_respond_push(s, 200, "{}");
}

/* The rules of pushes hold for what was uploaded. */
static void test_a_refusal_of_what_was_uploaded_is_one_of_a_push(void **state)
{
    scripted *s = *state;
    scripted_pulled(s, 0, 0, 0, "", "");
    ask_for_an_upload(s);
    put_it(s);
    scripted_respond_push(s, 200, "");
    scripted_refuse_push(s, 403, "not-allowed");
    assert_int_equal(s->connection, KEDGE_STOPPED);
}

static void test_going_offline_ends_an_upload(void **state)
{
    scripted *s = *state;
    scripted_pulled(s, 0, 0, 0, "", "");
    ask_for_an_upload(s);
    put_it(s);
    kedge_driver_set_online(s->driver, false);
    assert_int_equal(s->push.number, 0);
    kedge_driver_set_online(s->driver, true);
    while (s->push.number == 0)
        scripted_timer(s);
    assert_string_equal(s->push.path, "push/upload");
    assert_string_equal(s->push.method, "POST");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scripted_setup, scripted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_upload_is_three_requests_in_a_row),
        TEST(test_each_request_of_an_upload_has_the_whole_deadline),
        TEST(test_a_server_without_uploads_takes_no_mutation_as_large),
        TEST(test_a_server_that_does_not_know_of_uploads_takes_no_mutation_as_large),
        TEST(test_an_upload_may_be_too_large_as_well),
        TEST(test_a_failed_upload_begins_anew),
        TEST(test_a_refusal_of_what_was_uploaded_is_one_of_a_push),
        TEST(test_going_offline_ends_an_upload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
