/* POST pull: one pinned version, told as a difference from the version that the client has.
 *
 * The cookie names that version by number and lineage. A pair that the versions do not know is
 * lost. From nothing (null or lost) the answer starts with `clear` and holds every item; a native
 * client gets the name of a snapshot instead when that would be long.
 *
 * A Replicache client takes no cookie whose `order` is not above its own, and no lmid below the one
 * that it has. So the answer to a lost cookie continues from that cookie's order, which from then
 * on runs ahead of `version` by a constant; and a group that has clients here, whose lmids may be
 * older than what it has seen, starts anew. The group that it then makes has none, but keeps the
 * lost cookie. */
#include "backend/api/call.h"

#include <string.h>

#define PULL_VERSION 1
#define ORDER_MAX    4503599627370496 /* 2^52: half of what a number counts exactly */

typedef struct pull_request {
    char group[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    bool native;
    char client[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    int64_t lowest_pending;
    int64_t highest_id;
    bool first;    /* the cookie is null */
    bool readable; /* the cookie has the shape of ours */
    bool ordered;  /* the cookie has an order that ours compares with */
    int64_t order; /* without its fraction */
    int64_t version;
    char lineage[KEDGE_LINEAGE_HEX];
    bool seen; /* a native client knows of this version, though its cookie may be older */
    int64_t seen_version;
    char seen_lineage[KEDGE_LINEAGE_HEX];
} pull_request;

/* What an answer is made from. */
typedef struct pull_answer {
    kedge_api_call *call;
    const pull_request *request;
    const kedge_version *head;
    kedge_state *state; /* of the head */
    int64_t from;       /* 0: from nothing */
    bool lost;
    bool anew;
    bool snapshot;
    kedge_json_writer writer;
    kedge_buffer scratch;
    kedge_api_damage damage;
} pull_answer;

/* ---- the request ---- */

static bool refuse_cookie(kedge_api_call *call)
{
    kedge_api_refuse(call, 400, "body-invalid",
                     "cookie must be null or a cookie that a pull has answered");
    return false;
}

static void read_order(kedge_bytes value, pull_request *out)
{
    double order;
    if (!kedge_json_to_number(value, &order)) return;
    out->ordered = order >= -(double)ORDER_MAX && order < (double)ORDER_MAX;
    if (out->ordered) out->order = (int64_t)order;
}

/* Without `version` it is the order. */
static void read_cookie_object(kedge_bytes cookie, pull_request *out)
{
    kedge_bytes value;
    if (!kedge_json_member(cookie, "order", &value)) return;
    read_order(value, out);
    out->readable = out->ordered && kedge_json_to_integer(value, &out->version) &&
                    kedge_json_member_chars(cookie, "lineage", out->lineage, sizeof out->lineage);
    if (out->readable && kedge_json_member(cookie, "version", &value)) {
        out->readable = kedge_json_to_integer(value, &out->version);
    }
    out->readable = out->readable && out->version >= 0 && out->version <= out->order;
}

/* A cookie of another backend may be a number, a string or any object. */
static bool read_cookie(kedge_api_call *call, kedge_bytes object, pull_request *out)
{
    kedge_bytes cookie;
    if (!kedge_json_member(object, "cookie", &cookie)) return refuse_cookie(call);
    switch (kedge_json_type_of(cookie)) {
    case KEDGE_JSON_NULL:
        out->first = true;
        return true;
    case KEDGE_JSON_OBJECT:
        read_cookie_object(cookie, out);
        return true;
    case KEDGE_JSON_NUMBER:
        read_order(cookie, out);
        return true;
    case KEDGE_JSON_STRING:
        return true;
    default:
        return refuse_cookie(call);
    }
}

/* The optional member `seen`, of the shape of a cookie. */
static bool read_seen(kedge_api_call *call, kedge_bytes kedge, pull_request *out)
{
    kedge_bytes seen;
    if (!kedge_json_member(kedge, "seen", &seen)) return true;
    out->seen =
        kedge_json_member_integer(seen, "order", &out->seen_version) && out->seen_version >= 0 &&
        kedge_json_member_chars(seen, "lineage", out->seen_lineage, sizeof out->seen_lineage);
    if (!out->seen) {
        kedge_api_refuse(call, 400, "body-invalid",
                         "kedge.seen must be {\"order\":…,\"lineage\":…}");
    }
    return out->seen;
}

static bool read_native(kedge_api_call *call, kedge_bytes object, pull_request *out)
{
    kedge_bytes kedge;
    out->native = kedge_json_member(object, "kedge", &kedge);
    if (!out->native) return true;
    if (kedge_json_type_of(kedge) != KEDGE_JSON_OBJECT) {
        kedge_api_refuse(call, 400, "body-invalid", "kedge must be an object");
        return false;
    }
    return kedge_api_body_client_id(call, kedge, "client", "kedge.client", out->client) &&
           kedge_api_body_integer(call, kedge, "lowest_pending", "kedge.lowest_pending", 0,
                                  &out->lowest_pending) &&
           kedge_api_body_integer(call, kedge, "highest_id", "kedge.highest_id", 0,
                                  &out->highest_id) &&
           read_seen(call, kedge, out);
}

/* False: answered already. */
static bool read_request(kedge_api_call *call, pull_request *out)
{
    kedge_bytes object;
    kedge_bytes value;
    double version;
    *out = (pull_request){.first = false};
    if (!kedge_api_body_object(call, &object)) return false;
    if (!kedge_json_member(object, "pullVersion", &value) ||
        !kedge_json_to_number(value, &version)) {
        kedge_api_refuse(call, 400, "body-invalid", "pullVersion must be the number 1");
        return false;
    }
    if (version != PULL_VERSION) {
        kedge_buffer_append_text(&call->response->body,
                                 "{\"error\":\"VersionNotSupported\",\"versionType\":\"pull\"}");
        return false;
    }
    return kedge_api_body_client_id(call, object, "clientGroupID", "clientGroupID", out->group) &&
           kedge_api_body_optional_text(call, object, "profileID") &&
           kedge_api_body_optional_text(call, object, "schemaVersion") &&
           read_cookie(call, object, out) && read_native(call, object, out);
}

/* ---- the cookie ---- */

static kedge_status is_known(pull_answer *answer, int64_t number, const char *lineage, bool *known)
{
    kedge_api_call *call = answer->call;
    const kedge_version *creation;
    *known = false;
    if (number > answer->head->number) return KEDGE_OK;
    if (number == answer->head->number) {
        *known = strcmp(lineage, answer->head->lineage) == 0;
        return KEDGE_OK;
    }
    if (number > 0) {
        return kedge_version_is_known(call->backend, &call->ref, number, lineage, known,
                                      &call->error);
    }
    kedge_status status =
        kedge_version_load_creation(call->backend, &call->ref, &creation, &call->error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    *known = strcmp(lineage, creation->lineage) == 0;
    kedge_version_release(creation);
    return KEDGE_OK;
}

/* Lost: the cookie, or a newer version that a native client knows of without having its state. */
static kedge_status find_lost(pull_answer *answer)
{
    const pull_request *request = answer->request;
    kedge_status status = KEDGE_OK;
    bool known = true;
    if (!request->first) {
        known = false;
        if (request->readable)
            status = is_known(answer, request->version, request->lineage, &known);
    }
    if (status == KEDGE_OK && known && request->seen)
        status = is_known(answer, request->seen_version, request->seen_lineage, &known);
    answer->lost = !known;
    return status;
}

static int64_t order_of_answer(const pull_answer *answer)
{
    const pull_request *request = answer->request;
    int64_t version = answer->head->number;
    if (request->first || request->native) return version;
    if (!answer->lost) return version + (request->order - request->version);
    return request->order >= version ? request->order + 1 : version;
}

/* ---- the patch ---- */

static void begin_operation(pull_answer *answer, const char *operation)
{
    kedge_json_begin_object(&answer->writer);
    kedge_json_key(&answer->writer, "op");
    kedge_json_chars(&answer->writer, operation);
}

/* An item whose body is lost is left out: what the client has of it stays. */
static kedge_status write_put(pull_answer *answer, kedge_bytes collection, const kedge_entry *entry)
{
    size_t start = answer->writer.buffer->size;
    bool comma = answer->writer.comma;
    begin_operation(answer, "put");
    kedge_api_write_key(&answer->writer, collection, entry->id, &answer->scratch);
    kedge_status status = kedge_api_write_value(&answer->writer, answer->state, collection, entry,
                                                answer->request->native, &answer->call->error);
    kedge_json_end_object(&answer->writer);
    if (status != KEDGE_CORRUPT) return status;
    kedge_buffer_truncate(answer->writer.buffer, start);
    answer->writer.comma = comma;
    kedge_api_damage_item(&answer->damage, collection, entry->id, &answer->call->error);
    return KEDGE_OK;
}

/* KEDGE_LIMIT_EXCEEDED: longer than `most`. */
static kedge_status write_everything(pull_answer *answer, size_t most)
{
    kedge_bytes collection;
    kedge_entry entry;
    size_t start = answer->writer.buffer->size;
    kedge_api_cursor cursor = kedge_api_cursor_from_start(answer->state);
    cursor.damage = &answer->damage;
    begin_operation(answer, "clear");
    kedge_json_end_object(&answer->writer);
    for (;;) {
        kedge_status status =
            kedge_api_cursor_next(&cursor, &collection, &entry, &answer->call->error);
        if (status == KEDGE_DONE) return KEDGE_OK;
        if (status == KEDGE_OK) status = write_put(answer, collection, &entry);
        if (status != KEDGE_OK) return status;
        if (answer->writer.buffer->size - start > most) return KEDGE_LIMIT_EXCEEDED;
    }
}

static kedge_status write_changes(pull_answer *answer, const kedge_changes *changes, size_t most)
{
    size_t start = answer->writer.buffer->size;
    kedge_bytes record = answer->head->project_record;
    kedge_status status = KEDGE_OK;
    if (changes->project_changed) {
        kedge_entry entry = {.size = (int64_t)record.size, .body = record};
        status = write_put(answer, (kedge_bytes){NULL, 0}, &entry);
    }
    for (size_t at = 0; status == KEDGE_OK && at < changes->count; at++) {
        const kedge_version_change *change = &changes->changes[at];
        if (change->deleted) {
            begin_operation(answer, "del");
            kedge_api_write_key(&answer->writer, change->collection, change->entry.id,
                                &answer->scratch);
            kedge_json_end_object(&answer->writer);
        } else {
            status = write_put(answer, change->collection, &change->entry);
        }
        if (answer->writer.buffer->size - start > most) return KEDGE_LIMIT_EXCEEDED;
    }
    return status;
}

/* KEDGE_NOT_FOUND: the versions in between are gone, KEDGE_CORRUPT: one of them is damaged. */
static kedge_status write_delta(pull_answer *answer, size_t most)
{
    kedge_changes changes = {.count = 0};
    kedge_status status =
        kedge_state_changes(answer->state, answer->from, &changes, &answer->call->error);
    if (status != KEDGE_OK) return status;
    status = write_changes(answer, &changes, most);
    kedge_changes_free(&changes);
    return status;
}

/* Takes back what was written of a patch. */
static void restart_patch(pull_answer *answer, size_t start)
{
    kedge_buffer_truncate(answer->writer.buffer, start);
    answer->writer.comma = false;
    kedge_api_damage_back(&answer->damage, (kedge_api_damage_mark){.count = 0});
}

static size_t native_delta_bytes_max(const kedge_backend_options *options)
{
    size_t most = options->answer_bytes_max;
    if (most > 0)
        most -= most > 2 * KEDGE_API_PULL_AROUND_BYTES ? KEDGE_API_PULL_AROUND_BYTES : most / 2;
    return kedge_api_at_most(KEDGE_API_DELTA_BYTES_MAX, most);
}

static kedge_status fill_patch(pull_answer *answer)
{
    const kedge_backend_options *options = &answer->call->backend->options;
    bool native = answer->request->native;
    size_t start = answer->writer.buffer->size;
    if (answer->from == answer->head->number && !answer->lost && !answer->request->first) {
        return KEDGE_OK;
    }
    kedge_status status = KEDGE_NOT_FOUND;
    if (!answer->lost && !answer->request->first) {
        status = write_delta(answer,
                             native ? native_delta_bytes_max(options) : KEDGE_API_ANSWER_BYTES_MAX);
    }
    bool gone = status == KEDGE_NOT_FOUND || status == KEDGE_CORRUPT;
    if (gone || (native && status == KEDGE_LIMIT_EXCEEDED)) {
        restart_patch(answer, start);
        answer->from = 0;
        status = write_everything(answer, native ? KEDGE_API_INLINE_PULL_BYTES
                                                 : KEDGE_API_ANSWER_BYTES_MAX);
    }
    if (native && status == KEDGE_LIMIT_EXCEEDED) {
        restart_patch(answer, start);
        answer->snapshot = true;
        status = KEDGE_OK;
    }
    return status;
}

static kedge_status write_patch(pull_answer *answer)
{
    kedge_json_key(&answer->writer, "patch");
    kedge_json_begin_array(&answer->writer);
    kedge_status status = fill_patch(answer);
    kedge_json_end_array(&answer->writer);
    return status;
}

/* ---- clients ---- */

static kedge_status is_of_caller(pull_answer *answer, kedge_bytes client, bool *own,
                                 kedge_error *error)
{
    kedge_api_call *call = answer->call;
    kedge_client_state state;
    kedge_status status =
        kedge_client_load(call->backend, &call->ref, answer->head, client, &state, error);
    if (status != KEDGE_OK) return status;
    *own = kedge_bytes_equal_text(kedge_bytes_of(state.user), call->request->identity->user);
    return KEDGE_OK;
}

/* A client of somebody else is left out, as if it did not exist. */
static kedge_status write_client(void *context, kedge_bytes client, int64_t lmid,
                                 kedge_error *error)
{
    pull_answer *answer = context;
    bool own = false;
    kedge_status status = is_of_caller(answer, client, &own, error);
    if (status != KEDGE_OK || !own) return status;
    kedge_json_key_bytes(&answer->writer, client);
    kedge_json_integer(&answer->writer, lmid);
    return KEDGE_OK;
}

static kedge_status see_client(void *context, kedge_bytes client, int64_t lmid, kedge_error *error)
{
    pull_answer *answer = context;
    bool own = false;
    (void)lmid;
    kedge_status status = is_of_caller(answer, client, &own, error);
    if (status == KEDGE_OK && own) answer->anew = true;
    return status;
}

/* Whether a Replicache client has to start anew. */
static kedge_status check_anew(pull_answer *answer)
{
    const pull_request *request = answer->request;
    kedge_api_call *call = answer->call;
    if (!answer->lost || request->native) return KEDGE_OK;
    answer->anew = !request->ordered;
    return kedge_group_clients(call->backend, &call->ref, answer->head,
                               kedge_bytes_of(request->group), 0, see_client, answer, &call->error);
}

/* Of the version that the cookie names, whatever the patch starts from. */
static kedge_status write_clients(pull_answer *answer)
{
    kedge_api_call *call = answer->call;
    kedge_json_key(&answer->writer, "lastMutationIDChanges");
    kedge_json_begin_object(&answer->writer);
    kedge_status status = KEDGE_OK;
    bool everything = answer->lost || answer->request->first;
    if (everything || answer->from < answer->head->number) {
        status = kedge_group_clients(
            call->backend, &call->ref, answer->head, kedge_bytes_of(answer->request->group),
            everything ? 0 : answer->from, write_client, answer, &call->error);
    }
    kedge_json_end_object(&answer->writer);
    return status;
}

static void write_snapshot_pin(kedge_json_writer *writer, const kedge_version *version)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, version->number);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, version->lineage);
    kedge_json_end_object(writer);
}

static void write_cookie(pull_answer *answer)
{
    kedge_json_writer *writer = &answer->writer;
    int64_t order = order_of_answer(answer);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "order");
    kedge_json_integer(writer, order);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, answer->head->lineage);
    if (order != answer->head->number) {
        kedge_json_key(writer, "version");
        kedge_json_integer(writer, answer->head->number);
    }
    kedge_json_end_object(writer);
}

/* The native client's own state; one of another group or user is not known. */
static kedge_status load_own(pull_answer *answer, kedge_client_state *own)
{
    kedge_api_call *call = answer->call;
    kedge_status status =
        kedge_client_load(call->backend, &call->ref, answer->head,
                          kedge_bytes_of(answer->request->client), own, &call->error);
    if (status != KEDGE_OK) return status;
    bool mine = own->known &&
                kedge_bytes_equal_text(kedge_bytes_of(own->group), answer->request->group) &&
                kedge_bytes_equal_text(kedge_bytes_of(own->user), call->request->identity->user);
    if (!mine) *own = (kedge_client_state){.known = false};
    return KEDGE_OK;
}

static kedge_status write_native(pull_answer *answer)
{
    const pull_request *request = answer->request;
    kedge_api_call *call = answer->call;
    kedge_json_writer *writer = &answer->writer;
    kedge_client_state own;
    kedge_status status = load_own(answer, &own);
    if (status != KEDGE_OK) return status;
    kedge_json_key(writer, "kedge");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "from");
    kedge_json_integer(writer, answer->from);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, answer->head->number);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, answer->head->lineage);
    kedge_json_key(writer, "lmid");
    kedge_json_integer(writer, own.lmid);
    kedge_json_key(writer, "retired");
    kedge_json_boolean(writer, own.retired);
    kedge_json_key(writer, "known");
    kedge_json_boolean(writer, own.known);
    int64_t to = own.lmid < request->highest_id ? own.lmid : request->highest_id;
    int64_t from = request->lowest_pending < 1 ? 1 : request->lowest_pending;
    status = kedge_api_write_outcomes(writer, call->backend, &call->ref, answer->head,
                                      kedge_bytes_of(request->client), from, to, &call->error);
    kedge_json_key(writer, "snapshot");
    if (answer->snapshot) {
        write_snapshot_pin(writer, answer->head);
    } else {
        kedge_json_null(writer);
    }
    kedge_json_key(writer, "lost");
    kedge_json_boolean(writer, answer->lost);
    if (status == KEDGE_OK) status = kedge_api_damage_tell(call, &answer->damage, writer);
    kedge_json_end_object(writer);
    return status;
}

/* ---- the answer ---- */

static kedge_status write_answer(pull_answer *answer)
{
    kedge_json_writer *writer = &answer->writer;
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "cookie");
    write_cookie(answer);
    kedge_status status = write_clients(answer);
    if (status == KEDGE_OK) status = write_patch(answer);
    if (status == KEDGE_OK && answer->request->native) {
        status = write_native(answer);
    } else if (status == KEDGE_OK) {
        status = kedge_api_damage_tell(answer->call, &answer->damage, NULL);
    }
    kedge_json_end_object(writer);
    return status;
}

static void answer_pull(pull_answer *answer)
{
    kedge_api_call *call = answer->call;
    kedge_status status = find_lost(answer);
    answer->from = answer->request->first || answer->lost ? 0 : answer->request->version;
    if (status == KEDGE_OK) status = check_anew(answer);
    if (status == KEDGE_OK && answer->anew) {
        kedge_buffer_append_text(&call->response->body, "{\"error\":\"ClientStateNotFound\"}");
        return;
    }
    if (status == KEDGE_OK) {
        status =
            kedge_state_open(call->backend, &call->ref, answer->head, &answer->state, &call->error);
    }
    if (status == KEDGE_OK) status = write_answer(answer);
    if (answer->state != NULL) kedge_state_close(answer->state);
    if (status == KEDGE_LIMIT_EXCEEDED) {
        kedge_api_refuse_too_large(call);
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    }
}

void kedge_api_pull(kedge_api_call *call)
{
    pull_request request;
    if (!read_request(call, &request)) return;
    pull_answer answer = {.call = call,
                          .request = &request,
                          .writer = kedge_json_write(&call->response->body),
                          .scratch = kedge_buffer_make(call->allocator),
                          .damage = kedge_api_damage_make(call->allocator)};
    if (!kedge_api_open_head(call, &answer.head)) return;
    answer_pull(&answer);
    kedge_version_release(answer.head);
    kedge_buffer_free(&answer.scratch);
    kedge_api_damage_free(&answer.damage);
}
