/* Problem documents (RFC 9457), and the ends of a call. */
#include "backend/api/call.h"

#include <stdarg.h>
#include <stdio.h>

#define RETRY_AFTER_S 1
#define DETAIL_BYTES  512

static const char *title_of(int status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 409:
        return "Conflict";
    case 410:
        return "Gone";
    case 413:
        return "Content Too Large";
    case 415:
        return "Unsupported Media Type";
    case 416:
        return "Range Not Satisfiable";
    case 429:
        return "Too Many Requests";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    default:
        return "Internal Server Error";
    }
}

void kedge_api_problem(kedge_api_response *response, int status, const char *code,
                       const char *detail)
{
    response->status = status;
    response->content_type = "application/problem+json";
    response->content_encoding = NULL;
    response->immutable = false;
    response->retry_after_s = status == 503 ? RETRY_AFTER_S : 0;
    kedge_buffer_free(&response->body);
    kedge_json_writer writer = kedge_json_write(&response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "type");
    kedge_json_chars(&writer, "about:blank");
    kedge_json_key(&writer, "title");
    kedge_json_chars(&writer, title_of(status));
    kedge_json_key(&writer, "status");
    kedge_json_integer(&writer, status);
    kedge_json_key(&writer, "code");
    kedge_json_chars(&writer, code);
    kedge_json_key(&writer, "detail");
    kedge_json_chars(&writer, detail);
    kedge_json_end_object(&writer);
    /* Without memory even for this, the status alone has to do. */
    if (response->body.no_memory) kedge_buffer_free(&response->body);
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

/* Only the code leaves the backend: messages may name its files. */
void kedge_api_fail(kedge_api_call *call, kedge_status status)
{
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
            "the backend cannot answer now (%s); nothing was applied by half, try again",
            kedge_status_name(status));
        return;
    }
}

void kedge_api_finish(kedge_api_call *call)
{
    if (call->response->body.no_memory) kedge_api_fail(call, KEDGE_NO_MEMORY);
}

bool kedge_api_too_large(const kedge_api_call *call)
{
    return call->response->body.size > KEDGE_API_ANSWER_BYTES_MAX;
}

void kedge_api_refuse_too_large(kedge_api_call *call)
{
    kedge_api_refuse(call, 500, "answer-too-large",
                     "the answer would have more than %d bytes; read it in pages",
                     KEDGE_API_ANSWER_BYTES_MAX);
}
