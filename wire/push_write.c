/* Writing a push, and both sides of its response; see push.h. */
#include "wire/push.h"

#include "common/assert.h"
#include "common/error.h"

#define PUSH_VERSION 1

/* ---- the request ---- */

void kedge_wire_push_request_begin(kedge_json_writer *writer, const char *client_id)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "pushVersion");
    kedge_json_integer(writer, PUSH_VERSION);
    kedge_json_key(writer, "clientGroupID");
    kedge_json_chars(writer, client_id);
    kedge_json_key(writer, "profileID");
    kedge_json_chars(writer, "kedge");
    kedge_json_key(writer, "schemaVersion");
    kedge_json_chars(writer, "");
    kedge_json_key(writer, "mutations");
    kedge_json_begin_array(writer);
}

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

kedge_status kedge_wire_push_response_read(kedge_bytes body, kedge_wire_push_response *out,
                                           kedge_error *error)
{
    kedge_bytes native;
    kedge_bytes value;
    kedge_json_iterator members = kedge_json_iterate(body);
    *out = (kedge_wire_push_response){.native = false};
    if (kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, NULL) == KEDGE_OK) {
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
    return kedge_fail(error, KEDGE_PROTOCOL, "answer-invalid",
                      "the response to a push is not Kedge's");
}
