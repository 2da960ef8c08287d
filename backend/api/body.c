/* Reading the JSON of a request's body, with a refusal that names what is wrong. */
#include "backend/api/call.h"
#include "common/names.h"

bool kedge_api_body_object(kedge_api_call *call, kedge_bytes *object)
{
    kedge_bytes body = call->request->body;
    if (call->request->body_truncated) {
        kedge_api_refuse(call, 413, "body-too-large", "the body has more than %d bytes",
                         KEDGE_LIMIT_PUSH_BYTES);
        return false;
    }
    kedge_status status = kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &call->error);
    if (status == KEDGE_NO_MEMORY) {
        kedge_api_fail(call, status);
        return false;
    }
    if (status != KEDGE_OK) {
        kedge_api_refuse(call, 400, "body-not-json", "%s", call->error.message);
        return false;
    }
    kedge_json_skip(body, object, NULL);
    if (kedge_json_type_of(*object) == KEDGE_JSON_OBJECT) return true;
    kedge_api_refuse(call, 400, "body-invalid", "the body must be an object");
    return false;
}

static bool refuse_member(kedge_api_call *call, kedge_bytes object, const char *name,
                          const char *path, const char *what)
{
    kedge_bytes value;
    const char *how =
        kedge_json_member(object, name, &value) ? "must be" : "is missing; it must be";
    kedge_api_refuse(call, 400, "body-invalid", "%s %s %s", path, how, what);
    return false;
}

bool kedge_api_body_client_id(kedge_api_call *call, kedge_bytes object, const char *name,
                              const char *path, char *chars)
{
    if (kedge_json_member_chars(object, name, chars, KEDGE_LIMIT_CLIENT_ID_BYTES + 1) &&
        kedge_check_client_id(kedge_bytes_of(chars), NULL) == KEDGE_OK) {
        return true;
    }
    return refuse_member(call, object, name, path, "a string of 1 to 128 of A-Z a-z 0-9 _ -");
}

bool kedge_api_body_project(kedge_api_call *call, kedge_bytes object, const char *name, char *chars)
{
    if (kedge_json_member_chars(object, name, chars, KEDGE_LIMIT_NAME_BYTES + 1) &&
        kedge_check_name("project", kedge_bytes_of(chars), NULL) == KEDGE_OK) {
        return true;
    }
    return refuse_member(call, object, name, name,
                         "the name of a project: 1 to 64 of A-Z a-z 0-9 _ . -");
}

bool kedge_api_body_integer(kedge_api_call *call, kedge_bytes object, const char *name,
                            const char *path, int64_t least, int64_t *value)
{
    int64_t number;
    if (kedge_json_member_integer(object, name, &number) && number >= least) {
        *value = number;
        return true;
    }
    return refuse_member(call, object, name, path,
                         least > 0 ? "a whole number above 0" : "a whole number, 0 or above");
}

bool kedge_api_body_optional_text(kedge_api_call *call, kedge_bytes object, const char *name)
{
    kedge_bytes value;
    if (!kedge_json_member(object, name, &value)) return true;
    if (kedge_json_type_of(value) == KEDGE_JSON_STRING) return true;
    return refuse_member(call, object, name, name, "a string");
}
