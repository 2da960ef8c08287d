/* Reading the JSON of a request's body, with a refusal that names what is wrong. */
#include "backend/api/call.h"

bool kedge_api_body_is_read(kedge_api_call *call, kedge_status status)
{
    switch (status) {
    case KEDGE_OK:
        return true;
    case KEDGE_INVALID_ARGUMENT:
        kedge_api_refuse(call, 400, call->error.code, "%s", call->error.message);
        return false;
    case KEDGE_LIMIT_EXCEEDED:
        kedge_api_refuse(call, 413, call->error.code, "%s", call->error.message);
        return false;
    default:
        kedge_api_fail(call, status);
        return false;
    }
}

bool kedge_api_body_object(kedge_api_call *call, kedge_bytes *object)
{
    kedge_wire_request body = kedge_api_body(call);
    return kedge_api_body_is_read(call, kedge_wire_request_object(&body, object, &call->error));
}

bool kedge_api_body_client_id(kedge_api_call *call, kedge_bytes object, const char *name,
                              const char *path, char *chars)
{
    return kedge_api_body_is_read(
        call, kedge_wire_request_client_id(object, name, path, chars, &call->error));
}

bool kedge_api_body_project(kedge_api_call *call, kedge_bytes object, const char *name, char *chars)
{
    return kedge_api_body_is_read(call,
                                  kedge_wire_request_project(object, name, chars, &call->error));
}

bool kedge_api_body_integer(kedge_api_call *call, kedge_bytes object, const char *name,
                            const char *path, int64_t least, int64_t *value)
{
    return kedge_api_body_is_read(
        call, kedge_wire_request_integer(object, name, path, least, value, &call->error));
}
