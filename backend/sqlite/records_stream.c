/* The stream port over the records in SQLite.
 *
 * The changes have the ids 1, 2, 3… A shard is KEDGE_SQLITE_SHARD_CHANGES of them, one after the
 * other: shard n has the ids n * size + 1 to (n + 1) * size, and its parent is shard n - 1. A
 * position is the id of the last change before it. */
#include "backend/ports/stream_support.h"
#include "backend/sqlite/records_internal.h"
#include "backend/sqlite/sqlite_ports.h"
#include "common/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHARD_PREFIX "shard-"
#define SHARD_SIZE   ((int64_t)KEDGE_SQLITE_SHARD_CHANGES)
#define SHARD_ID     (sizeof SHARD_PREFIX - 1 + KEDGE_STREAM_SEQUENCE_SIZE)

/* ---- writing ---- */

static kedge_status trim(kedge_sqlite_connection *connection, int64_t now_ms, kedge_error *error)
{
    sqlite3_stmt *statement;
    kedge_status status = kedge_sqlite_statement(connection, KEDGE_CHANGES_TRIM, &statement, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(statement, 1, now_ms);
    return kedge_sqlite_run(connection, statement, error);
}

kedge_status kedge_sqlite_change_note(kedge_sqlite_connection *connection,
                                      const kedge_record_write *write, kedge_bytes encoded,
                                      int64_t now_ms, kedge_error *error)
{
    sqlite3_stmt *note;
    bool put = write->kind == KEDGE_WRITE_PUT;
    kedge_status status = kedge_sqlite_statement(
        connection, put ? KEDGE_CHANGES_NOTE_PUT : KEDGE_CHANGES_NOTE_DELETE, &note, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(note, 1, write->record.key.partition);
    kedge_sqlite_bind(note, 2, write->record.key.sort);
    kedge_sqlite_bind(note, 3, encoded);
    sqlite3_bind_int64(note, 4, now_ms);
    status = kedge_sqlite_run(connection, note, error);
    bool noted = sqlite3_changes(connection->handle) > 0;
    return status == KEDGE_OK && noted ? trim(connection, now_ms, error) : status;
}

/* ---- which changes there are ---- */

typedef struct bounds {
    int64_t first; /* kept; 0: there never was a change */
    int64_t last;
} bounds;

static kedge_status read_bounds(kedge_sqlite_connection *connection, bounds *found,
                                kedge_error *error)
{
    sqlite3_stmt *select;
    kedge_status status = kedge_sqlite_statement(connection, KEDGE_CHANGES_BOUNDS, &select, error);
    if (status != KEDGE_OK) return status;
    status = kedge_sqlite_step(connection, select, error);
    if (status == KEDGE_OK)
        *found = (bounds){sqlite3_column_int64(select, 0), sqlite3_column_int64(select, 1)};
    kedge_sqlite_reset(select);
    return status;
}

/* ---- shards ---- */

static void write_shard(int64_t shard, char id[SHARD_ID])
{
    snprintf(id, SHARD_ID, SHARD_PREFIX "%020" PRId64, shard);
}

/* -1: no shard of this stream. */
static int64_t read_shard(kedge_bytes id)
{
    uint64_t shard;
    kedge_bytes prefix = KEDGE_BYTES(SHARD_PREFIX);
    if (!kedge_bytes_start_with(id, prefix)) return -1;
    kedge_bytes digits = {id.data + prefix.size, id.size - prefix.size};
    if (!kedge_stream_sequence_read(digits, &shard)) return -1;
    return shard > (uint64_t)(INT64_MAX / SHARD_SIZE - 1) ? -1 : (int64_t)shard;
}

static kedge_status add_shard(int64_t shard, const bounds *kept, kedge_shard_page *page,
                              kedge_error *error)
{
    char id[SHARD_ID], parent[SHARD_ID] = "", start[KEDGE_STREAM_SEQUENCE_SIZE];
    write_shard(shard, id);
    if (shard > 0) write_shard(shard - 1, parent);
    kedge_stream_sequence_write((uint64_t)(shard * SHARD_SIZE), start);
    kedge_stream_shard shown = {id, parent, start, shard < kept->last / SHARD_SIZE};
    return kedge_shard_page_add(page, &shown, error);
}

static int64_t first_shard(const bounds *kept)
{
    return kept->first == 0 ? 0 : (kept->first - 1) / SHARD_SIZE;
}

static kedge_status stream_shards(void *context, kedge_bytes after, uint32_t limit,
                                  kedge_stream_shards *shards, kedge_error *error)
{
    kedge_sqlite_records *self = context;
    kedge_shard_page page = {.allocator = self->environment->allocator};
    bounds kept = {0};
    kedge_status status = kedge_stream_shards_check(after, limit, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_connection *connection = kedge_sqlite_readers_take(&self->readers);
    status = read_bounds(connection, &kept, error);
    kedge_sqlite_readers_give(&self->readers, connection);
    int64_t shard = read_shard(after) + 1;
    if (shard < first_shard(&kept)) shard = first_shard(&kept);
    for (; shard <= kept.last / SHARD_SIZE && page.count < limit && status == KEDGE_OK; shard++)
        status = add_shard(shard, &kept, &page, error);
    bool more = shard <= kept.last / SHARD_SIZE;
    if (status == KEDGE_OK) status = kedge_shard_page_finish(&page, more, shards, error);
    kedge_shard_page_free(&page);
    return status;
}

/* ---- reading ---- */

/* What a read of one shard goes through: the ids above `behind`, up to `through`. */
typedef struct span {
    int64_t behind;
    int64_t through;
    bool exact; /* the first one must be there: it is no oldest one that is wanted */
    bool closed;
} span;

static kedge_status find_span(const kedge_stream_query *query, const bounds *kept, span *found,
                              kedge_error *error)
{
    int64_t shard = read_shard(kedge_bytes_of(query->shard));
    uint64_t position = 0;
    if (shard < first_shard(kept) || shard > kept->last / SHARD_SIZE)
        return kedge_stream_fail_trimmed(query->shard, query->position, error);
    int64_t start = shard * SHARD_SIZE, end = start + SHARD_SIZE;
    *found = (span){.behind = start,
                    .through = end < kept->last ? end : kept->last,
                    .exact = query->position.size > 0,
                    .closed = end <= kept->last};
    if (query->newest) found->behind = found->through;
    if (!found->exact) return KEDGE_OK;
    if (!kedge_stream_sequence_read(query->position, &position) || position < (uint64_t)start ||
        position > (uint64_t)found->through)
        return kedge_stream_invalid_position(query->position, error);
    found->behind = (int64_t)position;
    return KEDGE_OK;
}

static kedge_status add_change(sqlite3_stmt *row, kedge_sqlite_connection *connection,
                               const kedge_stream_query *query, kedge_stream_page *page,
                               kedge_error *error)
{
    char position[KEDGE_STREAM_SEQUENCE_SIZE];
    kedge_stream_change_kind kind = (kedge_stream_change_kind)sqlite3_column_int(row, 2);
    kedge_record_key key = {kedge_sqlite_column(row, 3), kedge_sqlite_column(row, 4)};
    kedge_bytes attributes = kedge_sqlite_column(row, 5);
    kedge_buffer none = kedge_buffer_make(page->records.allocator);
    kedge_stream_sequence_write((uint64_t)sqlite3_column_int64(row, 0), position);
    kedge_status status = kedge_sqlite_columns_check(connection, error);
    if (status == KEDGE_OK && kind == KEDGE_STREAM_REMOVE) {
        kedge_record_encode(&(kedge_record){.key = key}, &none);
        attributes = kedge_buffer_bytes(&none);
        status = kedge_buffer_status(&none, error);
    }
    if (status == KEDGE_OK) status = kedge_record_page_add(&page->records, &key, attributes, error);
    if (status == KEDGE_OK)
        status = kedge_stream_page_add(page, query, kind, sqlite3_column_int64(row, 1),
                                       kedge_bytes_of(position), error);
    kedge_buffer_free(&none);
    return status;
}

/* `reached` gets the id of the last change that was looked at. */
static kedge_status fill_page(kedge_sqlite_connection *connection, const kedge_stream_query *query,
                              const span *wanted, kedge_stream_page *page, int64_t *reached,
                              kedge_error *error)
{
    sqlite3_stmt *select;
    kedge_status status = kedge_sqlite_statement(connection, KEDGE_CHANGES_BEHIND, &select, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(select, 1, wanted->behind);
    sqlite3_bind_int64(select, 2, wanted->through);
    sqlite3_bind_int64(select, 3, query->limit);
    *reached = wanted->behind;
    while (page->records.bytes < KEDGE_STREAM_READ_BYTES &&
           (status = kedge_sqlite_step(connection, select, error)) == KEDGE_OK) {
        int64_t id = sqlite3_column_int64(select, 0);
        bool trimmed = wanted->exact && id != *reached + 1;
        status = trimmed ? kedge_stream_fail_trimmed(query->shard, query->position, error)
                         : add_change(select, connection, query, page, error);
        if (status != KEDGE_OK) break;
        *reached = id;
    }
    kedge_sqlite_reset(select);
    if (status == KEDGE_DONE) status = KEDGE_OK;
    bool vanished = wanted->exact && page->looked_at == 0 && wanted->behind < wanted->through;
    if (status == KEDGE_OK && vanished)
        status = kedge_stream_fail_trimmed(query->shard, query->position, error);
    return status;
}

static kedge_status stream_read(void *context, const kedge_stream_query *query,
                                kedge_stream_batch *batch, kedge_error *error)
{
    kedge_sqlite_records *self = context;
    kedge_stream_page page = {.records = {.allocator = self->environment->allocator}};
    bounds kept = {0};
    span wanted = {0};
    int64_t reached = 0;
    kedge_status status = kedge_stream_query_check(query, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_connection *connection = kedge_sqlite_readers_take(&self->readers);
    status = read_bounds(connection, &kept, error);
    if (status == KEDGE_OK) status = find_span(query, &kept, &wanted, error);
    if (status == KEDGE_OK) status = fill_page(connection, query, &wanted, &page, &reached, error);
    kedge_sqlite_readers_give(&self->readers, connection);
    /* The newest place has a name, so that what comes next is not passed over as well. */
    if (query->newest) kedge_stream_sequence_write((uint64_t)wanted.behind, page.next);
    bool ended = wanted.closed && reached == wanted.through;
    if (status == KEDGE_OK) status = kedge_stream_page_finish(&page, query, ended, batch, error);
    kedge_stream_page_free(&page);
    return status;
}

/* ---- opening ---- */

static kedge_status set_stream(kedge_sqlite_connection *connection, void *argument,
                               kedge_error *error)
{
    const kedge_sqlite_stream_options *options = argument;
    sqlite3_stmt *set;
    kedge_status status = kedge_sqlite_statement(connection, KEDGE_CHANGES_SET_STREAM, &set, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(set, 1, kedge_bytes_of(options->partition_prefix));
    sqlite3_bind_int64(set, 2, options->keep_ms);
    sqlite3_bind_int64(set, 3, options->keep_bytes);
    return kedge_sqlite_run(connection, set, error);
}

/* The changes belong to the records. */
static void stream_close(void *context)
{
    (void)context;
}

static const kedge_stream_vtable vtable = {
    .shards = stream_shards, .read = stream_read, .close = stream_close};

kedge_status kedge_sqlite_stream_open(const kedge_records *records,
                                      const kedge_sqlite_stream_options *options,
                                      kedge_stream *stream, kedge_error *error)
{
    kedge_sqlite_records *self = records->self;
    kedge_sqlite_stream_options kept = *options;
    if (kept.keep_ms == 0) kept.keep_ms = KEDGE_STREAM_KEPT_MS;
    if (kept.keep_bytes == 0) kept.keep_bytes = KEDGE_SQLITE_STREAM_BYTES;
    if (kept.keep_ms < 0 || kept.keep_bytes < 0)
        return kedge_fail(
            error, KEDGE_INVALID_ARGUMENT, "invalid-stream",
            "a stream cannot keep changes for %lld ms, up to %lld bytes: from 0 on are "
            "allowed",
            (long long)kept.keep_ms, (long long)kept.keep_bytes);
    kedge_status status = kedge_sqlite_write(&self->writer, set_stream, &kept, error);
    if (status == KEDGE_OK) *stream = (kedge_stream){&vtable, self};
    return status;
}
