/* kedge/sync.h: kedge_history. The app's thread queues a call and waits; the worker does it
 * (worker_history.c). */
#include "sdk/runtime/history.h"

#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/document.h"
#include "sdk/runtime/wait.h"

#include <inttypes.h>

#define LIMIT_MAX 100

/* Waits until the worker is done with the call, which is on this thread's stack: closing and the
 * deadline are the worker's to see to. */
static void wait_until_over(kedge_db *db, kedge_history_call *call, int32_t timeout_ms)
{
    pthread_mutex_lock(&db->lock);
    kedge_wait_begin(db, timeout_ms);
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
    while (!call->over)
        (void)kedge_wait_moved(db, &(kedge_wait_deadline){.forever = true});
    kedge_wait_end(db);
    pthread_mutex_unlock(&db->lock);
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
    kedge_history_call call = {
        .db = db,
        .before = before,
        .limit = limit,
        .deadline_ms = timeout_ms < 0 ? 0 : kedge_db_now_ms(db) + timeout_ms + 1,
        .versions = kedge_buffer_make(db->environment.allocator),
    };
    wait_until_over(db, &call, timeout_ms);
    kedge_status status = call.status;
    if (status != KEDGE_OK) {
        kedge_fail(error, status, call.error.code, "%s", call.error.message);
    } else {
        status = kedge_document_new(db->environment.allocator, (kedge_bytes){NULL, 0},
                                    kedge_buffer_bytes(&call.versions), versions, error);
    }
    kedge_buffer_free(&call.versions);
    return status;
}
