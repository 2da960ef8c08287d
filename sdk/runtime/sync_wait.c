/* kedge/sync.h: waiting for a sync and for an outcome. */
#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/loop.h"
#include "sdk/runtime/wait.h"

#include <errno.h>

/* ---- for the functions that wait ---- */

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
}

/* How long it is until then; INT64_MAX: for ever. */
static int64_t left_ms(const kedge_wait_deadline *deadline)
{
    struct timespec now;
    if (deadline->forever) return INT64_MAX;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)(deadline->at.tv_sec - now.tv_sec) * 1000 +
           (deadline->at.tv_nsec - now.tv_nsec) / 1000000;
}

/* A round of the loop on this thread, unless another one has begun to run it. */
static void run_loop(kedge_db *db, int64_t timeout_ms)
{
    int64_t wait_ms = 0;
    pthread_mutex_unlock(&db->lock);
    (void)kedge_loop_turn(db, timeout_ms, &wait_ms, NULL);
    pthread_mutex_lock(&db->lock);
}

int kedge_wait_moved(kedge_db *db, const kedge_wait_deadline *deadline)
{
    /* Who runs the loop tells the others when it leaves it. */
    if (db->caller_driven && !db->shared.worker_runs && !db->shared.closing) {
        int64_t left = left_ms(deadline);
        if (left <= 0) return ETIMEDOUT;
        run_loop(db, left);
        return 0;
    }
    if (deadline->forever) return pthread_cond_wait(&db->moved, &db->lock);
#ifdef __APPLE__ /* has no pthread_condattr_setclock */
    int64_t left = left_ms(deadline);
    if (left <= 0) return ETIMEDOUT;
    struct timespec time = {.tv_sec = left / 1000, .tv_nsec = (long)(left % 1000) * 1000000};
    return pthread_cond_timedwait_relative_np(&db->moved, &db->lock, &time);
#else
    return pthread_cond_timedwait(&db->moved, &db->lock, &deadline->at);
#endif
}

kedge_status kedge_wait_for_news(kedge_db *db, const kedge_wait_deadline *deadline,
                                 kedge_error *error)
{
    uint64_t generation = db->shared.generation;
    int result = 0;
    kedge_status status = kedge_check_may_wait(db, error);
    if (status != KEDGE_OK) return status;
    while (generation == db->shared.generation && !db->shared.closing && result == 0) {
        result = kedge_wait_moved(db, deadline);
    }
    if (db->shared.closing) {
        return kedge_fail_closing(error);
    }
    if (generation != db->shared.generation) return KEDGE_OK;
    if (db->shared.last_error.status == KEDGE_OK) {
        return kedge_fail(error, KEDGE_TIMEOUT, "timeout", "the time to wait has passed");
    }
    return kedge_fail(error, KEDGE_TIMEOUT, "timeout",
                      "the time to wait has passed; the last request failed: %s",
                      db->shared.last_error.message);
}

/* ---- what the app calls ---- */

/* With the lock held. */
static kedge_status sync_once(kedge_db *db, const kedge_wait_deadline *deadline, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    uint64_t number = ++db->shared.sync_requested;
    kedge_http_wake(db->http);
    while (status == KEDGE_OK && db->shared.sync_completed < number)
        status = kedge_wait_for_news(db, deadline, error);
    const kedge_error *failure = &db->shared.sync_error;
    if (status != KEDGE_OK || failure->status == KEDGE_OK) return status;
    return kedge_fail(error, failure->status, failure->code, "%s", failure->message);
}

/* Whether another sync is needed. The error says why an edit cannot be made again now. */
static kedge_status find_remakes(kedge_db *db, bool *any, kedge_error *error)
{
    kedge_change_set changes = kedge_change_set_make(db->environment.allocator);
    kedge_status status = kedge_store_remakes(db->store, any, error);
    if (status == KEDGE_OK && *any) status = kedge_store_catch_up(db->store, &changes, error);
    if (*any) kedge_db_committed(db); /* also when no round is left */
    kedge_change_set_free(&changes);
    return status;
}

/* With the lock held. A sync decides what was pending when it began. What conflicted is made again
 * meanwhile, and needs another one. An edit that was made before the call has no more attempts than
 * there are rounds. */
static kedge_status sync_all(kedge_db *db, const kedge_wait_deadline *deadline, kedge_error *error)
{
    bool again = true;
    kedge_status status = KEDGE_OK;
    for (int i = 0; status == KEDGE_OK && again && i < KEDGE_LIMIT_APPLY_ATTEMPTS; i++) {
        status = sync_once(db, deadline, error);
        if (status != KEDGE_OK) break;
        pthread_mutex_unlock(&db->lock);
        status = find_remakes(db, &again, error);
        pthread_mutex_lock(&db->lock);
    }
    return status;
}

kedge_status kedge_sync(kedge_db *db, int32_t timeout_ms, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    KEDGE_CALL(db, error);
    if (kedge_store_is_refused(db->store, NULL, error)) return KEDGE_CORRUPT;
    pthread_mutex_lock(&db->lock);
    kedge_wait_deadline deadline = kedge_wait_begin(db, timeout_ms);
    if (!db->shared.online || db->net == NULL) {
        status = kedge_fail_offline(db, error);
    } else {
        status = kedge_check_may_wait(db, error);
    }
    if (status == KEDGE_OK) status = sync_all(db, &deadline, error);
    kedge_wait_end(db);
    pthread_mutex_unlock(&db->lock);
    return status;
}

kedge_status kedge_wait(kedge_db *db, int64_t sequence, int32_t timeout_ms, kedge_outcome *outcome,
                        kedge_error *error)
{
    kedge_outcome found = KEDGE_OUTCOME_PENDING;
    kedge_status status;
    KEDGE_CALL(db, error);
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
