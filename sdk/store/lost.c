/* What a restored backend may lack, kept beside the cache.
 *
 * The state of another lineage takes the place of the cache's. The edits that the backup lacks are
 * sent again, but only those of the tail, and only by clients that are still in use. So what reads
 * showed, and the other state does not have, is put into lost.db first:
 *
 *     lost(collection, id, value, checksum)
 *
 * with the checksum of the row in `item`. The value '' and no checksum: reads showed no such item,
 * and the other state has it. Values are added and never replaced: each restore may have taken
 * another one. Nothing here reads the file or deletes it. The command `kedge lost` compares it with
 * what reads show by then (inspect_lost.c).
 *
 * It is committed before the outbox is, so a crash in between repeats it, which adds nothing twice.
 * Without room on the disk the rotation fails, and is tried again. A damaged file does not hold it
 * up. */
#include "sdk/store/pull.h"

#include "common/assert.h"
#include <stdio.h>

kedge_status kedge_lost_keep(kedge_store *store, kedge_error *error)
{
    /* SQLite syncs the folder as well, or a power cut could bring the journal back. */
    static const char *const keep =
        "PRAGMA synchronous = EXTRA;"
        "CREATE TABLE IF NOT EXISTS lost({key}, value {text}, checksum INTEGER,"
        " PRIMARY KEY(collection, id, value)) WITHOUT ROWID;"
        "{lost item LEFT JOIN staged_item}{lost staged_item LEFT JOIN item}";
    char path[KEDGE_STORE_PATH_BYTES];
    kedge_store_db db;
    KEDGE_ASSERT(store->locked);
    (void)snprintf(path, sizeof path, "%s/lost.db", store->path);
    kedge_status status = kedge_store_db_open(
        &db, path, "lost.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, store->vfs, error);
    /* The cache's own indexes use functions that SQLite does not trust a file with. */
    if (status == KEDGE_OK) sqlite3_db_config(db.handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, NULL);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(&db, "ATTACH ?1 AS cache", error, "c", store->cache_path);
    if (status == KEDGE_OK) status = kedge_store_db_execute(&db, keep, error);
    kedge_store_db_close(&db);
    return status == KEDGE_CORRUPT ? KEDGE_OK : status;
}
