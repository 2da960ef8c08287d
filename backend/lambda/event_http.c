/* See event_http.h. */
#include "backend/lambda/event_http.h"

#include "backend/front/body.h"
#include "backend/front/health.h"
#include "backend/front/response.h"
#include "backend/lambda/event_path.h"
#include "common/base64.h"
#include "common/error.h"
#include "common/utf8.h"
#include "wire/address.h"

#include <kedge/limits.h>

#include <string.h>

#define METHOD_SIZE 16
#define NAME_SIZE   64
#define TOKEN_SIZE  16640 /* more than backend/auth reads */
#define HEADER_SIZE 256
/* A larger body goes as base64, which grows by a third at the most. */
#define TEXT_BYTES_MAX 4096
/* There will be none the next time either. It is as long as libkedge waits at most; without it each
 * client would invoke the function once a minute for its stream. */
#define NO_EVENTS_RETRY_AFTER_S 600

/* One request, and its response. */
typedef struct http_call {
    const kedge_lambda *lambda;
    int64_t started_ms;
    char method[METHOD_SIZE];
    char authorization[TOKEN_SIZE];
    char origin[HEADER_SIZE];
    char accept_encoding[HEADER_SIZE];
    char content_encoding[HEADER_SIZE];
    char range[HEADER_SIZE];
    kedge_buffer path;
    kedge_buffer query;
    kedge_buffer body;
    size_t received_bytes;
    kedge_api_response response;
} http_call;

bool kedge_event_is_http(kedge_bytes event)
{
    char version[8];
    kedge_bytes context, http;
    return kedge_json_member_chars(event, "version", version, sizeof version) &&
           strcmp(version, "2.0") == 0 && kedge_json_member(event, "requestContext", &context) &&
           kedge_json_member(context, "http", &http) &&
           kedge_json_type_of(http) == KEDGE_JSON_OBJECT;
}

/* ---- reading the event ---- */

/* Headers come in lower case, and several of one name as one, with commas. One that is too long to
 * be any good is left out. */
static void read_headers(http_call *call, kedge_bytes event)
{
    const struct {
        const char *name;
        char *value;
        size_t size;
    } wanted[] = {
        {"authorization", call->authorization, sizeof call->authorization},
        {"origin", call->origin, sizeof call->origin},
        {"accept-encoding", call->accept_encoding, sizeof call->accept_encoding},
        {"content-encoding", call->content_encoding, sizeof call->content_encoding},
        {"range", call->range, sizeof call->range},
    };
    kedge_bytes headers, key, value;
    if (!kedge_json_member(event, "headers", &headers)) return;
    kedge_json_iterator members = kedge_json_iterate(headers);
    while (kedge_json_next_member(&members, &key, &value)) {
        char name[NAME_SIZE];
        if (!kedge_json_to_chars(key, name, sizeof name)) continue;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (strcasecmp(name, wanted[i].name) != 0) continue;
            if (!kedge_json_to_chars(value, wanted[i].value, wanted[i].size))
                wanted[i].value[0] = '\0';
        }
    }
}

static bool decode_base64(kedge_buffer *body)
{
    kedge_buffer plain = kedge_buffer_make(body->allocator);
    size_t size = 0;
    char *room = kedge_buffer_reserve(&plain, KEDGE_BASE64_DECODED_MAX(body->size) + 1);
    bool decoded = room != NULL && kedge_base64_decode(kedge_buffer_bytes(body), room, &size);
    plain.size = size;
    plain.no_memory = plain.no_memory || body->no_memory;
    kedge_buffer_free(body);
    *body = plain;
    return decoded;
}

static void refuse_without_memory(http_call *call)
{
    kedge_api_problem(&call->response, 503, "overloaded", "the function is out of memory");
}

/* False with a problem. */
static bool read_body(http_call *call, kedge_bytes event)
{
    kedge_bytes value;
    bool encoded = false;
    bool read = true;
    if (kedge_json_member(event, "body", &value) && kedge_json_type_of(value) != KEDGE_JSON_NULL) {
        read = kedge_json_to_text(value, &call->body);
    }
    if (kedge_json_member(event, "isBase64Encoded", &value))
        read = read && kedge_json_to_boolean(value, &encoded);
    if (read && encoded && call->body.size > 0) read = decode_base64(&call->body);
    call->received_bytes = call->body.size;
    if (call->body.no_memory) {
        refuse_without_memory(call);
    } else if (!read) {
        kedge_api_problem(&call->response, 400, "event-invalid",
                          "the event's body is neither text nor base64");
    } else {
        return true;
    }
    return false;
}

/* False with a problem. */
static bool read_event(http_call *call, kedge_bytes event)
{
    kedge_bytes context, http, value;
    (void)kedge_json_member(event, "requestContext", &context);
    (void)kedge_json_member(context, "http", &http);
    read_headers(call, event);
    bool named = kedge_json_member_chars(http, "method", call->method, sizeof call->method) &&
                 kedge_event_path(event, context, &call->path);
    if (kedge_json_member(event, "rawQueryString", &value))
        named = named && kedge_json_to_text(value, &call->query);
    if (call->path.no_memory || call->query.no_memory) {
        refuse_without_memory(call);
        return false;
    }
    if (!named) {
        kedge_api_problem(&call->response, 400, "event-invalid",
                          "the event names no method, rawPath or rawQueryString");
        return false;
    }
    return read_body(call, event);
}

/* ---- responding ---- */

static const char *or_null(const char *header)
{
    return header[0] == '\0' ? NULL : header;
}

static bool is_at(kedge_bytes path, const char *pattern)
{
    kedge_wire_path parts;
    kedge_wire_path wanted;
    return kedge_wire_path_cut(path, &parts) &&
           kedge_wire_path_cut(kedge_bytes_of(pattern), &wanted) &&
           kedge_wire_path_matches(&wanted, &parts);
}

/* What needs neither backend nor token. What is not served is refused with 404 and not with 501:
 * API Gateway counts each 5xx, and an alarm on that count would be on for ever, since each client
 * asks for a stream. */
static bool respond_own(http_call *call, kedge_bytes path)
{
    kedge_api_response *response = &call->response;
    if (kedge_front_serves(call->method, path)) {
        kedge_front_serve(call->method, response);
    } else if (kedge_bytes_equal_text(path, "/v1/metrics")) {
        kedge_api_problem(response, 404, "metrics-not-served",
                          "Lambda has no metrics of its own here; they are in CloudWatch");
    } else if (is_at(path, KEDGE_WIRE_PATH_EVENTS) || is_at(path, KEDGE_WIRE_PATH_TICKET) ||
               is_at(path, KEDGE_WIRE_PATH_LOG_EVENTS) || is_at(path, KEDGE_WIRE_PATH_LOG_TICKET)) {
        kedge_api_problem(response, 404, "events-not-served",
                          "Lambda serves no event streams; pull from time to time instead");
        response->retry_after_s = NO_EVENTS_RETRY_AFTER_S;
    } else {
        return false;
    }
    return true;
}

/* False with a problem. */
static bool authenticate(http_call *call, kedge_auth_result *who)
{
    kedge_error error = {0};
    if (call->lambda->auth == NULL) {
        kedge_api_problem(&call->response, 503, "identity-not-configured",
                          "this function has no KEDGE_JWKS, and so serves no requests");
        return false;
    }
    kedge_status status =
        kedge_auth_check(call->lambda->auth, or_null(call->authorization), who, &error);
    if (status == KEDGE_OK) return true;
    if (status == KEDGE_UNAUTHORIZED) {
        kedge_api_problem(&call->response, 401, error.code, error.message);
    } else {
        kedge_api_problem(&call->response, 503, "unavailable", "the token cannot be checked now");
    }
    return false;
}

static bool is_head(const http_call *call)
{
    return strcmp(call->method, "HEAD") == 0;
}

static void respond(http_call *call)
{
    kedge_bytes path = kedge_buffer_bytes(&call->path);
    kedge_auth_result who = {.expires_ms = 0};
    bool packed = kedge_body_accepts_gzip(or_null(call->accept_encoding));
    bool everybody = kedge_api_is_for_everybody(path);
    if (respond_own(call, path) || (!everybody && !authenticate(call, &who)) ||
        !kedge_body_decode(or_null(call->content_encoding), false, &call->body, &call->response)) {
        return;
    }
    kedge_api_request request = {
        .method = kedge_bytes_of(is_head(call) ? "GET" : call->method),
        .path = path,
        .query = kedge_buffer_bytes(&call->query),
        .body = kedge_buffer_bytes(&call->body),
        .accepts_gzip = packed,
        .range = kedge_bytes_of(call->range),
        .identity = everybody ? NULL : &who.identity,
    };
    kedge_backend_handle(call->lambda->backend, &request, &call->response);
    if (packed) kedge_body_compress(&call->response);
    if (call->response.body.size > KEDGE_LAMBDA_RESPONSE_BODY_BYTES) {
        kedge_api_problem(&call->response, 500, "response-too-large",
                          "the response has more bytes than Lambda can carry; read it in pages, or "
                          "with Range");
    }
}

/* ---- writing the response ---- */

static void write_header(void *writer, const char *name, const char *value)
{
    kedge_json_key(writer, name);
    kedge_json_chars(writer, value);
}

static void write_body(const http_call *call, kedge_json_writer *writer)
{
    const kedge_api_response *response = &call->response;
    kedge_bytes body = kedge_buffer_bytes(&response->body);
    bool text = body.size <= TEXT_BYTES_MAX && kedge_bytes_are_utf8(body);
    kedge_json_key(writer, "isBase64Encoded");
    kedge_json_boolean(writer, !text);
    kedge_json_key(writer, "body");
    if (text) {
        kedge_json_text(writer, body);
        return;
    }
    kedge_json_raw(writer, KEDGE_BYTES("\""));
    kedge_base64_encode(body, writer->buffer);
    kedge_buffer_append_byte(writer->buffer, '"');
}

static kedge_status write_response(const http_call *call, kedge_buffer *out, kedge_error *error)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "statusCode");
    kedge_json_integer(&writer, call->response.status);
    kedge_json_key(&writer, "headers");
    kedge_json_begin_object(&writer);
    kedge_response_headers(&call->response, write_header, &writer);
    if (call->lambda->cost_header) {
        kedge_response_cost(&call->response, call->lambda->environment->allocator, write_header,
                            &writer);
    }
    kedge_response_cors(call->lambda->origins, or_null(call->origin), call->method, write_header,
                        &writer);
    kedge_json_end_object(&writer);
    write_body(call, &writer);
    kedge_json_end_object(&writer);
    return kedge_buffer_status(out, error);
}

static void log_response(const http_call *call)
{
    const kedge_environment *environment = call->lambda->environment;
    int64_t took_ms = environment->monotonic_ms(environment->context) - call->started_ms;
    /* A function has no metrics with totals. So each response that costs anything is logged. */
    bool costs = kedge_cost_dollars(&call->response.cost) > 0;
    kedge_response_line exchanged = {.level = costs ? KEDGE_LOGGER_INFO : KEDGE_LOGGER_DEBUG,
                                     .method = call->method,
                                     .path = kedge_buffer_bytes(&call->path),
                                     .response = &call->response,
                                     .took_us = took_ms * 1000,
                                     .received_bytes = call->received_bytes,
                                     .response_bytes = call->response.body.size};
    kedge_response_log(call->lambda->log, &exchanged);
}

/* Of a short invocation the first half is for the work. */
static kedge_deadline deadline_of(const http_call *call, int64_t deadline_ms)
{
    const kedge_environment *environment = call->lambda->environment;
    int64_t left_ms = deadline_ms - environment->now_ms(environment->context);
    int64_t margin_ms = KEDGE_EVENT_HTTP_MARGIN_MS;
    if (margin_ms > left_ms / 2) margin_ms = left_ms / 2;
    return (kedge_deadline){.environment = environment,
                            .end_ms = call->started_ms + left_ms - margin_ms,
                            .slice_end_ms = INT64_MAX};
}

typedef void handler(http_call *call);

static kedge_status run(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                        handler *handle, kedge_buffer *out, kedge_error *error)
{
    const kedge_environment *environment = lambda->environment;
    const kedge_allocator *allocator = environment->allocator;
    http_call call = {.lambda = lambda,
                      .started_ms = environment->monotonic_ms(environment->context),
                      .path = kedge_buffer_make(allocator),
                      .query = kedge_buffer_make(allocator),
                      .body = kedge_buffer_make(allocator),
                      .response = {.body = kedge_buffer_make(allocator)}};
    const kedge_deadline deadline = deadline_of(&call, deadline_ms);
    if (deadline_ms != INT64_MAX) kedge_deadline_set(&deadline);
    if (read_event(&call, event)) handle(&call);
    kedge_deadline_set(NULL);
    kedge_buffer_free(&call.body);
    if (is_head(&call)) kedge_buffer_clear(&call.response.body);
    log_response(&call);
    kedge_status status = write_response(&call, out, error);
    kedge_buffer_free(&call.path);
    kedge_buffer_free(&call.query);
    kedge_buffer_free(&call.response.body);
    return status;
}

kedge_status kedge_event_http(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                              kedge_buffer *out, kedge_error *error)
{
    return run(lambda, event, deadline_ms, respond, out, error);
}

/* ---- NULs ---- */

void kedge_event_http_blank_nuls(kedge_buffer *event)
{
    for (size_t i = 0; i + 1 < event->size; i++) {
        if (event->data[i] != '\\') continue;
        char *escape = event->data + ++i;
        if (event->size - i >= 5 && memcmp(escape, "u0000", 5) == 0) memcpy(escape, "ufffd", 5);
    }
}

static void refuse_nul(http_call *call)
{
    kedge_api_problem(&call->response, 400, "event-invalid",
                      "the request has a NUL in its path, query, headers or body");
}

kedge_status kedge_event_http_refuse_nul(const kedge_lambda *lambda, kedge_bytes event,
                                         kedge_buffer *out, kedge_error *error)
{
    return run(lambda, event, INT64_MAX, refuse_nul, out, error);
}
