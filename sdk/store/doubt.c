/* Of a log project: edits that an entry may have decided that the cache has passed already.
 *
 * Each replay decides the mutations of an entry, and nobody keeps what it gave for those that were
 * not in the outbox then. So when edits come back into the outbox, nothing tells how an entry that
 * the cache has passed decided them. That happens when an older outbox was put back, and when a
 * lineage was lost and its tail is sent again. They are marked (KEDGE_WITHHELD_PASSED). The next
 * pull of a log project that finds the mark sets the cache aside. The cache is filled once more,
 * from the last snapshot, whose outcomes the server tells, and from the entries after it; then the
 * mark goes. A pull that lacks an outcome does the same: an older outbox gives out ids again that
 * the cache has passed.
 *
 * The server of a project of versions tells each outcome that it is asked for. There the mark means
 * nothing more than that the edit is withheld. */
#include "sdk/store/store_internal.h"

kedge_status kedge_doubt_any(kedge_store_db *db, const kedge_cache_meta *cache, bool *any,
                             kedge_error *error)
{
    /* `withheld <> 0` lets SQLite use the index pending_withheld. */
    static const char *const sql = "SELECT 1 FROM pending WHERE withheld <> 0 AND withheld > 1"
                                   " AND NOT {covered} LIMIT 1";
    int64_t found;
    kedge_status status = kedge_store_db_find_number(db, sql, &found, error, "cii", cache->client,
                                                     cache->lmid, cache->version);
    *any = found != 0;
    return status;
}

kedge_status kedge_doubt_check_rows(kedge_store_db *db, kedge_error *error)
{
    sqlite3_stmt *cursor;
    kedge_pending row;
    bool sound = true;
    kedge_status status = kedge_outbox_cursor_open_all(db, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_outbox_cursor_next_any(db, cursor, &row, &sound, error)) == KEDGE_OK &&
           sound)
        continue;
    sqlite3_reset(cursor);
    if (status == KEDGE_OK) return kedge_outbox_fail_row(db, "pending", row.sequence, error);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status end_doubt(kedge_store_db *db)
{
    static const char *const sql = "UPDATE pending SET withheld = 1 WHERE withheld > 1";
    kedge_outbox_meta meta;
    kedge_status status = kedge_store_db_begin(db, NULL);
    if (status == KEDGE_OK) status = kedge_doubt_check_rows(db, NULL);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, sql, NULL);
    if (status == KEDGE_OK) status = kedge_outbox_seal_all(db, NULL);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(db, &meta, NULL);
    if (status == KEDGE_OK) status = kedge_outbox_count_pending(db, &meta, NULL);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(db, &meta, NULL);
    return status == KEDGE_OK ? kedge_wal_commit(db, NULL) : status;
}

void kedge_doubt_end(kedge_store *store)
{
    kedge_cache_meta cache;
    bool any = false;
    if (kedge_cache_meta_read(&store->cache, &cache, NULL) != KEDGE_OK ||
        kedge_doubt_any(&store->outbox, &cache, &any, NULL) != KEDGE_OK || !any)
        return;
    if (end_doubt(&store->outbox) != KEDGE_OK) kedge_store_db_rollback(&store->outbox);
}
