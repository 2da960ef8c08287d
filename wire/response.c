/* See response.h. */
#include "wire/response.h"

#include "common/error.h"

#include <stdio.h>
#include <string.h>

kedge_status kedge_wire_response_fail(kedge_wire_place place, const kedge_wire_member *member,
                                      const char *expected, kedge_error *error)
{
    char at[24] = "";
    const char *dot = place.name[0] == '\0' ? "" : ".";
    const char *name = member == NULL ? "" : member->name;
    if (member == NULL && place.name[0] == '\0') {
        return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                          "the server's response is not %s", expected);
    }
    if (member == NULL) dot = "";
    if (place.index >= 0) snprintf(at, sizeof at, "[%lld]", (long long)place.index);
    if (member != NULL && member->value.data == NULL) {
        return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                          "the server's response lacks the member '%s%s%s%s'", place.name, at, dot,
                          name);
    }
    return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                      "the member '%s%s%s%s' of the server's response is not %s", place.name, at,
                      dot, name, expected);
}

static bool name_is(kedge_bytes key, const char *name, size_t name_size)
{
    if (key.size == name_size + 2 && memcmp(key.data + 1, name, name_size) == 0) return true;
    return memchr(key.data, '\\', key.size) != NULL && kedge_json_text_equals(key, name);
}

kedge_status kedge_wire_response_members(kedge_wire_place place, kedge_bytes object,
                                         kedge_wire_member *members, size_t count,
                                         kedge_error *error)
{
    kedge_json_iterator iterator = kedge_json_iterate(object);
    kedge_bytes key;
    kedge_bytes value;
    while (kedge_json_next_member(&iterator, &key, &value)) {
        for (size_t i = 0; i < count; i++) {
            if (!name_is(key, members[i].name, strlen(members[i].name))) continue;
            if (members[i].value.data != NULL) {
                return kedge_wire_response_fail(place, &members[i], "there once only", error);
            }
            members[i].value = value;
            break;
        }
    }
    if (iterator.failed) return kedge_wire_response_fail(place, NULL, "a JSON object", error);
    return KEDGE_OK;
}

bool kedge_wire_response_is_null(const kedge_wire_member *member)
{
    return kedge_bytes_equal_text(member->value, "null");
}

kedge_status kedge_wire_response_integer(kedge_wire_place place, const kedge_wire_member *member,
                                         int64_t least, int64_t *out, kedge_error *error)
{
    int64_t value;
    if (!kedge_json_to_integer(member->value, &value) || value < least) {
        return kedge_wire_response_fail(
            place, member, least > 0 ? "an integer above 0" : "an integer from 0", error);
    }
    *out = value;
    return KEDGE_OK;
}

kedge_status kedge_wire_response_boolean(kedge_wire_place place, const kedge_wire_member *member,
                                         bool *out, kedge_error *error)
{
    if (!kedge_json_to_boolean(member->value, out)) {
        return kedge_wire_response_fail(place, member, "true or false", error);
    }
    return KEDGE_OK;
}

kedge_status kedge_wire_response_chars(kedge_wire_place place, const kedge_wire_member *member,
                                       char *out, size_t out_size, kedge_error *error)
{
    if (kedge_json_check_string(member->value, NULL) != KEDGE_OK ||
        !kedge_json_to_chars(member->value, out, out_size)) {
        return kedge_wire_response_fail(place, member, "a string within its limit", error);
    }
    return KEDGE_OK;
}

kedge_status kedge_wire_response_hex(kedge_wire_place place, const kedge_wire_member *member,
                                     uint8_t *out, size_t size, kedge_error *error)
{
    kedge_bytes text = member->value;
    if (text.size != 2 * size + 2 || text.data[0] != '"' ||
        !kedge_hex_decode((kedge_bytes){text.data + 1, 2 * size}, out, size)) {
        return kedge_wire_response_fail(place, member, "lower-case hexadecimal digits", error);
    }
    return KEDGE_OK;
}

kedge_status kedge_wire_response_lineage(kedge_wire_place place, const kedge_wire_member *member,
                                         char lineage[KEDGE_WIRE_LINEAGE_SIZE], kedge_error *error)
{
    uint8_t bytes[16];
    kedge_status status = kedge_wire_response_hex(place, member, bytes, sizeof bytes, error);
    if (status != KEDGE_OK) return status;
    kedge_hex_encode(bytes, sizeof bytes, lineage);
    return KEDGE_OK;
}
