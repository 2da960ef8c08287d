/* The requests of event logs. See log.h. */
#include "wire/log.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/names.h"

#include <string.h>

static void write_integer(kedge_json_writer *writer, const char *name, int64_t value)
{
    kedge_json_key(writer, name);
    kedge_json_integer(writer, value);
}

static kedge_status fail(const char *name, const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid", "%s must be %s", name, what);
}

/* -1 when it is absent. */
static kedge_status read_number(kedge_bytes object, const char *name, int64_t *out,
                                kedge_error *error)
{
    kedge_bytes value;
    *out = -1;
    if (!kedge_json_member(object, name, &value)) return KEDGE_OK;
    if (kedge_json_to_integer(value, out) && *out >= 0) return KEDGE_OK;
    return fail(name, "a whole number, 0 or above", error);
}

/* ---- append ---- */

void kedge_wire_log_append_write(const kedge_wire_log_append *request, kedge_buffer *out)
{
    char id[2 * KEDGE_WIRE_LOG_ID_SIZE + 1];
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "type");
    kedge_json_text(&writer, request->type);
    write_integer(&writer, "version", request->version);
    kedge_json_key(&writer, "body");
    kedge_json_raw(&writer, request->body.size == 0 ? KEDGE_BYTES("null") : request->body);
    if (request->expected >= 0) write_integer(&writer, "expected", request->expected);
    if (request->since >= 0) write_integer(&writer, "since", request->since);
    if (request->has_id) {
        kedge_hex_encode(request->id, sizeof request->id, id);
        kedge_json_key(&writer, "id");
        kedge_json_chars(&writer, id);
    }
    if (request->entries) {
        kedge_json_key(&writer, "entries");
        kedge_json_boolean(&writer, true);
    }
    kedge_json_end_object(&writer);
}

static kedge_status read_type(kedge_bytes object, kedge_wire_log_append *out, kedge_error *error)
{
    if (!kedge_json_member_chars(object, "type", out->type_text, sizeof out->type_text) ||
        kedge_check_name("type", kedge_bytes_of(out->type_text), NULL) != KEDGE_OK)
        return fail("type", "a name of 1 to 64 of A-Z a-z 0-9 _ . -", error);
    out->type = kedge_bytes_of(out->type_text);
    return KEDGE_OK;
}

static bool is_zero(const uint8_t id[KEDGE_WIRE_LOG_ID_SIZE])
{
    static const uint8_t zero[KEDGE_WIRE_LOG_ID_SIZE];
    return memcmp(id, zero, sizeof zero) == 0;
}

static kedge_status read_id(kedge_bytes object, kedge_wire_log_append *out, kedge_error *error)
{
    char hex[2 * KEDGE_WIRE_LOG_ID_SIZE + 1];
    kedge_bytes value;
    out->has_id = kedge_json_member(object, "id", &value);
    if (!out->has_id) return KEDGE_OK;
    if (kedge_json_to_chars(value, hex, sizeof hex) &&
        kedge_hex_decode(kedge_bytes_of(hex), out->id, sizeof out->id) && !is_zero(out->id))
        return KEDGE_OK;
    return fail("id", "32 lower-case hexadecimal digits, not all 0", error);
}

static kedge_status read_flag(kedge_bytes object, const char *name, bool *out, kedge_error *error)
{
    kedge_bytes value;
    *out = false;
    if (!kedge_json_member(object, name, &value) || kedge_json_to_boolean(value, out))
        return KEDGE_OK;
    return fail(name, "true or false", error);
}

kedge_status kedge_wire_log_append_read(const kedge_wire_request *request,
                                        kedge_wire_log_append *out, kedge_error *error)
{
    kedge_bytes object;
    memset(out, 0, sizeof *out);
    kedge_status status = kedge_wire_request_object(request, &object, error);
    if (status == KEDGE_OK) status = read_type(object, out, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_request_integer(object, "version", "version", 1, &out->version, error);
    }
    if (status == KEDGE_OK) status = read_number(object, "expected", &out->expected, error);
    if (status == KEDGE_OK) status = read_number(object, "since", &out->since, error);
    if (status == KEDGE_OK) status = read_id(object, out, error);
    if (status == KEDGE_OK) status = read_flag(object, "entries", &out->entries, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_member(object, "body", &out->body)) out->body = KEDGE_BYTES("null");
    return KEDGE_OK;
}

/* ---- metadata ---- */

static void write_metadata(kedge_json_writer *writer, const char *name, kedge_bytes value)
{
    if (value.data == NULL) return;
    kedge_json_key(writer, name);
    if (value.size == 0)
        kedge_json_null(writer);
    else
        kedge_json_text(writer, value);
}

void kedge_wire_log_metadata_write(const kedge_wire_log_metadata *request, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    write_metadata(&writer, "snapshot", request->snapshot);
    write_metadata(&writer, "history", request->history);
    write_metadata(&writer, "pending", request->pending);
    kedge_json_end_object(&writer);
}

static kedge_status read_metadata(kedge_bytes object, const char *name, kedge_bytes *out,
                                  char text[KEDGE_WIRE_LOG_METADATA_SIZE], kedge_error *error)
{
    kedge_bytes value;
    *out = (kedge_bytes){NULL, 0};
    text[0] = '\0';
    if (!kedge_json_member(object, name, &value)) return KEDGE_OK;
    *out = (kedge_bytes){text, 0};
    if (kedge_json_type_of(value) == KEDGE_JSON_NULL) return KEDGE_OK;
    if (!kedge_json_to_chars(value, text, KEDGE_WIRE_LOG_METADATA_SIZE) || text[0] == '\0')
        return fail(name, "null or a string of 1 to 1024 bytes", error);
    *out = kedge_bytes_of(text);
    return KEDGE_OK;
}

kedge_status kedge_wire_log_metadata_read(const kedge_wire_request *request,
                                          kedge_wire_log_metadata *out, kedge_error *error)
{
    kedge_bytes object;
    kedge_status status = kedge_wire_request_object(request, &object, error);
    if (status == KEDGE_OK)
        status = read_metadata(object, "snapshot", &out->snapshot, out->text[0], error);
    if (status == KEDGE_OK)
        status = read_metadata(object, "history", &out->history, out->text[1], error);
    if (status == KEDGE_OK)
        status = read_metadata(object, "pending", &out->pending, out->text[2], error);
    if (status == KEDGE_OK && out->snapshot.data == NULL && out->history.data == NULL &&
        out->pending.data == NULL)
        return fail("the body", "an object with snapshot, history or pending", error);
    return status;
}

/* ---- truncation ---- */

void kedge_wire_log_truncate_write(int64_t before, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    write_integer(&writer, "before", before);
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_log_truncate_read(const kedge_wire_request *request, int64_t *before,
                                          kedge_error *error)
{
    kedge_bytes object;
    kedge_status status = kedge_wire_request_object(request, &object, error);
    if (status != KEDGE_OK) return status;
    return kedge_wire_request_integer(object, "before", "before", 0, before, error);
}

/* ---- archives ---- */

void kedge_wire_log_archive_write(const kedge_wire_log_archive *request, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "remove");
    kedge_json_boolean(&writer, request->remove);
    if (request->expires_s > 0) write_integer(&writer, "expires", request->expires_s);
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_log_archive_read(const kedge_wire_request *request,
                                         kedge_wire_log_archive *out, kedge_error *error)
{
    kedge_bytes object;
    kedge_status status = kedge_wire_request_object(request, &object, error);
    if (status == KEDGE_OK) status = read_flag(object, "remove", &out->remove, error);
    if (status == KEDGE_OK) status = read_number(object, "expires", &out->expires_s, error);
    if (status != KEDGE_OK) return status;
    if (out->expires_s < 0) out->expires_s = 0;
    if (!out->remove || out->expires_s == 0) return KEDGE_OK;
    return fail("expires", "absent beside remove", error);
}
