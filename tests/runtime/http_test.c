/* The HTTP client against a real socket: responses, refusals, limits,
 * deadlines, cancelling, streams. */
#include "common/gzip.h"
#include "http/call.h"
#include "http/http.h"
#include "tests/support/scripted_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static kedge_environment environment;

/* What a request's callbacks saw. */
typedef struct ending {
    kedge_http *http;
    kedge_http_call *call;
    int done;
    int status;
    int64_t retry_after_ms;
    char content_type[64];
    char body[256];
    size_t body_size;
    kedge_error error;
    bool sent;
    int announced;
    bool cancel_in_stream;
} ending;

static void copy(char *out, size_t out_size, kedge_bytes bytes)
{
    size_t size = bytes.size < out_size ? bytes.size : out_size - 1;
    if (size > 0) memcpy(out, bytes.data, size);
    out[size] = '\0';
}

static void done(void *context, const kedge_http_response *response)
{
    ending *end = context;
    end->done++;
    end->status = response->status;
    end->retry_after_ms = response->retry_after_ms;
    end->error = response->error;
    end->sent = response->sent;
    end->body_size = response->body.size;
    copy(end->content_type, sizeof end->content_type, response->content_type);
    copy(end->body, sizeof end->body, response->body);
}

static void stream(void *context, const kedge_http_response *head, kedge_bytes bytes)
{
    ending *end = context;
    size_t had = strlen(end->body);
    end->status = head->status;
    if (bytes.size == 0) end->announced++;
    copy(end->body + had, sizeof end->body - had, bytes);
    if (end->cancel_in_stream && bytes.size > 0) {
        kedge_http_cancel(end->call);
        end->call = NULL;
    }
}

static kedge_http *make_http(void)
{
    kedge_http *http = NULL;
    assert_int_equal(kedge_http_new(&environment, 4, &http, NULL), KEDGE_OK);
    return http;
}

static void start(kedge_http *http, const char *url, kedge_http_request request, ending *end)
{
    *end = (ending){.http = http, .cancel_in_stream = end->cancel_in_stream};
    request.url = url;
    request.done = done;
    request.context = end;
    if (request.method == NULL) request.method = "GET";
    if (request.response_bytes_max == 0) request.response_bytes_max = 65536;
    assert_int_equal(kedge_http_send(http, &request, &end->call, NULL), KEDGE_OK);
}

static void poll_until_done(kedge_http *http, ending *end)
{
    for (int turn = 0; turn < 2000 && end->done == 0; turn++) {
        assert_int_equal(kedge_http_poll(http, 1000, -1, NULL, NULL), KEDGE_OK);
    }
    assert_int_equal(end->done, 1);
}

/* One request to a server of its own. */
static ending ask(scripted_handler handler, kedge_http_request request)
{
    ending end = {0};
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(handler, NULL);
    start(http, scripted_server_url(server), request, &end);
    poll_until_done(http, &end);
    kedge_http_free(http);
    scripted_server_stop(server);
    return end;
}

static bool echo(void *context, const scripted_request *request)
{
    char body[512];
    (void)context;
    snprintf(body, sizeof body, "%s %.100s %.*s %d", request->method, request->target,
             (int)request->body_size, request->body,
             strcasestr(request->headers, "x-given: yes") != NULL);
    scripted_respond(request, 200, "Content-Type: text/plain; charset=utf-8\r\n", body);
    return true;
}

static void test_a_request_brings_its_answer(void **state)
{
    const kedge_http_header header = {"X-Given", "yes"};
    (void)state;
    ending end = ask(echo, (kedge_http_request){.method = "POST",
                                                .headers = &header,
                                                .header_count = 1,
                                                .body = KEDGE_BYTES("hello")});
    assert_int_equal(end.status, 200);
    assert_string_equal(end.content_type, "text/plain; charset=utf-8");
    assert_string_equal(end.body, "POST / hello 1");
    assert_string_equal(ask(echo, (kedge_http_request){.method = "PUT"}).body, "PUT /  0");
    assert_string_equal(ask(echo, (kedge_http_request){.method = "GET"}).body, "GET /  0");
    assert_string_equal(ask(echo, (kedge_http_request){.method = "DELETE"}).body, "DELETE /  0");
}

static void test_connections_are_kept(void **state)
{
    ending end = {0};
    (void)state;
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(echo, NULL);
    for (int i = 0; i < 5; i++) {
        start(http, scripted_server_url(server), (kedge_http_request){0}, &end);
        poll_until_done(http, &end);
    }
    assert_int_equal(scripted_server_requests(server), 5);
    assert_int_equal(scripted_server_connections(server), 1);
    kedge_http_free(http);
    scripted_server_stop(server);
}

static void test_connections_are_capped(void **state)
{
    ending ends[12] = {0};
    (void)state;
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(echo, NULL);
    for (int i = 0; i < 12; i++) {
        start(http, scripted_server_url(server), (kedge_http_request){0}, &ends[i]);
    }
    for (int i = 0; i < 12; i++) {
        poll_until_done(http, &ends[i]);
        assert_int_equal(ends[i].status, 200);
    }
    assert_in_range(scripted_server_connections(server), 1, 4);
    kedge_http_free(http);
    scripted_server_stop(server);
}

static void test_a_redirect_is_not_followed(void **state)
{
    (void)state;
    ending end = ask(scripted_redirects, (kedge_http_request){0});
    assert_int_equal(end.status, 302);
    assert_string_equal(end.body, "moved");
}

static bool retry_later(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 503, "Retry-After: 7\r\n", "");
    return false;
}

static void test_retry_after_is_read(void **state)
{
    (void)state;
    assert_int_equal(ask(retry_later, (kedge_http_request){0}).retry_after_ms, 7000);
    const int64_t now_ms = INT64_C(784111777000); /* Sun, 06 Nov 1994 08:49:37 GMT */
    assert_int_equal(kedge_http_retry_after(KEDGE_BYTES("Sun, 06 Nov 1994 08:49:47 GMT"), now_ms),
                     10000);
    assert_int_equal(kedge_http_retry_after(KEDGE_BYTES("Sun, 06 Nov 1994 08:49:30 GMT"), now_ms),
                     0);
    assert_int_equal(kedge_http_retry_after(KEDGE_BYTES("0"), now_ms), 0);
    assert_int_equal(kedge_http_retry_after(KEDGE_BYTES("99999999999999999999"), now_ms),
                     INT64_C(86400000));
    assert_int_equal(kedge_http_retry_after(KEDGE_BYTES("soon"), now_ms), 0);
    assert_int_equal(kedge_http_retry_after(KEDGE_BYTES("-5"), now_ms), 0);
    assert_int_equal(kedge_http_retry_after(KEDGE_BYTES(""), now_ms), 0);
}

static bool compressed(void *context, const scripted_request *request)
{
    char head[256];
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer small = kedge_buffer_make(&kedge_allocator_default);
    (void)context;
    for (int i = 0; i < 100000; i++) {
        kedge_buffer_append_text(&plain, "0123456789");
    }
    kedge_gzip(kedge_buffer_bytes(&plain), &small, NULL);
    int size = snprintf(head, sizeof head,
                        "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nContent-Encoding: gzip\r\n\r\n",
                        small.size);
    scripted_send(request, head, (size_t)size);
    scripted_send(request, small.data, small.size);
    kedge_buffer_free(&plain);
    kedge_buffer_free(&small);
    return true;
}

static void test_a_compressed_answer_is_decoded_and_its_decoded_size_is_capped(void **state)
{
    (void)state;
    ending end = ask(compressed, (kedge_http_request){.response_bytes_max = 1000000});
    assert_int_equal(end.status, 200);
    assert_int_equal(end.body_size, 1000000);
    end = ask(compressed, (kedge_http_request){.response_bytes_max = 999999});
    assert_int_equal(end.status, 0);
    assert_int_equal(end.error.status, KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(end.error.code, "response-too-large");
}

static void test_an_answer_is_left_encoded_on_demand(void **state)
{
    (void)state;
    ending end =
        ask(compressed, (kedge_http_request){.response_bytes_max = 1000000, .undecoded = true});
    assert_int_equal(end.status, 200);
    assert_true(end.body_size > 0 && end.body_size < 100000);
    assert_memory_equal(end.body, "\x1f\x8b", 2);
}

static bool responds_once(void *context, const scripted_request *request)
{
    if (scripted_server_requests(request->server) > 1) return false;
    return echo(context, request);
}

/* A kept connection that closes before a response: the request goes out again on another one, or
 * fails when it is to be sent only once. */
static void test_a_request_is_sent_only_once_on_demand(void **state)
{
    (void)state;
    for (int once = 0; once < 2; once++) {
        ending end = {0};
        kedge_http *http = make_http();
        scripted_server *server = scripted_server_start(responds_once, NULL);
        kedge_http_request request = {
            .method = "POST", .body = KEDGE_BYTES("body"), .send_once = once == 1};
        start(http, scripted_server_url(server), request, &end);
        poll_until_done(http, &end);
        assert_int_equal(end.status, 200);
        start(http, scripted_server_url(server), request, &end);
        poll_until_done(http, &end);
        assert_int_equal(end.status, 0);
        assert_int_equal(end.error.status, KEDGE_NETWORK);
        assert_true(end.sent);
        assert_int_equal(scripted_server_requests(server), once == 1 ? 2 : 3);
        kedge_http_free(http);
        scripted_server_stop(server);
    }
}

static void test_a_deadline_ends_a_hung_and_a_dripping_answer(void **state)
{
    (void)state;
    for (int paced = 0; paced < 2; paced++) {
        kedge_http_request request = {.deadline_ms = 100, .paced = paced == 1};
        ending end = ask(scripted_hangs, request);
        assert_int_equal(end.status, 0);
        assert_string_equal(end.error.code, "request-timeout");
        request.deadline_ms = 150;
        assert_int_equal(ask(scripted_drips, request).error.status, KEDGE_TIMEOUT);
    }
}

static bool sends_much_and_hangs(void *context, const scripted_request *request)
{
    static char much[2 << 20];
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n";
    (void)context;
    scripted_send(request, head, sizeof head - 1);
    scripted_send(request, much, sizeof much);
    scripted_hang(request);
    return false;
}

static void test_what_came_fast_puts_a_deadline_off_no_farther_than_it_was(void **state)
{
    (void)state;
    int64_t began = environment.monotonic_ms(environment.context);
    kedge_http_request request = {
        .deadline_ms = 300, .paced = true, .response_bytes_max = 100000000};
    ending end = ask(sends_much_and_hangs, request); /* which take minutes at the pace */
    assert_string_equal(end.error.code, "request-timeout");
    assert_true(environment.monotonic_ms(environment.context) - began < 60000);
}

static void test_a_wait_ends_at_the_deadline_also_with_a_descriptor(void **state)
{
    (void)state;
    for (int with_descriptor = 0; with_descriptor < 2; with_descriptor++) {
        ending end = {0};
        kedge_http *http = make_http();
        if (with_descriptor == 1 && kedge_http_use_descriptor(http, NULL) != KEDGE_OK) skip();
        scripted_server *server = scripted_server_start(scripted_hangs, NULL);
        int64_t began = environment.monotonic_ms(environment.context);
        start(http, scripted_server_url(server),
              (kedge_http_request){.deadline_ms = 1000, .paced = true}, &end);
        while (environment.monotonic_ms(environment.context) < began + 400)
            assert_int_equal(kedge_http_poll(http, 100, -1, NULL, NULL), KEDGE_OK);
        if (with_descriptor == 1) assert_in_range(kedge_http_due_ms(http), 0, 1000);
        for (int turn = 0; turn < 100 && end.done == 0; turn++)
            assert_int_equal(kedge_http_poll(http, 60000, -1, NULL, NULL), KEDGE_OK);
        assert_string_equal(end.error.code, "request-timeout");
        assert_in_range(environment.monotonic_ms(environment.context) - began, 1000, 50000);
        kedge_http_free(http);
        scripted_server_stop(server);
    }
}

static bool no_http(void *context, const scripted_request *request)
{
    static const char text[] = "\x16\x03\x01 this is not HTTP\r\n\r\n";
    (void)context;
    scripted_send(request, text, sizeof text - 1);
    return false;
}

/* As a server does that cannot make the next part of its response. */
static bool closes_between_chunks(void *context, const scripted_request *request)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n";
    (void)context;
    scripted_send(request, answer, sizeof answer - 1);
    return false;
}

static void test_what_is_no_whole_answer_is_an_error_of_its_kind(void **state)
{
    (void)state;
    ending end = ask(scripted_closes_in_body, (kedge_http_request){0});
    assert_int_equal(end.status, 0);
    assert_int_equal(end.error.status, KEDGE_NETWORK);
    assert_string_equal(end.error.code, "response-truncated");
    end = ask(scripted_closes_in_headers, (kedge_http_request){0});
    assert_int_equal(end.status, 0);
    assert_int_equal(end.error.status, KEDGE_NETWORK);
    assert_string_equal(end.error.code, "response-truncated");
    end = ask(scripted_closes_at_once, (kedge_http_request){0});
    assert_int_equal(end.error.status, KEDGE_NETWORK);
    end = ask(closes_between_chunks, (kedge_http_request){0});
    assert_int_equal(end.status, 0);
    assert_int_equal(end.error.status, KEDGE_NETWORK);
    end = ask(no_http, (kedge_http_request){0});
    assert_int_equal(end.status, 0);
    assert_int_equal(end.error.status, KEDGE_PROTOCOL);
}

static void test_a_server_that_cannot_be_reached_is_a_network_error(void **state)
{
    ending end = {0};
    (void)state;
    kedge_http *http = make_http();
    start(http, scripted_dead_url(), (kedge_http_request){0}, &end);
    poll_until_done(http, &end);
    assert_int_equal(end.error.status, KEDGE_NETWORK);
    assert_string_equal(end.error.code, "connection-refused");
    assert_false(end.sent);
    start(http, "http://nowhere.invalid/", (kedge_http_request){0}, &end);
    poll_until_done(http, &end);
    assert_int_equal(end.error.status, KEDGE_NETWORK);
    start(http, "ftp://127.0.0.1/x", (kedge_http_request){0}, &end);
    poll_until_done(http, &end);
    assert_int_equal(end.status, 0);
    kedge_http_free(http);
}

static bool plain_text(void *context, const scripted_request *request)
{
    return echo(context, request);
}

static void test_tls_is_not_optional(void **state)
{
    char url[128];
    ending end = {0};
    (void)state;
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(plain_text, NULL);
    snprintf(url, sizeof url, "https%s", scripted_server_url(server) + 4);
    start(http, url, (kedge_http_request){.deadline_ms = 2000}, &end);
    scripted_server_stop(server); /* it cannot speak TLS; it just goes away */
    poll_until_done(http, &end);
    assert_int_equal(end.status, 0);
    kedge_http_free(http);
}

static void test_a_cancelled_request_calls_nobody(void **state)
{
    ending end = {0};
    (void)state;
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(scripted_hangs, NULL);
    start(http, scripted_server_url(server), (kedge_http_request){0}, &end);
    kedge_http_poll(http, 0, -1, NULL, NULL);
    kedge_http_cancel(end.call);
    for (int turn = 0; turn < 5; turn++) {
        kedge_http_poll(http, 10, -1, NULL, NULL);
    }
    assert_int_equal(end.done, 0);
    start(http, scripted_server_url(server), (kedge_http_request){0}, &end);
    kedge_http_poll(http, 10, -1, NULL, NULL);
    kedge_http_free(http);
    assert_int_equal(end.done, 0);
    scripted_server_stop(server);
}

static void test_a_header_cannot_be_smuggled_in(void **state)
{
    const kedge_http_header header = {"Authorization", "Bearer x\r\nX-Evil: 1"};
    kedge_error error = {0};
    (void)state;
    kedge_http *http = make_http();
    kedge_http_request request = {.method = "GET",
                                  .url = "http://127.0.0.1/",
                                  .headers = &header,
                                  .header_count = 1,
                                  .done = done};
    assert_int_equal(kedge_http_send(http, &request, NULL, &error), KEDGE_INVALID_ARGUMENT);
    kedge_http_free(http);
}

static bool pokes(void *context, const scripted_request *request)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    (void)context;
    scripted_send(request, head, sizeof head - 1);
    scripted_drip(request, '.', 5);
    return false;
}

static void test_a_stream_tells_its_headers_and_then_its_bytes(void **state)
{
    ending end = {0};
    (void)state;
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(pokes, NULL);
    start(http, scripted_server_url(server), (kedge_http_request){.stream = stream}, &end);
    for (int turn = 0; turn < 1000 && strlen(end.body) < 3; turn++) {
        kedge_http_poll(http, 1000, -1, NULL, NULL);
    }
    assert_int_equal(end.announced, 1);
    assert_int_equal(end.done, 0);
    assert_memory_equal(end.body, "...", 3);
    kedge_http_free(http);
    scripted_server_stop(server);
}

static void test_a_stream_can_be_cancelled_in_its_callback(void **state)
{
    ending end = {.cancel_in_stream = true};
    (void)state;
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(pokes, NULL);
    start(http, scripted_server_url(server), (kedge_http_request){.stream = stream}, &end);
    for (int turn = 0; turn < 1000 && end.call != NULL; turn++) {
        kedge_http_poll(http, 1000, -1, NULL, NULL);
    }
    assert_null(end.call);
    kedge_http_poll(http, 20, -1, NULL, NULL);
    assert_int_equal(end.done, 0);
    kedge_http_free(http);
    scripted_server_stop(server);
}

static void test_a_refused_stream_is_an_answer(void **state)
{
    (void)state;
    ending end = ask(retry_later, (kedge_http_request){.stream = stream});
    assert_int_equal(end.status, 503);
    assert_int_equal(end.announced, 0);
}

static bool echo_and_tell(void *context, const scripted_request *request)
{
    echo(NULL, request);
    atomic_store((atomic_bool *)context, true);
    return true;
}

static void test_an_answer_that_is_there_already_is_not_slept_over(void **state)
{
    ending end = {0};
    atomic_bool answered = false;
    (void)state;
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(echo_and_tell, &answered);
    for (int request = 0; request < 20; request++) {
        atomic_store(&answered, false);
        start(http, scripted_server_url(server), (kedge_http_request){0}, &end);
        while (scripted_server_requests(server) == request) {
            kedge_http_poll(http, 1, -1, NULL, NULL);
        }
        while (!atomic_load(&answered)) {
        }
        int64_t began = environment.monotonic_ms(environment.context);
        if (end.done == 0) kedge_http_poll(http, 10000, -1, NULL, NULL);
        assert_int_equal(end.done, 1);
        assert_true(environment.monotonic_ms(environment.context) - began < 5000);
    }
    kedge_http_free(http);
    scripted_server_stop(server);
}

static void *wake(void *context)
{
    kedge_http_wake(context);
    return NULL;
}

static void test_another_thread_ends_the_wait(void **state)
{
    pthread_t thread;
    (void)state;
    kedge_http *http = make_http();
    int64_t began = environment.monotonic_ms(environment.context);
    assert_int_equal(pthread_create(&thread, NULL, wake, http), 0);
    assert_int_equal(kedge_http_poll(http, 60000, -1, NULL, NULL), KEDGE_OK);
    assert_true(environment.monotonic_ms(environment.context) - began < 30000);
    pthread_join(thread, NULL);
    kedge_http_free(http);
}

static void test_a_proxy_is_used_but_for_this_machine_and_its_metadata(void **state)
{
    ending end = {0};
    (void)state;
    kedge_http *http = make_http();
    scripted_server *server = scripted_server_start(echo, NULL);
    scripted_server *proxy = scripted_server_start(echo, NULL);
    setenv("http_proxy", scripted_server_url(proxy), 1);
    start(http, "http://kedge.invalid/a", (kedge_http_request){0}, &end);
    poll_until_done(http, &end);
    assert_string_equal(end.body, "GET http://kedge.invalid/a  0");
    start(http, scripted_server_url(server), (kedge_http_request){0}, &end);
    poll_until_done(http, &end);
    assert_string_equal(end.body, "GET /  0");
    /* Whoever may be there: it is not asked through the proxy. */
    start(http, "http://169.254.1.1/", (kedge_http_request){.deadline_ms = 200}, &end);
    poll_until_done(http, &end);
    start(http, "http://[fd00:ec2::1]/", (kedge_http_request){.deadline_ms = 200}, &end);
    poll_until_done(http, &end);
    assert_int_equal(scripted_server_requests(proxy), 1);
    unsetenv("http_proxy");
    kedge_http_free(http);
    scripted_server_stop(proxy);
    scripted_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_brings_its_answer),
        cmocka_unit_test(test_connections_are_kept),
        cmocka_unit_test(test_connections_are_capped),
        cmocka_unit_test(test_a_redirect_is_not_followed),
        cmocka_unit_test(test_retry_after_is_read),
        cmocka_unit_test(test_a_compressed_answer_is_decoded_and_its_decoded_size_is_capped),
        cmocka_unit_test(test_an_answer_is_left_encoded_on_demand),
        cmocka_unit_test(test_a_request_is_sent_only_once_on_demand),
        cmocka_unit_test(test_a_deadline_ends_a_hung_and_a_dripping_answer),
        cmocka_unit_test(test_what_came_fast_puts_a_deadline_off_no_farther_than_it_was),
        cmocka_unit_test(test_a_wait_ends_at_the_deadline_also_with_a_descriptor),
        cmocka_unit_test(test_what_is_no_whole_answer_is_an_error_of_its_kind),
        cmocka_unit_test(test_a_server_that_cannot_be_reached_is_a_network_error),
        cmocka_unit_test(test_tls_is_not_optional),
        cmocka_unit_test(test_a_cancelled_request_calls_nobody),
        cmocka_unit_test(test_a_header_cannot_be_smuggled_in),
        cmocka_unit_test(test_a_stream_tells_its_headers_and_then_its_bytes),
        cmocka_unit_test(test_a_stream_can_be_cancelled_in_its_callback),
        cmocka_unit_test(test_a_refused_stream_is_an_answer),
        cmocka_unit_test(test_an_answer_that_is_there_already_is_not_slept_over),
        cmocka_unit_test(test_another_thread_ends_the_wait),
        cmocka_unit_test(test_a_proxy_is_used_but_for_this_machine_and_its_metadata),
    };
    environment = kedge_environment_system(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
