/* Moves the WALs into their files, in a write turn. The WAL files are not truncated: later commits
 * overwrite them and need no new blocks, which makes their fsync cheaper. */
#include "sdk/store/store_internal.h"

#include "common/error.h"

static kedge_status checkpoint_one(kedge_store_db *db, kedge_error *error)
{
    sqlite3_busy_timeout(db->handle, 0);
    int code = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    sqlite3_busy_timeout(db->handle, KEDGE_STORE_BUSY_TIMEOUT_MS);
    db->wal_pages = 0;
    /* An open scan still needs a part of the WAL; the rest was moved. */
    if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
        return KEDGE_OK;
    return kedge_store_db_fail(db, code, "moving the WAL into the file", error);
}

static kedge_status checkpoint_work(kedge_store *store, void *context, kedge_error *error)
{
    (void)context;
    kedge_status status = checkpoint_one(&store->outbox, error);
    if (status == KEDGE_OK) status = checkpoint_one(&store->cache, error);
    return status;
}

kedge_status kedge_store_checkpoint(kedge_store *store, kedge_error *error)
{
    return kedge_store_take_turn(store, checkpoint_work, NULL, error);
}
