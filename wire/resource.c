/* See resource.h. */
#include "wire/resource.h"

#include "common/error.h"
#include "common/hash.h"

static void write_edit(kedge_json_writer *writer, const kedge_wire_resource_edit *edit)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "expected");
    kedge_json_integer(writer, edit->expected);
    if (edit->uid[0] == '\0') return;
    kedge_json_key(writer, "uid");
    kedge_json_chars(writer, edit->uid);
}

static kedge_status read_edit(const kedge_wire_request *request, kedge_bytes *object,
                              kedge_wire_resource_edit *out, kedge_error *error)
{
    uint8_t bytes[(KEDGE_WIRE_RESOURCE_UID_SIZE - 1) / 2];
    kedge_bytes uid;
    kedge_status status = kedge_wire_request_object(request, object, error);
    if (status == KEDGE_OK) {
        status =
            kedge_wire_request_integer(*object, "expected", "expected", 0, &out->expected, error);
    }
    out->uid[0] = '\0';
    if (status != KEDGE_OK || !kedge_json_member(*object, "uid", &uid)) return status;
    if (kedge_json_type_of(uid) == KEDGE_JSON_STRING &&
        kedge_json_to_chars(uid, out->uid, sizeof out->uid) &&
        kedge_hex_decode(kedge_bytes_of(out->uid), bytes, sizeof bytes)) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid",
                      "uid must be 32 lower-case hexadecimal digits");
}

/* ---- put ---- */

void kedge_wire_resource_put_write(const kedge_wire_resource_put *put, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    write_edit(&writer, &put->edit);
    kedge_json_key(&writer, "value");
    kedge_json_raw(&writer, put->value);
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_resource_put_read(const kedge_wire_request *request,
                                          kedge_wire_resource_put *out, kedge_error *error)
{
    kedge_bytes object;
    kedge_wire_resource_put read = {.edit = {.expected = 0}};
    kedge_status status = read_edit(request, &object, &read.edit, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_member(object, "value", &read.value)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid",
                          "value is missing; it must be a JSON value");
    }
    *out = read;
    return KEDGE_OK;
}

/* ---- rollback ---- */

void kedge_wire_resource_rollback_write(const kedge_wire_resource_rollback *rollback,
                                        kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    write_edit(&writer, &rollback->edit);
    kedge_json_key(&writer, "to");
    kedge_json_integer(&writer, rollback->to);
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_resource_rollback_read(const kedge_wire_request *request,
                                               kedge_wire_resource_rollback *out,
                                               kedge_error *error)
{
    kedge_bytes object;
    kedge_wire_resource_rollback read = {.to = 0};
    kedge_status status = read_edit(request, &object, &read.edit, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_request_integer(object, "to", "to", 1, &read.to, error);
    }
    if (status == KEDGE_OK) *out = read;
    return status;
}
