/* The edits of a folder, what became of one, and its items. */
#include "sdk/store/client_only.h"
#include "sdk/store/inspect_internal.h"

#include "common/error.h"
#include "common/json.h"
#include "sdk/store/cache_row.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/prediction.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

/* An app writes the outbox first, then the cache: how often, and how long, until both stand at the
 * same edit. */
#define TRIES_MAX 50
#define TRY_MS    10

/* ---- lists ---- */

/* Columns that both lists have, and their members. */
static const char *const MEMBERS[] = {"sequence", "client",    "id",     "name",
                                      "args",     "timestamp", "sent",   "withheld",
                                      "code",     "message",   "version"};

static kedge_status write_member(kedge_json_writer *writer, sqlite3_stmt *row, int column,
                                 kedge_error *error)
{
    kedge_bytes text = kedge_store_column(row, column);
    kedge_status status = KEDGE_INVALID_JSON;
    if (column == 4)
        status = kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, writer->buffer->allocator, NULL);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    kedge_json_key(writer, MEMBERS[column]);
    bool json = status == KEDGE_OK;
    bool flag = column == 6 || column == 7;
    if (flag) {
        kedge_json_boolean(writer, sqlite3_column_int(row, column) != 0);
    } else if (sqlite3_column_type(row, column) == SQLITE_INTEGER) {
        kedge_json_integer(writer, sqlite3_column_int64(row, column));
    } else if (json) {
        kedge_json_raw(writer, text);
    } else {
        kedge_json_text(writer, text);
    }
    return KEDGE_OK;
}

static kedge_status put_rows(kedge_inspect *inspect, sqlite3_stmt *rows, kedge_inspect_sink sink,
                             kedge_error *error)
{
    kedge_status status;
    while ((status = kedge_store_db_step(&inspect->outbox, rows, error)) == KEDGE_OK) {
        kedge_json_writer writer = kedge_json_write(&inspect->line);
        kedge_json_begin_object(&writer);
        for (int column = 0; column < sqlite3_column_count(rows) && status == KEDGE_OK; column++)
            status = write_member(&writer, rows, column, error);
        kedge_json_end_object(&writer);
        if (status == KEDGE_OK) status = kedge_inspect_put(inspect, sink, error);
        if (status != KEDGE_OK) return status;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status put_list(kedge_inspect *inspect, const char *sql, bool pending,
                             kedge_inspect_sink sink, kedge_error *error)
{
    sqlite3_stmt *rows;
    kedge_inspect_position at;
    kedge_store_db *db = &inspect->outbox;
    kedge_status status = kedge_inspect_begin(inspect, &at, error);
    if (status != KEDGE_OK) return status;
    status = kedge_store_db_take(db, sql, &rows, error);
    if (status == KEDGE_OK) {
        kedge_store_bind_chars(db, rows, 1, at.cache.client);
        kedge_store_bind_integer(db, rows, 2, at.cache.lmid);
        kedge_store_bind_integer(db, rows, 3, at.cache.version);
        if (pending) kedge_store_bind_chars(db, rows, 4, at.outbox.client);
        if (pending) kedge_store_bind_integer(db, rows, 5, at.outbox.sent_through);
        status = put_rows(inspect, rows, sink, error);
    }
    kedge_inspect_end(inspect);
    return status;
}

kedge_status kedge_inspect_pending(kedge_inspect *inspect, kedge_inspect_sink sink,
                                   kedge_error *error)
{
    static const char *const sql =
        "SELECT sequence, client, id, name, args, timestamp,"
        " (origin_client IS NOT NULL OR withheld OR client <> ?4 OR id <= ?5), withheld"
        " FROM pending WHERE NOT {covered} UNION ALL SELECT sequence, client, id, name, args, "
        "timestamp, 1, 0 FROM rejected "
        "WHERE " KEDGE_INBOX_WAITS " ORDER BY sequence";
    return put_list(inspect, sql, true, sink, error);
}

kedge_status kedge_inspect_rejected(kedge_inspect *inspect, kedge_inspect_sink sink,
                                    kedge_error *error)
{
    static const char *const sql =
        "SELECT sequence, client, id, name, args, timestamp, 1, 0, code, message, version"
        " FROM rejected WHERE " KEDGE_INBOX_SHOWS " ORDER BY sequence";
    return put_list(inspect, sql, false, sink, error);
}

/* ---- one edit ---- */

static kedge_status put_format(kedge_inspect *inspect, kedge_inspect_sink sink, kedge_error *error,
                               const char *format, ...) KEDGE_PRINTF(4, 5);

static kedge_status put_format(kedge_inspect *inspect, kedge_inspect_sink sink, kedge_error *error,
                               const char *format, ...)
{
    char text[1024];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    kedge_buffer_append_text(&inspect->line, text);
    return kedge_inspect_put(inspect, sink, error);
}

/* The row of a sequence; KEDGE_DONE: the table has none. */
static kedge_status find(kedge_inspect *inspect, const char *sql, int64_t sequence,
                         sqlite3_stmt **row, kedge_error *error)
{
    kedge_store_db *db = &inspect->outbox;
    kedge_status status = kedge_store_db_take(db, sql, row, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, *row, 1, sequence);
    return kedge_store_db_step(db, *row, error);
}

/* Columns 0 to 5: name, client, id, uid, origin_client, origin_id. */
static kedge_status put_identity(kedge_inspect *inspect, sqlite3_stmt *row, int64_t sequence,
                                 kedge_inspect_sink sink, kedge_error *error)
{
    kedge_bytes name = kedge_store_column(row, 0);
    kedge_bytes client = kedge_store_column(row, 1);
    kedge_bytes origin = kedge_store_column(row, 4);
    kedge_status status = put_format(
        inspect, sink, error, "edit %" PRId64 ": %.*s, id %lld of client %.*s", sequence,
        (int)name.size, name.data, sqlite3_column_int64(row, 2), (int)client.size, client.data);
    if (status != KEDGE_OK || origin.size == 0) return status;
    return put_format(inspect, sink, error,
                      "was id %lld of client %.*s, before the client id changed",
                      sqlite3_column_int64(row, 5), (int)origin.size, origin.data);
}

#define IDENTITY "name, client, id, uid, origin_client, origin_id"

static kedge_status trace_pending(kedge_inspect *inspect, const kedge_inspect_position *at,
                                  int64_t sequence, kedge_inspect_sink sink, kedge_error *error)
{
    static const char *const sql = "SELECT " IDENTITY ", withheld FROM pending WHERE sequence = ?1";
    sqlite3_stmt *row;
    kedge_pending edit;
    kedge_status status = find(inspect, sql, sequence, &row, error);
    if (status == KEDGE_OK) status = put_identity(inspect, row, sequence, sink, error);
    bool withheld = status == KEDGE_OK && sqlite3_column_int(row, 6) != 0;
    if (status == KEDGE_OK) status = kedge_outbox_find(&inspect->outbox, sequence, &edit, error);
    if (status != KEDGE_OK) return status;
    bool here = kedge_bytes_equal_text(edit.client, at->outbox.client);
    if (kedge_outbox_covers(&at->cache, &edit))
        return put_format(inspect, sink, error,
                          "decided: version %" PRId64 " of the cache has it, or a rejection tells"
                          " of it; its row goes with the next pull",
                          at->cache.version);
    if (withheld)
        return put_format(inspect, sink, error,
                          "withheld: the pulled state may have it already; reads show it once the"
                          " server has told its outcome");
    if (edit.covered_version > 0)
        return put_format(inspect, sink, error,
                          "pending: version %" PRId64 " has decided it; the cache is at %" PRId64,
                          edit.covered_version, at->cache.version);
    if (!here || edit.id <= at->outbox.sent_through)
        return put_format(inspect, sink, error,
                          "pending: it was or may have been sent; the cache at version %" PRId64
                          " has lmid %" PRId64,
                          at->cache.version, at->cache.lmid);
    return put_format(inspect, sink, error,
                      "pending: it has not been sent; ids through %" PRId64 " have",
                      at->outbox.sent_through);
}

static kedge_status trace_rejected(kedge_inspect *inspect, int64_t sequence,
                                   kedge_inspect_sink sink, kedge_error *error)
{
    static const char *const sql =
        "SELECT " IDENTITY ", version, code, message, state FROM rejected"
        " WHERE sequence = ?1";
    static const char *const states[] = {"in the inbox",          "dismissed",        "resubmitted",
                                         "damaged, in the inbox", "to be made again", "made again"};
    sqlite3_stmt *row;
    kedge_status status = find(inspect, sql, sequence, &row, error);
    if (status == KEDGE_OK) status = put_identity(inspect, row, sequence, sink, error);
    if (status != KEDGE_OK) return status;
    kedge_bytes code = kedge_store_column(row, 7);
    kedge_bytes message = kedge_store_column(row, 8);
    int64_t state = sqlite3_column_int64(row, 9);
    return put_format(inspect, sink, error, "rejected in version %lld: %.*s: %.*s (%s)",
                      sqlite3_column_int64(row, 6), (int)code.size, code.data, (int)message.size,
                      message.data, state >= 0 && state < 6 ? states[state] : "state unknown");
}

static kedge_status trace_confirmed(kedge_inspect *inspect, int64_t sequence,
                                    kedge_inspect_sink sink, kedge_error *error)
{
    static const char *const sql =
        "SELECT " IDENTITY ", confirmed_ms FROM confirmed WHERE sequence = ?1 ORDER BY ordinal";
    sqlite3_stmt *row;
    kedge_status status = find(inspect, sql, sequence, &row, error);
    if (status == KEDGE_OK) status = put_identity(inspect, row, sequence, sink, error);
    if (status != KEDGE_OK) return status;
    return put_format(inspect, sink, error,
                      "applied: told by a pull at %lld ms since 1970; kept in case the backend is"
                      " restored",
                      sqlite3_column_int64(row, 6));
}

static kedge_status trace_row(kedge_inspect *inspect, const kedge_inspect_position *at,
                              int64_t sequence, kedge_inspect_sink sink, kedge_error *error)
{
    kedge_status status = trace_pending(inspect, at, sequence, sink, error);
    if (status == KEDGE_DONE) status = trace_rejected(inspect, sequence, sink, error);
    if (status == KEDGE_DONE) status = trace_confirmed(inspect, sequence, sink, error);
    return status;
}

/* A client-only edit that was made again goes on under the sequence of its newest attempt. */
static kedge_status trace(kedge_inspect *inspect, const kedge_inspect_position *at,
                          int64_t sequence, kedge_inspect_sink sink, kedge_error *error)
{
    int64_t newest = sequence;
    kedge_status status = trace_row(inspect, at, sequence, sink, error);
    if (status == KEDGE_OK) status = kedge_inbox_follow(&inspect->outbox, &newest, error);
    if (status == KEDGE_OK && newest != sequence)
        status = trace_row(inspect, at, newest, sink, error);
    if (status != KEDGE_DONE) return status;
    if (newest < 1 || newest > at->outbox.last_sequence)
        return kedge_fail(error, KEDGE_NOT_FOUND, "edit-not-found",
                          "no edit has sequence %" PRId64 "; the last is %" PRId64, newest,
                          at->outbox.last_sequence);
    return kedge_fail(error, KEDGE_NOT_FOUND, "edit-trimmed",
                      "edit %" PRId64 " was decided; it is older than what the tail keeps", newest);
}

kedge_status kedge_inspect_trace(kedge_inspect *inspect, int64_t sequence, kedge_inspect_sink sink,
                                 kedge_error *error)
{
    kedge_inspect_position position;
    kedge_status status = kedge_inspect_begin(inspect, &position, error);
    if (status != KEDGE_OK) return status;
    status = trace(inspect, &position, sequence, sink, error);
    kedge_inspect_end(inspect);
    return status;
}

/* ---- items ---- */

/* All rows that are sound. `*damage` tells of the first that is not, or of rows that are
 * missing. */
static kedge_status put_items(kedge_inspect *inspect, const kedge_row_total *expected,
                              kedge_inspect_sink sink, kedge_error *damage, kedge_error *error)
{
    static const char *const sql =
        "SELECT collection, id, value, checksum FROM item ORDER BY collection, id";
    kedge_store_db *db = &inspect->cache;
    kedge_row_total found = {0, 0};
    sqlite3_stmt *rows;
    kedge_status status = kedge_store_db_take(db, sql, &rows, error);
    while (status == KEDGE_OK && (status = kedge_store_db_step(db, rows, error)) == KEDGE_OK) {
        kedge_bytes collection;
        kedge_cache_row row;
        if (kedge_row_read_any(KEDGE_ROW_ITEM, rows, &collection, &row)) {
            kedge_row_total_add(&found, row.checksum);
            status = kedge_inspect_put_item(inspect, sink, collection, &row, error);
        } else if (damage->status == KEDGE_OK) {
            (void)kedge_row_fail(db, "item", collection, row.id, damage);
        }
    }
    if (status != KEDGE_DONE) return status;
    if (damage->status == KEDGE_OK && !kedge_row_total_equal(&found, expected))
        (void)kedge_table_fail(db, "item", damage);
    return KEDGE_OK;
}

/* `*current`: the cache has all edits of the outbox. */
static kedge_status begin_current(kedge_inspect *inspect, kedge_inspect_position *position,
                                  bool *current, kedge_error *error)
{
    for (int tries = 0;; tries++) {
        kedge_status status = kedge_inspect_begin(inspect, position, error);
        if (status != KEDGE_OK) return status;
        *current = kedge_prediction_fits(&position->outbox, &position->cache);
        if (*current || tries == TRIES_MAX) return KEDGE_OK;
        kedge_inspect_end(inspect);
        poll(NULL, 0, TRY_MS);
    }
}

kedge_status kedge_inspect_export(kedge_inspect *inspect, kedge_inspect_sink sink,
                                  kedge_error *error)
{
    kedge_inspect_position position;
    kedge_error damage = {0};
    bool current = false;
    if (!inspect->cache.handle)
        return kedge_fail(error, KEDGE_NOT_FOUND, "cache-missing",
                          "there is no cache.db in %s; its app fetches it", inspect->path);
    kedge_status status = begin_current(inspect, &position, &current, error);
    if (status != KEDGE_OK) return status;
    status = put_items(inspect, &position.cache.items, sink, &damage, error);
    kedge_inspect_end(inspect);
    if (status != KEDGE_OK) return status;
    if (damage.status != KEDGE_OK)
        return kedge_fail(error, damage.status, damage.code, "%s", damage.message);
    if (current) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "cache-not-current",
                      "cache.db in %s does not have all edits of outbox.db; open the folder with"
                      " its app",
                      inspect->path);
}
