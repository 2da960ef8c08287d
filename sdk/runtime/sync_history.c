/* kedge/sync.h: kedge_history. The app's thread queues a call and waits, no longer than it wants;
 * the worker does it (worker_history.c). */
#include "sdk/runtime/history.h"

#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/document.h"
#include "sdk/runtime/wait.h"

#include <inttypes.h>

#define LIMIT_MAX 100

/* With the lock held. */
static void give_up(kedge_db *db, kedge_history_call *call)
{
    if (kedge_history_unlink(&db->shared.history, call))
        kedge_history_free(call);
    else
        call->given_up = true;
}

/* Waits until the worker is done with the call. False: the deadline came first, as when the worker
 * applies a large pull, and the call is no longer the caller's. Closing is the worker's to see
 * to. */
static bool wait_until_over(kedge_db *db, kedge_history_call *call, int32_t timeout_ms)
{
    int result = 0;
    pthread_mutex_lock(&db->lock);
    kedge_wait_deadline deadline = kedge_wait_begin(db, timeout_ms);
    call->status = kedge_check_may_wait(db, &call->error);
    if (call->status != KEDGE_OK) {
        call->over = true;
    } else if (db->shared.closing) {
        call->over = true;
        call->status = kedge_fail_closing(&call->error);
    } else {
        call->next = db->shared.history;
        db->shared.history = call;
        kedge_http_wake(db->http);
    }
    while (!call->over && result == 0)
        result = kedge_wait_moved(db, &deadline);
    bool over = call->over;
    if (!over) give_up(db, call);
    kedge_wait_end(db);
    pthread_mutex_unlock(&db->lock);
    return over;
}

kedge_status kedge_history(kedge_db *db, int64_t before, int32_t limit, int32_t timeout_ms,
                           kedge_document **versions, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (versions == NULL) return kedge_fail_null("versions", error);
    if (before < 0 || limit < 1 || limit > LIMIT_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "history-range",
                          "before is %" PRId64 " and limit %" PRId32
                          "; a version or 0, and 1 to %d are allowed",
                          before, limit, LIMIT_MAX);
    }
    if (db->net == NULL) return kedge_fail_offline(db, error);
    kedge_history_call *call = kedge_allocate(db->environment.allocator, sizeof *call);
    if (call == NULL) return kedge_fail_no_memory(error);
    call->db = db;
    call->before = before;
    call->limit = limit;
    call->deadline_ms = timeout_ms < 0 ? 0 : kedge_db_now_ms(db) + timeout_ms + 1;
    call->versions = kedge_buffer_make(db->environment.allocator);
    if (!wait_until_over(db, call, timeout_ms))
        return kedge_fail(error, KEDGE_TIMEOUT, "timeout", "the time to wait has passed");
    kedge_status status = call->status;
    if (status != KEDGE_OK) {
        kedge_fail(error, status, call->error.code, "%s", call->error.message);
    } else {
        status = kedge_document_new(db->environment.allocator, (kedge_bytes){NULL, 0},
                                    kedge_buffer_bytes(&call->versions), versions, error);
    }
    kedge_history_free(call);
    return status;
}
