/* The rows of `pending`, and the meta row of the outbox.
 *
 * Each row of `pending` that is read is checked: its checksum, and its digest, which is computed
 * again from the mutation. The meta row is kept twice, each copy with a checksum: one that is
 * damaged is written again from the other, at the next write. */
#include "sdk/store/outbox_rows.h"
#include "sdk/store/store_internal.h"

#include "common/checksum.h"
#include "common/error.h"
#include "wire/push_mutation.h"

#include <string.h>

#define COVERED_COLUMN 14 /* after {pending_row} */
#define META_COPIES    2

/* ---- meta ---- */

/* Returns false when a text does not fit; every text that Kedge writes fits. */
static bool read_meta(sqlite3_stmt *row, kedge_outbox_meta *meta)
{
    return kedge_store_columns(
        row, "ciiiiiiiiciiicci", meta->client, sizeof meta->client, &meta->highest_id,
        &meta->last_sequence, &meta->sent_through, &meta->revision, &meta->unrecovered,
        &meta->trimmed_through, &meta->tail_bytes, &meta->settled_version, meta->settled_lineage,
        sizeof meta->settled_lineage, &meta->ask_settled, &meta->pending_rows, &meta->pending_sum,
        meta->organization, sizeof meta->organization, meta->project, sizeof meta->project,
        &meta->rejected_rows);
}

/* What saves or reports a damaged outbox reads one that could not be brought up to date. To
 * kedge_store_db_take a missing column is a damaged schema. */
static kedge_status take_copies(kedge_store_db *db, sqlite3_stmt **row, kedge_error *error)
{
    static const char *const sql = "SELECT {outbox_meta}, {intact outbox_meta} FROM meta";
    static const char *const older = "SELECT {outbox_meta_3}, 0, {intact outbox_meta_3} FROM meta";
    kedge_error why = {0};
    kedge_status status = kedge_store_db_take(db, sql, row, &why);
    if (status == KEDGE_CORRUPT) return kedge_store_db_take(db, older, row, error);
    if (status != KEDGE_OK && error) *error = why;
    return status;
}

/* When both copies are sound, the one that was written last is used. */
kedge_status kedge_outbox_meta_copies(kedge_store_db *db, kedge_outbox_meta *meta, int *sound,
                                      kedge_error *error)
{
    sqlite3_stmt *row;
    kedge_outbox_meta copy = {0};
    *sound = 0;
    kedge_status status = take_copies(db, &row, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, row, error)) == KEDGE_OK) {
        if (sqlite3_column_int(row, 16) != 1 || !read_meta(row, &copy)) continue;
        if (*sound == 0 || copy.revision > meta->revision) *meta = copy;
        ++*sound;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_outbox_meta_read(kedge_store_db *db, kedge_outbox_meta *meta, kedge_error *error)
{
    int sound;
    kedge_status status = kedge_outbox_meta_copies(db, meta, &sound, error);
    if (status == KEDGE_OK && sound == 0)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading both copies of its meta row",
                                   error);
    return status;
}

/* Runs a statement that writes `meta`, with {?16} as its columns. */
static kedge_status write_meta(kedge_store_db *db, const char *sql, const kedge_outbox_meta *meta,
                               kedge_error *error)
{
    return kedge_store_db_change(db, sql, error, "ciiiiiiiiciiicci", meta->client, meta->highest_id,
                                 meta->last_sequence, meta->sent_through, meta->revision,
                                 meta->unrecovered, meta->trimmed_through, meta->tail_bytes,
                                 meta->settled_version, meta->settled_lineage, meta->ask_settled,
                                 meta->pending_rows, meta->pending_sum, meta->organization,
                                 meta->project, meta->rejected_rows);
}

kedge_status kedge_outbox_meta_write(kedge_store_db *db, const kedge_outbox_meta *meta,
                                     kedge_error *error)
{
    static const char *const sql =
        "UPDATE meta SET ({outbox_meta}, checksum) = ({?16}, kedge_checksum(5, {?16}))";
    return write_meta(db, sql, meta, error);
}

kedge_status kedge_outbox_meta_make(kedge_store_db *db, const kedge_outbox_meta *meta,
                                    kedge_error *error)
{
    static const char *const clear = "DELETE FROM meta";
    static const char *const sql =
        "INSERT INTO meta(copy, {outbox_meta}, checksum) SELECT column1, {?16},"
        " kedge_checksum(5, {?16}) FROM (VALUES(1), (2))";
    kedge_status status = kedge_store_db_execute(db, clear, error);
    return status == KEDGE_OK ? write_meta(db, sql, meta, error) : status;
}

kedge_status kedge_outbox_meta_heal(kedge_store_db *db, kedge_error *error)
{
    static const char *const count = "SELECT count(*) FROM meta";
    kedge_outbox_meta meta;
    int64_t rows = 0;
    int sound;
    kedge_status status = kedge_outbox_meta_copies(db, &meta, &sound, error);
    if (status == KEDGE_OK) status = kedge_store_db_number(db, count, &rows, error);
    if (status != KEDGE_OK || (sound == META_COPIES && rows == META_COPIES)) return status;
    if (sound == 0)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading both copies of its meta row",
                                   error);
    return kedge_outbox_meta_make(db, &meta, error);
}

/* ---- pending ---- */

bool kedge_outbox_covers(const kedge_cache_meta *cache, const kedge_pending *row)
{
    if (row->covered_version > 0 && row->covered_version <= cache->version) return true;
    return row->id <= cache->lmid && kedge_bytes_equal_text(row->client, cache->client);
}

/* A mutation with an origin had another (client, id) before, under which it may have been sent. A
 * withheld mutation may have been sent before the outbox was replaced by an older copy. */
bool kedge_outbox_row_sent(const kedge_outbox_meta *meta, const kedge_pending *row)
{
    return row->origin_client.size > 0 || row->withheld || row->id <= meta->sent_through ||
           !kedge_bytes_equal_text(row->client, meta->client);
}

static void read_row(sqlite3_stmt *statement, kedge_pending *row)
{
    (void)kedge_store_columns(statement, "itittttitiini", &row->sequence, &row->client, &row->id,
                              &row->uid, &row->digest, &row->name, &row->args, &row->timestamp_ms,
                              &row->origin_client, &row->origin_id, &row->covered_version,
                              &row->withheld, &row->checksum);
}

static bool is_sound(sqlite3_stmt *statement, const kedge_pending *row)
{
    uint8_t digest[KEDGE_DIGEST_SIZE];
    if (sqlite3_column_int(statement, 13) != 1 || row->uid.size != KEDGE_STORE_UID_SIZE ||
        row->digest.size != KEDGE_DIGEST_SIZE || row->client.size >= KEDGE_CLIENT_ID_SIZE)
        return false;
    kedge_outbox_digest(row->name, row->args, row->uid, digest);
    return memcmp(digest, row->digest.data, sizeof digest) == 0;
}

static kedge_status check_row(kedge_store_db *db, sqlite3_stmt *statement, const kedge_pending *row,
                              kedge_error *error)
{
    if (is_sound(statement, row)) return KEDGE_OK;
    int64_t sequence = row->sequence;
    sqlite3_reset(statement);
    return kedge_outbox_fail_row(db, "pending", sequence, error);
}

kedge_status kedge_outbox_fail_row(kedge_store_db *db, const char *table, int64_t key,
                                   kedge_error *error)
{
    db->row_damaged = true;
    return kedge_fail(error, KEDGE_CORRUPT, "row-damaged",
                      "outbox.db: the row %lld of %s is not what was written; it is set aside",
                      (long long)key, table);
}

kedge_status kedge_outbox_cursor_open_all(kedge_store_db *db, sqlite3_stmt **cursor,
                                          kedge_error *error)
{
    static const char *const sql = "SELECT {pending_row} FROM pending ORDER BY sequence";
    return kedge_store_db_take(db, sql, cursor, error);
}

kedge_status kedge_outbox_cursor_next_any(kedge_store_db *db, sqlite3_stmt *cursor,
                                          kedge_pending *row, bool *sound, kedge_error *error)
{
    kedge_status status = kedge_store_db_step(db, cursor, error);
    if (status != KEDGE_OK) return status;
    read_row(cursor, row);
    *sound = is_sound(cursor, row);
    return KEDGE_OK;
}

kedge_status kedge_outbox_cursor_open(kedge_store_db *db, const kedge_cache_meta *cache,
                                      sqlite3_stmt **cursor, kedge_error *error)
{
    return kedge_outbox_cursor_open_behind(db, cache, INT64_MIN, cursor, error);
}

kedge_status kedge_outbox_cursor_open_behind(kedge_store_db *db, const kedge_cache_meta *cache,
                                             int64_t sequence, sqlite3_stmt **cursor,
                                             kedge_error *error)
{
    static const char *const sql =
        "SELECT {pending_row}, {covered} FROM pending WHERE sequence > ?4 ORDER BY sequence";
    return kedge_store_db_bind(db, sql, cursor, error, "ciii", cache->client, cache->lmid,
                               cache->version, sequence);
}

static kedge_status next_row(kedge_store_db *db, sqlite3_stmt *cursor, kedge_pending *row,
                             kedge_error *error)
{
    kedge_status status = kedge_store_db_step(db, cursor, error);
    if (status != KEDGE_OK) return status;
    read_row(cursor, row);
    return check_row(db, cursor, row, error);
}

/* Covered rows are checked too: a damaged row may only say that it is covered. */
kedge_status kedge_outbox_cursor_next(kedge_store_db *db, sqlite3_stmt *cursor, kedge_pending *row,
                                      kedge_error *error)
{
    kedge_status status;
    do
        status = next_row(db, cursor, row, error);
    while (status == KEDGE_OK && sqlite3_column_int(cursor, COVERED_COLUMN) != 0);
    return status;
}

static kedge_status find_one(kedge_store_db *db, sqlite3_stmt *find, kedge_pending *row,
                             kedge_error *error)
{
    kedge_status status = next_row(db, find, row, error);
    return status == KEDGE_DONE ? KEDGE_NOT_FOUND : status;
}

kedge_status kedge_outbox_find(kedge_store_db *db, int64_t sequence, kedge_pending *row,
                               kedge_error *error)
{
    static const char *const sql = "SELECT {pending_row} FROM pending {at}";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_bind(db, sql, &find, error, "i", sequence);
    return status == KEDGE_OK ? find_one(db, find, row, error) : status;
}

static int64_t checksum_of(const kedge_pending *row)
{
    kedge_checksum sum = kedge_checksum_begin(1);
    kedge_checksum_integer(&sum, row->sequence);
    kedge_checksum_bytes(&sum, row->client);
    kedge_checksum_integer(&sum, row->id);
    kedge_checksum_blob(&sum, row->uid);
    kedge_checksum_blob(&sum, row->digest);
    kedge_checksum_bytes(&sum, row->name);
    kedge_checksum_bytes(&sum, row->args);
    kedge_checksum_integer(&sum, row->timestamp_ms);
    if (row->origin_client.size > 0) {
        kedge_checksum_bytes(&sum, row->origin_client);
        kedge_checksum_integer(&sum, row->origin_id);
    } else {
        kedge_checksum_null(&sum);
        kedge_checksum_null(&sum);
    }
    kedge_checksum_null(&sum);
    kedge_checksum_integer(&sum, row->withheld);
    return kedge_checksum_end(&sum);
}

kedge_status kedge_outbox_insert(kedge_store_db *db, const kedge_pending *row,
                                 kedge_outbox_meta *meta, kedge_error *error)
{
    static const char *const sql =
        "INSERT INTO pending({pending}, checksum) VALUES(?1, ?2, ?3, ?4, ?5, "
        "?6, ?7, ?8, ?9, ?10, NULL, ?11, ?12)";
    sqlite3_stmt *insert;
    int64_t checksum = checksum_of(row);
    kedge_status status = kedge_store_db_bind(db, sql, &insert, error, "itibbtti", row->sequence,
                                              row->client, row->id, row->uid, row->digest,
                                              row->name, row->args, row->timestamp_ms);
    if (status != KEDGE_OK) return status;
    if (row->origin_client.size > 0) {
        kedge_store_bind_text(db, insert, 9, row->origin_client);
        kedge_store_bind_integer(db, insert, 10, row->origin_id);
    }
    kedge_store_bind_integer(db, insert, 11, row->withheld);
    kedge_store_bind_integer(db, insert, 12, checksum);
    status = kedge_store_db_run(db, insert, error);
    if (status == KEDGE_OK) {
        meta->pending_rows++;
        meta->pending_sum += checksum;
    }
    return status;
}

kedge_status kedge_outbox_rewrite(kedge_store_db *db, const kedge_pending *row, kedge_bytes name,
                                  kedge_bytes args, kedge_outbox_meta *meta, kedge_error *error)
{
    static const char *const sql = "UPDATE pending SET name = ?2, args = ?3, digest = ?4 {at}";
    static const char *const checksum = "SELECT checksum FROM pending {at}";
    uint8_t digest[KEDGE_DIGEST_SIZE];
    int64_t sequence = row->sequence, before, after;
    kedge_outbox_digest(name, args, row->uid, digest); /* the row is borrowed until the next line */
    kedge_status status = kedge_store_db_find_number(db, checksum, &before, error, "i", sequence);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(db, sql, error, "ittb", sequence, name, args,
                                       ((kedge_bytes){(const char *)digest, sizeof digest}));
    if (status == KEDGE_OK) status = kedge_outbox_seal(db, sequence, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_find_number(db, checksum, &after, error, "i", sequence);
    if (status == KEDGE_OK) meta->pending_sum += after - before;
    return status;
}

kedge_status kedge_outbox_seal(kedge_store_db *db, int64_t sequence, kedge_error *error)
{
    static const char *const sql = "UPDATE pending SET checksum = {pending#} {at}";
    return kedge_store_db_change(db, sql, error, "i", sequence);
}

kedge_status kedge_outbox_seal_all(kedge_store_db *db, kedge_error *error)
{
    return kedge_store_db_execute(db, "UPDATE pending SET checksum = {pending#}", error);
}

kedge_status kedge_outbox_count_pending(kedge_store_db *db, kedge_outbox_meta *meta,
                                        kedge_error *error)
{
    static const char *const sql = "SELECT count(*), {sum} FROM pending";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "");
    if (status != KEDGE_OK) return status;
    kedge_store_columns(find, "ii", &meta->pending_rows, &meta->pending_sum);
    sqlite3_reset(find);
    return KEDGE_OK;
}

kedge_status kedge_outbox_lowest(kedge_store_db *db, const kedge_outbox_meta *meta,
                                 const kedge_cache_meta *cache, int64_t *id, kedge_error *error)
{
    /* The ids of the living client rise with the sequences, so the first row
     * found is the lowest. */
    static const char *const sql = "SELECT id {undecided}";
    bool same = strcmp(meta->client, cache->client) == 0;
    kedge_status status =
        kedge_store_db_find_number(db, sql, id, error, "ci", meta->client, same ? cache->lmid : 0);
    if (*id == 0) *id = meta->highest_id + 1;
    return status;
}

kedge_status kedge_outbox_has_covered(kedge_store_db *db, const kedge_cache_meta *cache, bool *any,
                                      kedge_error *error)
{
    static const char *const sql = "SELECT 1 FROM pending WHERE {covered_rows} LIMIT 1";
    int64_t found;
    kedge_status status = kedge_store_db_find_number(db, sql, &found, error, "cii", cache->client,
                                                     cache->lmid, cache->version);
    *any = found != 0;
    return status;
}

/* The args of a row are canonical, and the name of a mutator needs no escapes. */
void kedge_outbox_digest(kedge_bytes name, kedge_bytes args, kedge_bytes uid,
                         uint8_t digest[KEDGE_DIGEST_SIZE])
{
    char hex[2 * KEDGE_STORE_UID_SIZE + 1];
    kedge_hex_encode((const uint8_t *)uid.data, uid.size, hex);
    kedge_wire_digest(args, name, kedge_bytes_of(hex), digest);
}
