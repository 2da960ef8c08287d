/* The allowed characters and lengths of names. */
#include "common/names.h"

#include "common/error.h"
#include "common/utf8.h"

#include <kedge/limits.h>
#include <string.h>

#define SHOWN_BYTES 64 /* of a wrong name in a message */

static int shown(kedge_bytes name)
{
    return name.size < SHOWN_BYTES ? (int)name.size : SHOWN_BYTES;
}

static bool is_word(char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

static bool is_name_byte(size_t at, char byte)
{
    return is_word(byte) || (at > 0 && (byte == '.' || byte == '-'));
}

kedge_status kedge_check_name(const char *what, kedge_bytes name, kedge_error *error)
{
    if (name.size == 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-name",
                          "the %s name is empty; 1 to %d of A-Z a-z 0-9 _ . - are allowed", what,
                          KEDGE_LIMIT_NAME_BYTES);
    }
    if (name.size > KEDGE_LIMIT_NAME_BYTES) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "name-too-long",
                          "the %s name \"%.*s…\" is %zu bytes long; at most %d are allowed", what,
                          shown(name), name.data, name.size, KEDGE_LIMIT_NAME_BYTES);
    }
    for (size_t at = 0; at < name.size; at++) {
        if (is_name_byte(at, name.data[at])) continue;
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-name",
                          "the %s name \"%.*s\" has byte 0x%02x at offset %zu; A-Z a-z 0-9 _ are "
                          "allowed, and after the first also . and -",
                          what, shown(name), name.data, (unsigned)(unsigned char)name.data[at], at);
    }
    return KEDGE_OK;
}

kedge_status kedge_check_client_id(kedge_bytes id, kedge_error *error)
{
    if (id.size == 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-client-id",
                          "the client id is empty; 1 to %d of A-Z a-z 0-9 _ - are allowed",
                          KEDGE_LIMIT_CLIENT_ID_BYTES);
    }
    if (id.size > KEDGE_LIMIT_CLIENT_ID_BYTES) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "client-id-too-long",
                          "the client id \"%.*s…\" is %zu bytes long; at most %d are allowed",
                          shown(id), id.data, id.size, KEDGE_LIMIT_CLIENT_ID_BYTES);
    }
    for (size_t at = 0; at < id.size; at++) {
        if (is_word(id.data[at]) || id.data[at] == '-') continue;
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-client-id",
                          "the client id \"%.*s\" has byte 0x%02x at offset %zu; A-Z a-z 0-9 _ - "
                          "are allowed",
                          shown(id), id.data, (unsigned)(unsigned char)id.data[at], at);
    }
    return KEDGE_OK;
}

/* UTF-8 without NUL. `what` is "item" or "resource". */
static kedge_status check_id(const char *what, const char *code, kedge_bytes id, kedge_error *error)
{
    for (size_t at = 0; at < id.size;) {
        size_t sequence = kedge_utf8_sequence(id.data + at, id.size - at);
        if (sequence == 0 || id.data[at] == '\0') {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, code,
                              "the %s id \"%.*s\" has byte 0x%02x at offset %zu; UTF-8 without "
                              "a NUL is allowed",
                              what, shown(id), id.data, (unsigned)(unsigned char)id.data[at], at);
        }
        at += sequence;
    }
    return KEDGE_OK;
}

kedge_status kedge_check_item_id(kedge_bytes id, kedge_error *error)
{
    if (id.size > KEDGE_LIMIT_ITEM_ID_BYTES) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "item-id-too-long",
                          "the item id \"%.*s…\" is %zu bytes long; at most %d are allowed",
                          shown(id), id.data, id.size, KEDGE_LIMIT_ITEM_ID_BYTES);
    }
    return check_id("item", "invalid-item-id", id, error);
}

kedge_status kedge_check_resource_id(kedge_bytes id, kedge_error *error)
{
    if (id.size == 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-resource-id",
                          "the resource id is empty; 1 to %d bytes are allowed",
                          KEDGE_LIMIT_RESOURCE_ID_BYTES);
    }
    if (id.size > KEDGE_LIMIT_RESOURCE_ID_BYTES) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "resource-id-too-long",
                          "the resource id \"%.*s…\" is %zu bytes long; at most %d are allowed",
                          shown(id), id.data, id.size, KEDGE_LIMIT_RESOURCE_ID_BYTES);
    }
    return check_id("resource", "invalid-resource-id", id, error);
}
