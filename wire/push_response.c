/* The response to a push, written and read; see push.h. */
#include "wire/push.h"

#include "common/error.h"

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
