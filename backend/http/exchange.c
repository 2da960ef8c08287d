/* See exchange.h: reading, handing over, sending. */
#include "backend/http/door.h"
#include "backend/http/exchange_work.h"

#include "backend/front/response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    exchange->before.body = kedge_buffer_make(environment->allocator);
    exchange->started_us = kedge_exchange_now_us();
    atomic_fetch_add(&context->running, 1);
    return exchange;
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

/* For a body or a response, which takes as long as a slow line needs. */
static void set_paced_deadline(kedge_exchange_context *context, struct MHD_Connection *connection,
                               kedge_paced_step step)
{
    kedge_server_connection_paced(context->connections, socket_context(connection),
                                  context->request_timeout_ms, step);
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
    exchange->overloaded = !kedge_exchange_hold(exchange, exchange->body.size + size);
    if (!exchange->overloaded) kedge_buffer_append(&exchange->body, piece, size);
    if (exchange->body.no_memory) exchange->overloaded = true;
    if (exchange->overloaded) {
        kedge_buffer_free(&exchange->body);
        kedge_exchange_let_go(exchange);
    }
    return true;
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
                      "the body has a malformed chunk, or a trailer");
}

/* Whether there is room for the body and a small response. */
static bool has_room_to_work(kedge_exchange *exchange)
{
    size_t size = exchange->body.size;
    return kedge_exchange_hold(
        exchange, size > KEDGE_EXCHANGE_RESPONSE_BYTES ? size : KEDGE_EXCHANGE_RESPONSE_BYTES);
}

/* True: the connection is suspended, and will be resumed with the response. It is suspended before
 * the worker has it, which may be done before this returns; from then on the exchange is the
 * worker's. */
static bool hand_over(kedge_exchange *exchange)
{
    if (!exchange->refused && has_broken_body(exchange)) refuse_body(exchange);
    if (exchange->refused) {
        kedge_exchange_finish(exchange);
        return false;
    }
    if (exchange->overloaded || atomic_load(&exchange->context->stopping)) {
        kedge_exchange_overload(exchange);
        kedge_exchange_finish(exchange);
        return false;
    }
    if (kedge_exchange_run_at_once(exchange)) {
        kedge_exchange_finish(exchange);
        return false;
    }
    if (!has_room_to_work(exchange)) {
        kedge_exchange_overload(exchange);
        kedge_exchange_finish(exchange);
        return false;
    }
    struct MHD_Connection *connection = exchange->connection;
    atomic_store(&exchange->state, KEDGE_EXCHANGE_WORKING);
    set_deadline(exchange->context, connection, KEDGE_CONNECTION_UNHURRIED);
    exchange->peer = socket_context(connection);
    kedge_server_connection_watch(exchange->context->connections, exchange->peer, true);
    MHD_suspend_connection(connection);
    kedge_workers_admission admission = kedge_exchange_submit(exchange);
    if (admission != KEDGE_WORKERS_TAKEN) {
        if (admission == KEDGE_WORKERS_TENANT_FULL) {
            kedge_exchange_refuse_crowd(exchange);
        } else {
            kedge_exchange_overload(exchange);
        }
        kedge_exchange_finish(exchange);
        MHD_resume_connection(connection);
    }
    return true;
}

void kedge_exchange_free(kedge_exchange *exchange)
{
    if (!exchange) return;
    kedge_exchange_context *context = exchange->context;
    const kedge_environment *environment = context->environment;
    /* This load also makes the writes of the worker visible to the daemon's thread. */
    if (atomic_load(&exchange->state) != KEDGE_EXCHANGE_RESPONDED) {
        atomic_fetch_add(&context->metrics.cut, 1);
    }
    if (exchange->parts.used) kedge_exchange_log(exchange);
    kedge_api_rest_free(&exchange->response);
    if (exchange->stream) kedge_event_stream_free(exchange->stream);
    kedge_exchange_let_go(exchange);
    kedge_budget_account_release(&exchange->account);
    kedge_exchange_forget_who(exchange);
    kedge_buffer_free(&exchange->body);
    kedge_buffer_free(&exchange->response.body);
    kedge_buffer_free(&exchange->before.body);
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
    if (exchange->request_id[0] != '\0') add_header(message, "X-Request-Id", exchange->request_id);
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
        exchange->parts.used
            ? kedge_exchange_respond_in_parts(exchange)
            : MHD_create_response_from_buffer(body->size, body->data, MHD_RESPMEM_PERSISTENT);
    if (message) add_headers(exchange, message);
    return message;
}

static enum MHD_Result respond(kedge_exchange *exchange)
{
    kedge_exchange_context *context = exchange->context;
    bool streams = exchange->stream != NULL;
    struct MHD_Response *message =
        exchange->stream ? make_stream(exchange) : make_message(exchange);
    if (!message) return MHD_NO;
    add_cors(exchange, message);
    kedge_server_connection_watch(context->connections, exchange->peer, false);
    if (streams)
        set_deadline(context, exchange->connection, KEDGE_CONNECTION_UNHURRIED);
    else
        set_paced_deadline(context, exchange->connection, KEDGE_PACED_RESPONSE);
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

/* The response comes at once, and ends the connection: where the next request would begin is not
 * known. */
static enum MHD_Result turn_away(kedge_exchange *exchange)
{
    exchange->closes = true;
    kedge_server_connection_linger(exchange->context->connections,
                                   socket_context(exchange->connection));
    kedge_exchange_finish(exchange);
    return respond(exchange);
}

static enum MHD_Result go_in(kedge_exchange *exchange, kedge_admission admission)
{
    exchange->refused = admission == KEDGE_REFUSED;
    if (exchange->refused && leaves_body(exchange)) return turn_away(exchange);
    /* Of a peer without a token the body is dropped, and has the time of the head. */
    if (exchange->who && !exchange->refused)
        set_paced_deadline(exchange->context, exchange->connection, KEDGE_PACED_BODY);
    atomic_store(&exchange->state, KEDGE_EXCHANGE_READING);
    return MHD_YES;
}

/* The connection is suspended before the door has the exchange, as in hand_over. */
static enum MHD_Result wait_at_door(kedge_exchange *exchange)
{
    struct MHD_Connection *connection = exchange->connection;
    atomic_store(&exchange->state, KEDGE_EXCHANGE_AT_DOOR);
    MHD_suspend_connection(connection);
    if (!kedge_door_check(exchange->context->door, exchange)) {
        kedge_exchange_overload(exchange);
        atomic_store(&exchange->state, KEDGE_EXCHANGE_CHECKED);
        MHD_resume_connection(connection);
    }
    return MHD_YES;
}

/* With the head. */
static enum MHD_Result begin(kedge_exchange *exchange)
{
    if (is_refused_by_gate(exchange)) {
        exchange->refused = true;
        return turn_away(exchange);
    }
    kedge_admission admission = kedge_exchange_admit(exchange);
    if (admission == KEDGE_UNDECIDED) return wait_at_door(exchange);
    return go_in(exchange, admission);
}

static enum MHD_Result come_from_door(kedge_exchange *exchange)
{
    bool good = exchange->recognized;
    return go_in(exchange, good ? kedge_exchange_admit_user(exchange) : KEDGE_REFUSED);
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
    case KEDGE_EXCHANGE_AT_DOOR:
        return MHD_YES;
    case KEDGE_EXCHANGE_CHECKED:
        return come_from_door(exchange);
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
