/* The blobs port: what its headers promise for every implementation. */
#include "backend/ports/blobs_support.h"
#include "common/error.h"
#include "common/utf8.h"

#include <string.h>

#define TAG_HEADER 4

void kedge_blob_list_free(kedge_blob_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        kedge_release(list->allocator, list->blobs[i].key);
    if (list->blobs != NULL) kedge_release(list->allocator, list->blobs);
    *list = (kedge_blob_list){0};
}

/* ---- checks ---- */

static kedge_status check_text(const char *what, kedge_bytes text, size_t size_max,
                               kedge_error *error)
{
    if (text.size > size_max)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "key-too-large",
                          "the %s is %zu bytes long; at most %zu are allowed", what, text.size,
                          size_max);
    if (text.size > 0 &&
        (!kedge_bytes_are_utf8(text) || memchr(text.data, '\0', text.size) != NULL))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-key",
                          "the %s is not UTF-8 without NUL", what);
    return KEDGE_OK;
}

static kedge_status check_name(const char *what, kedge_bytes text, size_t size_max,
                               kedge_error *error)
{
    if (text.size == 0)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-key", "the %s is empty", what);
    return check_text(what, text, size_max, error);
}

kedge_status kedge_blob_key_check(kedge_bytes key, kedge_error *error)
{
    return check_name("blob's key", key, KEDGE_BLOB_KEY_BYTES_MAX, error);
}

kedge_status kedge_blob_put_check(kedge_bytes key, kedge_bytes bytes, kedge_error *error)
{
    if (bytes.size > KEDGE_BLOB_BYTES_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "blob-too-large",
                          "the blob has %zu bytes; at most %d are allowed", bytes.size,
                          KEDGE_BLOB_BYTES_MAX);
    return kedge_blob_key_check(key, error);
}

kedge_status kedge_blob_put_tagged_check(kedge_bytes key, kedge_bytes bytes,
                                         const kedge_blob_tag *tag, kedge_error *error)
{
    kedge_status status = kedge_blob_put_check(key, bytes, error);
    if (status != KEDGE_OK || tag == NULL) return status;
    if (tag->value.size == 0)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-tag",
                          "a tag that is put with its blob has a value");
    return kedge_blob_tag_check(key, tag->name, tag->value, error);
}

kedge_status kedge_blob_tag_check(kedge_bytes key, kedge_bytes name, kedge_bytes value,
                                  kedge_error *error)
{
    kedge_status status = kedge_blob_key_check(key, error);
    if (status == KEDGE_OK)
        status = check_name("tag's name", name, KEDGE_BLOB_TAG_NAME_BYTES_MAX, error);
    if (status == KEDGE_OK)
        status = check_text("tag's value", value, KEDGE_BLOB_TAG_VALUE_BYTES_MAX, error);
    return status;
}

kedge_status kedge_blob_list_check(kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                                   kedge_error *error)
{
    if (limit == 0 || limit > KEDGE_BLOB_LIST_MAX)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-limit",
                          "a listing's limit is %u; 1 to %d are allowed", limit,
                          KEDGE_BLOB_LIST_MAX);
    kedge_status status = check_text("prefix", prefix, KEDGE_BLOB_KEY_BYTES_MAX, error);
    if (status != KEDGE_OK) return status;
    return check_text("key to start after", after, KEDGE_BLOB_KEY_BYTES_MAX, error);
}

kedge_status kedge_blob_not_found(kedge_bytes key, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "blob-not-found", "there is no blob %.*s",
                      (int)key.size, key.data);
}

kedge_status kedge_blob_tag_not_found(kedge_bytes key, kedge_bytes name, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "tag-not-found", "there is no tag %.*s on %.*s",
                      (int)name.size, name.data, (int)key.size, key.data);
}

kedge_status kedge_blob_exists(kedge_bytes key, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CONFLICT, "blob-exists", "there is a blob %.*s already",
                      (int)key.size, key.data);
}

/* ---- tags ---- */

static size_t read_size(const char *at)
{
    return (size_t)(unsigned char)at[0] << 8 | (unsigned char)at[1];
}

static bool next_tag(kedge_bytes *rest, kedge_bytes *name, kedge_bytes *value)
{
    if (rest->size < TAG_HEADER) return false;
    size_t name_size = read_size(rest->data);
    size_t value_size = read_size(rest->data + 2);
    if (rest->size - TAG_HEADER < name_size + value_size) return false;
    *name = (kedge_bytes){rest->data + TAG_HEADER, name_size};
    *value = (kedge_bytes){name->data + name_size, value_size};
    rest->data = value->data + value_size;
    rest->size -= TAG_HEADER + name_size + value_size;
    return true;
}

static void append_tag(kedge_buffer *out, kedge_bytes name, kedge_bytes value)
{
    unsigned char header[TAG_HEADER] = {
        (unsigned char)(name.size >> 8), (unsigned char)(name.size & 0xff),
        (unsigned char)(value.size >> 8), (unsigned char)(value.size & 0xff)};
    kedge_buffer_append(out, header, sizeof header);
    kedge_buffer_append_bytes(out, name);
    kedge_buffer_append_bytes(out, value);
}

kedge_status kedge_blob_tags_set(kedge_bytes tags, kedge_bytes name, kedge_bytes value,
                                 kedge_buffer *out, kedge_error *error)
{
    kedge_bytes other, other_value;
    size_t count = 0;
    while (next_tag(&tags, &other, &other_value)) {
        if (kedge_bytes_equal(other, name)) continue;
        append_tag(out, other, other_value);
        count++;
    }
    if (tags.size != 0)
        return kedge_fail(error, KEDGE_CORRUPT, "tags-corrupt", "the tags of a blob are damaged");
    if (value.size > 0 && count >= KEDGE_BLOB_TAGS_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-tags",
                          "a blob has at most %d tags", KEDGE_BLOB_TAGS_MAX);
    if (value.size > 0) append_tag(out, name, value);
    return kedge_buffer_status(out, error);
}

bool kedge_blob_tags_get(kedge_bytes tags, kedge_bytes name, kedge_bytes *value)
{
    kedge_bytes other;
    while (next_tag(&tags, &other, value)) {
        if (kedge_bytes_equal(other, name)) return true;
    }
    return false;
}

/* ---- listings ---- */

static size_t place_of(const kedge_blob_list *list, kedge_bytes key)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kedge_bytes_compare(kedge_bytes_of(list->blobs[middle].key), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kedge_status kedge_blob_list_offer(kedge_blob_list *list, size_t limit, kedge_bytes key,
                                   int64_t size_bytes, int64_t modified_ms, kedge_error *error)
{
    if (list->blobs == NULL) {
        list->blobs = kedge_allocate(list->allocator, limit * sizeof *list->blobs);
        if (list->blobs == NULL) return kedge_fail_no_memory(error);
    }
    size_t place = place_of(list, key);
    if (list->count == limit) {
        list->more = true;
        if (place == limit) return KEDGE_OK;
    }
    char *copy = kedge_copy_text(list->allocator, key);
    if (copy == NULL) return kedge_fail_no_memory(error);
    if (list->count == limit) kedge_release(list->allocator, list->blobs[--list->count].key);
    memmove(&list->blobs[place + 1], &list->blobs[place],
            (list->count - place) * sizeof *list->blobs);
    list->blobs[place] =
        (kedge_blob_info){.key = copy, .size_bytes = size_bytes, .modified_ms = modified_ms};
    list->count++;
    return KEDGE_OK;
}
