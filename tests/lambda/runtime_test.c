/* The Runtime API: what comes from it, rightly or wrongly, and what is told to it. */
#include "backend/lambda/runtime.h"

#include "backend/lambda/lambda.h"
#include "tests/support/scripted_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct script {
    int status;
    const char *headers;
    const char *body;
    char target[2200]; /* of the last request */
    char posted[512];
    char type[128];
} script;

static script says; /* behind the mutex: the server has threads of its own */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static kedge_environment environment;
static scripted_server *server;
static kedge_runtime *runtime;
static kedge_invocation invocation;

static bool response(void *context, const scripted_request *request)
{
    script *self = context;
    pthread_mutex_lock(&mutex);
    const char *type = strstr(request->headers, "Lambda-Runtime-Function-Error-Type: ");
    snprintf(self->target, sizeof self->target, "%s %s", request->method, request->target);
    snprintf(self->posted, sizeof self->posted, "%.*s", (int)request->body_size, request->body);
    snprintf(self->type, sizeof self->type, "%.*s", type ? (int)strcspn(type + 36, "\r") : 0,
             type ? type + 36 : "");
    script told = *self;
    pthread_mutex_unlock(&mutex);
    scripted_respond(request, told.status, told.headers, told.body);
    return true;
}

static int setup(void **state)
{
    (void)state;
    environment = kedge_environment_system(NULL);
    invocation = (kedge_invocation){.event = kedge_buffer_make(&kedge_allocator_default)};
    server = scripted_server_start(response, &says);
    const char *address = scripted_server_url(server) + strlen("http://");
    return kedge_runtime_new(&environment, address, &runtime, NULL) == KEDGE_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    kedge_runtime_free(runtime);
    scripted_server_stop(server);
    kedge_buffer_free(&invocation.event);
    return 0;
}

static void say(int status, const char *headers, const char *body)
{
    pthread_mutex_lock(&mutex);
    says = (script){.status = status, .headers = headers, .body = body};
    pthread_mutex_unlock(&mutex);
}

/* What the last request was. */
static const script *heard(void)
{
    static script last;
    pthread_mutex_lock(&mutex);
    last = says;
    pthread_mutex_unlock(&mutex);
    return &last;
}

static kedge_status next(int status, const char *headers, const char *body)
{
    say(status, headers, body);
    return kedge_runtime_next(runtime, &invocation, NULL);
}

static void an_invocation_comes_with_its_id_and_deadline(void **state)
{
    (void)state;
    assert_int_equal(next(200,
                          "Lambda-Runtime-Aws-Request-Id: id-1\r\n"
                          "Lambda-Runtime-Deadline-Ms: 1700000000000\r\n",
                          "{\"a\":1}"),
                     KEDGE_OK);
    assert_string_equal(heard()->target, "GET /2018-06-01/runtime/invocation/next");
    assert_string_equal(invocation.id, "id-1");
    assert_int_equal(invocation.deadline_ms, 1700000000000);
    assert_string_equal(invocation.event.data, "{\"a\":1}");
    assert_int_equal(next(200, "Lambda-Runtime-Aws-Request-Id: id-2\r\n", "{}"), KEDGE_OK);
    assert_string_equal(invocation.event.data, "{}");
    assert_true(invocation.deadline_ms == INT64_MAX);
}

static void a_response_that_is_no_invocation_is_an_error(void **state)
{
    (void)state;
    char headers[256];
    snprintf(headers, sizeof headers, "Lambda-Runtime-Aws-Request-Id: %0200d\r\n", 1);
    assert_int_equal(next(200, "", "{}"), KEDGE_PROTOCOL);
    assert_int_equal(next(200, "Lambda-Runtime-Aws-Request-Id:\r\n", "{}"), KEDGE_PROTOCOL);
    assert_int_equal(next(200, headers, "{}"), KEDGE_PROTOCOL);
    assert_int_equal(next(403, "", "{}"), KEDGE_PROTOCOL);
    assert_int_equal(next(500, "", ""), KEDGE_PROTOCOL);
}

static void an_event_over_the_limit_is_an_error(void **state)
{
    (void)state;
    /* The server may still send it when the runtime has turned away. */
    static char event[KEDGE_LAMBDA_EVENT_BYTES + 2];
    memset(event, ' ', KEDGE_LAMBDA_EVENT_BYTES + 1);
    assert_int_equal(next(200, "Lambda-Runtime-Aws-Request-Id: id\r\n", event),
                     KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(next(200, "Lambda-Runtime-Aws-Request-Id: id\r\n", event + 1), KEDGE_OK);
}

static void responses_and_failures_are_posted(void **state)
{
    (void)state;
    kedge_error failure = {.status = KEDGE_INTERNAL, .code = "some-code", .message = "a \"word\""};
    say(202, "", "{}");
    assert_int_equal(kedge_runtime_respond(runtime, "id-1", KEDGE_BYTES("{\"b\":2}"), NULL),
                     KEDGE_OK);
    assert_string_equal(heard()->target, "POST /2018-06-01/runtime/invocation/id-1/response");
    assert_string_equal(heard()->posted, "{\"b\":2}");
    assert_int_equal(kedge_runtime_fail(runtime, "id-1", &failure, NULL), KEDGE_OK);
    assert_string_equal(heard()->target, "POST /2018-06-01/runtime/invocation/id-1/error");
    assert_string_equal(heard()->posted,
                        "{\"errorType\":\"Function.some-code\",\"errorMessage\":\"a "
                        "\\\"word\\\"\",\"stackTrace\":[]}");
    assert_string_equal(heard()->type, "Function.some-code");
    assert_int_equal(kedge_runtime_fail(runtime, NULL, &failure, NULL), KEDGE_OK);
    assert_string_equal(heard()->target, "POST /2018-06-01/runtime/init/error");
    assert_string_equal(heard()->type, "Init.some-code");
}

static void a_refused_response_is_told(void **state)
{
    (void)state;
    kedge_error error = {0};
    say(413, "", "{}");
    assert_int_equal(kedge_runtime_respond(runtime, "id", KEDGE_BYTES("{}"), &error),
                     KEDGE_LIMIT_EXCEEDED);
    say(500, "", "{}");
    assert_int_equal(kedge_runtime_respond(runtime, "id", KEDGE_BYTES("{}"), &error),
                     KEDGE_PROTOCOL);
    assert_string_equal(error.code, "runtime-refused");
}

static void nobody_there_is_an_error(void **state)
{
    (void)state;
    kedge_runtime *lonely = NULL;
    const char *address = scripted_dead_url() + strlen("http://");
    assert_int_equal(kedge_runtime_new(&environment, address, &lonely, NULL), KEDGE_OK);
    assert_int_equal(kedge_runtime_next(lonely, &invocation, NULL), KEDGE_NETWORK);
    kedge_runtime_free(lonely);
}

static void an_address_that_is_too_long_is_refused(void **state)
{
    (void)state;
    kedge_runtime *none = NULL;
    char address[1024];
    memset(address, 'a', sizeof address);
    address[sizeof address - 1] = '\0';
    assert_int_equal(kedge_runtime_new(&environment, address, &none, NULL), KEDGE_INVALID_ARGUMENT);
    assert_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invocation_comes_with_its_id_and_deadline),
        cmocka_unit_test(a_response_that_is_no_invocation_is_an_error),
        cmocka_unit_test(an_event_over_the_limit_is_an_error),
        cmocka_unit_test(responses_and_failures_are_posted),
        cmocka_unit_test(a_refused_response_is_told),
        cmocka_unit_test(nobody_there_is_an_error),
        cmocka_unit_test(an_address_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
