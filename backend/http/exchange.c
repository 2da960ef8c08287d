/* See exchange.h: reading, handing over, sending. */
#include "backend/http/exchange.h"

#include <stdio.h>
#include <string.h>

kedge_exchange *kedge_exchange_new(kedge_exchange_context *context, const char *target)
{
    const kedge_environment *environment = context->environment;
    kedge_exchange *exchange = kedge_allocate(environment->allocator, sizeof *exchange);
    if (!exchange) return NULL;
    exchange->target = kedge_copy_text(environment->allocator, kedge_bytes_of(target));
    if (!exchange->target) {
        kedge_release(environment->allocator, exchange);
        return NULL;
    }
    exchange->context = context;
    exchange->body = kedge_buffer_make(environment->allocator);
    exchange->response.body = kedge_buffer_make(environment->allocator);
    exchange->started_ms = environment->monotonic_ms(environment->context);
    atomic_fetch_add(&context->running, 1);
    return exchange;
}

void kedge_exchange_free(kedge_exchange *exchange)
{
    if (!exchange) return;
    kedge_exchange_context *context = exchange->context;
    const kedge_environment *environment = context->environment;
    int64_t took = environment->monotonic_ms(environment->context) - exchange->started_ms;
    kedge_metrics_answered(&context->metrics, exchange->response.status, took * 1000);
    if (exchange->response.status >= 500) {
        kedge_log_write(context->log, KEDGE_LOG_DEBUG, "failed", "method", exchange->method,
                        "target", exchange->target, "problem",
                        exchange->response.body.size ? exchange->response.body.data : "", NULL);
    }
    if (exchange->stream) kedge_event_stream_free(exchange->stream);
    atomic_fetch_sub(&context->body_bytes, exchange->body_counted);
    kedge_buffer_free(&exchange->body);
    kedge_buffer_free(&exchange->response.body);
    kedge_release(environment->allocator, exchange->target);
    kedge_release(environment->allocator, exchange);
    atomic_fetch_sub(&context->running, 1);
}

/* Keeps a piece of the body, as far as the limits go; the rest is read and dropped, so that the
 * peer gets an answer and not a reset. False: cut the connection. */
static bool take_body(kedge_exchange *exchange, const char *piece, size_t size)
{
    kedge_exchange_context *context = exchange->context;
    const kedge_environment *environment = context->environment;
    exchange->received += size;
    if (exchange->received > KEDGE_SERVER_DISCARD_BYTES) return false;
    int64_t took = environment->monotonic_ms(environment->context) - exchange->started_ms;
    if (took > KEDGE_SERVER_REQUEST_TIMEOUT_MS) return false;

    size_t room = KEDGE_LIMIT_PUSH_BYTES - exchange->body.size;
    if (size > room) {
        exchange->truncated = true;
        size = room;
    }
    size_t held = atomic_fetch_add(&context->body_bytes, size) + size;
    exchange->body_counted += size;
    if (held > KEDGE_SERVER_BODIES_BYTES) exchange->overloaded = true;
    if (!exchange->overloaded) kedge_buffer_append(&exchange->body, piece, size);
    if (exchange->body.no_memory) exchange->overloaded = true;
    return true;
}

static void work(void *argument)
{
    kedge_exchange *exchange = argument;
    kedge_exchange_run(exchange);
    struct MHD_Connection *connection = exchange->connection;
    atomic_store(&exchange->state, KEDGE_EXCHANGE_ANSWERED);
    MHD_resume_connection(connection);
}

static void overload(kedge_exchange *exchange)
{
    atomic_fetch_add(&exchange->context->metrics.overloaded, 1);
    kedge_api_problem(&exchange->response, 503, "overloaded",
                      "the server is at its limit of running requests; try again");
    exchange->response.retry_after_s = 1;
    atomic_store(&exchange->state, KEDGE_EXCHANGE_ANSWERED);
}

/* True: the connection is suspended, and will be resumed with the answer. It is suspended before
 * the worker has it, which may be done before this returns; from then on the exchange is the
 * worker's. */
static bool hand_over(kedge_exchange *exchange)
{
    if (exchange->overloaded || atomic_load(&exchange->context->stopping)) {
        overload(exchange);
        return false;
    }
    struct MHD_Connection *connection = exchange->connection;
    atomic_store(&exchange->state, KEDGE_EXCHANGE_WORKING);
    MHD_suspend_connection(connection);
    if (!kedge_workers_submit(exchange->context->workers, work, exchange)) {
        overload(exchange);
        MHD_resume_connection(connection);
    }
    return true;
}

static void add_header(struct MHD_Response *message, const char *name, const char *value)
{
    MHD_add_response_header(message, name, value);
}

/* CORS headers stand on errors too, else a page cannot read them. */
static void add_cors(kedge_exchange *exchange, struct MHD_Response *message)
{
    const char *origin =
        MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, "Origin");
    add_header(message, "Vary", "Origin, Accept-Encoding");
    if (!origin || !kedge_origins_allow(exchange->context->origins, origin)) return;
    add_header(message, "Access-Control-Allow-Origin", origin);
    add_header(message, "Access-Control-Expose-Headers", "Retry-After, Content-Range");
    if (strcmp(exchange->method, "OPTIONS") != 0) return;
    add_header(message, "Access-Control-Allow-Methods", "GET, POST, PUT, OPTIONS");
    add_header(message, "Access-Control-Allow-Headers",
               "Authorization, Content-Type, Content-Encoding, Range, X-Replicache-RequestID");
    add_header(message, "Access-Control-Max-Age", "86400");
}

static void add_headers(kedge_exchange *exchange, struct MHD_Response *message)
{
    const kedge_api_response *response = &exchange->response;
    char number[16];
    if (response->content_type) add_header(message, "Content-Type", response->content_type);
    if (response->content_encoding) {
        add_header(message, "Content-Encoding", response->content_encoding);
    }
    if (response->content_range[0]) add_header(message, "Content-Range", response->content_range);
    if (response->retry_after_s) {
        snprintf(number, sizeof number, "%d", response->retry_after_s);
        add_header(message, "Retry-After", number);
    }
    if (response->status == 401) add_header(message, "WWW-Authenticate", "Bearer");
    add_header(message, "Cache-Control",
               response->immutable ? "private, max-age=31536000, immutable" : "no-store");
    add_header(message, "X-Content-Type-Options", "nosniff");
    if (atomic_load(&exchange->context->stopping)) add_header(message, "Connection", "close");
}

/* The body stays the exchange's, which lives until the daemon has sent it. */
static enum MHD_Result answer(kedge_exchange *exchange)
{
    struct MHD_Response *message = NULL;
    unsigned status = 200;
    if (exchange->stream) {
        message = kedge_event_stream_respond(exchange->stream);
        if (message) {
            exchange->stream = NULL;
            add_header(message, "Cache-Control", "no-store");
        }
        exchange->response.status = 200;
    } else {
        kedge_buffer *body = &exchange->response.body;
        message = MHD_create_response_from_buffer(body->size, body->data, MHD_RESPMEM_PERSISTENT);
        status = (unsigned)exchange->response.status;
        if (message) add_headers(exchange, message);
    }
    if (!message) return MHD_NO;
    add_cors(exchange, message);
    enum MHD_Result queued = MHD_queue_response(exchange->connection, status, message);
    MHD_destroy_response(message);
    return queued;
}

enum MHD_Result kedge_exchange_step(kedge_exchange *exchange, struct MHD_Connection *connection,
                                    const char *method, const char *upload, size_t *upload_size)
{
    switch (atomic_load(&exchange->state)) {
    case KEDGE_EXCHANGE_NEW:
        exchange->connection = connection;
        snprintf(exchange->method, sizeof exchange->method, "%s", method);
        atomic_store(&exchange->state, KEDGE_EXCHANGE_READING);
        return MHD_YES;
    case KEDGE_EXCHANGE_READING:
        if (*upload_size) {
            bool taken = take_body(exchange, upload, *upload_size);
            *upload_size = 0;
            return taken ? MHD_YES : MHD_NO;
        }
        return hand_over(exchange) ? MHD_YES : answer(exchange);
    case KEDGE_EXCHANGE_WORKING:
        return MHD_YES;
    case KEDGE_EXCHANGE_ANSWERED:
        return answer(exchange);
    }
    return MHD_NO;
}
