/* Writing a push; see push.h. */
#include "wire/push.h"

#include "common/assert.h"

#define PUSH_VERSION 1

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
    if (mutation->mutator_version > 1) {
        kedge_json_key(writer, "version");
        kedge_json_integer(writer, mutation->mutator_version);
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
