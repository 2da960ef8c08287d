/* One mutation of a push: its digest, its writer, its reader.
 *
 * The mutation that is read is checked in two parts, so that args may use the whole depth allowed:
 * the mutation with null in the place of its args, and the args by themselves. */
#include "wire/push_mutation.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/names.h"

#include <stdio.h>
#include <string.h>

/* The first half of the SHA-256 of {"args":…,"name":…,"uid":…}, whose members are in order. */
void kedge_wire_digest(kedge_bytes args, kedge_bytes name, kedge_bytes uid,
                       uint8_t digest[KEDGE_DIGEST_SIZE])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes before_uid = KEDGE_BYTES(",\"uid\":\"");
    kedge_bytes behind_uid = KEDGE_BYTES("\"}");
    if (uid.size == 0) {
        before_uid.size = 0;
        behind_uid = KEDGE_BYTES("}");
    }
    const kedge_bytes pieces[] = {KEDGE_BYTES("{\"args\":"),
                                  args,
                                  KEDGE_BYTES(",\"name\":\""),
                                  name,
                                  KEDGE_BYTES("\""),
                                  before_uid,
                                  uid,
                                  behind_uid};
    kedge_sha256_of(pieces, sizeof pieces / sizeof pieces[0], hash);
    memcpy(digest, hash, KEDGE_DIGEST_SIZE);
}

/* ---- writing ---- */

void kedge_wire_push_request_mutation(kedge_json_writer *writer,
                                      const kedge_wire_mutation *mutation)
{
    KEDGE_ASSERT(mutation->client_id.size > 0);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "clientID");
    kedge_json_text(writer, mutation->client_id);
    kedge_json_key(writer, "id");
    kedge_json_integer(writer, mutation->id);
    kedge_json_key(writer, "name");
    kedge_json_text(writer, mutation->name);
    kedge_json_key(writer, "args");
    kedge_json_raw(writer, mutation->args);
    kedge_json_key(writer, "timestamp");
    kedge_json_integer(writer, mutation->timestamp_ms);
    kedge_json_key(writer, "uid");
    kedge_json_text(writer, mutation->uid);
    if (mutation->mutator_version > 1) {
        kedge_json_key(writer, "version");
        kedge_json_integer(writer, mutation->mutator_version);
    }
    if (mutation->waits) {
        kedge_json_key(writer, "wait");
        kedge_json_boolean(writer, true);
    }
    if (mutation->origin_client_id.size > 0) {
        kedge_json_key(writer, "origin");
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "client");
        kedge_json_text(writer, mutation->origin_client_id);
        kedge_json_key(writer, "id");
        kedge_json_integer(writer, mutation->origin_id);
        kedge_json_end_object(writer);
    }
    kedge_json_end_object(writer);
}

/* ---- reading ---- */

#define UID_BYTES 16

typedef struct mutation_members {
    kedge_bytes client;
    kedge_bytes id;
    kedge_bytes name;
    kedge_bytes args;
    kedge_bytes timestamp;
    kedge_bytes uid;
    kedge_bytes origin;
    kedge_bytes version;
    kedge_bytes wait;
    bool ambiguous; /* clientID or id occurs twice */
} mutation_members;

/* Finds the members. Of a member that occurs twice it takes the first; the check then refuses the
 * mutation. */
static void find_members(kedge_bytes element, mutation_members *members)
{
    struct {
        const char *name;
        kedge_bytes *value;
    } const known[] = {
        {"clientID", &members->client},     {"id", &members->id},
        {"name", &members->name},           {"args", &members->args},
        {"timestamp", &members->timestamp}, {"uid", &members->uid},
        {"origin", &members->origin},       {"version", &members->version},
        {"wait", &members->wait},
    };
    kedge_bytes key;
    kedge_bytes value;
    *members = (mutation_members){.ambiguous = false};
    kedge_json_iterator iterator = kedge_json_iterate(element);
    while (kedge_json_next_member(&iterator, &key, &value)) {
        for (size_t at = 0; at < sizeof known / sizeof known[0]; at++) {
            if (!kedge_json_text_equals(key, known[at].name)) continue;
            if (known[at].value->data == NULL) {
                *known[at].value = value;
            } else if (at < 2) {
                members->ambiguous = true;
            }
            break;
        }
    }
}

/* ---- strings ---- */

/* Where the strings of a push go that the body holds only with escapes. */
typedef struct push_text {
    kedge_wire_push_request *request;
    size_t bytes_max;
} push_text;

static kedge_status keep_text(push_text *into, const char *chars, kedge_bytes *text,
                              kedge_error *error)
{
    kedge_wire_push_request *request = into->request;
    if (request->text == NULL) {
        /* No escape makes a string longer: the body's size is enough for all of them. */
        request->text = kedge_allocate(request->allocator, into->bytes_max);
        if (request->text == NULL) return kedge_fail_no_memory(error);
    }
    KEDGE_ASSERT(request->text_size + text->size <= into->bytes_max);
    char *place = request->text + request->text_size;
    memcpy(place, chars, text->size);
    text->data = place;
    request->text_size += text->size;
    return KEDGE_OK;
}

/* The decoded text of a string of at most `most` bytes; empty when it is no such string. */
static kedge_status read_text(push_text *into, kedge_bytes value, size_t most, kedge_bytes *text,
                              kedge_error *error)
{
    char chars[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    KEDGE_ASSERT(most < sizeof chars);
    *text = (kedge_bytes){NULL, 0};
    if (!kedge_json_to_chars(value, chars, most + 1)) return KEDGE_OK;
    *text = (kedge_bytes){value.data + 1, strlen(chars)};
    return text->size == value.size - 2 ? KEDGE_OK : keep_text(into, chars, text, error);
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

static kedge_status fail_element(size_t index, const char *member, const char *what,
                                 kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid", "mutations[%zu]%s must be %s",
                      index, member, what);
}

static kedge_status read_envelope(push_text *into, size_t index, const mutation_members *members,
                                  kedge_wire_mutation *out, kedge_error *error)
{
    kedge_status status =
        read_text(into, members->client, KEDGE_LIMIT_CLIENT_ID_BYTES, &out->client_id, error);
    if (status != KEDGE_OK) return status;
    if (!is_client_id(out->client_id)) {
        return fail_element(index, ".clientID", "a string of 1 to 128 of A-Z a-z 0-9 _ -", error);
    }
    if (!is_mutation_id(members->id, &out->id)) {
        return fail_element(index, ".id", "a whole number from 1 to 2^53 - 1", error);
    }
    if (members->ambiguous) {
        return fail_element(index, "", "an object with one clientID and one id", error);
    }
    return KEDGE_OK;
}

/* ---- the rest ---- */

static void set_invalid(kedge_wire_mutation *out, const char *code, const char *message)
{
    if (out->invalid_code != NULL) return;
    out->invalid_code = code;
    snprintf(out->invalid_message, sizeof out->invalid_message, "%s", message);
}

/* The mutation with null in the place of its args. */
static kedge_status check_frame(kedge_bytes element, kedge_bytes args, kedge_buffer *scratch,
                                kedge_error *error)
{
    if (args.data == NULL)
        return kedge_json_check(element, KEDGE_LIMIT_JSON_DEPTH, scratch->allocator, error);
    size_t front = (size_t)(args.data - element.data);
    kedge_buffer_clear(scratch);
    kedge_buffer_append(scratch, element.data, front);
    kedge_buffer_append_text(scratch, "null");
    kedge_buffer_append(scratch, args.data + args.size, element.size - front - args.size);
    if (scratch->no_memory) return kedge_fail_no_memory(error);
    return kedge_json_check(kedge_buffer_bytes(scratch), KEDGE_LIMIT_JSON_DEPTH, scratch->allocator,
                            error);
}

/* To the next whole number; one that is whole stays what it is, up to 2^53 - 1. */
static void read_timestamp(const mutation_members *members, kedge_wire_mutation *out)
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
        out->timestamp_ms = (int64_t)number;
        double rest = number - (double)out->timestamp_ms;
        if (rest >= 0.5) out->timestamp_ms++;
        if (rest <= -0.5) out->timestamp_ms--;
    }
}

static kedge_status read_uid(push_text *into, const mutation_members *members,
                             kedge_wire_mutation *out, kedge_error *error)
{
    uint8_t bytes[UID_BYTES];
    if (members->uid.data == NULL) return KEDGE_OK;
    kedge_status status = read_text(into, members->uid, 2 * UID_BYTES, &out->uid, error);
    if (status == KEDGE_OK && !kedge_hex_decode(out->uid, bytes, sizeof bytes)) {
        out->uid = (kedge_bytes){NULL, 0};
        set_invalid(out, "mutation-invalid", "uid must be 32 lower-case hexadecimal digits");
    }
    return status;
}

static kedge_status read_origin(push_text *into, const mutation_members *members,
                                kedge_wire_mutation *out, kedge_error *error)
{
    kedge_bytes client;
    kedge_bytes id;
    kedge_bytes text = {NULL, 0};
    kedge_status status = KEDGE_OK;
    if (members->origin.data == NULL) return KEDGE_OK;
    if (kedge_json_member(members->origin, "client", &client)) {
        status = read_text(into, client, KEDGE_LIMIT_CLIENT_ID_BYTES, &text, error);
    }
    if (status != KEDGE_OK) return status;
    if (is_client_id(text) && kedge_json_member(members->origin, "id", &id) &&
        is_mutation_id(id, &out->origin_id)) {
        out->origin_client_id = text;
    } else {
        set_invalid(out, "mutation-invalid", "origin must be an object with a client and an id");
    }
    return KEDGE_OK;
}

/* The version of the mutator; 1 when the member is absent. */
static void read_version(const mutation_members *members, kedge_wire_mutation *out)
{
    out->mutator_version = 1;
    if (members->version.data == NULL) return;
    if (kedge_json_to_integer(members->version, &out->mutator_version) &&
        out->mutator_version >= 1 && out->mutator_version <= UINT32_MAX)
        return;
    out->mutator_version = 1;
    set_invalid(out, "mutation-invalid", "version must be a whole number from 1 to 2^32 - 1");
}

static void read_wait(const mutation_members *members, kedge_wire_mutation *out)
{
    if (members->wait.data == NULL || kedge_json_to_boolean(members->wait, &out->waits)) return;
    set_invalid(out, "mutation-invalid", "wait must be true or false");
}

static kedge_status read_members(push_text *into, const mutation_members *members,
                                 kedge_wire_mutation *out, kedge_error *error)
{
    kedge_status status = read_text(into, members->name, KEDGE_LIMIT_NAME_BYTES, &out->name, error);
    if (status != KEDGE_OK) return status;
    if (out->name.size == 0) {
        set_invalid(out, "mutation-invalid", "name must be a string of 1 to 64 bytes");
    }
    read_timestamp(members, out);
    read_version(members, out);
    read_wait(members, out);
    status = read_uid(into, members, out, error);
    return status == KEDGE_OK ? read_origin(into, members, out, error) : status;
}

/* ---- the digest ---- */

/* `deep`: args that are too deep to be made canonical, as they were sent: a native client sends
 * canonical ones. NULL: the canonical args stand in `scratch`. */
static kedge_status digest_with_name(const kedge_bytes *deep, const mutation_members *members,
                                     kedge_wire_mutation *out, kedge_buffer *scratch,
                                     kedge_error *error)
{
    size_t size = scratch->size;
    kedge_status status = kedge_json_canonical(members->name, scratch, error);
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(!scratch->no_memory);
    KEDGE_ASSERT(scratch->size >= size + 2);
    kedge_bytes name = {scratch->data + size + 1, scratch->size - size - 2};
    kedge_bytes canonical = {scratch->data, size};
    kedge_wire_digest(deep != NULL ? *deep : canonical, name, out->uid, out->digest);
    return KEDGE_OK;
}

static kedge_status digest_canonical(kedge_bytes args, const mutation_members *members,
                                     kedge_wire_mutation *out, kedge_buffer *scratch,
                                     kedge_error *error)
{
    kedge_buffer_clear(scratch);
    kedge_status status = kedge_json_normalize(args, KEDGE_LIMIT_JSON_DEPTH, scratch, error);
    if (status != KEDGE_OK) return status;
    out->args_are_canonical = kedge_bytes_equal(args, kedge_buffer_bytes(scratch));
    if (scratch->size > KEDGE_LIMIT_ARGS_BYTES) {
        char message[128];
        snprintf(message, sizeof message, "args has %zu bytes; at most %d are allowed",
                 scratch->size, KEDGE_LIMIT_ARGS_BYTES);
        set_invalid(out, "args-too-large", message);
    }
    return digest_with_name(NULL, members, out, scratch, error);
}

static void digest_raw(kedge_bytes element, kedge_wire_mutation *out)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(element, hash);
    memcpy(out->digest, hash, sizeof out->digest);
}

/* Marks a mutation as invalid, so that it is decided as rejected. */
static void make_invalid(kedge_bytes element, kedge_wire_mutation *out)
{
    digest_raw(element, out);
    out->args = KEDGE_BYTES("null");
    out->args_are_canonical = false;
    out->origin_client_id = (kedge_bytes){NULL, 0};
    out->origin_id = 0;
}

static kedge_status read_checked(push_text *into, kedge_bytes element,
                                 const mutation_members *members, kedge_buffer *scratch,
                                 kedge_wire_mutation *out, kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status = read_members(into, members, out, error);
    if (status != KEDGE_OK) return status;
    out->args = members->args.data == NULL ? KEDGE_BYTES("null") : members->args;
    if (out->invalid_code != NULL) {
        make_invalid(element, out);
        return KEDGE_OK;
    }
    status = digest_canonical(out->args, members, out, scratch, &why);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK) {
        bool deep = status == KEDGE_LIMIT_EXCEEDED;
        kedge_bytes sent = out->args;
        set_invalid(out, deep ? "args-invalid" : "mutation-invalid", why.message);
        make_invalid(element, out);
        /* The client computes this digest, too. If the server recorded another one, the client
         * would take the outcome for that of another mutation, and rotate without end. */
        if (deep) return digest_with_name(&sent, members, out, scratch, error);
    } else if (out->invalid_code != NULL) {
        out->args = KEDGE_BYTES("null");
        out->args_are_canonical = false;
    }
    return KEDGE_OK;
}

kedge_status kedge_wire_push_mutation_read(kedge_wire_push_request *request, size_t text_bytes_max,
                                           size_t index, kedge_bytes element, kedge_buffer *scratch,
                                           kedge_wire_mutation *out, kedge_error *error)
{
    mutation_members members;
    kedge_error why = {0};
    push_text into = {request, text_bytes_max};
    *out = (kedge_wire_mutation){.id = 0};
    if (kedge_json_type_of(element) != KEDGE_JSON_OBJECT) {
        return fail_element(index, "", "an object", error);
    }
    find_members(element, &members);
    kedge_status status = read_envelope(&into, index, &members, out, error);
    if (status != KEDGE_OK) return status;
    status = check_frame(element, members.args, scratch, &why);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK) {
        set_invalid(out, "mutation-invalid", why.message);
        make_invalid(element, out);
        return KEDGE_OK;
    }
    return read_checked(&into, element, &members, scratch, out, error);
}

/* ---- a mutation that was cut off ---- */

/* The value that the cut may have shortened, such as a number. */
static void forget_cut(kedge_bytes element, kedge_bytes *value)
{
    bool at_the_cut =
        value->data != NULL && value->data + value->size == element.data + element.size;
    if (at_the_cut) *value = (kedge_bytes){NULL, 0};
}

kedge_status kedge_wire_push_mutation_read_cut(kedge_wire_push_request *request,
                                               size_t text_bytes_max, kedge_bytes element,
                                               kedge_wire_mutation *out, bool *read,
                                               kedge_error *error)
{
    mutation_members members;
    push_text into = {request, text_bytes_max};
    *out = (kedge_wire_mutation){.id = 0};
    *read = false;
    if (element.size <= KEDGE_LIMIT_ARGS_BYTES || kedge_json_type_of(element) != KEDGE_JSON_OBJECT)
        return KEDGE_OK;
    find_members(element, &members);
    forget_cut(element, &members.client);
    forget_cut(element, &members.id);
    if (request->native || members.uid.data != NULL) return KEDGE_OK;
    if (members.client.data == NULL || members.id.data == NULL) return KEDGE_OK;
    kedge_status status = read_envelope(&into, 0, &members, out, error);
    if (status != KEDGE_OK) return status;
    char message[128];
    snprintf(message, sizeof message,
             "the mutation alone has more bytes than a push; args has at most %d",
             KEDGE_LIMIT_ARGS_BYTES);
    set_invalid(out, "args-too-large", message);
    status = read_members(&into, &members, out, error);
    make_invalid(element, out);
    *read = status == KEDGE_OK;
    return status;
}
