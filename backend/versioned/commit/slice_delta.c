/* The delta of a slice: the entries of the overlay that differ from the head, each with the
 * declared metadata of its item, which lists show without the body.
 *
 * The project record declares it, so that the declaration is part of each version:
 *     "kedge.meta": {"collection": ["field", …], …}
 * A field is a member of the item. The field that would bring the metadata above 1,024 bytes is
 * left out, with all fields after it. An item gets its metadata when it is written, so a change of
 * the declaration takes effect with the item's next write. */
#include "backend/versioned/commit/slice.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"

#include <string.h>

/* ---- declared metadata ---- */

#define META_BYTES_MAX 1024
#define FIELD_SIZE     129

static bool declared_fields(kedge_bytes project_record, kedge_bytes collection, kedge_bytes *fields)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_bytes all;
    if (project_record.size == 0 || collection.size >= sizeof name) return false;
    memcpy(name, collection.data, collection.size);
    name[collection.size] = '\0';
    return kedge_json_member(project_record, "kedge.meta", &all) &&
           kedge_json_type_of(all) == KEDGE_JSON_OBJECT && kedge_json_member(all, name, fields) &&
           kedge_json_type_of(*fields) == KEDGE_JSON_ARRAY;
}

/* Writes an object of the members that `fields` lists and `value` has. Returns how many these
 * are. */
static size_t write_fields(kedge_bytes fields, kedge_bytes value, kedge_buffer *text)
{
    kedge_json_writer writer = kedge_json_write(text);
    kedge_json_iterator names = kedge_json_iterate(fields);
    kedge_bytes name;
    size_t found = 0;
    kedge_json_begin_object(&writer);
    while (kedge_json_next_element(&names, &name)) {
        char field[FIELD_SIZE];
        kedge_bytes content;
        if (!kedge_json_to_chars(name, field, sizeof field) ||
            !kedge_json_member(value, field, &content)) {
            continue;
        }
        if (text->size + content.size + name.size > META_BYTES_MAX) break;
        kedge_json_key(&writer, field);
        kedge_json_raw(&writer, content);
        found++;
    }
    kedge_json_end_object(&writer);
    return found;
}

/* Leaves `canonical` empty when a field is declared twice, since the object is then invalid. */
static kedge_status normalize(kedge_bytes text, kedge_buffer *canonical, kedge_error *error)
{
    kedge_error invalid;
    kedge_status status = kedge_json_normalize(text, KEDGE_LIMIT_JSON_DEPTH, canonical, &invalid);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK) kedge_buffer_clear(canonical);
    return KEDGE_OK;
}

/* Sets `meta` to an object of the members that the project record declares for the collection and
 * that the item has. It is empty when there are none. */
static kedge_status meta_of(kedge_bytes project_record, kedge_bytes collection, kedge_bytes value,
                            kedge_arena *arena, kedge_bytes *meta, kedge_error *error)
{
    kedge_bytes fields;
    *meta = (kedge_bytes){NULL, 0};
    if (kedge_json_type_of(value) != KEDGE_JSON_OBJECT ||
        !declared_fields(project_record, collection, &fields)) {
        return KEDGE_OK;
    }
    kedge_buffer text = kedge_buffer_make(arena->allocator);
    kedge_buffer canonical = kedge_buffer_make(arena->allocator);
    size_t found = write_fields(fields, value, &text);
    kedge_status status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK && found > 0)
        status = normalize(kedge_buffer_bytes(&text), &canonical, error);
    if (status == KEDGE_OK && canonical.size > 0 &&
        !kedge_arena_copy(arena, kedge_buffer_bytes(&canonical), meta)) {
        status = kedge_fail_no_memory(error);
    }
    kedge_buffer_free(&canonical);
    kedge_buffer_free(&text);
    return status;
}

/* ---- the collections of the version ---- */

/* Gives the collection's entry in the version, whose entries are in order of name, and makes it
 * when the collection is new. The first change in a version gives the collection its next
 * number. */
static kedge_status change_collection(kedge_slice *slice, kedge_bytes name,
                                      kedge_version_collection **collection, kedge_error *error)
{
    kedge_version *version = &slice->object->version;
    size_t count = version->collection_count;
    size_t at = 0;
    while (at < count && kedge_bytes_compare(version->collections[at].name, name) < 0)
        at++;
    bool is_new = at == count || !kedge_bytes_equal(version->collections[at].name, name);
    if (is_new) {
        kedge_version_collection *grown =
            kedge_arena_take_array(&slice->object->arena, count + 1, sizeof *grown);
        kedge_bytes kept;
        if (grown == NULL || !kedge_arena_copy(&slice->object->arena, name, &kept)) {
            return kedge_fail_no_memory(error);
        }
        if (at > 0) memcpy(grown, version->collections, at * sizeof *grown);
        if (count > at) {
            memcpy(grown + at + 1, version->collections + at, (count - at) * sizeof *grown);
        }
        grown[at] = (kedge_version_collection){.name = kept};
        version->collections = grown;
        version->collection_count++;
    }
    kedge_version_collection *found = &version->collections[at];
    if (found->last != version->number) {
        found->number++;
        found->previous = found->last;
        found->last = version->number;
    }
    *collection = found;
    return KEDGE_OK;
}

/* ---- one entry ---- */

static kedge_status fill_entry(kedge_slice *slice, kedge_bytes collection, kedge_bytes value,
                               const uint8_t hash[KEDGE_SHA256_SIZE], kedge_entry *entry,
                               kedge_error *error)
{
    kedge_version *version = &slice->object->version;
    kedge_arena *arena = &slice->object->arena;
    bool seed = slice->project->backend->options.cadence == KEDGE_CADENCE_SEED;
    memcpy(entry->hash, hash, KEDGE_SHA256_SIZE);
    entry->size = (int64_t)value.size;
    if (!seed && value.size <= KEDGE_BODY_INLINE_BYTES) {
        if (!kedge_arena_copy(arena, value, &entry->body)) return kedge_fail_no_memory(error);
    } else {
        KEDGE_ASSERT(slice->body_count < version->change_count);
        kedge_slice_body *body = &slice->bodies[slice->body_count++];
        body->collection = collection;
        body->value = value;
        memcpy(body->hash, hash, KEDGE_SHA256_SIZE);
    }
    return meta_of(version->project_record, collection, value, arena, &entry->meta, error);
}

/* The changes of a version are in the order of their keys, since readers use binary search. */
static bool is_after_all(const kedge_version *version, const kedge_overlay_entry *written)
{
    if (version->change_count == 0) return true;
    const kedge_version_change *last = &version->changes[version->change_count - 1];
    int order = kedge_bytes_compare(last->collection, written->collection);
    return order < 0 || (order == 0 && kedge_bytes_compare(last->entry.id, written->id) < 0);
}

static kedge_status add_change(kedge_slice *slice, const kedge_overlay_entry *written,
                               kedge_error *error)
{
    KEDGE_ASSERT(is_after_all(&slice->object->version, written));
    const kedge_map *map = NULL;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_status status = kedge_state_collection(slice->head, written->collection, &map, error);
    if (status != KEDGE_OK) return status;
    const kedge_item *old = map == NULL ? NULL : kedge_map_find(map, written->id);
    if (written->deleted && old == NULL) return KEDGE_OK;
    if (!written->deleted) kedge_sha256(written->value, hash);
    if (!written->deleted && old != NULL && memcmp(hash, old->entry.hash, sizeof hash) == 0) {
        return KEDGE_OK;
    }
    kedge_version *version = &slice->object->version;
    kedge_version_collection *collection = NULL;
    status = change_collection(slice, written->collection, &collection, error);
    if (status != KEDGE_OK) return status;
    kedge_version_change *change = &version->changes[version->change_count++];
    change->collection = collection->name;
    change->deleted = written->deleted;
    collection->items += (written->deleted ? 0 : 1) - (old == NULL ? 0 : 1);
    if (!kedge_arena_copy(&slice->object->arena, written->id, &change->entry.id)) {
        return kedge_fail_no_memory(error);
    }
    if (written->deleted) return KEDGE_OK;
    return fill_entry(slice, collection->name, written->value, hash, &change->entry, error);
}

/* The project record has the key ("", ""), the first one of the overlay. */
static kedge_status set_project(kedge_slice *slice, const kedge_overlay_entry *written,
                                kedge_error *error)
{
    kedge_version *version = &slice->object->version;
    if (written->deleted || kedge_bytes_equal(written->value, version->project_record)) {
        return KEDGE_OK;
    }
    version->project_changed = true;
    return kedge_arena_copy(&slice->object->arena, written->value, &version->project_record)
               ? KEDGE_OK
               : kedge_fail_no_memory(error);
}

kedge_status kedge_slice_build_delta(kedge_slice *slice, kedge_error *error)
{
    kedge_version *version = &slice->object->version;
    kedge_arena *arena = &slice->object->arena;
    size_t count = kedge_overlay_count(slice->overlay);
    version->changes = kedge_arena_take_array(arena, count, sizeof *version->changes);
    slice->bodies = kedge_arena_take_array(arena, count, sizeof *slice->bodies);
    KEDGE_ASSERT(version->change_count == 0 && slice->body_count == 0);
    KEDGE_ASSERT(version->number > slice->head->version->number);
    if (version->changes == NULL || slice->bodies == NULL) return kedge_fail_no_memory(error);
    kedge_overlay_entry entry;
    kedge_status status = KEDGE_OK;
    bool more = kedge_overlay_next(slice->overlay, NULL, &entry);
    while (more && status == KEDGE_OK) {
        status = entry.collection.size == 0 ? set_project(slice, &entry, error)
                                            : add_change(slice, &entry, error);
        more = kedge_overlay_next(slice->overlay, &entry, &entry);
    }
    return status;
}
