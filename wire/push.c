/* A push, written and read, and its response; see push.h.
 *
 * The body that is read is cut, not parsed: kedge_json_skip finds where "mutations" and each of its
 * elements end, so that a mutation which is not I-JSON harms only itself. What is around
 * "mutations" is checked as a document of its own, with [] in its place.
 *
 * A body that was cut off at the cap is the prefix of a push. Its complete mutations are read. The
 * members after "mutations" are missing then, so pushVersion is assumed to be ours, and a client
 * whose first mutation has a uid is assumed to be native. */
#include "wire/push.h"

#include "common/error.h"
#include "wire/push_mutation.h"

#define PUSH_VERSION 1

/* ---- writing ---- */

void kedge_wire_push_request_begin(kedge_json_writer *writer, const char *client_id,
                                   const char *schema_version)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "pushVersion");
    kedge_json_integer(writer, PUSH_VERSION);
    kedge_json_key(writer, "clientGroupID");
    kedge_json_chars(writer, client_id);
    kedge_json_key(writer, "profileID");
    kedge_json_chars(writer, "kedge");
    kedge_json_key(writer, "schemaVersion");
    kedge_json_chars(writer, schema_version);
    kedge_json_key(writer, "mutations");
    kedge_json_begin_array(writer);
}

void kedge_wire_push_request_end(kedge_json_writer *writer, const char *client_id)
{
    kedge_json_end_array(writer);
    kedge_json_key(writer, "kedge");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "client");
    kedge_json_chars(writer, client_id);
    kedge_json_end_object(writer);
    kedge_json_end_object(writer);
}

void kedge_wire_push_request_copy(const kedge_wire_push_request *request, kedge_buffer *out)
{
    kedge_buffer_append_format(out, "{\"pushVersion\":%d,\"clientGroupID\":\"%s\",\"mutations\":[",
                               PUSH_VERSION, request->group_id);
    kedge_buffer_append_bytes(out, request->list);
    kedge_buffer_append_text(out, "]}");
}

/* ---- reading ---- */

#define FIRST_CAPACITY 64

/* The places of the parts of a push in its body. */
typedef struct push_parts {
    kedge_bytes body; /* of the object, from its brace on */
    size_t end;       /* after the last complete member */
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

/* In a body that was cut off: the member after the last whole one is "mutations", and its value an
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

static kedge_status fail(kedge_error *error, const char *message)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid", "%s", message);
}

/* Without this the complete mutations of a truncated body could not be found. */
static kedge_status fail_cut_off(const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "body-too-large",
                      "the body has more than %d bytes, and no %s", KEDGE_LIMIT_PUSH_BYTES, what);
}

static kedge_status cut_body(const kedge_wire_request *request, push_parts *parts,
                             kedge_error *error)
{
    kedge_bytes body = trim(request->body);
    kedge_bytes object = body;
    if (request->truncated) kedge_json_skip(body, &object, NULL); /* it may end before the cut */
    if (kedge_json_type_of(object) != KEDGE_JSON_OBJECT) {
        return kedge_wire_request_no_object(body, error);
    }
    if (find_parts(object, request->truncated, parts)) return KEDGE_OK;
    if (!request->truncated) return kedge_wire_request_no_object(body, error);
    return fail_cut_off("\"mutations\" among the first", error);
}

/* Appends the members around "mutations", and checks them. */
static kedge_status read_envelope(const kedge_wire_request *request, const push_parts *parts,
                                  kedge_buffer *envelope, kedge_error *error)
{
    size_t head = parts->list_found ? parts->list : parts->end;
    kedge_buffer_append(envelope, parts->body.data, head);
    if (parts->list_found) {
        kedge_buffer_append_text(envelope, "[]");
        kedge_buffer_append(envelope, parts->body.data + parts->list_end,
                            parts->end - parts->list_end);
    }
    if (request->truncated) {
        kedge_buffer_append_byte(envelope, '}');
    } else {
        kedge_buffer_append_bytes(envelope, from(parts->body, parts->end));
    }
    if (envelope->no_memory) return kedge_fail_no_memory(error);
    kedge_bytes text = kedge_buffer_bytes(envelope);
    kedge_status status =
        kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, envelope->allocator, error);
    if (status == KEDGE_OK || status == KEDGE_NO_MEMORY) return status;
    return kedge_wire_request_no_object(text, error);
}

static kedge_status read_version(const kedge_wire_request *request, kedge_bytes envelope,
                                 bool *supported, kedge_error *error)
{
    kedge_bytes value;
    double version;
    *supported = true;
    if (!kedge_json_member(envelope, "pushVersion", &value)) {
        if (request->truncated) return KEDGE_OK;
        return fail(error, "pushVersion is missing; it must be 1");
    }
    if (!kedge_json_to_number(value, &version)) {
        return fail(error, "pushVersion must be the number 1");
    }
    *supported = version == PUSH_VERSION;
    return KEDGE_OK;
}

static kedge_status read_native(kedge_bytes envelope, bool *native, kedge_error *error)
{
    kedge_bytes value;
    char client[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    *native = kedge_json_member(envelope, "kedge", &value);
    if (!*native) return KEDGE_OK;
    if (kedge_json_type_of(value) != KEDGE_JSON_OBJECT) {
        return fail(error, "kedge must be an object");
    }
    return kedge_wire_request_client_id(value, "client", "kedge.client", client, error);
}

static kedge_status read_members(const kedge_wire_request *request, kedge_bytes envelope,
                                 kedge_wire_push_request *out, kedge_error *error)
{
    kedge_bytes value;
    kedge_status status = read_version(request, envelope, &out->supported, error);
    if (status != KEDGE_OK || !out->supported) return status;
    status = read_native(envelope, &out->native, error);
    if (status == KEDGE_OK) status = kedge_wire_request_optional_text(envelope, "profileID", error);
    if (status == KEDGE_OK) {
        status = kedge_wire_request_schema_version(envelope, out->schema_version, error);
    }
    if (status != KEDGE_OK) return status;
    if (request->truncated && !kedge_json_member(envelope, "clientGroupID", &value)) {
        return fail_cut_off("clientGroupID in front of \"mutations\"", error);
    }
    return kedge_wire_request_client_id(envelope, "clientGroupID", "clientGroupID", out->group_id,
                                        error);
}

/* ---- the mutations ---- */

static kedge_status grow(kedge_wire_push_request *out, size_t *capacity, kedge_error *error)
{
    if (out->count < *capacity) return KEDGE_OK;
    size_t larger = *capacity == 0 ? FIRST_CAPACITY : *capacity * 2;
    kedge_wire_mutation *moved =
        out->allocator->reallocate(out->allocator->context, out->mutations, larger * sizeof *moved);
    if (moved == NULL) return kedge_fail_no_memory(error);
    out->mutations = moved;
    *capacity = larger;
    return KEDGE_OK;
}

/* No mutation came whole. The first one is to be decided all the same when no push could hold it:
 * otherwise its client would send it again for ever. */
static kedge_status read_cut(const kedge_wire_request *request, kedge_bytes list,
                             kedge_wire_push_request *out, kedge_error *error)
{
    size_t capacity = 0;
    bool read = false;
    kedge_bytes element = trim(from(list, 1));
    kedge_status status = grow(out, &capacity, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_push_mutation_read_cut(out, request->body.size, element,
                                                   &out->mutations[0], &read, error);
    }
    if (status == KEDGE_OK && read) out->count = 1;
    return status;
}

static kedge_status read_mutations(const kedge_wire_request *request, kedge_bytes list,
                                   kedge_buffer *scratch, kedge_wire_push_request *out,
                                   kedge_error *error)
{
    size_t capacity = 0;
    kedge_bytes element;
    kedge_json_iterator elements = kedge_json_iterate(list);
    while (kedge_json_next_element(&elements, &element)) {
        if (out->count == KEDGE_LIMIT_PUSH_MUTATIONS) {
            out->too_large = true;
            return KEDGE_OK;
        }
        kedge_status status = grow(out, &capacity, error);
        if (status == KEDGE_OK) {
            status = kedge_wire_push_mutation_read(out, request->body.size, out->count, element,
                                                   scratch, &out->mutations[out->count], error);
        }
        if (status != KEDGE_OK) return status;
        out->count++;
        out->list =
            (kedge_bytes){list.data + 1, (size_t)(element.data - list.data) + element.size - 1};
    }
    if (request->truncated) return out->count > 0 ? KEDGE_OK : read_cut(request, list, out, error);
    if (!elements.failed) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-not-json",
                      "mutations is no array of values after element %zu", out->count);
}

static kedge_status read_parts(const kedge_wire_request *request, const push_parts *parts,
                               kedge_buffer *scratch, kedge_wire_push_request *out,
                               kedge_error *error)
{
    kedge_status status = read_envelope(request, parts, scratch, error);
    if (status == KEDGE_OK) {
        status = read_members(request, kedge_buffer_bytes(scratch), out, error);
    }
    if (status != KEDGE_OK || !out->supported) return status;
    kedge_bytes list = {parts->body.data + parts->list, parts->list_end - parts->list};
    if (!parts->list_found) return fail(error, "mutations is missing; it must be an array");
    if (kedge_json_type_of(list) != KEDGE_JSON_ARRAY) {
        return fail(error, "mutations must be an array");
    }
    out->too_large = request->truncated;
    status = read_mutations(request, list, scratch, out, error);
    if (status == KEDGE_OK && out->too_large && out->count > 0 && out->mutations[0].uid.size > 0) {
        out->native = true;
    }
    return status;
}

kedge_status kedge_wire_push_request_read(const kedge_allocator *allocator,
                                          const kedge_wire_request *request,
                                          kedge_wire_push_request *out, kedge_error *error)
{
    push_parts parts = {0};
    *out = (kedge_wire_push_request){.supported = true, .allocator = allocator};
    kedge_status status = cut_body(request, &parts, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer scratch = kedge_buffer_make(allocator);
    status = read_parts(request, &parts, &scratch, out, error);
    kedge_buffer_free(&scratch);
    return status;
}

void kedge_wire_push_request_free(kedge_wire_push_request *request)
{
    kedge_release(request->allocator, request->mutations);
    kedge_release(request->allocator, request->text);
    *request = (kedge_wire_push_request){.supported = false};
}

/* ---- the response ---- */

void kedge_wire_push_response_write(const kedge_wire_push_response *response, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    if (response->native) {
        kedge_json_key(&writer, "kedge");
        kedge_json_begin_object(&writer);
        kedge_json_key(&writer, response->queued ? "queued" : "version");
        if (response->queued) {
            kedge_json_boolean(&writer, true);
        } else {
            kedge_json_integer(&writer, response->version);
        }
        kedge_json_end_object(&writer);
    }
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_push_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                           kedge_wire_push_response *out, kedge_error *error)
{
    kedge_bytes native;
    kedge_bytes value;
    kedge_json_iterator members = kedge_json_iterate(body);
    *out = (kedge_wire_push_response){.native = false};
    kedge_status status = kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, allocator, error);
    if (status == KEDGE_NO_MEMORY) return status;
    if (status == KEDGE_OK) {
        bool empty = !kedge_json_next_member(&members, &value, &native) && !members.failed;
        if (empty) return KEDGE_OK;
        out->native = kedge_json_member(body, "kedge", &native);
        if (out->native && kedge_json_member_integer(native, "version", &out->version) &&
            out->version > 0) {
            return KEDGE_OK;
        }
        out->version = 0;
        if (out->native && kedge_json_member(native, "queued", &value) &&
            kedge_json_to_boolean(value, &out->queued) && out->queued) {
            return KEDGE_OK;
        }
    }
    return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                      "the response to a push is not Kedge's");
}
