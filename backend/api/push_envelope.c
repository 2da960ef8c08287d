/* Reading a push.
 *
 * The body is cut, not parsed: kedge_json_skip finds where "mutations" and each of its elements
 * end, so that a mutation which is no I-JSON harms only itself. What is around "mutations" is
 * checked as a document of its own, with [] in its place.
 *
 * A body that was cut off at the cap is the prefix of a push. Its whole mutations count; what
 * stands behind "mutations" is missing then, so that pushVersion is taken as ours and a client
 * whose first mutation has a uid as a native one. */
#include "backend/api/call.h"

#define PUSH_VERSION   1
#define FIRST_CAPACITY 64

/* Where the parts of a push stand in its body. */
typedef struct push_parts {
    kedge_bytes body; /* of the object, from its brace on */
    size_t end;       /* behind the last whole member */
    size_t list;      /* where the value of "mutations" starts … */
    size_t list_end;  /* … and ends */
    bool list_found;
} push_parts;

/* ---- finding the parts ---- */

static kedge_bytes from(kedge_bytes text, size_t offset)
{
    return (kedge_bytes){text.data + offset, text.size - offset};
}

static kedge_bytes trim(kedge_bytes text)
{
    size_t at = 0;
    while (at < text.size && (text.data[at] == ' ' || text.data[at] == '\t' ||
                              text.data[at] == '\r' || text.data[at] == '\n')) {
        at++;
    }
    return from(text, at);
}

/* Takes white space and then `byte` off `*text`. */
static bool take_byte(kedge_bytes *text, char byte)
{
    *text = trim(*text);
    if (text->size == 0 || text->data[0] != byte) return false;
    *text = from(*text, 1);
    return true;
}

/* In a body that was cut off: the member behind the last whole one is "mutations", and its value an
 * array that does not end. */
static bool find_cut_list(push_parts *parts)
{
    kedge_bytes key;
    kedge_bytes text = from(parts->body, parts->end);
    bool first = parts->end == 1;
    if (!first && !take_byte(&text, ',')) return false;
    if (!kedge_json_skip(text, &key, &text) || !kedge_json_text_equals(key, "mutations")) {
        return false;
    }
    if (!take_byte(&text, ':')) return false;
    kedge_bytes list = trim(text);
    if (kedge_json_type_of(list) != KEDGE_JSON_ARRAY) return false;
    parts->list = (size_t)(list.data - parts->body.data);
    parts->list_end = parts->body.size;
    parts->end = parts->body.size;
    parts->list_found = true;
    return true;
}

static bool find_parts(kedge_bytes object, bool truncated, push_parts *parts)
{
    kedge_bytes key;
    kedge_bytes value;
    *parts = (push_parts){.body = object, .end = 1};
    kedge_json_iterator members = kedge_json_iterate(object);
    while (kedge_json_next_member(&members, &key, &value)) {
        size_t end = (size_t)(value.data - object.data) + value.size;
        if (truncated && end == object.size) break; /* its own end may be missing */
        parts->end = end;
        if (parts->list_found || !kedge_json_text_equals(key, "mutations")) continue;
        parts->list_found = true;
        parts->list = (size_t)(value.data - object.data);
        parts->list_end = parts->end;
    }
    if (!truncated) return !members.failed;
    return parts->list_found || find_cut_list(parts);
}

/* ---- the envelope ---- */

/* Refuses a body that is no object, or whose envelope `text` is no JSON. */
static bool refuse_text(kedge_api_call *call, kedge_bytes text)
{
    kedge_status status = kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, &call->error);
    if (status == KEDGE_NO_MEMORY) {
        kedge_api_fail(call, status);
    } else if (status == KEDGE_OK) {
        kedge_api_refuse(call, 400, "body-invalid", "the body must be an object");
    } else {
        kedge_api_refuse(call, 400, "body-not-json", "%s", call->error.message);
    }
    return false;
}

static bool cut_body(kedge_api_call *call, push_parts *parts)
{
    bool truncated = call->request->body_truncated;
    kedge_bytes body = trim(call->request->body);
    kedge_bytes object = body;
    kedge_bytes rest = {NULL, 0};
    bool whole = kedge_json_skip(body, &object, &rest);
    if (kedge_json_type_of(object) != KEDGE_JSON_OBJECT) return refuse_text(call, body);
    if (!truncated && (!whole || trim(rest).size > 0)) return refuse_text(call, body);
    if (find_parts(object, truncated, parts)) return true;
    if (!truncated) return refuse_text(call, body);
    kedge_api_refuse(call, 413, "body-too-large",
                     "the body has more than %d bytes, and no \"mutations\" among the first",
                     KEDGE_LIMIT_PUSH_BYTES);
    return false;
}

/* Appends what is around "mutations", and checks it. */
static bool read_envelope(kedge_api_call *call, const push_parts *parts, kedge_buffer *envelope)
{
    size_t head = parts->list_found ? parts->list : parts->end;
    kedge_buffer_append(envelope, parts->body.data, head);
    if (parts->list_found) {
        kedge_buffer_append_text(envelope, "[]");
        kedge_buffer_append(envelope, parts->body.data + parts->list_end,
                            parts->end - parts->list_end);
    }
    if (call->request->body_truncated) {
        kedge_buffer_append_byte(envelope, '}');
    } else {
        kedge_buffer_append_bytes(envelope, from(parts->body, parts->end));
    }
    if (envelope->no_memory) {
        kedge_api_fail(call, KEDGE_NO_MEMORY);
        return false;
    }
    kedge_bytes text = kedge_buffer_bytes(envelope);
    return kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, NULL) == KEDGE_OK ||
           refuse_text(call, text);
}

static bool read_version(kedge_api_call *call, kedge_bytes envelope, bool *supported)
{
    kedge_bytes value;
    double version;
    *supported = true;
    if (!kedge_json_member(envelope, "pushVersion", &value)) {
        if (call->request->body_truncated) return true;
        kedge_api_refuse(call, 400, "body-invalid", "pushVersion is missing; it must be 1");
        return false;
    }
    if (!kedge_json_to_number(value, &version)) {
        kedge_api_refuse(call, 400, "body-invalid", "pushVersion must be the number 1");
        return false;
    }
    *supported = version == PUSH_VERSION;
    return true;
}

static bool read_native(kedge_api_call *call, kedge_bytes envelope, bool *native)
{
    kedge_bytes value;
    char client[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    *native = kedge_json_member(envelope, "kedge", &value);
    if (!*native) return true;
    if (kedge_json_type_of(value) != KEDGE_JSON_OBJECT) {
        kedge_api_refuse(call, 400, "body-invalid", "kedge must be an object");
        return false;
    }
    return kedge_api_body_client_id(call, value, "client", "kedge.client", client);
}

static bool read_members(kedge_api_call *call, kedge_bytes envelope, kedge_push_request *out)
{
    if (!read_version(call, envelope, &out->supported)) return false;
    if (!out->supported) return true;
    if (!read_native(call, envelope, &out->native)) return false;
    if (!kedge_api_body_optional_text(call, envelope, "profileID")) return false;
    if (!kedge_api_body_optional_text(call, envelope, "schemaVersion")) return false;
    kedge_bytes value;
    if (call->request->body_truncated && !kedge_json_member(envelope, "clientGroupID", &value)) {
        kedge_api_refuse(call, 413, "body-too-large",
                         "the body has more than %d bytes, and no clientGroupID in front of "
                         "\"mutations\"",
                         KEDGE_LIMIT_PUSH_BYTES);
        return false;
    }
    if (!kedge_api_body_client_id(call, envelope, "clientGroupID", "clientGroupID", out->group)) {
        return false;
    }
    out->sender = (kedge_push_sender){kedge_bytes_of(out->group), call->request->identity};
    out->push.senders = &out->sender;
    out->push.sender_count = 1;
    return true;
}

/* ---- the mutations ---- */

static bool grow(kedge_api_call *call, kedge_push_request *out, size_t *capacity)
{
    if (out->push.count < *capacity) return true;
    size_t larger = *capacity == 0 ? FIRST_CAPACITY : *capacity * 2;
    kedge_push_mutation *moved = call->allocator->reallocate(
        call->allocator->context, out->push.mutations, larger * sizeof *moved);
    if (moved == NULL) {
        kedge_api_fail(call, KEDGE_NO_MEMORY);
        return false;
    }
    out->push.mutations = moved;
    *capacity = larger;
    return true;
}

static bool read_mutations(kedge_api_call *call, kedge_bytes list, kedge_buffer *scratch,
                           kedge_push_request *out)
{
    size_t capacity = 0;
    kedge_bytes element;
    kedge_json_iterator elements = kedge_json_iterate(list);
    while (kedge_json_next_element(&elements, &element)) {
        if (out->push.count == KEDGE_LIMIT_PUSH_MUTATIONS) {
            out->too_large = true;
            return true;
        }
        if (!grow(call, out, &capacity)) return false;
        kedge_push_mutation *mutation = &out->push.mutations[out->push.count];
        if (!kedge_push_mutation_decode(call, out, out->push.count, element, scratch, mutation)) {
            return false;
        }
        out->push.count++;
        out->list =
            (kedge_bytes){list.data + 1, (size_t)(element.data - list.data) + element.size - 1};
    }
    if (!elements.failed || call->request->body_truncated) return true;
    kedge_api_refuse(call, 400, "body-not-json",
                     "mutations is no array of values behind element %zu", out->push.count);
    return false;
}

static bool decode_parts(kedge_api_call *call, const push_parts *parts, kedge_buffer *scratch,
                         kedge_push_request *out)
{
    if (!read_envelope(call, parts, scratch)) return false;
    if (!read_members(call, kedge_buffer_bytes(scratch), out)) return false;
    if (!out->supported) return true;
    kedge_bytes list = {parts->body.data + parts->list, parts->list_end - parts->list};
    if (!parts->list_found || kedge_json_type_of(list) != KEDGE_JSON_ARRAY) {
        kedge_api_refuse(call, 400, "body-invalid", "mutations %s an array",
                         parts->list_found ? "must be" : "is missing; it must be");
        return false;
    }
    out->too_large = call->request->body_truncated;
    if (!read_mutations(call, list, scratch, out)) return false;
    if (out->too_large && out->push.count > 0 && out->push.mutations[0].uid.size > 0) {
        out->native = true;
    }
    return true;
}

bool kedge_push_request_decode(kedge_api_call *call, kedge_push_request *out)
{
    push_parts parts = {0};
    *out = (kedge_push_request){.supported = true};
    if (!cut_body(call, &parts)) return false;
    kedge_buffer scratch = kedge_buffer_make(call->allocator);
    bool decoded = decode_parts(call, &parts, &scratch, out);
    kedge_buffer_free(&scratch);
    return decoded;
}
