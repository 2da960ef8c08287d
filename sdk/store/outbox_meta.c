/* The outbox's meta row. It is kept twice, each copy with a checksum: one that is damaged is
 * written again from the other, at the next write. */
#include "sdk/store/outbox_rows.h"
#include "sdk/store/store_internal.h"

#include <string.h>

#define COPIES 2

/* Returns false when a text does not fit; every text that Kedge writes fits. */
static bool read_columns(sqlite3_stmt *row, kedge_outbox_meta *meta)
{
    meta->highest_id = sqlite3_column_int64(row, 1);
    meta->last_sequence = sqlite3_column_int64(row, 2);
    meta->sent_through = sqlite3_column_int64(row, 3);
    meta->revision = sqlite3_column_int64(row, 4);
    meta->unrecovered = sqlite3_column_int64(row, 5);
    meta->trimmed_through = sqlite3_column_int64(row, 6);
    meta->tail_bytes = sqlite3_column_int64(row, 7);
    meta->settled_version = sqlite3_column_int64(row, 8);
    meta->ask_settled = sqlite3_column_int64(row, 10);
    meta->pending_rows = sqlite3_column_int64(row, 11);
    meta->pending_sum = sqlite3_column_int64(row, 12);
    return kedge_store_column_chars(row, 0, meta->client, sizeof meta->client) &&
           kedge_store_column_chars(row, 9, meta->settled_lineage, sizeof meta->settled_lineage) &&
           kedge_store_column_chars(row, 13, meta->organization, sizeof meta->organization) &&
           kedge_store_column_chars(row, 14, meta->project, sizeof meta->project);
}

/* Returns the number of sound copies. When both are sound, the one that was written last is
 * used. */
static kedge_status read_copies(kedge_store_db *db, kedge_outbox_meta *meta, int *sound,
                                kedge_error *error)
{
    static const char sql[] =
        "SELECT " KEDGE_OUTBOX_META_COLUMNS ", checksum = " KEDGE_OUTBOX_META_CHECKSUM " FROM meta";
    sqlite3_stmt *row;
    kedge_outbox_meta copy = {0};
    *sound = 0;
    kedge_status status = kedge_store_db_take(db, sql, &row, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, row, error)) == KEDGE_OK) {
        if (sqlite3_column_int(row, 15) != 1 || !read_columns(row, &copy)) continue;
        if (*sound == 0 || copy.revision > meta->revision) *meta = copy;
        ++*sound;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_outbox_meta_read(kedge_store_db *db, kedge_outbox_meta *meta, kedge_error *error)
{
    int sound;
    kedge_status status = read_copies(db, meta, &sound, error);
    if (status == KEDGE_OK && sound == 0)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading both copies of its meta row",
                                   error);
    return status;
}

static void bind(kedge_store_db *db, sqlite3_stmt *statement, const kedge_outbox_meta *meta)
{
    kedge_store_bind_chars(db, statement, 1, meta->client);
    kedge_store_bind_integer(db, statement, 2, meta->highest_id);
    kedge_store_bind_integer(db, statement, 3, meta->last_sequence);
    kedge_store_bind_integer(db, statement, 4, meta->sent_through);
    kedge_store_bind_integer(db, statement, 5, meta->revision);
    kedge_store_bind_integer(db, statement, 6, meta->unrecovered);
    kedge_store_bind_integer(db, statement, 7, meta->trimmed_through);
    kedge_store_bind_integer(db, statement, 8, meta->tail_bytes);
    kedge_store_bind_integer(db, statement, 9, meta->settled_version);
    kedge_store_bind_chars(db, statement, 10, meta->settled_lineage);
    kedge_store_bind_integer(db, statement, 11, meta->ask_settled);
    kedge_store_bind_integer(db, statement, 12, meta->pending_rows);
    kedge_store_bind_integer(db, statement, 13, meta->pending_sum);
    kedge_store_bind_chars(db, statement, 14, meta->organization);
    kedge_store_bind_chars(db, statement, 15, meta->project);
}

#define VALUES "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15"

kedge_status kedge_outbox_meta_write(kedge_store_db *db, const kedge_outbox_meta *meta,
                                     kedge_error *error)
{
    static const char sql[] = "UPDATE meta SET (" KEDGE_OUTBOX_META_COLUMNS ", checksum) = (" VALUES
                              ", kedge_checksum(5, " VALUES "))";
    sqlite3_stmt *update;
    kedge_status status = kedge_store_db_take(db, sql, &update, error);
    if (status != KEDGE_OK) return status;
    bind(db, update, meta);
    return kedge_store_db_run(db, update, error);
}

kedge_status kedge_outbox_meta_make(kedge_store_db *db, const kedge_outbox_meta *meta,
                                    kedge_error *error)
{
    static const char clear[] = "DELETE FROM meta";
    static const char sql[] =
        "INSERT INTO meta(copy, " KEDGE_OUTBOX_META_COLUMNS ", checksum) SELECT column1, " VALUES
        ", kedge_checksum(5, " VALUES ") FROM (VALUES(1), (2))";
    sqlite3_stmt *insert;
    kedge_status status = kedge_store_db_execute(db, clear, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, sql, &insert, error);
    if (status != KEDGE_OK) return status;
    bind(db, insert, meta);
    return kedge_store_db_run(db, insert, error);
}

kedge_status kedge_outbox_meta_heal(kedge_store_db *db, kedge_error *error)
{
    static const char count[] = "SELECT count(*) FROM meta";
    kedge_outbox_meta meta;
    int64_t rows = 0;
    int sound;
    kedge_status status = read_copies(db, &meta, &sound, error);
    if (status == KEDGE_OK) status = kedge_store_db_number(db, count, &rows, error);
    if (status != KEDGE_OK || (sound == COPIES && rows == COPIES)) return status;
    if (sound == 0)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading both copies of its meta row",
                                   error);
    return kedge_outbox_meta_make(db, &meta, error);
}
