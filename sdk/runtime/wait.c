/* Waiting on the app's threads for what the worker does. */
#include "sdk/runtime/wait.h"

#include "common/error.h"

#include <errno.h>

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
