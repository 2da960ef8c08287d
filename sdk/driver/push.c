/* The body of a push, out of the store's mutations. */
#include "common/assert.h"
#include "sdk/driver/driver_internal.h"

#include <stdio.h>

typedef struct push_body {
    kedge_buffer *out;
    kedge_json_writer writer;
    size_t bytes_max;
    char client_id[KEDGE_LIMIT_CLIENT_ID_BYTES + 1]; /* "": there is no mutation yet */
} push_body;

static void begin(void *context)
{
    push_body *body = context;
    kedge_buffer_clear(body->out);
    body->writer = kedge_json_write(body->out);
    body->client_id[0] = '\0';
}

static kedge_status take(void *context, const kedge_wire_mutation *mutation, kedge_error *error)
{
    push_body *body = context;
    bool first = body->client_id[0] == '\0';
    if (!first && body->out->size + mutation->args.size > body->bytes_max) return KEDGE_DONE;
    if (first) {
        snprintf(body->client_id, sizeof body->client_id, "%.*s", (int)mutation->client_id.size,
                 mutation->client_id.data);
        kedge_wire_push_request_begin(&body->writer, body->client_id);
    }
    kedge_wire_push_request_mutation(&body->writer, mutation);
    return kedge_buffer_status(body->out, error);
}

kedge_status kedge_driver_write_push(kedge_store *store, int64_t after_id, uint32_t count_max,
                                     size_t bytes_max, kedge_buffer *out, uint32_t *count,
                                     int64_t *last_id, kedge_error *error)
{
    push_body body = {.out = out, .bytes_max = bytes_max};
    kedge_store_push_taker taker = {&body, begin, take};
    kedge_status status =
        kedge_store_push(store, after_id, count_max, &taker, count, last_id, error);
    if (status == KEDGE_OK && *count > 0) {
        KEDGE_ASSERT(body.client_id[0] != '\0');
        kedge_wire_push_request_end(&body.writer, body.client_id);
        status = kedge_buffer_status(out, error);
    }
    if (status != KEDGE_OK || *count == 0) kedge_buffer_clear(out);
    return status;
}
