/* The body of a push, out of the mutations that the store gives. */
#include "tests/store/fixture.h"

typedef struct push_body {
    kedge_buffer *out;
    kedge_json_writer writer;
    size_t bytes_max;
    bool started;
} push_body;

static void begin_push(void *context)
{
    push_body *body = context;
    kedge_buffer_clear(body->out);
    body->writer = kedge_json_write(body->out);
    body->started = false;
}

static kedge_status take_pushed(void *context, const kedge_wire_mutation *mutation,
                                kedge_error *error)
{
    push_body *body = context;
    (void)error;
    if (body->started && body->out->size + mutation->args.size > body->bytes_max) return KEDGE_DONE;
    if (!body->started) kedge_wire_push_request_begin(&body->writer, "g", "");
    body->started = true;
    kedge_wire_push_request_mutation(&body->writer, mutation);
    return KEDGE_OK;
}

kedge_status fixture_push_body(kedge_store *store, uint32_t count_max, size_t bytes_max,
                               kedge_buffer *body, uint32_t *count, int64_t *last_id,
                               kedge_error *error)
{
    push_body writing = {.out = body, .bytes_max = bytes_max};
    kedge_store_push_taker taker = {&writing, begin_push, take_pushed};
    kedge_store_pushed made;
    kedge_status status = kedge_store_push(store, 0, count_max, true, &taker, &made, error);
    if (status != KEDGE_OK) return status;
    *count = made.count;
    if (last_id) *last_id = made.last_id;
    if (*count > 0) kedge_wire_push_request_end(&writing.writer, "g");
    return status;
}
