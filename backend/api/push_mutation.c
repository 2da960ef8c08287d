/* Reading one pushed mutation.
 *
 * Two things must be clear: whose mutation it is, and which (clientID, id). Without them nothing
 * can be decided, and the push is refused. Whatever else is wrong makes the mutation an invalid
 * one, which the processor decides as rejected.
 *
 * The mutation is checked in two parts, so that args may use the whole depth allowed: the mutation
 * with null in the place of its args, and the args by themselves. */
#include "backend/api/call.h"
#include "common/error.h"
#include "common/names.h"

#include <stdio.h>
#include <string.h>

#define UID_BYTES 16

typedef struct mutation_members {
    kedge_bytes client;
    kedge_bytes id;
    kedge_bytes name;
    kedge_bytes args;
    kedge_bytes timestamp;
    kedge_bytes uid;
    kedge_bytes origin;
    bool ambiguous; /* clientID or id stands there twice */
} mutation_members;

/* Finds the members; of one that stands there twice the first, which the check then refuses. */
static void find_members(kedge_bytes element, mutation_members *members)
{
    struct {
        const char *name;
        kedge_bytes *value;
    } const known[] = {
        {"clientID", &members->client},     {"id", &members->id},
        {"name", &members->name},           {"args", &members->args},
        {"timestamp", &members->timestamp}, {"uid", &members->uid},
        {"origin", &members->origin},
    };
    kedge_bytes key;
    kedge_bytes value;
    *members = (mutation_members){.ambiguous = false};
    kedge_json_iterator walk = kedge_json_iterate(element);
    while (kedge_json_next_member(&walk, &key, &value)) {
        for (size_t at = 0; at < sizeof known / sizeof known[0]; at++) {
            if (!kedge_json_text_equals(key, known[at].name)) continue;
            if (known[at].value->data == NULL) {
                *known[at].value = value;
            } else if (at < 2) {
                members->ambiguous = true;
            }
        }
    }
}

/* ---- strings ---- */

/* Copies a decoded string that the body holds only with escapes. */
static bool keep_text(kedge_api_call *call, kedge_push_request *request, const char *chars,
                      kedge_bytes *text)
{
    if (request->text == NULL) {
        /* No escape makes a string longer: the body's size is enough for all of them. */
        request->text = kedge_allocate(call->allocator, call->request->body.size);
        if (request->text == NULL) {
            kedge_api_fail(call, KEDGE_NO_MEMORY);
            return false;
        }
    }
    char *place = request->text + request->text_size;
    memcpy(place, chars, text->size);
    text->data = place;
    request->text_size += text->size;
    return true;
}

/* The decoded text of a string of at most `most` bytes; empty when it is no such string. False only
 * after a refusal. */
static bool read_text(kedge_api_call *call, kedge_push_request *request, kedge_bytes value,
                      size_t most, kedge_bytes *text)
{
    char chars[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    *text = (kedge_bytes){NULL, 0};
    if (!kedge_json_to_chars(value, chars, most + 1)) return true;
    *text = (kedge_bytes){value.data + 1, strlen(chars)};
    return text->size == value.size - 2 || keep_text(call, request, chars, text);
}

static bool is_client_id(kedge_bytes text)
{
    return kedge_check_client_id(text, NULL) == KEDGE_OK;
}

static bool is_mutation_id(kedge_bytes value, int64_t *id)
{
    int64_t number;
    if (!kedge_json_to_integer(value, &number) || number < 1) return false;
    *id = number;
    return true;
}

/* ---- the envelope ---- */

static bool refuse_element(kedge_api_call *call, size_t index, const char *member, const char *what)
{
    kedge_api_refuse(call, 400, "body-invalid", "mutations[%zu]%s must be %s", index, member, what);
    return false;
}

static bool read_envelope(kedge_api_call *call, kedge_push_request *request, size_t index,
                          const mutation_members *members, kedge_push_mutation *out)
{
    if (!read_text(call, request, members->client, KEDGE_LIMIT_CLIENT_ID_BYTES, &out->client)) {
        return false;
    }
    if (!is_client_id(out->client)) {
        return refuse_element(call, index, ".clientID", "a string of 1 to 128 of A-Z a-z 0-9 _ -");
    }
    if (!is_mutation_id(members->id, &out->id)) {
        return refuse_element(call, index, ".id", "a whole number from 1 to 2^53 - 1");
    }
    if (members->ambiguous) {
        return refuse_element(call, index, "", "an object with one clientID and one id");
    }
    return true;
}

/* ---- the rest ---- */

static void set_invalid(kedge_push_mutation *out, const char *code, const char *message)
{
    if (out->invalid_code != NULL) return;
    out->invalid_code = code;
    snprintf(out->invalid_message, sizeof out->invalid_message, "%s", message);
}

/* The mutation with null in the place of its args. */
static kedge_status check_frame(kedge_bytes element, kedge_bytes args, kedge_buffer *scratch,
                                kedge_error *error)
{
    if (args.data == NULL) return kedge_json_check(element, KEDGE_LIMIT_JSON_DEPTH, error);
    size_t front = (size_t)(args.data - element.data);
    kedge_buffer_clear(scratch);
    kedge_buffer_append(scratch, element.data, front);
    kedge_buffer_append_text(scratch, "null");
    kedge_buffer_append(scratch, args.data + args.size, element.size - front - args.size);
    if (scratch->no_memory) return kedge_fail_no_memory(error);
    return kedge_json_check(kedge_buffer_bytes(scratch), KEDGE_LIMIT_JSON_DEPTH, error);
}

static void read_timestamp(const mutation_members *members, kedge_push_mutation *out)
{
    double number;
    if (!kedge_json_to_number(members->timestamp, &number)) {
        set_invalid(out, "mutation-invalid", "timestamp must be a number");
        return;
    }
    double most = (double)KEDGE_LIMIT_MUTATION_ID;
    if (number >= most) {
        out->timestamp_ms = KEDGE_LIMIT_MUTATION_ID;
    } else if (number <= -most) {
        out->timestamp_ms = -KEDGE_LIMIT_MUTATION_ID;
    } else {
        out->timestamp_ms = (int64_t)(number < 0 ? number - 0.5 : number + 0.5);
    }
}

static bool read_uid(kedge_api_call *call, kedge_push_request *request,
                     const mutation_members *members, kedge_push_mutation *out)
{
    uint8_t bytes[UID_BYTES];
    if (members->uid.data == NULL) return true;
    if (!read_text(call, request, members->uid, 2 * UID_BYTES, &out->uid)) return false;
    if (!kedge_hex_decode(out->uid, bytes, sizeof bytes)) {
        out->uid = (kedge_bytes){NULL, 0};
        set_invalid(out, "mutation-invalid", "uid must be 32 lower-case hexadecimal digits");
    }
    return true;
}

static bool read_origin(kedge_api_call *call, kedge_push_request *request,
                        const mutation_members *members, kedge_push_mutation *out)
{
    kedge_bytes client;
    kedge_bytes id;
    kedge_bytes text = {NULL, 0};
    if (members->origin.data == NULL) return true;
    if (kedge_json_member(members->origin, "client", &client) &&
        !read_text(call, request, client, KEDGE_LIMIT_CLIENT_ID_BYTES, &text)) {
        return false;
    }
    if (is_client_id(text) && kedge_json_member(members->origin, "id", &id) &&
        is_mutation_id(id, &out->origin_id)) {
        out->origin_client = text;
    } else {
        set_invalid(out, "mutation-invalid", "origin must be an object with a client and an id");
    }
    return true;
}

/* False only after a refusal. */
static bool read_members(kedge_api_call *call, kedge_push_request *request,
                         const mutation_members *members, kedge_push_mutation *out)
{
    if (!read_text(call, request, members->name, KEDGE_LIMIT_NAME_BYTES, &out->name)) return false;
    if (out->name.size == 0) {
        set_invalid(out, "mutation-invalid", "name must be a string of 1 to 64 bytes");
    }
    read_timestamp(members, out);
    return read_uid(call, request, members, out) && read_origin(call, request, members, out);
}

/* ---- the digest ---- */

static kedge_status digest_canonical(kedge_bytes args, const mutation_members *members,
                                     kedge_push_mutation *out, kedge_buffer *scratch,
                                     kedge_error *error)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_buffer_clear(scratch);
    kedge_buffer_append_text(scratch, "{\"args\":");
    size_t start = scratch->size;
    kedge_status status = kedge_json_normalize(args, KEDGE_LIMIT_JSON_DEPTH, scratch, error);
    if (status != KEDGE_OK) return status;
    if (scratch->size - start > KEDGE_LIMIT_ARGS_BYTES) {
        char message[128];
        snprintf(message, sizeof message, "args has %zu bytes; at most %d are allowed",
                 scratch->size - start, KEDGE_LIMIT_ARGS_BYTES);
        set_invalid(out, "args-too-large", message);
    }
    kedge_buffer_append_text(scratch, ",\"name\":");
    status = kedge_json_canonical(members->name, scratch, error);
    if (status != KEDGE_OK) return status;
    if (out->uid.size > 0) {
        kedge_buffer_append_text(scratch, ",\"uid\":\"");
        kedge_buffer_append_bytes(scratch, out->uid);
        kedge_buffer_append_byte(scratch, '"');
    }
    kedge_buffer_append_byte(scratch, '}');
    if (scratch->no_memory) return kedge_fail_no_memory(error);
    kedge_sha256(kedge_buffer_bytes(scratch), hash);
    memcpy(out->digest, hash, sizeof out->digest);
    return KEDGE_OK;
}

static void digest_raw(kedge_bytes element, kedge_push_mutation *out)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(element, hash);
    memcpy(out->digest, hash, sizeof out->digest);
}

/* Makes of a mutation that cannot be taken as what it says one that is rejected. */
static void make_invalid(kedge_bytes element, kedge_push_mutation *out)
{
    digest_raw(element, out);
    out->args = KEDGE_BYTES("null");
    out->origin_client = (kedge_bytes){NULL, 0};
    out->origin_id = 0;
}

static bool decode_checked(kedge_api_call *call, kedge_push_request *request, kedge_bytes element,
                           const mutation_members *members, kedge_buffer *scratch,
                           kedge_push_mutation *out)
{
    if (!read_members(call, request, members, out)) return false;
    out->args = members->args.data == NULL ? KEDGE_BYTES("null") : members->args;
    if (out->invalid_code != NULL) {
        make_invalid(element, out);
        return true;
    }
    kedge_status status = digest_canonical(out->args, members, out, scratch, &call->error);
    if (status == KEDGE_NO_MEMORY) {
        kedge_api_fail(call, status);
        return false;
    }
    if (status != KEDGE_OK) {
        bool deep = status == KEDGE_LIMIT_EXCEEDED;
        set_invalid(out, deep ? "args-invalid" : "mutation-invalid", call->error.message);
        make_invalid(element, out);
    } else if (out->invalid_code != NULL) {
        out->args = KEDGE_BYTES("null");
    }
    return true;
}

bool kedge_push_mutation_decode(kedge_api_call *call, kedge_push_request *request, size_t index,
                                kedge_bytes element, kedge_buffer *scratch,
                                kedge_push_mutation *out)
{
    mutation_members members;
    *out = (kedge_push_mutation){.id = 0};
    if (kedge_json_type_of(element) != KEDGE_JSON_OBJECT) {
        return refuse_element(call, index, "", "an object");
    }
    find_members(element, &members);
    if (!read_envelope(call, request, index, &members, out)) return false;
    kedge_status status = check_frame(element, members.args, scratch, &call->error);
    if (status == KEDGE_NO_MEMORY) {
        kedge_api_fail(call, status);
        return false;
    }
    if (status != KEDGE_OK) {
        set_invalid(out, "mutation-invalid", call->error.message);
        make_invalid(element, out);
        return true;
    }
    return decode_checked(call, request, element, &members, scratch, out);
}
