/* kedge/sync.h: status, going offline and online, waiting for a sync and for an outcome. */
#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/structs.h"
#include "sdk/runtime/wait.h"

#include <errno.h>
#include <string.h>

/* ---- on the app's threads, for what the worker does ---- */

kedge_wait_deadline kedge_wait_begin(kedge_db *db, int32_t timeout_ms)
{
    kedge_wait_deadline deadline = {.forever = timeout_ms < 0};
    clock_gettime(CLOCK_MONOTONIC, &deadline.at);
    if (timeout_ms > 0) {
        deadline.at.tv_sec += timeout_ms / 1000;
        deadline.at.tv_nsec += (timeout_ms % 1000) * 1000000L;
        if (deadline.at.tv_nsec >= 1000000000L) {
            deadline.at.tv_sec++;
            deadline.at.tv_nsec -= 1000000000L;
        }
    }
    db->shared.waiting++;
    return deadline;
}

void kedge_wait_end(kedge_db *db)
{
    db->shared.waiting--;
    if (db->shared.closing) pthread_cond_broadcast(&db->moved);
}

kedge_status kedge_check_may_wait(const kedge_db *db, kedge_error *error)
{
    if (!db->shared.worker_runs || !pthread_equal(db->shared.worker, pthread_self())) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "called-back",
                      "a callback on the worker thread cannot wait for the worker thread; give the "
                      "database a dispatcher, or wait on a thread of the app");
}

kedge_status kedge_wait_for_news(kedge_db *db, const kedge_wait_deadline *deadline,
                                 kedge_error *error)
{
    uint64_t generation = db->shared.generation;
    int result = 0;
    kedge_status status = kedge_check_may_wait(db, error);
    if (status != KEDGE_OK) return status;
    while (generation == db->shared.generation && !db->shared.closing && result != ETIMEDOUT) {
        result = deadline->forever ? pthread_cond_wait(&db->moved, &db->lock)
                                   : pthread_cond_timedwait(&db->moved, &db->lock, &deadline->at);
    }
    if (db->shared.closing) {
        return kedge_fail(error, KEDGE_CANCELLED, "closing", "the database is being closed");
    }
    if (generation != db->shared.generation) return KEDGE_OK;
    if (db->shared.last_error.status == KEDGE_OK) {
        return kedge_fail(error, KEDGE_TIMEOUT, "timeout", "the time to wait has passed");
    }
    return kedge_fail(error, KEDGE_TIMEOUT, "timeout",
                      "the time to wait has passed; the last request failed: %s",
                      db->shared.last_error.message);
}

kedge_status kedge_offline(kedge_error *error)
{
    return kedge_fail(error, KEDGE_NETWORK, "offline", "the database is offline");
}

/* ---- what the app calls ---- */

kedge_status kedge_sync(kedge_db *db, int32_t timeout_ms, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (db == NULL) return kedge_fail_null("db", error);
    if (kedge_store_is_refused(db->store, NULL, error)) return KEDGE_CORRUPT;
    pthread_mutex_lock(&db->lock);
    kedge_wait_deadline deadline = kedge_wait_begin(db, timeout_ms);
    if (!db->shared.online || db->net == NULL) {
        status = kedge_offline(error);
    } else {
        status = kedge_check_may_wait(db, error);
    }
    if (status == KEDGE_OK) {
        uint64_t number = ++db->shared.sync_requested;
        kedge_http_wake(db->http);
        while (status == KEDGE_OK && db->shared.sync_completed < number) {
            status = kedge_wait_for_news(db, &deadline, error);
        }
        if (status == KEDGE_OK && db->shared.sync_error.status != KEDGE_OK) {
            status = kedge_fail(error, db->shared.sync_error.status, db->shared.sync_error.code,
                                "%s", db->shared.sync_error.message);
        }
    }
    kedge_wait_end(db);
    pthread_mutex_unlock(&db->lock);
    return status;
}

kedge_status kedge_wait(kedge_db *db, int64_t sequence, int32_t timeout_ms, kedge_outcome *outcome,
                        kedge_error *error)
{
    kedge_outcome found = KEDGE_OUTCOME_PENDING;
    kedge_status status;
    if (db == NULL) return kedge_fail_null("db", error);
    pthread_mutex_lock(&db->lock);
    kedge_wait_deadline deadline = kedge_wait_begin(db, timeout_ms);
    for (;;) {
        /* The generation is read before the store: what happens in between ends
         * the wait at once. */
        uint64_t generation = db->shared.generation;
        pthread_mutex_unlock(&db->lock);
        status = kedge_store_outcome(db->store, sequence, &found, error);
        pthread_mutex_lock(&db->lock);
        if (status != KEDGE_OK || found != KEDGE_OUTCOME_PENDING) break;
        if (generation != db->shared.generation) continue;
        status = kedge_wait_for_news(db, &deadline, error);
        if (status != KEDGE_OK) break;
    }
    kedge_wait_end(db);
    pthread_mutex_unlock(&db->lock);
    if (status == KEDGE_OK && outcome != NULL) *outcome = found;
    return status;
}

/* The error of the server, or the reason why there is no sync. */
static void add_connection(kedge_db *db, const kedge_store_position *position, bool refused,
                           const kedge_error *refusal, kedge_sync_status *status)
{
    pthread_mutex_lock(&db->lock);
    status->connection = refused ? KEDGE_STOPPED : db->shared.connection;
    status->last_error = refused ? *refusal : db->shared.last_error;
    pthread_mutex_unlock(&db->lock);
    /* Whatever the server sends, it cannot be stored. */
    if (position->stale) (void)kedge_store_cache_error(db->store, &status->last_error);
}

kedge_status kedge_get_sync_status(kedge_db *db, kedge_sync_status *status, kedge_error *error)
{
    kedge_store_position position;
    kedge_error refusal;
    static const kedge_struct_kind kind = {.initialiser = "KEDGE_SYNC_STATUS_INIT",
                                           .size = sizeof(kedge_sync_status)};
    if (db == NULL || status == NULL) {
        return kedge_fail_null(db == NULL ? "db" : "status", error);
    }
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
    if (db == NULL) return kedge_fail_null("db", error);
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
