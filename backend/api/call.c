/* What every handler does with its call: refuse it with a problem document (RFC 9457), finish it,
 * and read the parameters of its query and the JSON of its body, with a refusal that names what is
 * wrong. */
#include "backend/api/call.h"
#include "backend/versioned/usage/usage.h"
#include "common/error.h"
#include "common/names.h"
#include "wire/problem.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- refusing and finishing ---- */

#define RETRY_AFTER_S 1
#define DETAIL_BYTES  512

void kedge_api_problem(kedge_api_response *response, int status, const char *code,
                       const char *detail)
{
    kedge_api_rest_free(response);
    response->status = status;
    response->content_type = KEDGE_WIRE_PROBLEM_TYPE;
    response->content_encoding = NULL;
    response->immutable = false;
    response->retry_after_s = status == 503 ? RETRY_AFTER_S : 0;
    response->allow[0] = '\0';
    kedge_buffer_free(&response->body);
    kedge_wire_problem_write(status, code, detail, &response->body);
    /* When there is no memory for the document, the response has only the status. */
    if (response->body.no_memory) kedge_buffer_free(&response->body);
}

void kedge_api_problem_of_method(kedge_api_response *response, const char *methods)
{
    char detail[DETAIL_BYTES];
    char allow[KEDGE_API_METHODS_SIZE];
    snprintf(allow, sizeof allow, "%s, OPTIONS", methods);
    snprintf(detail, sizeof detail, "the methods of this path are %s", allow);
    kedge_api_problem(response, 405, "method-not-allowed", detail);
    snprintf(response->allow, sizeof response->allow, "%s", allow);
}

void kedge_api_problem_of_budget(kedge_api_response *response, const char *name, int64_t bound,
                                 int32_t retry_after_s)
{
    char detail[DETAIL_BYTES];
    snprintf(detail, sizeof detail, "the budget %s is %lld, and used up; try again in %d s", name,
             (long long)bound, (int)retry_after_s);
    kedge_api_problem(response, 429, "budget-exceeded", detail);
    response->retry_after_s = retry_after_s;
}

void kedge_api_refuse(kedge_api_call *call, int status, const char *code, const char *format, ...)
{
    char detail[DETAIL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    kedge_api_problem(call->response, status, code, detail);
}

/* Only the code is sent, since messages may contain names of the backend's files. */
void kedge_api_fail(kedge_api_call *call, kedge_status status)
{
    int64_t bound;
    const char *budget = kedge_usage_exceeded(call->project.backend, &call->error, &bound);
    if (budget != NULL) {
        kedge_api_problem_of_budget(call->response, budget, bound, KEDGE_USAGE_MS / 1000);
        call->response->exceeded = budget;
        return;
    }
    call->response->cause = call->error;
    switch (status) {
    case KEDGE_CORRUPT:
    case KEDGE_INTERNAL:
    case KEDGE_INVALID_ARGUMENT:
    case KEDGE_INVALID_JSON:
    case KEDGE_LIMIT_EXCEEDED:
    case KEDGE_NOT_A_DATABASE:
    case KEDGE_NEWER_DATABASE:
    case KEDGE_NOT_FOUND:
    case KEDGE_UNSUPPORTED:
        kedge_api_refuse(call, 500, "internal", "the backend failed: %s",
                         kedge_status_name(status));
        return;
    default:
        kedge_api_refuse(
            call, 503, "unavailable",
            "the backend is not available now (%s); nothing was half applied; try again",
            kedge_status_name(status));
        return;
    }
}

void kedge_api_finish(kedge_api_call *call)
{
    if (call->response->body.no_memory) kedge_api_fail(call, KEDGE_NO_MEMORY);
}

kedge_status kedge_api_check_room(kedge_api_call *call)
{
    return kedge_api_check_room_beside(call, 0);
}

kedge_status kedge_api_check_room_beside(kedge_api_call *call, size_t size)
{
    const kedge_api_request *request = call->request;
    if (request->has_room == NULL ||
        request->has_room(request->room_context, call->response->body.size + size))
        return KEDGE_OK;
    return kedge_fail(&call->error, KEDGE_UNAVAILABLE, "no-room",
                      "there is no room for what the request holds");
}

bool kedge_api_too_large(const kedge_api_call *call)
{
    return call->response->body.size > KEDGE_API_RESPONSE_BYTES_MAX;
}

void kedge_api_refuse_too_large(kedge_api_call *call)
{
    kedge_api_refuse(call, 500, "response-too-large",
                     "the response would have more than %d bytes; read it in pages",
                     KEDGE_API_RESPONSE_BYTES_MAX);
}

/* ---- the query ---- */

static bool is_read(kedge_api_call *call, kedge_status status)
{
    if (status == KEDGE_OK) return true;
    if (status == KEDGE_NO_MEMORY) {
        kedge_api_fail(call, status);
    } else {
        kedge_api_refuse(call, 400, call->error.code, "%s", call->error.message);
    }
    return false;
}

bool kedge_api_query_integer(kedge_api_call *call, const char *name, int64_t least, int64_t most,
                             int64_t *value)
{
    return is_read(call, kedge_wire_query_integer(call->request->query, name, least, most, value,
                                                  &call->error));
}

bool kedge_api_query_text(kedge_api_call *call, const char *name, kedge_buffer *text, bool *present)
{
    return is_read(call,
                   kedge_wire_query_text(call->request->query, name, text, present, &call->error));
}

bool kedge_api_query_after(kedge_api_call *call, const char *what, kedge_buffer *after)
{
    bool present = false;
    if (!kedge_api_query_text(call, "after", after, &present)) return false;
    if (after->size == 0 ||
        kedge_check_name(what, kedge_buffer_bytes(after), &call->error) == KEDGE_OK)
        return true;
    kedge_api_refuse(call, 400, "query-invalid", "the parameter \"after\" is wrong: %s",
                     call->error.message);
    return false;
}

/* ---- the body ---- */

kedge_wire_request kedge_api_body(const kedge_api_call *call)
{
    return (kedge_wire_request){call->request->body, call->request->body_truncated};
}

bool kedge_api_body_is_read(kedge_api_call *call, kedge_status status)
{
    switch (status) {
    case KEDGE_OK:
        return true;
    case KEDGE_INVALID_ARGUMENT:
        kedge_api_refuse(call, 400, call->error.code, "%s", call->error.message);
        return false;
    case KEDGE_LIMIT_EXCEEDED:
        kedge_api_refuse(call, 413, call->error.code, "%s", call->error.message);
        return false;
    default:
        kedge_api_fail(call, status);
        return false;
    }
}

bool kedge_api_body_object(kedge_api_call *call, kedge_bytes *object)
{
    kedge_wire_request body = kedge_api_body(call);
    return kedge_api_body_is_read(call, kedge_wire_request_object(&body, object, &call->error));
}

bool kedge_api_body_client_id(kedge_api_call *call, kedge_bytes object, const char *name,
                              const char *path, char *chars)
{
    return kedge_api_body_is_read(
        call, kedge_wire_request_client_id(object, name, path, chars, &call->error));
}

bool kedge_api_body_project(kedge_api_call *call, kedge_bytes object, const char *name, char *chars)
{
    return kedge_api_body_is_read(call,
                                  kedge_wire_request_project(object, name, chars, &call->error));
}

bool kedge_api_body_integer(kedge_api_call *call, kedge_bytes object, const char *name,
                            const char *path, int64_t least, int64_t *value)
{
    return kedge_api_body_is_read(
        call, kedge_wire_request_integer(object, name, path, least, value, &call->error));
}
