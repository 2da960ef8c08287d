/* See fold_base.h. */
#include "backend/effects/fold_base.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"

#include <kedge/limits.h>
#include <stdio.h>

struct kedge_fold_chunk {
    char hash[KEDGE_SHA256_HEX]; /* "": the items of the snapshot itself, which stay in memory */
    kedge_overlay_entry first;   /* its key is not above any of the chunk */
    kedge_overlay_entry *items;  /* NULL: not in memory */
    size_t count;
    kedge_arena arena; /* of the items */
    uint64_t used;
};

int kedge_fold_compare(const kedge_overlay_entry *a, const kedge_overlay_entry *b)
{
    int order = kedge_bytes_compare(a->collection, b->collection);
    return order != 0 ? order : kedge_bytes_compare(a->id, b->id);
}

/* ---- reading JSON ---- */

/* How many items the collections have. */
static size_t count_items(kedge_bytes collections)
{
    size_t count = 0;
    kedge_bytes name, items, key, value;
    kedge_json_iterator each = kedge_json_iterate(collections);
    while (kedge_json_next_member(&each, &name, &items)) {
        kedge_json_iterator members = kedge_json_iterate(items);
        while (kedge_json_next_member(&members, &key, &value))
            count++;
    }
    return count;
}

/* Everything is copied: the text goes. */
static bool read_items(kedge_bytes collections, kedge_fold_chunk *chunk)
{
    kedge_bytes name, items, key, value;
    kedge_json_iterator each = kedge_json_iterate(collections);
    while (kedge_json_next_member(&each, &name, &items)) {
        kedge_bytes collection;
        if (!kedge_json_copy_text(name, &chunk->arena, &collection)) return false;
        kedge_json_iterator members = kedge_json_iterate(items);
        while (kedge_json_next_member(&members, &key, &value)) {
            kedge_overlay_entry *item = &chunk->items[chunk->count];
            item->collection = collection;
            if (!kedge_json_copy_text(key, &chunk->arena, &item->id) ||
                !kedge_arena_copy(&chunk->arena, value, &item->value))
                return false;
            bool ordered = chunk->count == 0 || kedge_fold_compare(item - 1, item) < 0;
            if (!ordered) return false;
            chunk->count++;
        }
    }
    return true;
}

static void drop_items(kedge_fold_base *base, kedge_fold_chunk *chunk)
{
    base->bytes -= chunk->arena.bytes;
    kedge_arena_free(&chunk->arena);
    chunk->items = NULL;
    chunk->count = 0;
}

static kedge_status fail_damaged(const kedge_fold_base *base, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CORRUPT, KEDGE_LOG_SNAPSHOT_DAMAGED,
                      "a snapshot of the log %.*s is damaged", (int)base->log->name.size,
                      base->log->name.data);
}

/* The error of a read that copies into the arena: no memory, or damage. */
static kedge_status fail_read(const kedge_fold_base *base, const kedge_arena *arena,
                              kedge_error *error)
{
    kedge_status status = kedge_arena_status(arena, error);
    return status == KEDGE_OK ? fail_damaged(base, error) : status;
}

/* `record` may be empty: there is no project record. */
static kedge_status put_items(kedge_fold_base *base, kedge_fold_chunk *chunk,
                              kedge_bytes collections, kedge_bytes record, kedge_error *error)
{
    chunk->arena = kedge_arena_make(base->log->project->allocator);
    chunk->items =
        kedge_arena_take_array(&chunk->arena, count_items(collections) + 1, sizeof *chunk->items);
    if (chunk->items == NULL) return kedge_fail_no_memory(error);
    bool fine = true;
    if (record.size > 0) {
        chunk->items[0].collection = chunk->items[0].id = (kedge_bytes){"", 0};
        fine = kedge_arena_copy(&chunk->arena, record, &chunk->items[0].value);
        chunk->count = 1;
    }
    fine = fine && read_items(collections, chunk);
    base->bytes += chunk->arena.bytes;
    if (fine) return KEDGE_OK;
    kedge_status status = fail_read(base, &chunk->arena, error);
    drop_items(base, chunk);
    return status;
}

/* ---- chunks ---- */

/* Makes room by giving up the chunks whose last use is the longest ago. */
static void give_up(kedge_fold_base *base, const kedge_fold_chunk *keep)
{
    while (base->bytes > KEDGE_FOLD_CACHE_BYTES_MAX) {
        kedge_fold_chunk *oldest = NULL;
        for (size_t i = 1; i < base->count; i++) {
            kedge_fold_chunk *chunk = &base->chunks[i];
            if (chunk->items == NULL || chunk == keep) continue;
            if (oldest == NULL || chunk->used < oldest->used) oldest = chunk;
        }
        if (oldest == NULL) return;
        drop_items(base, oldest);
    }
}

static kedge_status load(kedge_fold_base *base, size_t index, kedge_fold_chunk **loaded,
                         kedge_error *error)
{
    kedge_fold_chunk *chunk = &base->chunks[index];
    KEDGE_ASSERT(index < base->count);
    chunk->used = ++base->clock;
    *loaded = chunk;
    if (chunk->items != NULL) return KEDGE_OK;
    kedge_buffer text = kedge_buffer_make(base->log->project->allocator);
    kedge_status status = kedge_log_snapshot_read_part(base->log, kedge_bytes_of(base->id),
                                                       kedge_bytes_of(chunk->hash), &text, error);
    if (status == KEDGE_NOT_FOUND) status = fail_damaged(base, error);
    if (status == KEDGE_OK)
        status = put_items(base, chunk, kedge_buffer_bytes(&text), (kedge_bytes){NULL, 0}, error);
    kedge_buffer_free(&text);
    if (status == KEDGE_OK) give_up(base, chunk);
    return status;
}

/* The chunk in which the key is, if it is anywhere. */
static size_t find_chunk(const kedge_fold_base *base, const kedge_overlay_entry *key)
{
    size_t low = 0, high = base->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (kedge_fold_compare(&base->chunks[middle].first, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first item that is not in front of the key. */
static size_t find_item(const kedge_fold_chunk *chunk, const kedge_overlay_entry *key)
{
    size_t low = 0, high = chunk->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kedge_fold_compare(&chunk->items[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- opening ---- */

static size_t count_rows(kedge_bytes rows)
{
    size_t count = 0;
    kedge_bytes row;
    kedge_json_iterator each = kedge_json_iterate(rows);
    while (kedge_json_next_element(&each, &row))
        count++;
    return count;
}

static bool read_row(kedge_bytes row, kedge_arena *arena, kedge_fold_chunk *chunk)
{
    kedge_bytes hash, collection, id;
    kedge_json_iterator fields = kedge_json_iterate(row);
    return kedge_json_next_element(&fields, &hash) &&
           kedge_json_to_chars(hash, chunk->hash, sizeof chunk->hash) &&
           kedge_json_next_element(&fields, &collection) &&
           kedge_json_copy_text(collection, arena, &chunk->first.collection) &&
           kedge_json_next_element(&fields, &id) &&
           kedge_json_copy_text(id, arena, &chunk->first.id);
}

static kedge_status read_snapshot(kedge_fold_base *base, kedge_bytes text, int64_t number,
                                  kedge_error *error)
{
    kedge_bytes collections, row, rows = {NULL, 0}, record = {NULL, 0};
    int64_t stands_for;
    kedge_json_member(text, "chunks", &rows);
    kedge_json_member(text, "project", &record);
    size_t count = count_rows(rows);
    if (count > KEDGE_LOG_SNAPSHOT_CHUNKS_MAX ||
        !kedge_json_member(text, "collections", &collections) ||
        !kedge_json_member_integer(text, "number", &stands_for) || stands_for != number)
        return fail_damaged(base, error);
    base->chunks = kedge_arena_take_array(&base->arena, count + 1, sizeof *base->chunks);
    if (base->chunks == NULL) return kedge_fail_no_memory(error);
    base->count = 1;
    kedge_json_iterator each = kedge_json_iterate(rows);
    while (kedge_json_next_element(&each, &row)) {
        if (!read_row(row, &base->arena, &base->chunks[base->count++]))
            return fail_read(base, &base->arena, error);
    }
    return put_items(base, &base->chunks[0], collections, record, error);
}

kedge_fold_base kedge_fold_base_make(const kedge_log *log)
{
    return (kedge_fold_base){.log = log, .arena = kedge_arena_make(log->project->allocator)};
}

void kedge_fold_base_free(kedge_fold_base *base)
{
    const kedge_log *log = base->log;
    for (size_t i = 0; i < base->count; i++) {
        if (base->chunks[i].items != NULL) drop_items(base, &base->chunks[i]);
    }
    kedge_arena_free(&base->arena);
    *base = kedge_fold_base_make(log);
}

kedge_status kedge_fold_base_open(kedge_fold_base *base, const char *id, const char *part,
                                  int64_t number, kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(base->log->project->allocator);
    KEDGE_ASSERT(base->count == 0);
    snprintf(base->id, sizeof base->id, "%s", id);
    kedge_status status = part == NULL
                              ? kedge_log_snapshot_read(base->log, kedge_bytes_of(id), &text, error)
                              : kedge_log_snapshot_read_part(base->log, kedge_bytes_of(id),
                                                             kedge_bytes_of(part), &text, error);
    if (status == KEDGE_OK) status = read_snapshot(base, kedge_buffer_bytes(&text), number, error);
    kedge_buffer_free(&text);
    if (status != KEDGE_OK) kedge_fold_base_free(base);
    return status;
}

/* ---- reading ---- */

static kedge_status get(void *context, kedge_bytes collection, kedge_bytes id, kedge_buffer *value,
                        kedge_error *error)
{
    kedge_fold_base *base = context;
    kedge_fold_chunk *chunk;
    const kedge_overlay_entry key = {.collection = collection, .id = id};
    if (base->count == 0) return KEDGE_NOT_FOUND;
    kedge_status status = load(base, find_chunk(base, &key), &chunk, error);
    if (status != KEDGE_OK) return status;
    size_t at = find_item(chunk, &key);
    if (at == chunk->count || kedge_fold_compare(&chunk->items[at], &key) != 0)
        return KEDGE_NOT_FOUND;
    kedge_buffer_append_bytes(value, chunk->items[at].value);
    return kedge_buffer_status(value, error);
}

kedge_status kedge_fold_base_next(kedge_fold_base *base, kedge_fold_place *place,
                                  kedge_overlay_entry *item, kedge_error *error)
{
    for (; place->chunk < base->count; place->chunk++, place->item = 0) {
        kedge_fold_chunk *chunk;
        kedge_status status = load(base, place->chunk, &chunk, error);
        if (status != KEDGE_OK) return status;
        if (place->item == chunk->count) continue;
        *item = chunk->items[place->item++];
        return KEDGE_OK;
    }
    return KEDGE_DONE;
}

static kedge_status next(void *context, kedge_bytes collection, bool from_start, kedge_bytes after,
                         kedge_buffer *id, kedge_buffer *value, kedge_error *error)
{
    kedge_fold_base *base = context;
    kedge_fold_chunk *chunk;
    kedge_overlay_entry item;
    const kedge_overlay_entry key = {.collection = collection,
                                     .id = from_start ? (kedge_bytes){"", 0} : after};
    if (base->count == 0) return KEDGE_DONE;
    kedge_fold_place place = {.chunk = find_chunk(base, &key)};
    kedge_status status = load(base, place.chunk, &chunk, error);
    if (status != KEDGE_OK) return status;
    place.item = find_item(chunk, &key);
    status = kedge_fold_base_next(base, &place, &item, error);
    if (status == KEDGE_OK && !from_start && kedge_fold_compare(&item, &key) == 0)
        status = kedge_fold_base_next(base, &place, &item, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_bytes_equal(item.collection, collection)) return KEDGE_DONE;
    kedge_buffer_append_bytes(id, item.id);
    kedge_buffer_append_bytes(value, item.value);
    status = kedge_buffer_status(id, error);
    return status == KEDGE_OK ? kedge_buffer_status(value, error) : status;
}

kedge_state_reader kedge_fold_base_reader(kedge_fold_base *base)
{
    return (kedge_state_reader){base, get, next};
}
