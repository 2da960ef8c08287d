/* Requests of the client over a slow line to a real server: each takes several times its deadline,
 * and ends well, since bytes move all the time. One on which nothing moves any more ends.
 *
 *   slow_line_test PATH-OF-KEDGE-SERVER */
#include "sdk/net/net.h"
#include "tests/runtime/client.h"
#include "tests/support/server_process.h"
#include "tests/support/slow_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEADLINE_MS   1000
#define DEADLINES_MAX 16 /* times that, for a machine with much other work */
#define LINE_BYTES_S  100000
#define VALUE_BYTES   400000 /* as gzip some 300,000: three seconds */
#define REQUEST_BYTES (VALUE_BYTES + 1024)

static const char *program;
static kedge_environment environment;

typedef struct place {
    char folder[CLIENT_PATH_SIZE];
    server_process server;
    slow_line *line;
    kedge_http *http;
    kedge_net *net;
    int64_t deadline_ms;
    uint64_t number; /* of the last request */
    int moved;       /* how often it was told to move */
    int64_t began_ms;
    int64_t took_ms;
    bool ended;
    int status;
    size_t body_size;
    char code[64];
} place;

static kedge_status may_send(void *context, kedge_error *error)
{
    (void)context, (void)error;
    return KEDGE_OK;
}

static void sent(void *context, const kedge_driver_request *request)
{
    (void)context, (void)request;
}

static void moved(void *context, uint64_t number)
{
    place *here = context;
    assert_int_equal(number, here->number);
    here->moved++;
}

static void response(void *context, const kedge_driver_response *came)
{
    place *here = context;
    assert_int_equal(came->number, here->number);
    here->ended = true;
    here->took_ms = client_now_ms() - here->began_ms;
    here->status = came->status;
    here->body_size = came->body.size;
    snprintf(here->code, sizeof here->code, "%s", came->error.code);
}

static int set_up(void **state)
{
    place *here = calloc(1, sizeof *here);
    const kedge_net_sink sink = {
        .context = here, .may_send = may_send, .sent = sent, .moved = moved, .response = response};
    here->deadline_ms = DEADLINE_MS;
    client_make_folder(here->folder);
    server_process_start(&here->server, program, here->folder);
    here->line = slow_line_start(here->server.url, LINE_BYTES_S);
    assert_int_equal(kedge_http_new(&environment, 4, &here->http, NULL), KEDGE_OK);
    assert_int_equal(kedge_net_new(&environment, here->http, slow_line_url(here->line), "acme",
                                   "plan", &sink, &here->net, NULL),
                     KEDGE_OK);
    *state = here;
    return 0;
}

static int tear_down(void **state)
{
    place *here = *state;
    kedge_net_free(here->net);
    kedge_http_free(here->http);
    slow_line_stop(here->line);
    server_process_stop(&here->server);
    client_remove_folder(here->folder);
    free(here);
    return 0;
}

/* One request, until it has ended. */
static void ask_once(place *here, kedge_driver_request request)
{
    const kedge_transport transport = kedge_net_transport(here->net);
    request.number = ++here->number;
    request.accept = "application/json";
    request.deadline_ms = here->deadline_ms;
    request.response_bytes_max = 1 << 22;
    here->ended = false;
    here->moved = 0;
    here->began_ms = client_now_ms();
    assert_int_equal(transport.send(transport.context, &request, NULL), KEDGE_OK);
    while (!here->ended && client_now_ms() < here->began_ms + 120000)
        assert_int_equal(kedge_http_poll(here->http, 1000, -1, NULL, NULL), KEDGE_OK);
    assert_true(here->ended);
}

/* The server and this process may need longer than the deadline for their own part, in which
 * nothing moves. Then it is asked again, with a longer deadline and on a line that is slower by as
 * much. */
static void ask(place *here, kedge_driver_request request)
{
    ask_once(here, request);
    while (strcmp(here->code, "request-timeout") == 0 &&
           here->deadline_ms < DEADLINES_MAX * DEADLINE_MS) {
        here->deadline_ms *= 2;
        slow_line_pace(here->line, (size_t)(LINE_BYTES_S * DEADLINE_MS / here->deadline_ms));
        ask_once(here, request);
    }
}

static void ask_with_body(place *here, const char *method, const char *path, const char *body)
{
    ask(here, (kedge_driver_request){.method = method, .path = path, .body = kedge_bytes_of(body)});
}

/* It took longer than its deadline, and the owner was told so that its guard holds. What is made
 * (201) may have been made by a try before, when it was asked again. */
static void check_went_well(const place *here, int status)
{
    bool made_before = status == 201 && here->status == 200 && here->deadline_ms > DEADLINE_MS;
    if (here->status != status && !made_before) fail_msg("status %d, %s", here->status, here->code);
    assert_true(here->took_ms > 2 * here->deadline_ms);
    assert_true(here->moved >= here->took_ms / here->deadline_ms - 1);
}

/* A push of one large mutation. */
static const char *large_push(void)
{
    static char body[REQUEST_BYTES];
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
    uint64_t random = 1;
    int at = snprintf(body, sizeof body,
                      "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"profileID\":\"\","
                      "\"schemaVersion\":\"\",\"mutations\":[{\"clientID\":\"c\",\"id\":1,"
                      "\"name\":\"kedge.put\",\"timestamp\":0,\"args\":{\"collection\":\"notes\","
                      "\"id\":\"large\",\"value\":\"");
    for (size_t i = 0; i < VALUE_BYTES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        body[at++] = digits[random >> 58];
    }
    memcpy(body + at, "\"}}]}", 6);
    return body;
}

#define PULL                                                                                       \
    "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"profileID\":\"\","               \
    "\"schemaVersion\":\"\"}"

static void test_large_requests_and_responses_take_as_long_as_the_line_needs(void **state)
{
    place *here = *state;
    ask_with_body(here, "POST", "push", large_push());
    check_went_well(here, 200);
    ask_with_body(here, "POST", "pull", PULL);
    check_went_well(here, 200);
    assert_true(here->body_size > VALUE_BYTES);
    ask(here,
        (kedge_driver_request){.method = "GET", .path = "versions/latest/collections/notes/large"});
    check_went_well(here, 200);
    assert_true(here->body_size > VALUE_BYTES);
}

/* As an upload is sent, to the store of the blobs. */
static void test_a_large_request_to_elsewhere_takes_as_long_as_the_line_needs(void **state)
{
    char url[128];
    place *here = *state;
    snprintf(url, sizeof url, "%s/v1/orgs/acme/projects/plan", slow_line_url(here->line));
    ask(here, (kedge_driver_request){.method = "PUT",
                                     .path = "push/upload",
                                     .url = url,
                                     .body = kedge_bytes_of(large_push())});
    check_went_well(here, 201);
}

static void send_once(place *here, const char *path, const char *body)
{
    ask_once(here,
             (kedge_driver_request){.method = "POST", .path = path, .body = kedge_bytes_of(body)});
}

static void check_timed_out(const place *here)
{
    assert_int_equal(here->status, 0);
    assert_string_equal(here->code, "request-timeout");
}

static void test_a_request_on_which_nothing_moves_any_more_ends_at_its_deadline(void **state)
{
    place *here = *state;
    slow_line_stall_after(here->line, 0);
    send_once(here, "pull", PULL);
    check_timed_out(here);
    assert_in_range(here->took_ms, DEADLINE_MS, 60 * DEADLINE_MS);
    slow_line_stall_after(here->line, VALUE_BYTES / 2); /* after two seconds */
    send_once(here, "push", large_push());
    check_timed_out(here);
    assert_in_range(here->took_ms, 2 * DEADLINE_MS, 60 * DEADLINE_MS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_large_requests_and_responses_take_as_long_as_the_line_needs),
        TEST(test_a_large_request_to_elsewhere_takes_as_long_as_the_line_needs),
        TEST(test_a_request_on_which_nothing_moves_any_more_ends_at_its_deadline),
    };
    if (argc < 2) {
        fputs("usage: slow_line_test SERVER\n", stderr);
        return 2;
    }
    program = argv[1];
    environment = kedge_environment_system(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
