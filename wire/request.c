/* See request.h. */
#include "wire/request.h"

#include "common/error.h"
#include "common/hash.h"
#include "common/names.h"

/* Turns an error of kedge_json_check into an error of the request. */
static kedge_status fail_check(kedge_status status, const kedge_error *why, kedge_error *error)
{
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-not-json", "%s", why->message);
}

static kedge_status fail_type(kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid", "the body must be an object");
}

kedge_status kedge_wire_request_no_object(kedge_bytes text, kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status =
        kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, &why);
    return status == KEDGE_OK ? fail_type(error) : fail_check(status, &why, error);
}

kedge_status kedge_wire_request_object(const kedge_wire_request *request, kedge_bytes *object,
                                       kedge_error *error)
{
    kedge_error why = {0};
    if (request->truncated) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "body-too-large",
                          "the body has more than %d bytes", KEDGE_LIMIT_PUSH_BYTES);
    }
    kedge_status status =
        kedge_json_check(request->body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, &why);
    if (status != KEDGE_OK) return fail_check(status, &why, error);
    kedge_json_skip(request->body, object, NULL);
    return kedge_json_type_of(*object) == KEDGE_JSON_OBJECT ? KEDGE_OK : fail_type(error);
}

/* ---- members ---- */

static kedge_status fail_member(kedge_bytes object, const char *name, const char *path,
                                const char *what, kedge_error *error)
{
    kedge_bytes value;
    const char *how =
        kedge_json_member(object, name, &value) ? "must be" : "is missing; it must be";
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid", "%s %s %s", path, how, what);
}

kedge_status kedge_wire_request_client_id(kedge_bytes object, const char *name, const char *path,
                                          char *chars, kedge_error *error)
{
    if (kedge_json_member_chars(object, name, chars, KEDGE_LIMIT_CLIENT_ID_BYTES + 1) &&
        kedge_check_client_id(kedge_bytes_of(chars), NULL) == KEDGE_OK) {
        return KEDGE_OK;
    }
    return fail_member(object, name, path, "a string of 1 to 128 of A-Z a-z 0-9 _ -", error);
}

kedge_status kedge_wire_request_project(kedge_bytes object, const char *name, char *chars,
                                        kedge_error *error)
{
    if (kedge_json_member_chars(object, name, chars, KEDGE_LIMIT_NAME_BYTES + 1) &&
        kedge_check_name("project", kedge_bytes_of(chars), NULL) == KEDGE_OK) {
        return KEDGE_OK;
    }
    return fail_member(object, name, name, "the name of a project: 1 to 64 of A-Z a-z 0-9 _ . -",
                       error);
}

kedge_status kedge_wire_request_integer(kedge_bytes object, const char *name, const char *path,
                                        int64_t least, int64_t *value, kedge_error *error)
{
    int64_t number;
    if (kedge_json_member_integer(object, name, &number) && number >= least) {
        *value = number;
        return KEDGE_OK;
    }
    return fail_member(object, name, path,
                       least > 0 ? "a whole number above 0" : "a whole number, 0 or above", error);
}

kedge_status kedge_wire_request_hash(kedge_bytes object, const char *name, uint8_t *hash,
                                     kedge_error *error)
{
    char hex[KEDGE_SHA256_HEX];
    if (kedge_json_member_chars(object, name, hex, sizeof hex) &&
        kedge_hex_decode(kedge_bytes_of(hex), hash, KEDGE_SHA256_SIZE)) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid",
                      "%s must be 64 lower-case hexadecimal digits", name);
}

kedge_status kedge_wire_request_optional_text(kedge_bytes object, const char *name,
                                              kedge_error *error)
{
    kedge_bytes value;
    if (!kedge_json_member(object, name, &value)) return KEDGE_OK;
    if (kedge_json_type_of(value) == KEDGE_JSON_STRING) return KEDGE_OK;
    return fail_member(object, name, name, "a string", error);
}

kedge_status kedge_wire_request_schema_version(kedge_bytes object, char *chars, kedge_error *error)
{
    static const char name[] = "schemaVersion";
    kedge_status status = kedge_wire_request_optional_text(object, name, error);
    if (status == KEDGE_OK &&
        !kedge_json_member_chars(object, name, chars, KEDGE_LIMIT_SCHEMA_VERSION_BYTES + 1))
        chars[0] = '\0';
    return status;
}
