/* A write turn: takes the lock, opens the right files, runs the work, and does what must follow
 * it. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"
#include "common/error.h"

/* Another process may have set our cache aside. */
static kedge_status open_current_cache(kedge_store *store, kedge_error *error)
{
    if (store->cache.handle && kedge_store_db_is_at(&store->cache, store->cache_path))
        return KEDGE_OK;
    kedge_store_db_close(&store->cache);
    return kedge_schema_open_cache(store, false, error);
}

/* A commit to a file that was renamed or deleted would be lost. */
static kedge_status check_outbox_there(kedge_store *store, kedge_error *error)
{
    if (kedge_store_db_is_at(&store->outbox, store->outbox_path)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_IO, "outbox-replaced",
                      "%s was removed or replaced while it was open; close the database and open it"
                      " again",
                      store->outbox_path);
}

static void checkpoint_large(kedge_store_db *db)
{
    KEDGE_ASSERT(!kedge_store_db_in_transaction(db));
    if (!db->handle || !kedge_wal_is_large(db)) return;
    bool cut = db->wal_pages > KEDGE_STORE_WAL_PAGES_CUT;
    /* Does not wait: when a reader still needs the WAL, the next commit tries again. */
    sqlite3_busy_timeout(db->handle, 0);
    (void)sqlite3_wal_checkpoint_v2(
        db->handle, NULL, cut ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    sqlite3_busy_timeout(db->handle, KEDGE_STORE_BUSY_TIMEOUT_MS);
    db->wal_pages = 0;
}

static void tell(kedge_store *store, kedge_change_set *changes)
{
    if (!store->untold || !changes) return;
    kedge_changes_all(changes);
    store->untold = false;
}

static kedge_status refuse(kedge_store *store, kedge_error *error)
{
    store->outbox.damaged = false;
    store->outbox.row_damaged = false;
    return kedge_store_refuse(store, error);
}

/* A new cache replaces the damaged one, and predicts the pending mutations of the outbox. */
static kedge_status set_cache_aside(kedge_store *store, kedge_error *error)
{
    kedge_status status = kedge_store_rename_damaged(store, error);
    if (status == KEDGE_OK) status = kedge_schema_open_cache(store, false, error);
    if (status == KEDGE_OK) status = kedge_prediction_repair(store, true, NULL, error);
    return status;
}

/* After the work: handles damage that it found. Sets `*again` when the work must be repeated. */
static kedge_status heal(kedge_store *store, kedge_status status, bool *again, kedge_error *error)
{
    kedge_error *why = status == KEDGE_OK ? NULL : error;
    KEDGE_ASSERT(!kedge_store_db_in_transaction(&store->outbox));
    KEDGE_ASSERT(!kedge_store_db_in_transaction(&store->cache));
    bool rows = store->outbox.row_damaged;
    if (rows && !store->outbox.damaged) {
        kedge_status healed = kedge_outbox_heal(store, why);
        store->outbox.row_damaged = false;
        *again = healed == KEDGE_OK && status == KEDGE_CORRUPT;
    }
    if (store->outbox.damaged) {
        kedge_status refused = refuse(store, why);
        return status == KEDGE_OK ? status : refused;
    }
    if (rows) return status;
    if (store->cache.damaged) {
        kedge_status aside = set_cache_aside(store, why);
        *again = aside == KEDGE_OK && status == KEDGE_CORRUPT;
        /* When the cache cannot be set aside, the error says why, for example a full disk. */
        return status == KEDGE_CORRUPT && aside != KEDGE_OK ? aside : status;
    }
    checkpoint_large(&store->cache);
    checkpoint_large(&store->outbox);
    return status;
}

static kedge_status make_room(kedge_store *store, void *context, kedge_error *error)
{
    (void)context;
    (void)error;
    kedge_wal_make_room(store);
    return KEDGE_OK;
}

static kedge_status one_turn(kedge_store *store, kedge_store_work work, void *context,
                             kedge_change_set *changes, bool *again, kedge_error *error)
{
    *again = false;
    kedge_status status = kedge_store_lock(store, error);
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(!kedge_store_db_in_transaction(&store->outbox));
    KEDGE_ASSERT(!kedge_store_db_in_transaction(&store->cache));
    status = check_outbox_there(store, error);
    if (status == KEDGE_OK) status = kedge_store_check_refused(store, error);
    if (status == KEDGE_OK) status = open_current_cache(store, error);
    if (status == KEDGE_OK) status = work(store, context, error);
    if (status == KEDGE_OK) tell(store, changes);
    kedge_store_db_rollback(&store->outbox);
    kedge_store_db_rollback(&store->cache);
    status = heal(store, status, again, error);
    kedge_store_unlock(store);
    return status;
}

/* Both files may be damaged, and the outbox twice. */
static kedge_status repeat(kedge_store *store, kedge_store_work work, void *context,
                           kedge_change_set *changes, kedge_error *error)
{
    bool again = true;
    kedge_status status = KEDGE_OK;
    for (int attempt = 0; again && attempt < KEDGE_STORE_HEALS_MAX; attempt++)
        status = one_turn(store, work, context, changes, &again, error);
    return status;
}

kedge_status kedge_store_take_telling_turn(kedge_store *store, kedge_store_work work, void *context,
                                           kedge_change_set *changes, kedge_error *error)
{
    bool again;
    kedge_status status = repeat(store, work, context, changes, error);
    if (status == KEDGE_DISK_FULL &&
        one_turn(store, make_room, NULL, NULL, &again, NULL) == KEDGE_OK)
        status = repeat(store, work, context, changes, error);
    return status;
}

kedge_status kedge_store_take_turn(kedge_store *store, kedge_store_work work, void *context,
                                   kedge_error *error)
{
    return kedge_store_take_telling_turn(store, work, context, NULL, error);
}
