/* Reading a mutator's args: kedge_args_text and kedge_args_integer of <kedge/mutator.h>. */
#include "common/error.h"
#include "common/json.h"
#include "common/json_tokens.h"

#include <kedge/mutator.h>

static kedge_status find_member(kedge_bytes object, const char *member, kedge_bytes *value,
                                kedge_error *error)
{
    if (kedge_json_type_of(object) != KEDGE_JSON_OBJECT) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-not-an-object",
                          "the args are not a JSON object, so they have no member \"%s\"", member);
    }
    if (!kedge_json_member(object, member, value)) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "args-member-missing",
                          "the args have no member \"%s\"", member);
    }
    return KEDGE_OK;
}

kedge_status kedge_args_text(const char *object, size_t object_size, const char *member,
                             char *buffer, size_t buffer_size, size_t *text_size,
                             kedge_error *error)
{
    kedge_bytes value;
    kedge_status status = find_member((kedge_bytes){object, object_size}, member, &value, error);
    if (status != KEDGE_OK) return status;

    size_t size = 0;
    if (!kedge_json_string_decode(value, NULL, 0, &size)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-member-type",
                          "the member \"%s\" of the args is not a string", member);
    }
    if (size >= buffer_size) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "args-member-too-long",
                          "the member \"%s\" of the args is %zu bytes long; the caller has room "
                          "for %zu",
                          member, size, buffer_size == 0 ? 0 : buffer_size - 1);
    }
    kedge_json_string_decode(value, buffer, buffer_size, &size);
    buffer[size] = '\0';
    if (text_size != NULL) *text_size = size;
    return KEDGE_OK;
}

kedge_status kedge_args_integer(const char *object, size_t object_size, const char *member,
                                int64_t *value, kedge_error *error)
{
    kedge_bytes found;
    kedge_status status = find_member((kedge_bytes){object, object_size}, member, &found, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_to_integer(found, value)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-member-type",
                          "the member \"%s\" of the args is not an integer of at most 2^53 - 1",
                          member);
    }
    return KEDGE_OK;
}
