/* kedge/loop.h: the worker's rounds on the app's thread. */
#include "sdk/runtime/loop.h"
#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/wait.h"
#include "sdk/runtime/worker.h"

#include <kedge/loop.h>

#include <signal.h>

/* Writing to a connection that its peer has closed raises SIGPIPE in OpenSSL. The worker thread has
 * it blocked; the app's thread keeps its own mask, and gets no SIGPIPE of ours. */
typedef struct signal_guard {
    sigset_t before;
    bool was_pending;
} signal_guard;

static signal_guard block_sigpipe(void)
{
    signal_guard guard;
    sigset_t pipe_set, pending;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    guard.was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_set, &guard.before);
    return guard;
}

static void restore_sigpipe(const signal_guard *guard)
{
    sigset_t pending;
    int taken;
    sigpending(&pending);
    if (!guard->was_pending && sigismember(&pending, SIGPIPE) == 1) {
        sigset_t pipe_set;
        sigemptyset(&pipe_set);
        sigaddset(&pipe_set, SIGPIPE);
        (void)sigwait(&pipe_set, &taken);
    }
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

/* From here to leave() this thread is the worker. With the lock held. */
static void begin(kedge_db *db)
{
    db->shared.worker = pthread_self();
    db->shared.worker_runs = true;
}

static kedge_status enter(kedge_db *db, kedge_error *error)
{
    pthread_mutex_lock(&db->lock);
    kedge_status status = kedge_check_may_wait(db, error);
    if (status == KEDGE_OK && db->shared.worker_runs) {
        status = kedge_fail(error, KEDGE_BUSY, "loop-runs",
                            "another thread runs the loop of this database; one thread may use it");
    }
    if (status == KEDGE_OK) begin(db);
    pthread_mutex_unlock(&db->lock);
    return status;
}

static void leave(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    db->shared.worker_runs = false;
    if (db->shared.waiting > 0 || db->shared.closing) pthread_cond_broadcast(&db->moved);
    pthread_mutex_unlock(&db->lock);
}

kedge_status kedge_loop_turn(kedge_db *db, int64_t timeout_ms, int64_t *wait_ms, kedge_error *error)
{
    kedge_status status = enter(db, error);
    if (status != KEDGE_OK) return status;
    signal_guard guard = block_sigpipe();
    int64_t due_ms = kedge_worker_wait_ms(db, db->worker.more);
    kedge_worker_hear(db, timeout_ms < due_ms ? timeout_ms : due_ms);
    (void)kedge_worker_round(db, &db->worker.more);
    *wait_ms = kedge_worker_wait_ms(db, db->worker.more);
    restore_sigpipe(&guard);
    leave(db);
    return KEDGE_OK;
}

void kedge_loop_end(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    while (db->shared.worker_runs)
        pthread_cond_wait(&db->moved, &db->lock);
    begin(db);
    pthread_mutex_unlock(&db->lock);
    signal_guard guard = block_sigpipe();
    kedge_worker_end(db);
    restore_sigpipe(&guard);
    leave(db);
}

kedge_status kedge_loop_run(kedge_db *db, int32_t *wait_ms, kedge_error *error)
{
    int64_t until_due_ms = 0;
    KEDGE_CALL(db, error);
    if (!db->caller_driven) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "not-caller-driven",
                          "the database has a worker thread: open it with the option "
                          "`caller_driven`");
    }
    kedge_status status = kedge_loop_turn(db, 0, &until_due_ms, error);
    if (status != KEDGE_OK) return status;
    int64_t http_due_ms = kedge_http_due_ms(db->http);
    if (http_due_ms >= 0 && http_due_ms < until_due_ms) until_due_ms = http_due_ms;
    if (wait_ms != NULL) *wait_ms = until_due_ms > INT32_MAX ? INT32_MAX : (int32_t)until_due_ms;
    return KEDGE_OK;
}

int kedge_loop_descriptor(const kedge_db *db)
{
    return db == NULL ? -1 : kedge_http_descriptor(db->http);
}
