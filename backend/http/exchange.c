/* See exchange.h: reading, handing over, sending. */
#include "backend/http/exchange.h"

#include "backend/front/response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The system's clock, since it is measured and nothing depends on it. */
static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

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
    exchange->started_us = now_us();
    atomic_fetch_add(&context->running, 1);
    return exchange;
}

/* ---- what is held ---- */

static void let_go(kedge_exchange *exchange)
{
    atomic_fetch_sub(&exchange->context->metrics.held_bytes, exchange->held_bytes);
    exchange->held_bytes = 0;
    kedge_budget_give(&exchange->account, KEDGE_BUDGET_HELD, exchange->owned_bytes);
    exchange->owned_bytes = 0;
}

/* Whether the exchange may hold `size` bytes in all. Small ones count in the account alone. */
static bool hold(kedge_exchange *exchange, size_t size)
{
    exchange->refusal = (kedge_budget_refusal){.name = NULL};
    if (size > exchange->owned_bytes) {
        if (!kedge_budget_take(&exchange->account, KEDGE_BUDGET_HELD, size - exchange->owned_bytes,
                               &exchange->refusal)) {
            let_go(exchange);
            return false;
        }
        exchange->owned_bytes = size;
    }
    size_t counted = size > KEDGE_SERVER_SMALL_BYTES ? size - KEDGE_SERVER_SMALL_BYTES : 0;
    if (counted <= exchange->held_bytes) return true;
    size_t more = counted - exchange->held_bytes;
    size_t held = atomic_fetch_add(&exchange->context->metrics.held_bytes, more) + more;
    exchange->held_bytes = counted;
    if (held <= KEDGE_SERVER_HELD_BYTES) return true;
    let_go(exchange);
    return false;
}

/* ---- deadlines ---- */

static kedge_server_connection *socket_context(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void set_deadline(kedge_exchange_context *context, struct MHD_Connection *connection,
                         int64_t within_ms)
{
    kedge_server_connection_due(context->connections, socket_context(connection), within_ms);
}

void kedge_exchange_await_next(kedge_exchange_context *context, struct MHD_Connection *connection)
{
    set_deadline(context, connection,
                 KEDGE_SERVER_IDLE_TIMEOUT_S * 1000 + context->request_timeout_ms);
}

/* ---- reading and working ---- */

/* Keeps a piece of the body, as far as the limits go; the rest is read and dropped, so that the
 * peer gets a response and not a reset. Of a peer without a token nothing is kept. False: cut the
 * connection. */
static bool take_body(kedge_exchange *exchange, const char *piece, size_t size)
{
    exchange->received += size;
    if (exchange->received > KEDGE_SERVER_DISCARD_BYTES) return false;
    if (exchange->overloaded || exchange->refused || !exchange->who) return true;

    size_t room = KEDGE_LIMIT_PUSH_BYTES - exchange->body.size;
    if (size > room) {
        exchange->truncated = true;
        size = room;
    }
    exchange->overloaded = !hold(exchange, exchange->body.size + size);
    if (!exchange->overloaded) kedge_buffer_append(&exchange->body, piece, size);
    if (exchange->body.no_memory) exchange->overloaded = true;
    if (exchange->overloaded) {
        kedge_buffer_free(&exchange->body);
        let_go(exchange);
    }
    return true;
}

/* The response stands ready. */
static void finish(kedge_exchange *exchange)
{
    int64_t took_us = now_us() - exchange->started_us;
    if (exchange->stream) exchange->response.status = 200;
    kedge_metrics_responded(&exchange->context->metrics, exchange->response.status, took_us);
    atomic_fetch_add(&exchange->context->metrics.damaged,
                     (uint64_t)exchange->response.damaged_items);
    if (!exchange->refused) {
        kedge_budget_charge(&exchange->account, exchange->received + exchange->response.body.size);
    }
    kedge_response_log(
        exchange->context->log,
        &(kedge_response_line){.level = KEDGE_LOGGER_DEBUG,
                               .method = exchange->method,
                               .path = {exchange->target, strcspn(exchange->target, "?")},
                               .response = &exchange->response,
                               .took_us = took_us,
                               .received_bytes = exchange->received});
    atomic_store(&exchange->state, KEDGE_EXCHANGE_RESPONDED);
}

static void overload(kedge_exchange *exchange)
{
    if (atomic_load(&exchange->context->stopping)) {
        kedge_api_problem(&exchange->response, 503, "unavailable",
                          "the server is stopping; try again");
        return;
    }
    kedge_exchange_refuse(exchange, &exchange->refusal);
}

static void forget_who(kedge_exchange *exchange)
{
    kedge_release(exchange->context->environment->allocator, exchange->who);
    exchange->who = NULL;
}

/* Resumes the connection last: from then on the exchange is the daemon's, which may free it. */
static void work(void *argument)
{
    kedge_exchange *exchange = argument;
    struct MHD_Connection *connection = exchange->connection;
    kedge_exchange_run(exchange);
    forget_who(exchange);
    kedge_buffer_free(&exchange->body);
    let_go(exchange);
    if (!hold(exchange, exchange->response.body.size)) overload(exchange);
    finish(exchange);
    MHD_resume_connection(connection);
}

static bool has_broken_body(kedge_exchange *exchange)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_FOOTER_KIND,
                                       KEDGE_GATE_BROKEN_BODY) != NULL;
}

static void refuse_body(kedge_exchange *exchange)
{
    exchange->refused = true;
    exchange->closes = true;
    kedge_server_connection_linger(exchange->context->connections,
                                   socket_context(exchange->connection));
    kedge_api_problem(&exchange->response, 400, "body-invalid",
                      "the body has a chunk that is none, or a trailer");
}

/* True: the connection is suspended, and will be resumed with the response. It is suspended before
 * the worker has it, which may be done before this returns; from then on the exchange is the
 * worker's. */
static bool hand_over(kedge_exchange *exchange)
{
    if (!exchange->refused && has_broken_body(exchange)) refuse_body(exchange);
    if (exchange->refused) {
        finish(exchange);
        return false;
    }
    if (exchange->overloaded || atomic_load(&exchange->context->stopping)) {
        overload(exchange);
        finish(exchange);
        return false;
    }
    if (kedge_exchange_run_for_everybody(exchange)) {
        finish(exchange);
        return false;
    }
    struct MHD_Connection *connection = exchange->connection;
    atomic_store(&exchange->state, KEDGE_EXCHANGE_WORKING);
    set_deadline(exchange->context, connection, KEDGE_CONNECTION_UNHURRIED);
    MHD_suspend_connection(connection);
    if (!kedge_workers_submit(exchange->context->workers, work, exchange)) {
        overload(exchange);
        finish(exchange);
        MHD_resume_connection(connection);
    }
    return true;
}

void kedge_exchange_free(kedge_exchange *exchange)
{
    if (!exchange) return;
    kedge_exchange_context *context = exchange->context;
    const kedge_environment *environment = context->environment;
    /* Also what makes the worker's writes visible to the daemon's thread. */
    if (atomic_load(&exchange->state) != KEDGE_EXCHANGE_RESPONDED) {
        atomic_fetch_add(&context->metrics.cut, 1);
    }
    if (exchange->stream) kedge_event_stream_free(exchange->stream);
    let_go(exchange);
    kedge_budget_account_release(&exchange->account);
    forget_who(exchange);
    kedge_buffer_free(&exchange->body);
    kedge_buffer_free(&exchange->response.body);
    kedge_release(environment->allocator, exchange->target);
    kedge_release(environment->allocator, exchange);
    atomic_fetch_sub(&context->running, 1);
}

/* ---- responding ---- */

static void add_header(void *message, const char *name, const char *value)
{
    MHD_add_response_header(message, name, value);
}

static void add_cors(kedge_exchange *exchange, struct MHD_Response *message)
{
    const char *origin =
        MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, "Origin");
    kedge_response_cors(exchange->context->origins, origin, exchange->method, add_header, message);
}

static void add_headers(kedge_exchange *exchange, struct MHD_Response *message)
{
    kedge_response_headers(&exchange->response, add_header, message);
    if (exchange->context->cost_header) {
        kedge_response_cost(&exchange->response, exchange->context->environment->allocator,
                            add_header, message);
    }
    if (exchange->closes || atomic_load(&exchange->context->stopping))
        add_header(message, "Connection", "close");
}

static struct MHD_Response *make_stream(kedge_exchange *exchange)
{
    struct MHD_Response *message = kedge_event_stream_respond(exchange->stream);
    if (!message) return NULL;
    exchange->stream = NULL;
    add_header(message, "Cache-Control", "no-store");
    return message;
}

/* The body stays the exchange's, which lives until the daemon has sent it. */
static struct MHD_Response *make_message(kedge_exchange *exchange)
{
    kedge_buffer *body = &exchange->response.body;
    struct MHD_Response *message =
        MHD_create_response_from_buffer(body->size, body->data, MHD_RESPMEM_PERSISTENT);
    if (message) add_headers(exchange, message);
    return message;
}

static enum MHD_Result respond(kedge_exchange *exchange)
{
    kedge_exchange_context *context = exchange->context;
    int64_t within_ms =
        context->request_timeout_ms +
        (int64_t)(exchange->response.body.size / KEDGE_SERVER_RESPONSE_BYTES_S * 1000);
    if (exchange->stream) within_ms = KEDGE_CONNECTION_UNHURRIED;
    struct MHD_Response *message =
        exchange->stream ? make_stream(exchange) : make_message(exchange);
    if (!message) return MHD_NO;
    add_cors(exchange, message);
    set_deadline(context, exchange->connection, within_ms);
    enum MHD_Result queued =
        MHD_queue_response(exchange->connection, (unsigned)exchange->response.status, message);
    MHD_destroy_response(message);
    return queued;
}

/* Whether the body of a refused request is not read: there is none yet, since the peer asks whether
 * it should send it, or it may be large. */
static bool leaves_body(kedge_exchange *exchange)
{
    const char *size = kedge_exchange_header(exchange, "Content-Length");
    return kedge_exchange_header(exchange, "Expect") ||
           kedge_exchange_header(exchange, "Transfer-Encoding") ||
           (size && strtoull(size, NULL, 10) > KEDGE_SERVER_SMALL_BYTES);
}

/* A head that the gate has refused has no target of its own. */
static bool is_refused_by_gate(kedge_exchange *exchange)
{
    if (strcmp(exchange->target, KEDGE_GATE_REFUSED) != 0) return false;
    const kedge_gate *gate = kedge_server_connection_gate(socket_context(exchange->connection));
    exchange->target[0] = '\0';
    kedge_api_problem(&exchange->response, gate->status, "head-invalid", gate->problem);
    return true;
}

/* With the head. A response at once ends the connection: where the next request would begin is not
 * known. */
static enum MHD_Result begin(kedge_exchange *exchange)
{
    bool broken = is_refused_by_gate(exchange);
    exchange->refused = broken || !kedge_exchange_admit(exchange);
    if (!broken && !(exchange->refused && leaves_body(exchange))) {
        atomic_store(&exchange->state, KEDGE_EXCHANGE_READING);
        return MHD_YES;
    }
    exchange->closes = true;
    kedge_server_connection_linger(exchange->context->connections,
                                   socket_context(exchange->connection));
    finish(exchange);
    return respond(exchange);
}

enum MHD_Result kedge_exchange_step(kedge_exchange *exchange, struct MHD_Connection *connection,
                                    const char *method, const char *upload, size_t *upload_size)
{
    switch (atomic_load(&exchange->state)) {
    case KEDGE_EXCHANGE_NEW:
        exchange->connection = connection;
        snprintf(exchange->method, sizeof exchange->method, "%s", method);
        set_deadline(exchange->context, connection, exchange->context->request_timeout_ms);
        return begin(exchange);
    case KEDGE_EXCHANGE_READING:
        if (*upload_size) {
            bool taken = take_body(exchange, upload, *upload_size);
            *upload_size = 0;
            return taken ? MHD_YES : MHD_NO;
        }
        return hand_over(exchange) ? MHD_YES : respond(exchange);
    case KEDGE_EXCHANGE_WORKING:
        return MHD_YES;
    case KEDGE_EXCHANGE_RESPONDED:
        return respond(exchange);
    }
    return MHD_NO;
}
