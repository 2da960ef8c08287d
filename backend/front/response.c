/* See response.h. */
#include "backend/front/response.h"

#include "backend/ports/cost.h"
#include "common/utf8.h"
#include "wire/address.h"

#include <stdio.h>
#include <string.h>

void kedge_response_headers(const kedge_api_response *response, kedge_header_function add,
                            void *context)
{
    char number[16];
    if (response->content_type) add(context, "Content-Type", response->content_type);
    if (response->content_encoding) add(context, "Content-Encoding", response->content_encoding);
    if (response->content_range[0]) add(context, "Content-Range", response->content_range);
    if (response->allow[0]) add(context, "Allow", response->allow);
    if (response->retry_after_s) {
        snprintf(number, sizeof number, "%d", response->retry_after_s);
        add(context, "Retry-After", number);
    }
    if (response->status == 401) add(context, "WWW-Authenticate", "Bearer");
    add(context, "Cache-Control",
        response->immutable ? "private, max-age=31536000, immutable" : "no-store");
    add(context, "X-Content-Type-Options", "nosniff");
}

void kedge_response_cors(const kedge_cors_origins *origins, const char *origin, const char *method,
                         kedge_header_function add, void *context)
{
    add(context, "Vary", "Origin, Accept-Encoding");
    if (!origin || !kedge_cors_origins_allow(origins, origin)) return;
    add(context, "Access-Control-Allow-Origin", origin);
    add(context, "Access-Control-Expose-Headers",
        "Retry-After, Content-Range, Kedge-Cost, X-Request-Id");
    if (strcmp(method, "OPTIONS") != 0) return;
    add(context, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE, OPTIONS");
    add(context, "Access-Control-Allow-Headers",
        "Authorization, Content-Type, Content-Encoding, Range, "
        "X-Replicache-RequestID, " KEDGE_WIRE_USER_HEADER);
    add(context, "Access-Control-Max-Age", "86400");
}

void kedge_response_cost(const kedge_api_response *response, const kedge_allocator *allocator,
                         kedge_header_function add, void *context)
{
    kedge_buffer text = kedge_buffer_make(allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_cost_write(&response->cost, &writer);
    if (!text.no_memory) add(context, "Kedge-Cost", text.data);
    kedge_buffer_free(&text);
}

/* Logs damaged items also when the request succeeded: an operator must restore or repair them. */
static void log_damage(kedge_logger *log, const kedge_response_line *exchanged)
{
    kedge_logger_line line;
    if (!kedge_logger_begin(&line, log, KEDGE_LOGGER_ERROR, "items-damaged")) return;
    kedge_json_key(&line.json, "path");
    kedge_json_text(&line.json, exchanged->path);
    kedge_json_key(&line.json, "items");
    kedge_json_integer(&line.json, exchanged->response->damaged_items);
    kedge_json_key(&line.json, "cause");
    kedge_json_chars(&line.json, exchanged->response->cause.message);
    kedge_json_key(&line.json, "code");
    kedge_json_chars(&line.json, exchanged->response->cause.code);
    kedge_logger_end(&line);
}

/* Begins a warning that a peer can cause as often as it likes. */
static bool begin_allowed(kedge_logger_line *line, kedge_logger *log, kedge_allowance *allowance,
                          const char *event, uint64_t *omitted)
{
    const kedge_environment *environment = log->environment;
    return log->level >= KEDGE_LOGGER_WARNING &&
           kedge_allowance_take(allowance, environment->monotonic_ms(environment->context),
                                omitted) &&
           kedge_logger_begin(line, log, KEDGE_LOGGER_WARNING, event);
}

static void end_allowed(kedge_logger_line *line, uint64_t omitted)
{
    if (omitted > 0) {
        kedge_json_key(&line->json, "omitted");
        kedge_json_integer(&line->json, (int64_t)omitted);
    }
    kedge_logger_end(line);
}

/* What an organization may store does not grow by itself: its clients wait for an operator. */
static void log_exceeded(kedge_logger *log, const kedge_response_line *exchanged)
{
    kedge_logger_line line;
    uint64_t omitted = 0;
    if (!begin_allowed(&line, log, &log->exceeded, "budget-exceeded", &omitted)) return;
    kedge_logger_texts(&line, "budget", exchanged->response->exceeded, NULL);
    kedge_json_key(&line.json, "path");
    kedge_json_text(&line.json, exchanged->path);
    end_allowed(&line, omitted);
}

/* A newer app waits for this server to be replaced. Any peer can ask for what no server will ever
 * have. */
static void log_missing(kedge_logger *log, const kedge_api_response *response)
{
    const kedge_missing_mutator *missing = &response->missing;
    kedge_logger_line line;
    uint64_t omitted = 0;
    if (!begin_allowed(&line, log, &log->missing, "mutator-missing", &omitted)) return;
    kedge_logger_texts(&line, "organization", missing->organization, "project", missing->project,
                       NULL);
    kedge_json_key(&line.json, "mutator");
    kedge_json_text(&line.json,
                    kedge_utf8_clip(kedge_bytes_of(missing->mutator), KEDGE_LIMIT_NAME_BYTES));
    kedge_json_key(&line.json, "wanted");
    kedge_json_integer(&line.json, missing->wanted);
    kedge_json_key(&line.json, "here");
    kedge_json_integer(&line.json, missing->here);
    if (response->schema_version[0] != '\0')
        kedge_logger_texts(&line, "schema", response->schema_version, NULL);
    end_allowed(&line, omitted);
}

void kedge_response_log(kedge_logger *log, const kedge_response_line *exchanged)
{
    const kedge_api_response *response = exchanged->response;
    if (response->missing.wanted > 0) log_missing(log, response);
    if (response->exceeded != NULL) log_exceeded(log, exchanged);
    if (response->damaged_items > 0) log_damage(log, exchanged);
    /* 501: the peer has asked for what there is not, as with a 404. */
    bool fine = response->status < 500 || response->status == 501;
    kedge_logger_level level = fine                      ? exchanged->level
                               : response->status == 503 ? KEDGE_LOGGER_WARNING
                                                         : KEDGE_LOGGER_ERROR;
    kedge_logger_line line;
    if (!kedge_logger_begin(&line, log, level, "responded")) return;
    kedge_json_key(&line.json, "method");
    kedge_json_chars(&line.json, exchanged->method);
    kedge_json_key(&line.json, "path");
    kedge_json_text(&line.json, exchanged->path);
    kedge_json_key(&line.json, "status");
    kedge_json_integer(&line.json, response->status);
    kedge_json_key(&line.json, "duration_us");
    kedge_json_integer(&line.json, exchanged->took_us);
    kedge_json_key(&line.json, "received_bytes");
    kedge_json_integer(&line.json, (int64_t)exchanged->received_bytes);
    kedge_json_key(&line.json, "response_bytes");
    kedge_json_integer(&line.json, (int64_t)exchanged->response_bytes);
    if (exchanged->cut) {
        kedge_json_key(&line.json, "cut");
        kedge_json_boolean(&line.json, true);
    }
    if (response->schema_version[0] != '\0') {
        kedge_json_key(&line.json, "schema");
        kedge_json_chars(&line.json, response->schema_version);
    }
    kedge_json_key(&line.json, "cost");
    kedge_cost_write(&response->cost, &line.json);
    if (response->cause.message[0] != '\0') {
        kedge_json_key(&line.json, "cause");
        kedge_json_chars(&line.json, response->cause.message);
        kedge_json_key(&line.json, "code");
        kedge_json_chars(&line.json, response->cause.code);
    }
    kedge_logger_end(&line);
}
