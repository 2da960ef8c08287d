/* kedge/sync.h: status, going offline and online. */
#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/structs.h"

#include <string.h>

/* The error of the server, or the reason why there is no sync. */
static void add_connection(kedge_db *db, const kedge_store_position *position, bool refused,
                           const kedge_error *refusal, kedge_sync_status *status)
{
    pthread_mutex_lock(&db->lock);
    status->connection = refused ? KEDGE_STOPPED : db->shared.connection;
    status->last_error = refused ? *refusal : db->shared.last_error;
    pthread_mutex_unlock(&db->lock);
    /* Above other errors: while the cache cannot be written, nothing from the server is stored. */
    if (position->stale) (void)kedge_store_cache_error(db->store, &status->last_error);
}

kedge_status kedge_get_sync_status(kedge_db *db, kedge_sync_status *status, kedge_error *error)
{
    kedge_store_position position;
    kedge_error refusal;
    static const kedge_struct_kind kind = {.initialiser = "KEDGE_SYNC_STATUS_INIT",
                                           .size = sizeof(kedge_sync_status)};
    KEDGE_CALL(db, error);
    if (status == NULL) return kedge_fail_null("status", error);
    kedge_status result = kedge_struct_check(kind, status, error);
    if (result != KEDGE_OK) return result;
    result = kedge_store_position_get(db->store, &position, &refusal);
    bool refused = result != KEDGE_OK && kedge_store_is_refused(db->store, &position, &refusal);
    if (result != KEDGE_OK && !refused) {
        if (error != NULL) *error = refusal;
        return result;
    }
    kedge_sync_status now = {.resyncing = position.resyncing,
                             .version = position.version,
                             .pending = position.pending,
                             .rejected = position.rejected,
                             .withheld = position.withheld,
                             .unrecovered = position.unrecovered};
    memcpy(now.client, position.client, sizeof now.client);
    add_connection(db, &position, refused, &refusal, &now);
    kedge_struct_fill(kind, &now, status);
    return KEDGE_OK;
}

kedge_status kedge_set_online(kedge_db *db, bool online, kedge_error *error)
{
    KEDGE_CALL(db, error);
    pthread_mutex_lock(&db->lock);
    db->shared.online = online;
    db->shared.retry = online;
    if (!online) {
        db->shared.connection = KEDGE_OFFLINE;
    } else if (db->net != NULL && db->shared.connection != KEDGE_FOLLOWER) {
        db->shared.connection = KEDGE_CONNECTING;
    }
    kedge_http_wake(db->http);
    pthread_mutex_unlock(&db->lock);
    return KEDGE_OK;
}
