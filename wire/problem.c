/* See problem.h. */
#include "wire/problem.h"

#include <kedge/limits.h>

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
    case 414:
        return "URI Too Long";
    case 415:
        return "Unsupported Media Type";
    case 416:
        return "Range Not Satisfiable";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    default:
        return "Internal Server Error";
    }
}

void kedge_wire_problem_write(int status, const char *code, const char *detail, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
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
}

bool kedge_wire_problem_read(const kedge_allocator *allocator, kedge_bytes content_type,
                             kedge_bytes body, kedge_wire_problem *out)
{
    if (!kedge_bytes_start_with(content_type, KEDGE_BYTES(KEDGE_WIRE_PROBLEM_TYPE)) ||
        kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, allocator, NULL) != KEDGE_OK ||
        !kedge_json_member_chars(body, "code", out->code, sizeof out->code)) {
        return false;
    }
    if (!kedge_json_member_chars(body, "detail", out->detail, sizeof out->detail)) {
        out->detail[0] = '\0';
    }
    if (!kedge_json_member_integer(body, "status", &out->status)) out->status = 0;
    return true;
}
