/* Opening a folder for a look, its facts, and watching it. */
#include "sdk/store/inspect_internal.h"

#include "common/error.h"
#include "common/json.h"
#include "common/percent.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/schema.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ---- */

static void join(const kedge_inspect *inspect, const char *name, char out[KEDGE_STORE_PATH_BYTES])
{
    (void)snprintf(out, KEDGE_STORE_PATH_BYTES, "%s/%s", inspect->path, name);
}

static int64_t size_of(const kedge_inspect *inspect, const char *name)
{
    char path[KEDGE_STORE_PATH_BYTES];
    struct stat facts;
    join(inspect, name, path);
    return stat(path, &facts) == 0 ? (int64_t)facts.st_size : -1;
}

static kedge_status open_as(kedge_store_db *db, const char *path, const char *name, int flags,
                            kedge_error *error)
{
    return strcmp(name, "cache.db") == 0 ? kedge_store_db_open_cache(db, path, flags, NULL, error)
                                         : kedge_store_db_open(db, path, name, flags, NULL, error);
}

/* SQLite cannot share a WAL in a folder that it cannot write. Without one the file is all there
 * is. */
static kedge_status open_unwritable(kedge_inspect *inspect, kedge_store_db *db, const char *name,
                                    const char *path, kedge_error *error)
{
    char wal[64];
    snprintf(wal, sizeof wal, "%s-wal", name);
    if (size_of(inspect, wal) > 0) {
        return kedge_fail(error, KEDGE_IO, "folder-read-only",
                          "%s cannot be written and has a WAL; look at a copy of the folder",
                          inspect->path);
    }
    kedge_buffer uri = kedge_buffer_make(inspect->environment->allocator);
    kedge_buffer_append_text(&uri, "file:");
    kedge_percent_encode(kedge_bytes_of(path), KEDGE_PERCENT_UNRESERVED "/", &uri);
    kedge_buffer_append_text(&uri, "?immutable=1");
    kedge_status status = kedge_buffer_status(&uri, error);
    if (status == KEDGE_OK)
        status = open_as(db, uri.data, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error);
    kedge_buffer_free(&uri);
    return status;
}

/* `*empty`: its creation was cut off, or is under way. An app whose disk has no room for a newer
 * layout of the cache uses an older one as it is (open_cache.c). */
static kedge_status check_kind(kedge_store_db *db, const kedge_schema *schema, bool *empty,
                               kedge_error *error)
{
    int64_t layout = 0;
    int present = kedge_schema_newest(schema);
    int least = schema == &kedge_cache_schema ? schema->layouts[0].number : present;
    kedge_status status = kedge_schema_identify(db, db->name, schema, empty, error);
    if (status == KEDGE_OK && !*empty) status = kedge_schema_read_layout(db, &layout, error);
    if (status == KEDGE_OK && !*empty && layout < least)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "layout-older",
                          "%s has layout %" PRId64 " and not %d: open the folder once with its app",
                          db->name, layout, present);
    return status;
}

static kedge_status open_file(kedge_inspect *inspect, kedge_store_db *db, const char *name,
                              const kedge_schema *schema, bool *empty, kedge_error *error)
{
    char path[KEDGE_STORE_PATH_BYTES];
    join(inspect, name, path);
    kedge_status status = access(inspect->path, W_OK) == 0
                              ? open_as(db, path, name, SQLITE_OPEN_READONLY, error)
                              : open_unwritable(inspect, db, name, path, error);
    if (status == KEDGE_OK) status = check_kind(db, schema, empty, error);
    return status;
}

static kedge_status open_outbox(kedge_inspect *inspect, kedge_error *error)
{
    bool empty = size_of(inspect, "outbox.db") < 0;
    kedge_status status = KEDGE_OK;
    if (!empty)
        status =
            open_file(inspect, &inspect->outbox, "outbox.db", &kedge_outbox_schema, &empty, error);
    if (status != KEDGE_OK || !empty) return status;
    return kedge_fail(error, KEDGE_NOT_FOUND, "outbox-missing",
                      "there is no outbox.db in %s, or it is empty", inspect->path);
}

/* One that is empty is none. The app may set it aside at any time. */
static kedge_status open_cache(kedge_inspect *inspect, kedge_error *error)
{
    bool empty = false;
    kedge_error why = {0};
    if (size_of(inspect, "cache.db") <= 0) return KEDGE_OK;
    kedge_status status =
        open_file(inspect, &inspect->cache, "cache.db", &kedge_cache_schema, &empty, &why);
    if (status == KEDGE_OK && !empty) return KEDGE_OK;
    kedge_store_db_close(&inspect->cache);
    if (status == KEDGE_OK || size_of(inspect, "cache.db") < 0) return KEDGE_OK;
    if (error != NULL) *error = why;
    return status;
}

kedge_status kedge_inspect_open(const kedge_environment *environment, const char *path,
                                kedge_inspect **inspect, kedge_error *error)
{
    kedge_status status = kedge_store_check_path(path, NULL, error);
    if (status != KEDGE_OK) return status;
    kedge_inspect *made = kedge_allocate(environment->allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->environment = environment;
    made->line = kedge_buffer_make(environment->allocator);
    (void)snprintf(made->path, sizeof made->path, "%s", path);
    status = open_outbox(made, error);
    if (status == KEDGE_OK) status = open_cache(made, error);
    if (status != KEDGE_OK) {
        kedge_inspect_close(made);
        return status;
    }
    *inspect = made;
    return KEDGE_OK;
}

void kedge_inspect_close(kedge_inspect *inspect)
{
    if (!inspect) return;
    kedge_store_db_close(&inspect->outbox);
    kedge_store_db_close(&inspect->cache);
    kedge_buffer_free(&inspect->line);
    kedge_release(inspect->environment->allocator, inspect);
}

/* ---- one snapshot ---- */

kedge_status kedge_inspect_begin(kedge_inspect *inspect, kedge_inspect_position *position,
                                 kedge_error *error)
{
    *position = (kedge_inspect_position){0};
    kedge_status status = kedge_store_db_execute(&inspect->outbox, "BEGIN", error);
    if (status == KEDGE_OK)
        status = kedge_outbox_meta_read(&inspect->outbox, &position->outbox, error);
    if (status == KEDGE_OK && inspect->cache.handle) {
        status = kedge_store_db_execute(&inspect->cache, "BEGIN", error);
        if (status == KEDGE_OK)
            status = kedge_cache_meta_read(&inspect->cache, &position->cache, error);
    }
    if (status != KEDGE_OK) kedge_inspect_end(inspect);
    return status;
}

void kedge_inspect_end(kedge_inspect *inspect)
{
    kedge_store_db_rollback(&inspect->outbox);
    if (inspect->cache.handle) kedge_store_db_rollback(&inspect->cache);
}

kedge_status kedge_inspect_put(kedge_inspect *inspect, kedge_inspect_sink sink, kedge_error *error)
{
    kedge_status status = kedge_buffer_status(&inspect->line, error);
    if (status == KEDGE_OK) sink.line(sink.context, kedge_buffer_bytes(&inspect->line));
    kedge_buffer_free(&inspect->line);
    return status;
}

kedge_status kedge_inspect_put_item(kedge_inspect *inspect, kedge_inspect_sink sink,
                                    kedge_bytes collection, const kedge_cache_row *row,
                                    kedge_error *error)
{
    kedge_json_writer writer = kedge_json_write(&inspect->line);
    bool there = row->value.size > 0;
    kedge_json_begin_object(&writer);
    if (collection.size == 0) {
        kedge_json_key(&writer, "project");
        kedge_json_raw(&writer, there ? row->value : kedge_bytes_of("null"));
    } else {
        kedge_json_key(&writer, "collection");
        kedge_json_text(&writer, collection);
        kedge_json_key(&writer, "id");
        kedge_json_text(&writer, row->id);
        kedge_json_key(&writer, there ? "value" : "deleted");
        kedge_json_raw(&writer, there ? row->value : kedge_bytes_of("true"));
    }
    kedge_json_end_object(&writer);
    return kedge_inspect_put(inspect, sink, error);
}

/* ---- facts ---- */

static kedge_status put_number(kedge_inspect *inspect, kedge_inspect_sink sink, const char *name,
                               int64_t number, kedge_error *error)
{
    kedge_buffer_append_format(&inspect->line, "%s: %" PRId64, name, number);
    return kedge_inspect_put(inspect, sink, error);
}

static kedge_status put_text(kedge_inspect *inspect, kedge_inspect_sink sink, const char *name,
                             const char *text, kedge_error *error)
{
    kedge_buffer_append_format(&inspect->line, "%s: %s", name, text);
    return kedge_inspect_put(inspect, sink, error);
}

typedef struct counts {
    int64_t pending;
    int64_t rejected;
    int64_t confirmed;
} counts;

static kedge_status count_listed(kedge_inspect *inspect, const kedge_cache_meta *cache,
                                 const char *sql, int64_t *count, kedge_error *error)
{
    return kedge_store_db_find_number(&inspect->outbox, sql, count, error, "cii", cache->client,
                                      cache->lmid, cache->version);
}

static kedge_status count_edits(kedge_inspect *inspect, const kedge_cache_meta *cache, counts *out,
                                kedge_error *error)
{
    static const char *const pending =
        "SELECT (SELECT count(*) FROM pending WHERE NOT {covered}) + "
        "(SELECT count(*) FROM rejected WHERE " KEDGE_INBOX_WAITS ")";
    static const char *const rejected = "SELECT count(*) FROM rejected WHERE " KEDGE_INBOX_SHOWS;
    kedge_status status = count_listed(inspect, cache, pending, &out->pending, error);
    if (status == KEDGE_OK) status = count_listed(inspect, cache, rejected, &out->rejected, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_number(&inspect->outbox, "SELECT count(*) FROM confirmed",
                                       &out->confirmed, error);
    return status;
}

static kedge_status put_collections(kedge_inspect *inspect, kedge_inspect_sink sink,
                                    kedge_error *error)
{
    static const char *const sql =
        "SELECT collection, count(*), sum(length(CAST(value AS BLOB))) FROM item"
        " WHERE collection <> '' GROUP BY collection ORDER BY collection";
    sqlite3_stmt *statement;
    kedge_status status = kedge_store_db_take(&inspect->cache, sql, &statement, error);
    while (status == KEDGE_OK &&
           (status = kedge_store_db_step(&inspect->cache, statement, error)) == KEDGE_OK) {
        kedge_buffer_append_text(&inspect->line, "collection ");
        kedge_buffer_append_bytes(&inspect->line, kedge_store_column(statement, 0));
        kedge_buffer_append_format(&inspect->line, ": %lld items, %lld bytes",
                                   sqlite3_column_int64(statement, 1),
                                   sqlite3_column_int64(statement, 2));
        status = kedge_inspect_put(inspect, sink, error);
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status put_files(kedge_inspect *inspect, kedge_inspect_sink sink, kedge_error *error)
{
    static const char *const names[] = {"outbox.db", "outbox.db-wal", "cache.db", "cache.db-wal",
                                        "lost.db"};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == KEDGE_OK; i++) {
        int64_t bytes = size_of(inspect, names[i]);
        if (bytes < 0) continue;
        kedge_buffer_append_format(&inspect->line, "file %s: %" PRId64 " bytes", names[i], bytes);
        status = kedge_inspect_put(inspect, sink, error);
    }
    return status;
}

static kedge_status put_facts(kedge_inspect *inspect, const kedge_inspect_position *at,
                              kedge_inspect_sink sink, kedge_error *error)
{
    counts edits;
    kedge_status status = count_edits(inspect, &at->cache, &edits, error);
    if (status != KEDGE_OK) return status;
    const struct {
        const char *name;
        const char *text;
    } texts[] = {{"organization", at->outbox.organization},
                 {"project", at->outbox.project},
                 {"client", at->outbox.client},
                 {"lineage", at->cache.lineage}};
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {{"version", at->cache.version},
                   {"lmid", at->cache.lmid},
                   {"resyncing", at->cache.resyncing},
                   {"highest id", at->outbox.highest_id},
                   {"sent through id", at->outbox.sent_through},
                   {"last sequence", at->outbox.last_sequence},
                   {"pending", edits.pending},
                   {"rejected", edits.rejected},
                   {"confirmed and kept", edits.confirmed},
                   {"unrecovered", at->outbox.unrecovered},
                   {"items", at->cache.items.rows}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && status == KEDGE_OK; i++)
        status = put_text(inspect, sink, texts[i].name, texts[i].text, error);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == KEDGE_OK; i++)
        status = put_number(inspect, sink, numbers[i].name, numbers[i].number, error);
    if (status == KEDGE_OK && inspect->cache.handle) status = put_collections(inspect, sink, error);
    return status == KEDGE_OK ? put_files(inspect, sink, error) : status;
}

kedge_status kedge_inspect_facts(kedge_inspect *inspect, kedge_inspect_sink sink,
                                 kedge_error *error)
{
    kedge_inspect_position position;
    kedge_status status = kedge_inspect_begin(inspect, &position, error);
    if (status != KEDGE_OK) return status;
    status = put_facts(inspect, &position, sink, error);
    kedge_inspect_end(inspect);
    return status;
}

/* ---- watching ---- */

static kedge_status put_change(kedge_inspect *inspect, kedge_inspect_sink sink, kedge_error *error)
{
    counts edits;
    kedge_inspect_position at;
    kedge_status status = kedge_inspect_begin(inspect, &at, error);
    if (status != KEDGE_OK) return status;
    status = count_edits(inspect, &at.cache, &edits, error);
    kedge_inspect_end(inspect);
    if (status != KEDGE_OK) return status;
    kedge_json_writer writer = kedge_json_write(&inspect->line);
    const struct {
        const char *name;
        int64_t value;
    } members[] = {{"time", inspect->environment->now_ms(inspect->environment->context)},
                   {"version", at.cache.version},
                   {"last_sequence", at.outbox.last_sequence},
                   {"pending", edits.pending},
                   {"rejected", edits.rejected},
                   {"items", at.cache.items.rows}};
    kedge_json_begin_object(&writer);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        kedge_json_key(&writer, members[i].name);
        kedge_json_integer(&writer, members[i].value);
    }
    kedge_json_end_object(&writer);
    return kedge_inspect_put(inspect, sink, error);
}

/* SQLite's number of the commits that others have made to both files. */
static kedge_status read_state(kedge_inspect *inspect, int64_t state[2], kedge_error *error)
{
    static const char *const sql = "PRAGMA data_version";
    kedge_status status = kedge_store_db_number(&inspect->outbox, sql, &state[0], error);
    if (status == KEDGE_OK && inspect->cache.handle)
        status = kedge_store_db_number(&inspect->cache, sql, &state[1], error);
    return status;
}

/* A cache that was set aside, or made after the look began, is another file. */
static kedge_status follow_cache(kedge_inspect *inspect, bool *other, kedge_error *error)
{
    char path[KEDGE_STORE_PATH_BYTES];
    if (size_of(inspect, "cache.db") <= 0) return KEDGE_OK;
    join(inspect, "cache.db", path);
    if (inspect->cache.handle && kedge_store_db_is_at(&inspect->cache, path)) return KEDGE_OK;
    kedge_store_db_close(&inspect->cache);
    kedge_status status = open_cache(inspect, error);
    *other = inspect->cache.handle != NULL;
    return status;
}

kedge_status kedge_inspect_watch(kedge_inspect *inspect, int64_t lines, kedge_inspect_sink sink,
                                 kedge_error *error)
{
    int64_t seen[2] = {-1, -1};
    int64_t count = 0;
    for (;;) {
        int64_t now[2] = {0, 0};
        bool other = false;
        kedge_status status = follow_cache(inspect, &other, error);
        if (status == KEDGE_OK) status = read_state(inspect, now, error);
        if (status != KEDGE_OK) return status;
        if (other || memcmp(now, seen, sizeof now) != 0) {
            memcpy(seen, now, sizeof seen);
            status = put_change(inspect, sink, error);
            if (status != KEDGE_OK) return status;
            if (++count == lines) return KEDGE_OK;
        }
        poll(NULL, 0, KEDGE_INSPECT_POLL_MS);
    }
}
