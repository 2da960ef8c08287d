/* Reading the args of the built-in mutators. */
#include "mutate/builtin_args.h"

#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "common/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES 64  /* of a wrong key in a message */
#define LIST_SIZE   128 /* the names of all members */

kedge_status kedge_builtin_refuse(kedge_tx *tx, kedge_error *error, const char *code,
                                  const char *format, ...)
{
    char message[KEDGE_LIMIT_REJECTION_MESSAGE_BYTES + 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    message[kedge_utf8_clip(kedge_bytes_of(message), sizeof message - 1).size] = '\0';
    return kedge_tx_reject(tx, code, message, error);
}

/* Writes: "collection", "id" and the names in `extra`. */
static void list_members(const char *const *extra, size_t count, char *list, size_t list_size)
{
    int written = snprintf(list, list_size, "\"collection\", \"id\"");
    for (size_t i = 0; i < count; i++)
        written += snprintf(list + written, list_size - (size_t)written, ", \"%s\"", extra[i]);
}

static bool is_listed(kedge_bytes key, const char *const *extra, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kedge_json_text_equals(key, extra[i])) return true;
    return kedge_json_text_equals(key, "collection") || kedge_json_text_equals(key, "id");
}

/* Refuses any other member, since a misspelt one would otherwise be ignored silently. */
static kedge_status check_members(kedge_tx *tx, kedge_bytes args, const char *const *extra,
                                  size_t count, kedge_error *error)
{
    char list[LIST_SIZE];
    list_members(extra, count, list, sizeof list);
    if (kedge_json_type_of(args) != KEDGE_JSON_OBJECT)
        return kedge_builtin_refuse(tx, error, "args-invalid", "the args must be an object {%s}",
                                    list);
    kedge_bytes key;
    kedge_bytes value;
    kedge_json_iterator members = kedge_json_iterate(args);
    while (kedge_json_next_member(&members, &key, &value)) {
        if (is_listed(key, extra, count)) continue;
        int shown = key.size < SHOWN_BYTES ? (int)key.size : SHOWN_BYTES;
        return kedge_builtin_refuse(tx, error, "args-invalid",
                                    "the args have an unknown member %.*s; allowed are %s", shown,
                                    key.data, list);
    }
    return KEDGE_OK;
}

static kedge_status read_text(kedge_tx *tx, kedge_bytes args, const char *member, char *out,
                              size_t out_size, kedge_error *error)
{
    kedge_bytes value;
    if (!kedge_json_member(args, member, &value)) {
        return kedge_builtin_refuse(tx, error, "args-invalid",
                                    "the args lack the member \"%s\", a string of at most %zu "
                                    "bytes",
                                    member, out_size - 1);
    }
    if (!kedge_json_to_chars(value, out, out_size)) {
        return kedge_builtin_refuse(tx, error, "args-invalid",
                                    "the member \"%s\" of the args must be a string of at most "
                                    "%zu bytes",
                                    member, out_size - 1);
    }
    return KEDGE_OK;
}

kedge_status kedge_builtin_read_members(kedge_tx *tx, kedge_bytes args, const char *const *extra,
                                        size_t count, kedge_builtin_item *item, kedge_bytes *values,
                                        kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status = check_members(tx, args, extra, count, error);
    if (status == KEDGE_OK) {
        status =
            read_text(tx, args, "collection", item->collection, sizeof item->collection, error);
    }
    if (status == KEDGE_OK) {
        status = read_text(tx, args, "id", item->id, sizeof item->id, error);
    }
    if (status != KEDGE_OK) return status;
    item->id_size = strlen(item->id);
    if (kedge_check_name("collection", kedge_bytes_of(item->collection), &why) != KEDGE_OK) {
        return kedge_builtin_refuse(tx, error, "args-invalid",
                                    "the member \"collection\" of the args: %s", why.message);
    }
    for (size_t i = 0; i < count; i++)
        if (!kedge_json_member(args, extra[i], &values[i]))
            return kedge_builtin_refuse(tx, error, "args-invalid",
                                        "the args lack the member \"%s\"", extra[i]);
    return KEDGE_OK;
}

kedge_status kedge_builtin_read_item(kedge_tx *tx, kedge_bytes args, const char *extra,
                                     kedge_builtin_item *item, kedge_error *error)
{
    return kedge_builtin_read_members(tx, args, &extra, extra == NULL ? 0 : 1, item, &item->extra,
                                      error);
}
