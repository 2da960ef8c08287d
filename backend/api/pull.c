/* POST pull: one pinned version, as a difference from the version that the client has.
 *
 * The cookie names the client's version by number and lineage. It is lost when the project has no
 * such version. The response to a null or a lost cookie has everything: it starts with `clear` and
 * holds every item. When that is long, a native client gets the name of a snapshot instead.
 *
 * A Replicache client ignores a cookie whose `order` is not above its own, and an lmid below the
 * one that it has. So the response to a lost cookie continues from the order of that cookie; from
 * then on order - version is a constant. When the group of the client has clients here, it may have
 * seen higher lmids than ours, and the response is "client state not found". Replicache then makes
 * a new group, which sends the same lost cookie. That group has no clients here, so its response
 * continues as above. */
#include "wire/pull.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/patch.h"
#include "backend/api/pull_log.h"
#include "backend/api/wire.h"
#include "backend/versioned/index/clients.h"
#include "wire/patch.h"
#include "wire/replicache.h"

#include <string.h>

/* The inputs and the writer of a pull response. */
typedef struct pull_response {
    kedge_api_call *call;
    const kedge_wire_pull_request *request;
    const kedge_version *head;
    int64_t from; /* the version that the patch starts from; 0 when it has everything */
    bool lost;    /* the project does not know the cookie */
    bool everything;
    bool state_not_found; /* a Replicache client must begin again in a new group */
    bool snapshot;        /* the patch is empty, and the snapshot of the head takes its place */
    kedge_api_patch patch;
} pull_response;

/* ---- the request ---- */

/* Returns false when it has already responded. */
static bool read_request(kedge_api_call *call, kedge_wire_pull_request *out)
{
    kedge_wire_request body = kedge_api_body(call);
    kedge_status status = kedge_wire_pull_request_read(&body, out, &call->error);
    if (!kedge_api_body_is_read(call, status)) return false;
    memcpy(call->response->schema_version, out->schema_version, sizeof out->schema_version);
    if (!out->supported) {
        kedge_wire_version_not_supported_write("pull", &call->response->body);
    }
    return out->supported;
}

static bool is_first(const kedge_wire_pull_request *request)
{
    return request->cookie.kind == KEDGE_WIRE_COOKIE_NULL;
}

/* ---- the cookie ---- */

/* Sets `lost`. The cookie is lost, too, when the project does not have the newer version that a
 * native client knows of, without its state (`seen`). */
static kedge_status find_lost(pull_response *response)
{
    const kedge_wire_pull_request *request = response->request;
    kedge_status status = KEDGE_OK;
    bool known = true;
    if (!is_first(request)) {
        known = false;
        if (request->cookie.kind == KEDGE_WIRE_COOKIE_OURS)
            status = kedge_api_knows(response->call, response->head, request->cookie.version,
                                     request->cookie.lineage, &known);
    }
    if (status == KEDGE_OK && known && request->seen)
        status = kedge_api_knows(response->call, response->head, request->seen_version,
                                 request->seen_lineage, &known);
    response->lost = !known;
    return status;
}

static int64_t order_of_response(const pull_response *response)
{
    const kedge_wire_pull_request *request = response->request;
    int64_t version = response->head->number;
    if (is_first(request) || request->native) return version;
    if (!response->lost) return version + (request->cookie.order - request->cookie.version);
    return request->cookie.order >= version ? request->cookie.order + 1 : version;
}

/* ---- the patch ---- */

/* KEDGE_LIMIT_EXCEEDED: the patch of a native client is longer than a pull holds; the response to
 * another client is longer than a response may be. */
static kedge_status write_everything(pull_response *response)
{
    kedge_api_patch *patch = &response->patch;
    size_t start = patch->writer.buffer->size;
    size_t most = patch->native ? KEDGE_API_INLINE_PULL_BYTES : KEDGE_API_PART_BYTES;
    kedge_api_cursor cursor = kedge_api_cursor_from_start(patch->state);
    cursor.damage = &patch->damage;
    kedge_bytes none = {NULL, 0};
    kedge_wire_operation_begin(&patch->writer, KEDGE_WIRE_PATCH_CLEAR, none, none, &patch->scratch);
    kedge_json_end_object(&patch->writer);
    kedge_status status = kedge_api_patch_items(patch, &cursor, start + most);
    if (status == KEDGE_DONE) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    if (patch->native) return KEDGE_LIMIT_EXCEEDED;
    return kedge_api_patch_leave_items(response->call, patch, &cursor);
}

/* KEDGE_NOT_FOUND: the versions in between are gone. KEDGE_CORRUPT: one of them is damaged.
 * KEDGE_LIMIT_EXCEEDED as above. */
static kedge_status write_delta(pull_response *response, size_t most)
{
    kedge_api_patch *patch = &response->patch;
    kedge_changes changes = {.count = 0};
    size_t at = 0;
    kedge_status status =
        kedge_state_changes(patch->state, response->from, &changes, &response->call->error);
    if (status != KEDGE_OK) return status;
    status = kedge_api_patch_changes(patch, &changes, &at, patch->writer.buffer->size + most);
    if (status == KEDGE_OK) {
        status = patch->native ? KEDGE_LIMIT_EXCEEDED
                               : kedge_api_patch_leave_changes(response->call, patch,
                                                               response->from, &changes, at);
    }
    kedge_changes_free(&changes);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* Discards the part of a patch that was written. */
static void restart_patch(pull_response *response, size_t start)
{
    kedge_buffer_truncate(response->patch.writer.buffer, start);
    response->patch.writer.comma = false;
    kedge_api_damage_roll_back(&response->patch.damage, (kedge_api_damage_mark){.count = 0});
}

static size_t native_delta_bytes_max(const kedge_backend_options *options)
{
    size_t most = options->response_bytes_max;
    if (most > 0)
        most -= most > 2 * KEDGE_API_PULL_AROUND_BYTES ? KEDGE_API_PULL_AROUND_BYTES : most / 2;
    return kedge_api_at_most(KEDGE_API_DELTA_BYTES_MAX, most);
}

/* The difference when there is one, otherwise everything, or else the name of a snapshot. */
static kedge_status fill_patch(pull_response *response)
{
    const kedge_backend_options *options = &response->call->project.backend->options;
    bool native = response->request->native;
    size_t start = response->patch.writer.buffer->size;
    if (!response->everything) {
        if (response->from == response->head->number) return KEDGE_OK;
        kedge_status status = write_delta(response, native ? native_delta_bytes_max(options)
                                                           : KEDGE_API_DELTA_BYTES_MAX);
        bool impossible = status == KEDGE_NOT_FOUND || status == KEDGE_CORRUPT ||
                          (native && status == KEDGE_LIMIT_EXCEEDED);
        if (!impossible) return status;
        restart_patch(response, start);
        response->from = 0;
    }
    kedge_status status = write_everything(response);
    if (!native || status != KEDGE_LIMIT_EXCEEDED) return status;
    restart_patch(response, start);
    response->snapshot = true;
    return KEDGE_OK;
}

/* ---- clients ---- */

static kedge_status is_of_caller(pull_response *response, kedge_bytes client, bool *own,
                                 kedge_error *error)
{
    kedge_api_call *call = response->call;
    kedge_client_state state;
    kedge_status status = kedge_client_load(&call->project, response->head, client, &state, error);
    if (status != KEDGE_OK) return status;
    *own = kedge_bytes_equal_text(kedge_bytes_of(state.user), call->request->identity->user);
    return KEDGE_OK;
}

/* A client of somebody else is left out, as if it did not exist. */
static kedge_status write_client(void *context, kedge_bytes client, int64_t lmid,
                                 kedge_error *error)
{
    pull_response *response = context;
    bool own = false;
    kedge_status status = is_of_caller(response, client, &own, error);
    if (status != KEDGE_OK || !own) return status;
    kedge_wire_pull_response_client(&response->patch.writer, client, lmid);
    return KEDGE_OK;
}

static kedge_status note_client(void *context, kedge_bytes client, int64_t lmid, kedge_error *error)
{
    pull_response *response = context;
    bool own = false;
    (void)lmid;
    kedge_status status = is_of_caller(response, client, &own, error);
    if (status == KEDGE_OK && own) response->state_not_found = true;
    return status;
}

/* Sets `state_not_found`. */
static kedge_status check_group(pull_response *response)
{
    const kedge_wire_pull_request *request = response->request;
    kedge_api_call *call = response->call;
    if (!response->lost || request->native) return KEDGE_OK;
    response->state_not_found = !request->cookie.ordered;
    return kedge_group_clients(&call->project, response->head, kedge_bytes_of(request->group_id), 0,
                               note_client, response, &call->error);
}

/* The clients that have changed since the cookie's version, also when the patch has everything
 * because the difference cannot be made. */
static kedge_status write_clients(pull_response *response)
{
    kedge_api_call *call = response->call;
    kedge_status status = KEDGE_OK;
    if (response->everything || response->from < response->head->number) {
        status = kedge_group_clients(
            &call->project, response->head, kedge_bytes_of(response->request->group_id),
            response->everything ? 0 : response->from, write_client, response, &call->error);
    }
    return status;
}

/* What the server knows of the native client that pulls. A client of another group or user counts
 * as unknown. */
static kedge_status load_own(pull_response *response, kedge_client_state *own)
{
    kedge_api_call *call = response->call;
    kedge_status status =
        kedge_client_load(&call->project, response->head,
                          kedge_bytes_of(response->request->client_id), own, &call->error);
    if (status != KEDGE_OK) return status;
    bool mine = own->known &&
                kedge_bytes_equal_text(kedge_bytes_of(own->group), response->request->group_id) &&
                kedge_bytes_equal_text(kedge_bytes_of(own->user), call->request->identity->user);
    if (!mine) *own = (kedge_client_state){.known = false};
    return KEDGE_OK;
}

static kedge_status fill_native(pull_response *response, kedge_wire_pull_response *out)
{
    const kedge_wire_pull_request *request = response->request;
    kedge_client_state own;
    kedge_status status = load_own(response, &own);
    if (status != KEDGE_OK) return status;
    out->from = response->from;
    out->version = response->head->number;
    memcpy(out->lineage, response->head->lineage, sizeof out->lineage);
    out->lmid = own.lmid;
    out->retired = own.retired;
    out->known = own.known;
    out->lost = response->lost;
    out->snapshot = response->snapshot;
    int64_t to = own.lmid < request->highest_id ? own.lmid : request->highest_id;
    int64_t from = request->lowest_pending < 1 ? 1 : request->lowest_pending;
    return kedge_api_load_outcomes(response->call, response->head,
                                   kedge_bytes_of(request->client_id), from, to, &out->outcomes);
}

static kedge_status write_native(pull_response *response, const kedge_wire_damaged *damaged)
{
    kedge_wire_pull_response native = {
        .outcomes = kedge_wire_outcomes_make(response->call->allocator), .damaged = *damaged};
    kedge_status status = fill_native(response, &native);
    if (status == KEDGE_OK) kedge_wire_pull_response_native(&response->patch.writer, &native);
    kedge_wire_outcomes_free(&native.outcomes);
    return status;
}

/* ---- the response ---- */

static kedge_wire_cookie cookie_of(const pull_response *response)
{
    kedge_wire_cookie cookie =
        kedge_wire_cookie_of(response->head->number, response->head->lineage);
    cookie.order = order_of_response(response);
    return cookie;
}

static kedge_status write_response(pull_response *response)
{
    kedge_json_writer *writer = &response->patch.writer;
    kedge_wire_cookie cookie = cookie_of(response);
    kedge_wire_damaged damaged;
    kedge_wire_pull_response_begin(writer, &cookie);
    kedge_status status = write_clients(response);
    kedge_wire_pull_response_patch_begin(writer);
    if (status == KEDGE_OK) status = fill_patch(response);
    if (response->call->response->rest.context != NULL) return status;
    kedge_wire_pull_response_patch_end(writer);
    if (status == KEDGE_OK) {
        status = kedge_api_damage_tell(response->call->response, &response->patch.damage, &damaged,
                                       &response->call->error);
    }
    if (status == KEDGE_OK && response->request->native) status = write_native(response, &damaged);
    kedge_wire_pull_response_end(writer);
    return status;
}

static void respond_pull(pull_response *response)
{
    kedge_api_call *call = response->call;
    kedge_status status = find_lost(response);
    response->everything = is_first(response->request) || response->lost;
    response->from = response->everything ? 0 : response->request->cookie.version;
    if (status == KEDGE_OK) status = check_group(response);
    if (status == KEDGE_OK && response->state_not_found) {
        kedge_wire_client_state_not_found_write(&call->response->body);
        return;
    }
    if (status == KEDGE_OK) {
        status =
            kedge_state_open(&call->project, response->head, &response->patch.state, &call->error);
    }
    if (status == KEDGE_OK) status = write_response(response);
    if (response->patch.state != NULL) kedge_state_close(response->patch.state);
    if (status == KEDGE_LIMIT_EXCEEDED) {
        kedge_api_refuse_too_large(call);
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    }
}

void kedge_api_pull(kedge_api_call *call)
{
    kedge_wire_pull_request request;
    if (!read_request(call, &request)) return;
    if (call->project.history != NULL) {
        kedge_api_pull_log(call, &request);
        return;
    }
    pull_response response = {.call = call,
                              .request = &request,
                              .patch = {.writer = kedge_json_write(&call->response->body),
                                        .native = request.native,
                                        .scratch = kedge_buffer_make(call->allocator),
                                        .damage = kedge_api_damage_make(call->allocator),
                                        .error = &call->error}};
    if (!kedge_api_open_head(call, &response.head)) return;
    respond_pull(&response);
    kedge_version_release(response.head);
    kedge_buffer_free(&response.patch.scratch);
    kedge_api_damage_free(&response.patch.damage);
}
