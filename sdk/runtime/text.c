/* kedge/text.h: builds the args of kedge.text, which does the work. */
#include <kedge/text.h>

#include "common/error.h"
#include "common/utf8.h"
#include "mutate/json_pointer.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"

static kedge_status check_text(const char *name, const char *text, kedge_error *error)
{
    if (kedge_bytes_are_utf8(kedge_bytes_of(text))) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "text-invalid", "%s must be UTF-8", name);
}

static kedge_status parse_path(const char *path, kedge_json_pointer *pointer, kedge_error *error)
{
    kedge_error why = {0};
    kedge_buffer quoted = kedge_buffer_make(pointer->tokens.allocator);
    kedge_json_writer writer = kedge_json_write(&quoted);
    kedge_json_chars(&writer, path);
    kedge_status status = kedge_buffer_status(&quoted, error);
    if (status == KEDGE_OK)
        status = kedge_json_pointer_parse(pointer, kedge_buffer_bytes(&quoted), &why);
    kedge_buffer_free(&quoted);
    if (status != KEDGE_INVALID_ARGUMENT) {
        if (error != NULL && why.status != KEDGE_OK) *error = why;
        return status;
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "text-invalid",
                      "path must be a JSON Pointer, as in \"/text\"; this one %s", why.message);
}

/* Appends the text that the item has at the pointer. When it has none, kedge.text tells whether one
 * may be put there. */
static kedge_status find_text(const kedge_buffer *item, const kedge_json_pointer *pointer,
                              kedge_buffer *text, bool *found, kedge_error *error)
{
    kedge_bytes value;
    *found = kedge_json_pointer_find(pointer, kedge_buffer_bytes(item), &value) &&
             kedge_json_type_of(value) == KEDGE_JSON_STRING;
    if (*found) kedge_json_to_text(value, text);
    return kedge_buffer_status(text, error);
}

static kedge_status read_text(kedge_db *db, const char *collection, kedge_bytes id,
                              const kedge_json_pointer *pointer, kedge_buffer *text, bool *found,
                              kedge_error *error)
{
    kedge_buffer item = kedge_buffer_make(db->environment.allocator);
    kedge_status status = kedge_store_get(db->store, kedge_bytes_of(collection), id, &item, error);
    if (status == KEDGE_OK) status = find_text(&item, pointer, text, found, error);
    kedge_buffer_free(&item);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_status edit(kedge_db *db, const char *collection, kedge_bytes id, const char *path,
                         kedge_bytes base, const char *text, int64_t *sequence, kedge_error *error)
{
    kedge_buffer args = kedge_buffer_make(db->environment.allocator);
    kedge_json_writer writer = kedge_json_write(&args);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "base");
    kedge_json_text(&writer, base);
    kedge_json_key(&writer, "collection");
    kedge_json_chars(&writer, collection);
    kedge_json_key(&writer, "id");
    kedge_json_text(&writer, id);
    kedge_json_key(&writer, "path");
    kedge_json_chars(&writer, path);
    kedge_json_key(&writer, "text");
    kedge_json_chars(&writer, text);
    kedge_json_end_object(&writer);
    kedge_status status = kedge_buffer_status(&args, error);
    if (status == KEDGE_OK)
        status = kedge_mutate(db, "kedge.text", args.data, args.size, sequence, error);
    kedge_buffer_free(&args);
    return status;
}

static kedge_status check_arguments(const char *collection, kedge_bytes id, const char *path,
                                    const char *text, kedge_error *error)
{
    if (path == NULL) return kedge_fail_null("path", error);
    if (text == NULL) return kedge_fail_null("text", error);
    kedge_status status = kedge_check_key(collection, id.data, id.size, error);
    if (status == KEDGE_OK) status = check_text("path", path, error);
    return status == KEDGE_OK ? check_text("text", text, error) : status;
}

kedge_status kedge_text_edit(kedge_db *db, const char *collection, const char *id, size_t id_size,
                             const char *path, const char *base, const char *text,
                             int64_t *sequence, kedge_error *error)
{
    kedge_bytes key = {id, id_size};
    KEDGE_CALL(db, error);
    kedge_status status = check_arguments(collection, key, path, text, error);
    if (status == KEDGE_OK && base != NULL) status = check_text("base", base, error);
    if (status != KEDGE_OK) return status;

    kedge_json_pointer pointer = kedge_json_pointer_make(db->environment.allocator);
    kedge_buffer now = kedge_buffer_make(db->environment.allocator);
    bool found = base != NULL;
    status = parse_path(path, &pointer, error);
    if (status == KEDGE_OK && base == NULL)
        status = read_text(db, collection, key, &pointer, &now, &found, error);
    kedge_bytes from = base == NULL ? kedge_buffer_bytes(&now) : kedge_bytes_of(base);
    if (status == KEDGE_OK && found && kedge_bytes_equal_text(from, text)) {
        if (sequence != NULL) *sequence = 0;
    } else if (status == KEDGE_OK) {
        status = edit(db, collection, key, path, from, text, sequence, error);
    }
    kedge_buffer_free(&now);
    kedge_json_pointer_free(&pointer);
    return status;
}
