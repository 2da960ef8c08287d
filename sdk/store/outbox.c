/* The outbox's meta row and its pending mutations. */
#include "sdk/store/store_internal.h"

#include "common/error.h"
#include "common/planted.h"
#include <stdio.h>
#include <string.h>

#define PENDING_COLUMNS                                                                            \
    "sequence, client, id, uid, digest, name, args, timestamp, origin_client, origin_id,"          \
    " covered_version"

kedge_status kedge_outbox_meta_read(kedge_store_db *db, kedge_outbox_meta *meta, kedge_error *error)
{
    static const char sql[] = "SELECT client, highest_id, last_sequence, sent_through, revision,"
                              " unrecovered, trimmed_through, tail_bytes, settled_version,"
                              " settled_lineage FROM meta";
    sqlite3_stmt *row;
    kedge_status status = kedge_store_db_take(db, sql, &row, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, row, error);
    if (status == KEDGE_OK &&
        (!kedge_store_column_chars(row, 0, meta->client, sizeof meta->client) ||
         !kedge_store_column_chars(row, 9, meta->settled_lineage, sizeof meta->settled_lineage)))
        status = KEDGE_DONE;
    if (status == KEDGE_DONE)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading its meta row", error);
    if (status != KEDGE_OK) return status;
    meta->highest_id = sqlite3_column_int64(row, 1);
    meta->last_sequence = sqlite3_column_int64(row, 2);
    meta->sent_through = sqlite3_column_int64(row, 3);
    meta->revision = sqlite3_column_int64(row, 4);
    meta->unrecovered = sqlite3_column_int64(row, 5);
    meta->trimmed_through = sqlite3_column_int64(row, 6);
    meta->tail_bytes = sqlite3_column_int64(row, 7);
    meta->settled_version = sqlite3_column_int64(row, 8);
    sqlite3_reset(row);
    return KEDGE_OK;
}

kedge_status kedge_outbox_meta_write(kedge_store_db *db, const kedge_outbox_meta *meta,
                                     kedge_error *error)
{
    static const char sql[] =
        "UPDATE meta SET client = ?1, highest_id = ?2, last_sequence = ?3, sent_through = ?4,"
        " revision = ?5, unrecovered = ?6, trimmed_through = ?7, tail_bytes = ?8,"
        " settled_version = ?9, settled_lineage = ?10";
    sqlite3_stmt *update;
    kedge_status status = kedge_store_db_take(db, sql, &update, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_chars(db, update, 1, meta->client);
    kedge_store_bind_integer(db, update, 2, meta->highest_id);
    kedge_store_bind_integer(db, update, 3, meta->last_sequence);
    kedge_store_bind_integer(db, update, 4, meta->sent_through);
    kedge_store_bind_integer(db, update, 5, meta->revision);
    kedge_store_bind_integer(db, update, 6, meta->unrecovered);
    kedge_store_bind_integer(db, update, 7, meta->trimmed_through);
    kedge_store_bind_integer(db, update, 8, meta->tail_bytes);
    kedge_store_bind_integer(db, update, 9, meta->settled_version);
    kedge_store_bind_chars(db, update, 10, meta->settled_lineage);
    return kedge_store_db_run(db, update, error);
}

bool kedge_outbox_covers(const kedge_cache_meta *cache, const kedge_pending *row)
{
    if (row->covered_version > 0 && row->covered_version <= cache->version) return true;
    return row->id <= cache->lmid && kedge_bytes_equal_text(row->client, cache->client);
}

/* A mutation with an origin had another name before, under which it may have left. */
bool kedge_outbox_row_sent(const kedge_outbox_meta *meta, const kedge_pending *row)
{
    return row->origin_client.size > 0 || row->id <= meta->sent_through ||
           !kedge_bytes_equal_text(row->client, meta->client);
}

static void bind_coverage(kedge_store_db *db, sqlite3_stmt *statement,
                          const kedge_cache_meta *cache)
{
    kedge_store_bind_chars(db, statement, 1, cache->client);
    kedge_store_bind_integer(db, statement, 2, cache->lmid);
    kedge_store_bind_integer(db, statement, 3, cache->version);
}

static void read_row(sqlite3_stmt *statement, kedge_pending *row)
{
    row->sequence = sqlite3_column_int64(statement, 0);
    row->client = kedge_store_column(statement, 1);
    row->id = sqlite3_column_int64(statement, 2);
    row->uid = kedge_store_column(statement, 3);
    row->digest = kedge_store_column(statement, 4);
    row->name = kedge_store_column(statement, 5);
    row->args = kedge_store_column(statement, 6);
    row->timestamp_ms = sqlite3_column_int64(statement, 7);
    row->origin_client = kedge_store_column(statement, 8);
    row->origin_id = sqlite3_column_int64(statement, 9);
    row->covered_version = sqlite3_column_int64(statement, 10);
}

/* A row that no code of ours has written would crash what relies on its sizes. */
static kedge_status check_row(kedge_store_db *db, sqlite3_stmt *statement, const kedge_pending *row,
                              kedge_error *error)
{
    if (row->uid.size == KEDGE_STORE_UID_SIZE && row->digest.size == KEDGE_DIGEST_SIZE &&
        row->client.size < KEDGE_CLIENT_ID_SIZE)
        return KEDGE_OK;
    sqlite3_reset(statement);
    return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading a pending mutation", error);
}

kedge_status kedge_outbox_walk(kedge_store_db *db, const kedge_cache_meta *cache,
                               sqlite3_stmt **walk, kedge_error *error)
{
    static const char sql[] =
        "SELECT " PENDING_COLUMNS " FROM pending WHERE NOT " KEDGE_PENDING_IS_COVERED
        " ORDER BY sequence";
    static const char all[] =
        "SELECT " PENDING_COLUMNS " FROM pending WHERE 1 OR " KEDGE_PENDING_IS_COVERED
        " ORDER BY sequence";
    bool planted = KEDGE_PLANTED_BUG(KEDGE_PLANTED_COVERED_NOT_SKIPPED);
    kedge_status status = kedge_store_db_take(db, planted ? all : sql, walk, error);
    if (status == KEDGE_OK) bind_coverage(db, *walk, cache);
    return status;
}

kedge_status kedge_outbox_walk_next(kedge_store_db *db, sqlite3_stmt *walk, kedge_pending *row,
                                    kedge_error *error)
{
    kedge_status status = kedge_store_db_step(db, walk, error);
    if (status != KEDGE_OK) return status;
    read_row(walk, row);
    return check_row(db, walk, row, error);
}

static kedge_status find_one(kedge_store_db *db, sqlite3_stmt *find, kedge_pending *row,
                             kedge_error *error)
{
    kedge_status status = kedge_outbox_walk_next(db, find, row, error);
    return status == KEDGE_DONE ? KEDGE_NOT_FOUND : status;
}

kedge_status kedge_outbox_find(kedge_store_db *db, int64_t sequence, kedge_pending *row,
                               kedge_error *error)
{
    static const char sql[] = "SELECT " PENDING_COLUMNS " FROM pending WHERE sequence = ?1";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_take(db, sql, &find, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, find, 1, sequence);
    return find_one(db, find, row, error);
}

kedge_status kedge_outbox_insert(kedge_store_db *db, const kedge_pending *row, kedge_error *error)
{
    static const char sql[] = "INSERT INTO pending(" PENDING_COLUMNS
                              ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL)";
    sqlite3_stmt *insert;
    kedge_status status = kedge_store_db_take(db, sql, &insert, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, insert, 1, row->sequence);
    kedge_store_bind_text(db, insert, 2, row->client);
    kedge_store_bind_integer(db, insert, 3, row->id);
    kedge_store_bind_blob(db, insert, 4, row->uid.data, row->uid.size);
    kedge_store_bind_blob(db, insert, 5, row->digest.data, row->digest.size);
    kedge_store_bind_text(db, insert, 6, row->name);
    kedge_store_bind_text(db, insert, 7, row->args);
    kedge_store_bind_integer(db, insert, 8, row->timestamp_ms);
    if (row->origin_client.size > 0) {
        kedge_store_bind_text(db, insert, 9, row->origin_client);
        kedge_store_bind_integer(db, insert, 10, row->origin_id);
    }
    return kedge_store_db_run(db, insert, error);
}

kedge_status kedge_outbox_lowest(kedge_store_db *db, const kedge_outbox_meta *meta,
                                 const kedge_cache_meta *cache, int64_t *id, kedge_error *error)
{
    /* The ids of the living client rise with the sequences, so the first row found is the lowest.
     */
    static const char sql[] =
        "SELECT id FROM pending WHERE client = ?1 AND id > ?2 ORDER BY sequence LIMIT 1";
    sqlite3_stmt *find;
    bool same = strcmp(meta->client, cache->client) == 0;
    kedge_status status = kedge_store_db_take(db, sql, &find, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_chars(db, find, 1, meta->client);
    kedge_store_bind_integer(db, find, 2, same ? cache->lmid : 0);
    status = kedge_store_db_step(db, find, error);
    if (status == KEDGE_OK) {
        *id = sqlite3_column_int64(find, 0);
        sqlite3_reset(find);
        return KEDGE_OK;
    }
    if (status == KEDGE_DONE) *id = meta->highest_id + 1;
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_outbox_has_covered(kedge_store_db *db, const kedge_cache_meta *cache, bool *any,
                                      kedge_error *error)
{
    static const char sql[] = "SELECT 1 FROM pending WHERE " KEDGE_PENDING_IS_COVERED " LIMIT 1";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_take(db, sql, &find, error);
    if (status != KEDGE_OK) return status;
    bind_coverage(db, find, cache);
    status = kedge_store_db_step(db, find, error);
    if (status != KEDGE_OK && status != KEDGE_DONE) return status;
    *any = status == KEDGE_OK;
    sqlite3_reset(find);
    return KEDGE_OK;
}

kedge_status kedge_outbox_probe(kedge_store_db *db, kedge_error *error)
{
    static const char sql[] = "SELECT count(name) FROM pending";
    sqlite3_stmt *walk;
    kedge_status status = kedge_store_db_take(db, sql, &walk, error);
    if (status == KEDGE_OK) status = kedge_store_db_run(db, walk, error);
    return status;
}

/* The canonical text {"args":…,"name":…,"uid":…}: the members are in order, the args canonical, and
 * name and uid need no escapes. */
kedge_status kedge_outbox_digest(const kedge_allocator *allocator, kedge_bytes name,
                                 kedge_bytes args, kedge_bytes uid,
                                 uint8_t digest[KEDGE_DIGEST_SIZE], kedge_error *error)
{
    char hex[2 * KEDGE_STORE_UID_SIZE + 1];
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_buffer text = kedge_buffer_make(allocator);
    if (KEDGE_PLANTED_BUG(KEDGE_PLANTED_TWINS_WITHOUT_UID)) uid.size = 0;
    kedge_hex_encode((const uint8_t *)uid.data, uid.size, hex);
    kedge_buffer_append_text(&text, "{\"args\":");
    kedge_buffer_append_bytes(&text, args);
    kedge_buffer_append_text(&text, ",\"name\":\"");
    kedge_buffer_append_bytes(&text, name);
    kedge_buffer_append_text(&text, "\",\"uid\":\"");
    kedge_buffer_append_text(&text, hex);
    kedge_buffer_append_text(&text, "\"}");
    kedge_status status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK) {
        kedge_sha256(kedge_buffer_bytes(&text), hash);
        memcpy(digest, hash, KEDGE_DIGEST_SIZE);
    }
    kedge_buffer_free(&text);
    return status;
}
