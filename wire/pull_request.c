/* The request of a pull; see pull.h. */
#include "common/assert.h"
#include "common/error.h"
#include "wire/pull.h"

#define PULL_VERSION 1

/* ---- writing ---- */

static void write_cookie(kedge_json_writer *writer, const char *name,
                         const kedge_wire_cookie *cookie)
{
    kedge_json_key(writer, name);
    kedge_wire_cookie_write(writer, cookie);
}

void kedge_wire_pull_request_write(const kedge_wire_pull_request *request, kedge_buffer *out)
{
    KEDGE_ASSERT(request->native && request->supported);
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "pullVersion");
    kedge_json_integer(&writer, PULL_VERSION);
    kedge_json_key(&writer, "clientGroupID");
    kedge_json_chars(&writer, request->group_id);
    kedge_json_key(&writer, "profileID");
    kedge_json_chars(&writer, "kedge");
    kedge_json_key(&writer, "schemaVersion");
    kedge_json_chars(&writer, request->schema_version);
    write_cookie(&writer, "cookie", &request->cookie);
    kedge_json_key(&writer, "kedge");
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "client");
    kedge_json_chars(&writer, request->client_id);
    kedge_json_key(&writer, "lowest_pending");
    kedge_json_integer(&writer, request->lowest_pending);
    kedge_json_key(&writer, "highest_id");
    kedge_json_integer(&writer, request->highest_id);
    if (request->seen) {
        kedge_wire_cookie seen = kedge_wire_cookie_of(request->seen_version, request->seen_lineage);
        write_cookie(&writer, "seen", &seen);
    }
    kedge_json_end_object(&writer);
    kedge_json_end_object(&writer);
}

/* ---- reading ---- */

static kedge_status read_version(kedge_bytes object, bool *supported, kedge_error *error)
{
    kedge_bytes value;
    double version;
    if (!kedge_json_member(object, "pullVersion", &value) ||
        !kedge_json_to_number(value, &version)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid",
                          "pullVersion must be the number 1");
    }
    *supported = version == PULL_VERSION;
    return KEDGE_OK;
}

static kedge_status read_cookie(kedge_bytes object, kedge_wire_cookie *out, kedge_error *error)
{
    kedge_bytes cookie;
    if (kedge_json_member(object, "cookie", &cookie) && kedge_wire_cookie_read(cookie, out)) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid",
                      "cookie must be null or a cookie from the response of a pull");
}

/* The optional member `seen`, of the shape of a cookie. */
static kedge_status read_seen(kedge_bytes native, kedge_wire_pull_request *out, kedge_error *error)
{
    kedge_bytes seen;
    if (!kedge_json_member(native, "seen", &seen)) return KEDGE_OK;
    out->seen =
        kedge_json_member_integer(seen, "order", &out->seen_version) && out->seen_version >= 0 &&
        kedge_json_member_chars(seen, "lineage", out->seen_lineage, sizeof out->seen_lineage);
    if (out->seen) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid",
                      "kedge.seen must be {\"order\":…,\"lineage\":…}");
}

static kedge_status read_native(kedge_bytes object, kedge_wire_pull_request *out,
                                kedge_error *error)
{
    kedge_bytes native;
    out->native = kedge_json_member(object, "kedge", &native);
    if (!out->native) return KEDGE_OK;
    if (kedge_json_type_of(native) != KEDGE_JSON_OBJECT) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid", "kedge must be an object");
    }
    kedge_status status =
        kedge_wire_request_client_id(native, "client", "kedge.client", out->client_id, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_request_integer(native, "lowest_pending", "kedge.lowest_pending", 0,
                                            &out->lowest_pending, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_request_integer(native, "highest_id", "kedge.highest_id", 0,
                                            &out->highest_id, error);
    }
    return status == KEDGE_OK ? read_seen(native, out, error) : status;
}

kedge_status kedge_wire_pull_request_read(const kedge_wire_request *request,
                                          kedge_wire_pull_request *out, kedge_error *error)
{
    kedge_bytes object;
    *out = (kedge_wire_pull_request){.supported = false};
    kedge_status status = kedge_wire_request_object(request, &object, error);
    if (status == KEDGE_OK) status = read_version(object, &out->supported, error);
    if (status != KEDGE_OK || !out->supported) return status;
    status = kedge_wire_request_client_id(object, "clientGroupID", "clientGroupID", out->group_id,
                                          error);
    if (status == KEDGE_OK) status = kedge_wire_request_optional_text(object, "profileID", error);
    if (status == KEDGE_OK) {
        status = kedge_wire_request_schema_version(object, out->schema_version, error);
    }
    if (status == KEDGE_OK) status = read_cookie(object, &out->cookie, error);
    return status == KEDGE_OK ? read_native(object, out, error) : status;
}
