/* A response that is made in parts, as its peer reads it.
 *
 *   the daemon sends a part, and asks for more: the connection is suspended
 *   a worker makes the next part, as its organization's; the connection is resumed
 *
 * So a peer that reads slowly holds one part in memory, and no worker. A part that fails cuts the
 * connection before the last chunk of the body, since the status has been sent: the peer sees that
 * the transfer is not complete. */
#include "backend/http/exchange.h"
#include "backend/http/exchange_work.h"

#include <string.h>

#define BLOCK_BYTES 32768 /* that the daemon asks for at once */

/* The time in which the server worked is not the peer's. */
static void go_on_sending(kedge_exchange *exchange)
{
    kedge_parts *parts = &exchange->parts;
    kedge_exchange_context *context = exchange->context;
    parts->awaited = false;
    parts->sent = 0;
    kedge_server_connection_watch(context->connections, exchange->peer, false);
    kedge_server_connection_paced(context->connections, exchange->peer, context->request_timeout_ms,
                                  KEDGE_PACED_RESPONSE);
}

/* The connection is suspended before the worker has the exchange, which may be done before this
 * returns. */
static void ask_for_part(kedge_exchange *exchange)
{
    kedge_exchange_context *context = exchange->context;
    kedge_parts *parts = &exchange->parts;
    struct MHD_Connection *connection = exchange->connection;
    parts->awaited = true;
    atomic_store(&exchange->state, KEDGE_EXCHANGE_WORKING);
    kedge_server_connection_due(context->connections, exchange->peer, KEDGE_CONNECTION_UNHURRIED);
    kedge_server_connection_watch(context->connections, exchange->peer, true);
    MHD_suspend_connection(connection);
    if (kedge_exchange_submit_part(exchange) == KEDGE_WORKERS_TAKEN) return;
    parts->failed = true;
    atomic_store(&exchange->state, KEDGE_EXCHANGE_RESPONDED);
    MHD_resume_connection(connection);
}

static ssize_t read_part(void *context, uint64_t position, char *out, size_t out_size)
{
    (void)position;
    kedge_exchange *exchange = context;
    kedge_parts *parts = &exchange->parts;
    const kedge_buffer *body = &exchange->response.body;
    /* This load also makes the writes of the worker visible to this thread. */
    if (atomic_load(&exchange->state) != KEDGE_EXCHANGE_RESPONDED) return 0;
    if (parts->failed) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (parts->awaited) go_on_sending(exchange);
    size_t left = body->size - parts->sent;
    if (left == 0 && exchange->response.rest.context) {
        ask_for_part(exchange);
        return 0;
    }
    parts->ended = left == 0;
    if (parts->ended) return MHD_CONTENT_READER_END_OF_STREAM;
    size_t size = left < out_size ? left : out_size;
    memcpy(out, body->data + parts->sent, size);
    parts->sent += size;
    return (ssize_t)size;
}

struct MHD_Response *kedge_exchange_respond_in_parts(kedge_exchange *exchange)
{
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_part, exchange,
                                             NULL);
}
