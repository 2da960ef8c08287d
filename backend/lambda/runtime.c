/* See runtime.h. */
#include "backend/lambda/runtime.h"

#include "backend/lambda/lambda.h"
#include "common/error.h"
#include "common/json.h"
#include "http/http.h"

#include <stdio.h>
#include <string.h>

#define URL_SIZE           512
#define POST_DEADLINE_MS   60000
#define POLL_MS            60000
#define RESPONSE_BYTES_MAX 65536 /* of a post */
#define CONNECTIONS        1
#define NEXT               "next"
#define ERROR_TYPE_MAX     96

struct kedge_runtime {
    const kedge_environment *environment;
    kedge_http *http;
    char base[URL_SIZE / 2];
};

/* One call and what came of it. */
typedef struct runtime_call {
    kedge_invocation *invocation; /* of next; NULL */
    int status;
    kedge_status outcome;
    kedge_error error;
    bool done;
} runtime_call;

kedge_status kedge_runtime_new(const kedge_environment *environment, const char *address,
                               kedge_runtime **runtime, kedge_error *error)
{
    kedge_runtime *made = kedge_allocate(environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->environment = environment;
    int size = snprintf(made->base, sizeof made->base, "http://%s/2018-06-01/runtime", address);
    kedge_status status =
        size > 0 && (size_t)size < sizeof made->base
            ? kedge_http_new(environment, CONNECTIONS, &made->http, error)
            : kedge_fail(error, KEDGE_INVALID_ARGUMENT, "runtime-address-invalid",
                         "AWS_LAMBDA_RUNTIME_API is too long to be a host and a port");
    if (status != KEDGE_OK) {
        kedge_runtime_free(made);
        return status;
    }
    *runtime = made;
    return KEDGE_OK;
}

void kedge_runtime_free(kedge_runtime *runtime)
{
    if (runtime == NULL) return;
    kedge_http_free(runtime->http);
    kedge_release(runtime->environment->allocator, runtime);
}

/* ---- a call ---- */

static void read_deadline(const kedge_http_response *response, int64_t *deadline_ms)
{
    kedge_bytes value;
    *deadline_ms = INT64_MAX;
    if (!kedge_http_header_value(response->headers, "Lambda-Runtime-Deadline-Ms", &value)) return;
    (void)kedge_json_to_integer(value, deadline_ms);
}

static kedge_status read_invocation(const kedge_http_response *response,
                                    kedge_invocation *invocation, kedge_error *error)
{
    kedge_bytes id;
    if (!kedge_http_header_value(response->headers, "Lambda-Runtime-Aws-Request-Id", &id) ||
        id.size == 0 || id.size >= sizeof invocation->id) {
        return kedge_fail(error, KEDGE_PROTOCOL, "runtime-response-invalid",
                          "the Runtime API gave an invocation without a usable request id");
    }
    memcpy(invocation->id, id.data, id.size);
    invocation->id[id.size] = '\0';
    read_deadline(response, &invocation->deadline_ms);
    kedge_buffer_clear(&invocation->event);
    kedge_buffer_append_bytes(&invocation->event, response->body);
    return kedge_buffer_status(&invocation->event, error);
}

static void on_done(void *context, const kedge_http_response *response)
{
    runtime_call *call = context;
    call->done = true;
    call->status = response->status;
    if (response->status == 0) {
        call->error = response->error;
        call->outcome = response->error.status;
    } else if (call->invocation != NULL && response->status == 200) {
        call->outcome = read_invocation(response, call->invocation, &call->error);
    }
}

static kedge_status run(kedge_runtime *runtime, kedge_http_request *request, runtime_call *call,
                        kedge_error *error)
{
    request->done = on_done;
    request->context = call;
    kedge_status status = kedge_http_send(runtime->http, request, NULL, error);
    while (status == KEDGE_OK && !call->done)
        status = kedge_http_poll(runtime->http, POLL_MS, -1, NULL, error);
    if (status == KEDGE_OK && call->outcome != KEDGE_OK) {
        return kedge_fail(error, call->outcome, call->error.code, "the Runtime API: %s",
                          call->error.message);
    }
    return status;
}

static kedge_status refused(const char *what, int status, kedge_error *error)
{
    return kedge_fail(error, status == 413 ? KEDGE_LIMIT_EXCEEDED : KEDGE_PROTOCOL,
                      "runtime-refused", "the Runtime API answered %s with the status %d", what,
                      status);
}

kedge_status kedge_runtime_next(kedge_runtime *runtime, kedge_invocation *invocation,
                                kedge_error *error)
{
    char url[URL_SIZE];
    runtime_call call = {.invocation = invocation};
    snprintf(url, sizeof url, "%s/invocation/" NEXT, runtime->base);
    /* No deadline: the process is frozen in this request. */
    kedge_http_request request = {
        .method = "GET",
        .url = url,
        .response_bytes_max = KEDGE_LAMBDA_EVENT_BYTES,
        .undecoded = true,
    };
    kedge_status status = run(runtime, &request, &call, error);
    if (status != KEDGE_OK || call.status == 200) return status;
    return refused(NEXT, call.status, error);
}

static kedge_status post(kedge_runtime *runtime, const char *url, const kedge_http_header *headers,
                         size_t header_count, kedge_bytes body, kedge_error *error)
{
    runtime_call call = {.done = false};
    kedge_http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .header_count = header_count,
        .body = body,
        .deadline_ms = POST_DEADLINE_MS,
        .response_bytes_max = RESPONSE_BYTES_MAX,
        .undecoded = true,
    };
    kedge_status status = run(runtime, &request, &call, error);
    if (status != KEDGE_OK || (call.status >= 200 && call.status < 300)) return status;
    return refused("a response", call.status, error);
}

kedge_status kedge_runtime_respond(kedge_runtime *runtime, const char *id, kedge_bytes response,
                                   kedge_error *error)
{
    static const kedge_http_header headers[] = {{"Content-Type", "application/json"}};
    char url[URL_SIZE];
    snprintf(url, sizeof url, "%s/invocation/%s/response", runtime->base, id);
    return post(runtime, url, headers, 1, response, error);
}

kedge_status kedge_runtime_fail(kedge_runtime *runtime, const char *id, const kedge_error *failure,
                                kedge_error *error)
{
    char url[URL_SIZE];
    char type[ERROR_TYPE_MAX];
    snprintf(type, sizeof type, "%s.%s", id == NULL ? "Init" : "Function", failure->code);
    if (id == NULL) {
        snprintf(url, sizeof url, "%s/init/error", runtime->base);
    } else {
        snprintf(url, sizeof url, "%s/invocation/%s/error", runtime->base, id);
    }
    kedge_buffer body = kedge_buffer_make(runtime->environment->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "errorType");
    kedge_json_chars(&writer, type);
    kedge_json_key(&writer, "errorMessage");
    kedge_json_chars(&writer, failure->message);
    kedge_json_key(&writer, "stackTrace");
    kedge_json_begin_array(&writer);
    kedge_json_end_array(&writer);
    kedge_json_end_object(&writer);
    const kedge_http_header headers[] = {{"Content-Type", "application/json"},
                                         {"Lambda-Runtime-Function-Error-Type", type}};
    kedge_status status = kedge_buffer_status(&body, error);
    if (status == KEDGE_OK)
        status = post(runtime, url, headers, 2, kedge_buffer_bytes(&body), error);
    kedge_buffer_free(&body);
    return status;
}
