/* Makes the requests that the core orders: method, path and body. */
#include "common/assert.h"
#include "common/error.h"
#include "sdk/driver/driver_internal.h"
#include "wire/body.h"

#include <stdio.h>
#include <string.h>

/* How much of a response is taken in before it is refused. */
#define SMALL_RESPONSE_BYTES 4194304
/* A larger delta is sent as a snapshot. Of a log project one entry may be larger than the others
 * together: the args of one mutation, or of several whose numbers are longer as canonical JSON. */
#define PULL_RESPONSE_BYTES (2 * KEDGE_LIMIT_ARGS_BYTES + 16777216)
#define PAGE_RESPONSE_BYTES (2 * KEDGE_LIMIT_ITEM_BYTES + 16777216)

_Static_assert(KEDGE_LIMIT_PUSH_BYTES > KEDGE_LIMIT_ARGS_BYTES + 65536,
               "a push has room for one mutation with the largest args");

/* A request that is being made. `nothing`: there is nothing to send; of a push `pull_first`: not
 * before a pull. */
typedef struct outgoing {
    const char *method;
    kedge_buffer path;
    kedge_buffer body;
    kedge_buffer range; /* empty: all is asked for */
    size_t response_bytes_max;
    bool nothing;
    bool pull_first;
} outgoing;

static kedge_request_kind request_of(const kedge_core_action *action)
{
    KEDGE_ASSERT(action->kind == KEDGE_ACTION_PUSH || action->kind == KEDGE_ACTION_PULL_STEP);
    return action->kind == KEDGE_ACTION_PUSH ? KEDGE_REQUEST_PUSH : action->pull_step.request;
}

/* ---- a push, out of the store's mutations ---- */

typedef struct push_body {
    kedge_buffer *out;
    kedge_json_writer writer;
    size_t bytes_max;
    const char *schema_version;
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
        kedge_wire_push_request_begin(&body->writer, body->client_id, body->schema_version);
    }
    kedge_wire_push_request_mutation(&body->writer, mutation);
    return kedge_buffer_status(body->out, error);
}

/* Writes a push of at most `count_max` mutations and about `size_max_bytes` (at least one). `made`
 * tells what it holds; when that is nothing, `out` is empty. */
static kedge_status write_push(const kedge_driver *driver, const kedge_core_action *action,
                               kedge_buffer *out, kedge_store_pushed *made, kedge_error *error)
{
    push_body body = {.out = out,
                      .bytes_max = action->push.size_max_bytes,
                      .schema_version = driver->schema_version};
    kedge_store_push_taker taker = {&body, begin, take};
    kedge_status status =
        kedge_store_push(driver->store, action->push.after_id, action->push.count_max,
                         action->push.fresh, &taker, made, error);
    if (status == KEDGE_OK && made->count > 0) {
        KEDGE_ASSERT(body.client_id[0] != '\0');
        kedge_wire_push_request_end(&body.writer, body.client_id);
        status = kedge_buffer_status(out, error);
    }
    if (status != KEDGE_OK || made->count == 0) kedge_buffer_clear(out);
    return status;
}

static kedge_status build_push(kedge_driver *driver, const kedge_core_action *action, outgoing *out,
                               kedge_error *error)
{
    kedge_store_pushed made = {0};
    kedge_buffer_append_text(&out->path, "push");
    out->method = "POST";
    out->response_bytes_max = SMALL_RESPONSE_BYTES;
    kedge_status status = write_push(driver, action, &out->body, &made, error);
    out->nothing = status == KEDGE_OK && made.count == 0;
    out->pull_first = made.pull_first;
    driver->push_last_id = made.last_id;
    driver->push_held = made.count;
    if (driver->upload.step != KEDGE_UPLOAD_NONE) kedge_driver_upload_end(driver);
    if (status != KEDGE_OK || out->nothing || !action->push.upload) return status;
    driver->upload.deadline_ms = action->push.deadline_ms;
    return kedge_driver_upload_begin(driver, &out->path, &out->body, error);
}

/* ---- the steps of a pull ---- */

static kedge_status build_pull(kedge_driver *driver, outgoing *out, kedge_error *error)
{
    kedge_wire_pull_request request;
    kedge_buffer_append_text(&out->path, "pull");
    out->method = "POST";
    out->response_bytes_max = PULL_RESPONSE_BYTES;
    kedge_driver_held_free_pull(&driver->held);
    if (driver->held.page_there) kedge_driver_held_free_page(&driver->held);
    kedge_status status = kedge_store_pull_request(driver->store, &request, error);
    if (status != KEDGE_OK) return status;
    memcpy(request.schema_version, driver->schema_version, sizeof request.schema_version);
    kedge_wire_pull_request_write(&request, &out->body);
    return KEDGE_OK;
}

static kedge_status build_page(kedge_driver *driver, outgoing *out, kedge_error *error)
{
    kedge_store_position position;
    kedge_buffer after = kedge_buffer_make(driver->allocator);
    kedge_status status = kedge_store_position_get(driver->store, &position, error);
    if (status == KEDGE_OK) {
        out->response_bytes_max = PAGE_RESPONSE_BYTES;
        out->nothing = !kedge_store_staged_after(driver->store, &after);
        kedge_wire_page_request_write(position.staged_version, kedge_buffer_bytes(&after),
                                      &out->path);
        status = kedge_buffer_status(&after, error);
    }
    kedge_buffer_free(&after);
    return status;
}

static kedge_status build_outcomes(kedge_driver *driver, outgoing *out, kedge_error *error)
{
    kedge_store_position position;
    kedge_driver_held *held = &driver->held;
    kedge_wire_outcomes *outcomes = kedge_driver_held_outcomes(held);
    out->nothing = outcomes == NULL || outcomes->next == 0;
    if (out->nothing) return KEDGE_OK;
    kedge_status status = kedge_store_position_get(driver->store, &position, error);
    if (status != KEDGE_OK) return status;
    bool retire = held->source == KEDGE_REQUEST_RETIRE;
    int64_t last = retire ? held->retire.lmid : held->pull.lmid;
    int64_t highest = position.highest_id > outcomes->next ? position.highest_id : outcomes->next;
    if (last > highest) last = highest;
    out->response_bytes_max = SMALL_RESPONSE_BYTES;
    kedge_wire_outcomes_request_write(position.client, outcomes->next, last,
                                      retire ? held->retire.version : held->pull.version,
                                      &out->path);
    return KEDGE_OK;
}

static kedge_status build_body(kedge_driver *driver, outgoing *out, kedge_error *error)
{
    kedge_wire_patch_operation *operation = kedge_driver_held_next_body(&driver->held);
    out->nothing = operation == NULL;
    if (out->nothing) return KEDGE_OK;
    out->response_bytes_max = KEDGE_DRIVER_STORED_BYTES_MAX; /* a server may send all of it */
    kedge_wire_body_request_write(operation->collection, operation->hash, &out->path);
    return kedge_driver_build_body_range(&driver->held, &out->range, error);
}

static kedge_status build_retire(kedge_driver *driver, outgoing *out, kedge_error *error)
{
    kedge_store_position position = {.version = 0};
    kedge_wire_retire_request request = {.lowest_pending = 0};
    kedge_driver_held_free_retire(&driver->held); /* not to be taken for this one's response */
    kedge_status status = kedge_store_position_get(driver->store, &position, error);
    request.lowest_pending = position.lowest_told;
    if (status == KEDGE_OK)
        status =
            kedge_store_lower_to_decided(driver->store, &position, &request.lowest_pending, error);
    if (status == KEDGE_OK) status = kedge_store_staged(driver->store, &request.cookie, error);
    if (status == KEDGE_OK) status = kedge_store_earlier(driver->store, &request.earlier, error);
    if (status != KEDGE_OK) return status;
    out->method = "POST";
    out->response_bytes_max = SMALL_RESPONSE_BYTES;
    kedge_wire_retire_path_write(position.client, &out->path);
    snprintf(request.group_id, sizeof request.group_id, "%s", position.client);
    kedge_wire_retire_request_write(&request, &out->body);
    return KEDGE_OK;
}

static kedge_status build_pull_step(kedge_driver *driver, kedge_request_kind request, outgoing *out,
                                    kedge_error *error)
{
    switch (request) {
    case KEDGE_REQUEST_PUSH: /* an action of its own */
        break;
    case KEDGE_REQUEST_PULL:
        return build_pull(driver, out, error);
    case KEDGE_REQUEST_PAGE:
        return build_page(driver, out, error);
    case KEDGE_REQUEST_OUTCOMES:
        return build_outcomes(driver, out, error);
    case KEDGE_REQUEST_BODY:
        return build_body(driver, out, error);
    case KEDGE_REQUEST_RETIRE:
        return build_retire(driver, out, error);
    }
    return kedge_fail(error, KEDGE_INTERNAL, "not-a-step", "a push is no step of a pull");
}

/* ---- each request ---- */

static kedge_status build(kedge_driver *driver, const kedge_core_action *action, outgoing *out,
                          kedge_error *error)
{
    kedge_status status = action->kind == KEDGE_ACTION_PUSH
                              ? build_push(driver, action, out, error)
                              : build_pull_step(driver, action->pull_step.request, out, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&out->path, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&out->body, error);
    return status;
}

static kedge_status hand_over(kedge_driver *driver, const kedge_core_action *action,
                              const outgoing *out, kedge_error *error)
{
    bool push = action->kind == KEDGE_ACTION_PUSH;
    kedge_driver_request request = {.method = out->method,
                                    .path = out->path.data,
                                    .body = kedge_buffer_bytes(&out->body),
                                    .accept = "application/json",
                                    .range = out->range.size > 0 ? out->range.data : NULL,
                                    .token = driver->token,
                                    .deadline_ms = push ? action->push.deadline_ms
                                                        : action->pull_step.deadline_ms,
                                    .response_bytes_max = out->response_bytes_max};
    return kedge_driver_hand_over(driver, request_of(action), &request, error);
}

/* The store had nothing to send. An empty push ends with success and the present position; a step
 * of a pull starts over. */
static void end_with_nothing(kedge_driver *driver, const outgoing *out, kedge_core_event *event)
{
    bool push = event->kind == KEDGE_EVENT_PUSH_ENDED;
    kedge_driver_result(event)->response = push ? KEDGE_RESPONSE_OK : KEDGE_RESPONSE_GONE;
    if (push) event->push_ended.pull_first = out->pull_first;
    driver->position_due = true;
}

bool kedge_driver_send(kedge_driver *driver, const kedge_core_action *action,
                       kedge_core_event *ended)
{
    *ended = kedge_driver_request_ended(request_of(action));
    kedge_request_result *result = kedge_driver_result(ended);
    outgoing out = {.method = "GET",
                    .path = kedge_buffer_make(driver->allocator),
                    .body = kedge_buffer_make(driver->allocator),
                    .range = kedge_buffer_make(driver->allocator)};
    kedge_status status = build(driver, action, &out, &result->error);
    if (status == KEDGE_OK && !out.nothing) {
        status = hand_over(driver, action, &out, &result->error);
    }
    if (status != KEDGE_OK) {
        result->response =
            status == KEDGE_NETWORK ? KEDGE_RESPONSE_NETWORK : KEDGE_RESPONSE_TRANSIENT;
    } else if (out.nothing) {
        end_with_nothing(driver, &out, ended);
    }
    kedge_buffer_free(&out.path);
    kedge_buffer_free(&out.body);
    kedge_buffer_free(&out.range);
    return status == KEDGE_OK && !out.nothing;
}
