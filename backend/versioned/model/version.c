/* A version in memory: its lifetime, looking into it, and an item as stored records hold it. */
#include "backend/versioned/model/version.h"

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

/* ---- lifetime ---- */

kedge_version_object *kedge_version_object_new(const kedge_allocator *allocator)
{
    kedge_version_object *object = kedge_allocate(allocator, sizeof *object);
    if (object == NULL) return NULL;
    atomic_init(&object->references, 1);
    object->arena = kedge_arena_make(allocator);
    return object;
}

static kedge_version_object *object_of(const kedge_version *version)
{
    return (kedge_version_object *)version;
}

void kedge_version_retain(const kedge_version *version)
{
    KEDGE_ASSERT(atomic_load_explicit(&object_of(version)->references, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&object_of(version)->references, 1, memory_order_relaxed);
}

void kedge_version_release(const kedge_version *version)
{
    if (version == NULL) return;
    kedge_version_object *object = object_of(version);
    KEDGE_ASSERT(atomic_load_explicit(&object->references, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1) return;
    const kedge_allocator *allocator = object->arena.allocator;
    kedge_arena_free(&object->arena);
    kedge_release(allocator, object);
}

/* ---- looking into a version ---- */

const kedge_version_collection *kedge_version_find_collection(const kedge_version *version,
                                                              kedge_bytes name)
{
    size_t low = 0;
    size_t high = version->collection_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = kedge_bytes_compare(version->collections[middle].name, name);
        if (order == 0) return &version->collections[middle];
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

void kedge_version_find_changes(const kedge_version *version, kedge_bytes name, size_t *first,
                                size_t *count)
{
    size_t low = 0;
    size_t high = version->change_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kedge_bytes_compare(version->changes[middle].collection, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *first = low;
    while (low < version->change_count &&
           kedge_bytes_equal(version->changes[low].collection, name)) {
        low++;
    }
    *count = low - *first;
}

/* ---- an item as deltas, chunks and collection maps hold it ---- */

kedge_status kedge_record_damaged(const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CORRUPT, "record-damaged",
                      "a stored record is damaged: %s is not what was written", what);
}

void kedge_entry_write(kedge_json_writer *writer, const kedge_entry *entry, bool deleted)
{
    kedge_json_key_bytes(writer, entry->id);
    if (deleted) {
        kedge_json_null(writer);
        return;
    }
    char hex[KEDGE_SHA256_HEX];
    kedge_hex_encode(entry->hash, KEDGE_SHA256_SIZE, hex);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "hash");
    kedge_json_chars(writer, hex);
    if (entry->body.data == NULL) {
        kedge_json_key(writer, "size");
        kedge_json_integer(writer, entry->size);
    }
    if (entry->meta.size > 0) {
        kedge_json_key(writer, "meta");
        kedge_json_raw(writer, entry->meta);
    }
    if (entry->body.data != NULL) {
        kedge_json_key(writer, "body");
        kedge_json_raw(writer, entry->body);
    }
    kedge_json_end_object(writer);
}

kedge_status kedge_text_read(kedge_bytes value, kedge_arena *arena, kedge_bytes *text,
                             kedge_error *error)
{
    if (value.size < 2 || value.data[0] != '"') return kedge_record_damaged("a text", error);
    kedge_bytes inside = {value.data + 1, value.size - 2};
    if (inside.size == 0 || memchr(inside.data, '\\', inside.size) == NULL) {
        *text = inside;
        return KEDGE_OK;
    }
    if (kedge_json_copy_text(value, arena, text)) return KEDGE_OK;
    kedge_status status = kedge_arena_status(arena, error);
    return status == KEDGE_OK ? kedge_record_damaged("an escaped text", error) : status;
}

static bool read_member(kedge_bytes key, kedge_bytes value, kedge_entry *entry, bool *hashed)
{
    if (kedge_json_text_equals(key, "hash")) {
        if (value.size != KEDGE_SHA256_HEX + 1) return false;
        kedge_bytes hex = {value.data + 1, value.size - 2};
        *hashed = kedge_hex_decode(hex, entry->hash, KEDGE_SHA256_SIZE);
        return *hashed;
    }
    if (kedge_json_text_equals(key, "size")) return kedge_json_to_integer(value, &entry->size);
    if (kedge_json_text_equals(key, "meta")) {
        entry->meta = value;
    } else if (kedge_json_text_equals(key, "body")) {
        entry->body = value;
        entry->size = (int64_t)value.size;
    }
    return true;
}

/* A body with another hash counts as absent. Readers then look for a blob of this hash, where a
 * repair may have put the body. */
static void check_body(kedge_entry *entry)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    if (entry->body.data == NULL) return;
    kedge_sha256(entry->body, hash);
    if (memcmp(hash, entry->hash, sizeof hash) == 0) return;
    entry->body = (kedge_bytes){NULL, 0};
    entry->size = 0; /* not known */
}

kedge_status kedge_entry_read(kedge_bytes key, kedge_bytes value, kedge_arena *arena,
                              kedge_entry *entry, bool *deleted, kedge_error *error)
{
    kedge_entry found = {0};
    kedge_status status = kedge_text_read(key, arena, &found.id, error);
    if (status != KEDGE_OK) return status;
    bool absent = kedge_json_type_of(value) == KEDGE_JSON_NULL;
    if (!absent) {
        bool hashed = false;
        bool fine = true;
        kedge_bytes member;
        kedge_bytes content;
        kedge_json_iterator members = kedge_json_iterate(value);
        while (fine && kedge_json_next_member(&members, &member, &content)) {
            fine = read_member(member, content, &found, &hashed);
        }
        if (!fine || members.failed || !hashed) return kedge_record_damaged("an item", error);
        check_body(&found);
    }
    *entry = found;
    *deleted = absent;
    return KEDGE_OK;
}
