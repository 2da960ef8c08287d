/* See fold_write.h. */
#include "backend/effects/fold_write.h"

#include "common/error.h"
#include "common/json.h"

#include <kedge/limits.h>

_Static_assert(KEDGE_FOLD_CHUNK_BYTES + KEDGE_LIMIT_ITEM_BYTES + 65536 <
                   KEDGE_LOG_SNAPSHOT_BYTES_MAX,
               "a chunk ends behind the item that passes its size");

typedef struct writing {
    const kedge_log *log;
    const char *id;
    kedge_buffer first;  /* the collections of the snapshot itself */
    kedge_buffer later;  /* those of the chunk that is being written */
    kedge_buffer rows;   /* of the chunks in front of it */
    kedge_buffer record; /* of the project; empty: none */
    kedge_buffer name;   /* of the collection that is open */
    kedge_buffer *chunk; /* `first` or `later` */
    kedge_json_writer writer;
    kedge_buffer row; /* what the row of `later` has after the hash */
    size_t items;     /* of the chunk */
    size_t count;     /* of the rows */
} writing;

/* ---- chunks ---- */

static void begin_chunk(writing *work, kedge_buffer *chunk)
{
    work->chunk = chunk;
    work->items = 0;
    kedge_buffer_clear(chunk);
    work->writer = kedge_json_write(chunk);
    kedge_json_begin_object(&work->writer);
}

static void close_chunk(writing *work)
{
    if (work->items > 0) kedge_json_end_object(&work->writer);
    kedge_json_end_object(&work->writer);
}

/* Puts a later chunk, and adds its row. */
static kedge_status put_chunk(writing *work, kedge_error *error)
{
    char hash[KEDGE_SHA256_HEX];
    if (work->count == KEDGE_LOG_SNAPSHOT_CHUNKS_MAX)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "snapshot-too-large",
                          "the state of the log %.*s has more than %d chunks",
                          (int)work->log->name.size, work->log->name.data,
                          KEDGE_LOG_SNAPSHOT_CHUNKS_MAX);
    kedge_status status = kedge_buffer_status(work->chunk, error);
    if (status == KEDGE_OK)
        status = kedge_log_snapshot_write_part(work->log, kedge_bytes_of(work->id),
                                               kedge_buffer_bytes(work->chunk), hash, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_format(&work->rows, "%s[\"%s\",", work->count > 0 ? "," : "", hash);
    kedge_buffer_append_bytes(&work->rows, kedge_buffer_bytes(&work->row));
    kedge_buffer_append_byte(&work->rows, ']');
    work->count++;
    return KEDGE_OK;
}

static kedge_status end_chunk(writing *work, kedge_error *error)
{
    close_chunk(work);
    return work->chunk == &work->first ? KEDGE_OK : put_chunk(work, error);
}

/* The collection and the id of the item with which the chunk begins, as its row has them. */
static void note_start(writing *work, const kedge_overlay_entry *item)
{
    kedge_buffer_clear(&work->row);
    kedge_json_writer writer = kedge_json_write(&work->row);
    kedge_json_text(&writer, item->collection);
    kedge_json_text(&writer, item->id);
}

static kedge_status write_item(writing *work, const kedge_overlay_entry *item, kedge_error *error)
{
    if (work->chunk->size >= KEDGE_FOLD_CHUNK_BYTES) {
        kedge_status status = end_chunk(work, error);
        if (status != KEDGE_OK) return status;
        begin_chunk(work, &work->later);
    }
    bool opens = work->items == 0;
    if (opens) note_start(work, item);
    if (opens || !kedge_bytes_equal(kedge_buffer_bytes(&work->name), item->collection)) {
        if (!opens) kedge_json_end_object(&work->writer);
        kedge_json_key_bytes(&work->writer, item->collection);
        kedge_json_begin_object(&work->writer);
        kedge_buffer_clear(&work->name);
        kedge_buffer_append_bytes(&work->name, item->collection);
    }
    kedge_json_key_bytes(&work->writer, item->id);
    kedge_json_raw(&work->writer, item->value);
    work->items++;
    return KEDGE_OK;
}

/* The project record stands in front of all collections. */
static kedge_status write_one(writing *work, const kedge_overlay_entry *item, kedge_error *error)
{
    if (item->deleted) return KEDGE_OK;
    if (item->collection.size > 0) return write_item(work, item, error);
    kedge_buffer_append_bytes(&work->record, item->value);
    return KEDGE_OK;
}

/* ---- items ---- */

/* Each key once, in order: what the changes say of it, else what the base has. */
static kedge_status write_items(writing *work, kedge_fold_base *base, const kedge_overlay *changes,
                                kedge_error *error)
{
    kedge_fold_place place = {0};
    kedge_overlay_entry below, above;
    bool changed = kedge_overlay_next(changes, NULL, &above);
    kedge_status status = kedge_fold_base_next(base, &place, &below, error);
    while (status == KEDGE_OK || (status == KEDGE_DONE && changed)) {
        int order = status == KEDGE_DONE ? 1 : -1;
        if (status == KEDGE_OK && changed) order = kedge_fold_compare(&below, &above);
        kedge_status written = write_one(work, order < 0 ? &below : &above, error);
        if (written != KEDGE_OK) return written;
        if (order >= 0) {
            const kedge_overlay_entry at = above;
            changed = kedge_overlay_next(changes, &at, &above);
        }
        if (order <= 0) status = kedge_fold_base_next(base, &place, &below, error);
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static void write_text(const writing *work, int64_t number, kedge_buffer *text)
{
    kedge_json_writer writer = kedge_json_write(text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "chunks");
    kedge_json_begin_array(&writer);
    if (work->count > 0) kedge_json_raw(&writer, kedge_buffer_bytes(&work->rows));
    kedge_json_end_array(&writer);
    kedge_json_key(&writer, "collections");
    kedge_json_raw(&writer, kedge_buffer_bytes(&work->first));
    kedge_json_key(&writer, "log");
    kedge_json_text(&writer, work->log->name);
    kedge_json_key(&writer, "number");
    kedge_json_integer(&writer, number);
    if (work->record.size > 0) {
        kedge_json_key(&writer, "project");
        kedge_json_raw(&writer, kedge_buffer_bytes(&work->record));
    }
    kedge_json_end_object(&writer);
}

kedge_status kedge_fold_write(kedge_fold_base *base, const kedge_overlay *changes, const char *id,
                              int64_t number, kedge_buffer *text, kedge_error *error)
{
    const kedge_buffer empty = kedge_buffer_make(base->log->project->allocator);
    writing work = {.log = base->log,
                    .id = id,
                    .first = empty,
                    .later = empty,
                    .rows = empty,
                    .record = empty,
                    .name = empty,
                    .row = empty};
    begin_chunk(&work, &work.first);
    kedge_status status = write_items(&work, base, changes, error);
    if (status == KEDGE_OK) status = end_chunk(&work, error);
    kedge_buffer *const made[] = {&work.first,  &work.later, &work.rows,
                                  &work.record, &work.name,  &work.row};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        if (status == KEDGE_OK) status = kedge_buffer_status(made[i], error);
    }
    if (status == KEDGE_OK) {
        write_text(&work, number, text);
        status = kedge_buffer_status(text, error);
    }
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        kedge_buffer_free(made[i]);
    return status;
}
