/* The HTTP client of a thread that has other work while its requests run: what came meanwhile is
 * read, and is not taken for late. Nor is what comes after it, when the client is told. */
#include "http/http.h"
#include "tests/support/scripted_server.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEADLINE_MS 1500
#define AWAY_MS     2500

static kedge_environment environment;
static atomic_bool away; /* the thread that polls has begun its other work */
static atomic_bool back; /* and has polled after it */

typedef struct ending {
    int done;
    int status;
    char code[64];
} ending;

static void done(void *context, const kedge_http_response *response)
{
    ending *end = context;
    end->done++;
    end->status = response->status;
    snprintf(end->code, sizeof end->code, "%s", response->error.code);
}

static void be_away(void)
{
    int64_t until_ms = environment.monotonic_ms(environment.context) + AWAY_MS;
    atomic_store(&away, true);
    while (environment.monotonic_ms(environment.context) < until_ms)
        sched_yield();
}

static void done_and_away(void *context, const kedge_http_response *response)
{
    be_away();
    done(context, response);
}

/* "/late" is answered as soon as nobody reads it, "/later" when it is read again. */
static bool answer(void *context, const scripted_request *request)
{
    (void)context;
    while (strcmp(request->target, "/late") == 0 && !atomic_load(&away))
        sched_yield();
    while (strcmp(request->target, "/later") == 0 && !atomic_load(&back))
        sched_yield();
    scripted_respond(request, 200, "Content-Type: text/plain\r\n", "here");
    return true;
}

typedef struct connection {
    kedge_http *http;
    scripted_server *server;
} connection;

static connection begin(void)
{
    connection made = {.http = NULL};
    atomic_store(&away, false);
    atomic_store(&back, false);
    assert_int_equal(kedge_http_new(&environment, 4, &made.http, NULL), KEDGE_OK);
    made.server = scripted_server_start(answer, NULL);
    return made;
}

static void stop(const connection *with)
{
    kedge_http_free(with->http);
    scripted_server_stop(with->server);
}

static void start(const connection *with, const char *path, kedge_http_done_function function,
                  ending *end)
{
    char url[128];
    snprintf(url, sizeof url, "%s%s", scripted_server_url(with->server), path);
    const kedge_http_request request = {.url = url,
                                        .method = "GET",
                                        .deadline_ms = DEADLINE_MS,
                                        .paced = true,
                                        .response_bytes_max = 65536,
                                        .done = function,
                                        .context = end};
    assert_int_equal(kedge_http_send(with->http, &request, NULL, NULL), KEDGE_OK);
}

static void poll_until_done(const connection *with, const ending *end)
{
    for (int turn = 0; turn < 2000 && end->done == 0; turn++)
        assert_int_equal(kedge_http_poll(with->http, 1000, -1, NULL, NULL), KEDGE_OK);
    assert_int_equal(end->done, 1);
}

static void test_a_deadline_does_not_count_the_time_in_a_callback(void **state)
{
    (void)state;
    static const char *const paths[] = {"/late", "/later"};
    for (size_t i = 0; i < 2; i++) {
        ending late = {0};
        ending other = {0};
        const connection with = begin();
        start(&with, paths[i], done, &late);
        start(&with, "/other", done_and_away, &other);
        poll_until_done(&with, &other);
        atomic_store(&back, true);
        poll_until_done(&with, &late);
        assert_string_equal(late.code, "");
        assert_int_equal(late.status, 200);
        stop(&with);
    }
}

static ending be_away_and_tell(const char *path, bool tell)
{
    ending late = {0};
    const connection with = begin();
    start(&with, path, done, &late);
    while (scripted_server_requests(with.server) == 0)
        assert_int_equal(kedge_http_poll(with.http, 1, -1, NULL, NULL), KEDGE_OK);
    be_away();
    if (tell) kedge_http_make_up(with.http);
    assert_int_equal(kedge_http_poll(with.http, 0, -1, NULL, NULL), KEDGE_OK);
    atomic_store(&back, true);
    poll_until_done(&with, &late);
    stop(&with);
    return late;
}

static void test_a_deadline_does_not_count_the_time_away_that_is_told(void **state)
{
    (void)state;
    assert_string_equal(be_away_and_tell("/later", false).code, "request-timeout");
    assert_int_equal(be_away_and_tell("/later", true).status, 200);
}

static void test_what_came_during_the_time_away_is_read_before_the_deadline_passes(void **state)
{
    (void)state;
    assert_int_equal(be_away_and_tell("/late", false).status, 200);
    assert_int_equal(be_away_and_tell("/late", true).status, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_deadline_does_not_count_the_time_in_a_callback),
        cmocka_unit_test(test_a_deadline_does_not_count_the_time_away_that_is_told),
        cmocka_unit_test(test_what_came_during_the_time_away_is_read_before_the_deadline_passes),
    };
    environment = kedge_environment_system(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
