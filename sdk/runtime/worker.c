/* The worker's loop. A round: take what the app asked for, step through leadership, edits, sync,
 * history and token, tell the peers and the watches, then wait for the network, the timer, a peer
 * or the app. */
#include "sdk/runtime/worker.h"

#include "common/error.h"
#include "sdk/runtime/check.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

/* Commits are followed by catching up and a checkpoint of the WALs, at most once in this time. */
#define MAINTENANCE_MS 1000
#define WAIT_MAX_MS    60000
/* Without a driver; a slice takes about one. */
#define CHECK_SLICE_MS 20
/* Offline an edit matters to watches and to other processes only. So the first edit wakes the
 * worker, and those that follow within this time do not. */
#define DOZE_MS 4
/* libcurl has no memory: it did not wait, and the worker must not spin. */
#define POLL_FAILED_MS 50
/* How often a closing process tries to tell its last edits while another writes the record. */
#define LAST_WORDS_MAX 100

/* ---- what the net tells ---- */

static kedge_status net_may_send(void *context, kedge_error *error)
{
    return kedge_worker_still_online(context) ? KEDGE_OK : kedge_fail_offline(context, error);
}

static void net_sent(void *context, const kedge_driver_request *request)
{
    kedge_db *db = context;
    kedge_count(&db->counters.requests, 1);
    kedge_count(&db->counters.request_bytes, (int64_t)request->body.size);
    kedge_log_request(db, request);
}

static void net_moved(void *context, uint64_t number)
{
    kedge_driver_request_moved(((kedge_db *)context)->driver, number);
}

static void net_response(void *context, const kedge_driver_response *response)
{
    kedge_db *db = context;
    if (response->status != 0) kedge_count(&db->counters.responses, 1);
    if (response->status == 0 || response->status >= 400) kedge_count(&db->counters.failures, 1);
    kedge_count(&db->counters.response_bytes, (int64_t)response->body.size);
    kedge_log_response(db, response);
    db->worker.moved = true;
    db->worker.cause = "a response";
    if (kedge_worker_still_online(db)) kedge_driver_response_arrived(db->driver, response);
}

static void net_stream_up(void *context)
{
    kedge_db *db = context;
    kedge_log_write(db, KEDGE_LOG_DEBUG, "stream", "open");
    db->worker.cause = "the stream";
    kedge_driver_stream_up(db->driver);
}

static void net_stream_event(void *context, kedge_bytes event, kedge_bytes data)
{
    kedge_db *db = context;
    if (kedge_bytes_equal_text(event, "poke")) {
        kedge_count(&db->counters.pokes, 1);
        kedge_log_write(db, KEDGE_LOG_DEBUG, "poke", "%.*s", data.size < 100 ? (int)data.size : 100,
                        data.data);
    }
    db->worker.cause = "a poke";
    kedge_driver_stream_event(db->driver, event, data);
}

static void net_stream_down(void *context, const kedge_error *error, int64_t retry_after_ms)
{
    kedge_db *db = context;
    kedge_log_write(db, KEDGE_LOG_DEBUG, "stream", "closed: %s (%s)", error->message, error->code);
    db->worker.cause = "the stream";
    kedge_driver_stream_down(db->driver, error, retry_after_ms);
}

kedge_net_sink kedge_worker_sink(kedge_db *db)
{
    return (kedge_net_sink){.context = db,
                            .may_send = net_may_send,
                            .sent = net_sent,
                            .moved = net_moved,
                            .response = net_response,
                            .stream_up = net_stream_up,
                            .stream_event = net_stream_event,
                            .stream_down = net_stream_down};
}

/* ---- what the driver tells ---- */

static void host_set_timer(void *context, int64_t at_ms)
{
    kedge_db *db = context;
    db->worker.timer_at_ms = at_ms;
}

/* A token that the server has not refused is kept until there is another one: behind a captive
 * portal an app cannot renew it. */
static void host_ask_token(void *context, bool doubted)
{
    kedge_db *db = context;
    db->worker.token_asked = true;
    if (!doubted) kedge_token_forget(&db->token);
    kedge_log_write(db, KEDGE_LOG_DEBUG, "token-asked", "the server wants another token");
}

static void host_changed(void *context, const kedge_change_set *changes)
{
    kedge_db *db = context;
    (void)changes; /* the store has told them to the watches */
    db->worker.moved = true;
    kedge_count(&db->counters.pulls, 1);
}

static void host_report(void *context, kedge_connection connection, const kedge_error *error)
{
    kedge_db *db = context;
    db->worker.core_connection = connection;
    db->worker.core_error = error == NULL ? (kedge_error){0} : *error;
}

static void host_synced(void *context, bool ok, const kedge_error *error)
{
    kedge_worker_sync_ended(context, ok, error);
}

kedge_driver_host kedge_worker_host(kedge_db *db)
{
    return (kedge_driver_host){.context = db,
                               .set_timer = host_set_timer,
                               .ask_token = host_ask_token,
                               .changed = host_changed,
                               .report = host_report,
                               .synced = host_synced};
}

/* ---- the loop ---- */

/* What the app asked for since the last round. */
typedef struct requests {
    bool closing;
    bool online;
    bool retry;
    bool edited;
    bool inbox_touched;
    uint64_t syncs;              /* how many were ever asked for; all of them knew `online` */
    kedge_history_call *history; /* not when closing: kedge_worker_history_cancel ends them */
} requests;

static requests take_requests(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    requests taken = {.closing = db->shared.closing,
                      .online = db->shared.online && db->net != NULL,
                      .retry = db->shared.retry,
                      .edited = db->shared.edited,
                      .inbox_touched = db->shared.inbox_touched,
                      .syncs = db->shared.sync_requested,
                      .history = db->shared.closing ? NULL : db->shared.history};
    db->shared.retry = false;
    db->shared.edited = db->shared.dozing = false;
    db->shared.inbox_touched = false;
    if (!taken.closing) db->shared.history = NULL;
    pthread_mutex_unlock(&db->lock);
    return taken;
}

static void provide_token(kedge_db *db)
{
    kedge_worker *worker = &db->worker;
    if (!worker->token_asked) return;
    worker->token_asked = false;
    kedge_status status = kedge_token_ask(&db->token, &worker->token_error);
    worker->token_refused = status != KEDGE_OK && db->token.function != NULL && !db->token.known;
    worker->cause = "a token";
    kedge_driver_token(db->driver, kedge_token_text(&db->token));
}

/* A damaged outbox ends the sync; who leads next finds out by itself. */
static void look_after_store(kedge_db *db, requests *asked)
{
    kedge_worker *worker = &db->worker;
    bool before = worker->store_refused;
    worker->store_refused = kedge_store_is_refused(db->store, NULL, &worker->store_error);
    if (!worker->store_refused) return;
    asked->online = false;
    if (!before) worker->moved = true;
}

static void plan_maintenance(kedge_db *db)
{
    if (db->worker.maintenance_at_ms != 0 || db->worker.store_refused) return;
    db->worker.maintenance_at_ms = kedge_db_now_ms(db) + MAINTENANCE_MS;
}

static void after_edit(kedge_db *db)
{
    db->worker.tell_peers = true;
    plan_maintenance(db);
    db->worker.cause = "an edit";
    if (db->driver != NULL) kedge_driver_mutated(db->driver);
}

/* The whole check reads one snapshot, so its slices come soon after each other: a WAL grows as long
 * as one is read. */
static void check_slice(kedge_db *db)
{
    db->worker.check_at_ms = 0;
    if (kedge_store_check_cache(db->store, NULL) == KEDGE_OK)
        db->worker.check_at_ms = kedge_db_now_ms(db) + CHECK_SLICE_MS;
}

/* Catches the cache up with the outbox, and copies the WALs into their files. Both steps return at
 * once when there is nothing to do, and are tried again after a failure. Without a driver, which
 * has a timer of its own for it, the check of the cache begins here, too. */
static void maintain(kedge_db *db)
{
    kedge_change_set changes = kedge_change_set_make(db->environment.allocator);
    db->worker.maintenance_at_ms = 0;
    kedge_status caught_up = kedge_store_catch_up(db->store, &changes, NULL);
    if (changes.all || changes.count > 0) after_edit(db); /* it may be an edit, made again */
    kedge_change_set_free(&changes);
    kedge_status checkpointed = kedge_store_checkpoint(db->store, NULL);
    if (caught_up != KEDGE_OK || checkpointed != KEDGE_OK) plan_maintenance(db);
    if (db->driver == NULL && db->worker.check_at_ms == 0) check_slice(db);
}

static void run_timers(kedge_db *db)
{
    kedge_worker *worker = &db->worker;
    int64_t now = kedge_db_now_ms(db);
    if (worker->timer_at_ms != 0 && worker->timer_at_ms <= now) {
        worker->timer_at_ms = 0;
        worker->cause = "a timer";
        worker->moved = true; /* a response that is held may be applied now */
        kedge_driver_timer(db->driver);
    }
    if (worker->maintenance_at_ms != 0 && worker->maintenance_at_ms <= now) maintain(db);
    if (worker->check_at_ms != 0 && worker->check_at_ms <= now) check_slice(db);
}

static void earlier(int64_t *at, int64_t other)
{
    if (other != 0 && other < *at) *at = other;
}

int64_t kedge_worker_wait_ms(kedge_db *db, bool more)
{
    kedge_worker *worker = &db->worker;
    int64_t now = kedge_db_now_ms(db);
    int64_t until = now + WAIT_MAX_MS;
    if (more || worker->sync.over || worker->token_asked || worker->moved) return 0;
    earlier(&until, worker->timer_at_ms);
    earlier(&until, worker->tick_at_ms);
    earlier(&until, worker->maintenance_at_ms);
    earlier(&until, worker->check_at_ms);
    earlier(&until, worker->look_at_ms);
    earlier(&until, worker->status_at_ms);
    earlier(&until, worker->results_at_ms);
    earlier(&until, kedge_worker_creates_at_ms(db));
    return until < now ? 0 : until - now;
}

void kedge_worker_hear(kedge_db *db, int64_t timeout_ms)
{
    kedge_worker *worker = &db->worker;
    bool readable = false;
    kedge_status polled =
        kedge_http_poll(db->http, timeout_ms, kedge_peers_wake_fd(db->peers), &readable, NULL);
    if (polled != KEDGE_OK) poll(NULL, 0, POLL_FAILED_MS);
    int64_t now = kedge_db_now_ms(db);
    if (readable || (worker->tick_at_ms != 0 && worker->tick_at_ms <= now)) {
        kedge_worker_hear_peers(db);
    }
    run_timers(db);
}

/* A process that closes right after an edit must still wake the other processes, which do not know
 * of the edit otherwise. */
static void tell_last_edits(kedge_db *db)
{
    bool readable = false;
    if (take_requests(db).edited) db->worker.tell_peers = true;
    for (int attempt = 0; db->worker.tell_peers && attempt < LAST_WORDS_MAX; attempt++) {
        if (attempt > 0) kedge_http_poll(db->http, 1, -1, &readable, NULL);
        kedge_worker_tell_peers(db);
    }
}

/* Tells the watches. Returns whether there is more to tell already. */
static bool tell_watches(kedge_db *db, bool inbox_touched)
{
    kedge_worker *worker = &db->worker;
    bool touched = inbox_touched || worker->inbox_touched;
    worker->inbox_touched = false;
    worker->status_at_ms = kedge_sync_watches_look(&db->sync_watches, touched);
    worker->results_at_ms = kedge_due_watches_deliver(&db->query_watches);
    return kedge_watches_deliver(db->watches);
}

void kedge_worker_begin(kedge_db *db)
{
    kedge_log_write(db, KEDGE_LOG_INFO, "started", "Kedge %s on %s", KEDGE_VERSION_STRING,
                    db->path);
    plan_maintenance(db); /* the opening may have met a full disk */
    db->worker.followed_ms = kedge_db_now_ms(db);
    db->worker.tell_peers = true; /* it may have repaired what a killed process has left */
    if (db->driver != NULL) kedge_driver_start(db->driver);
}

void kedge_worker_end(kedge_db *db)
{
    tell_last_edits(db);
    kedge_worker_history_cancel(db);
    kedge_worker_creation_cancel(db);
    if (db->driver != NULL) kedge_driver_shutdown(db->driver);
    kedge_log_write(db, KEDGE_LOG_INFO, "stopped", "the database is being closed");
}

static kedge_connection connection_of(const kedge_db *db, bool online)
{
    if (db->worker.store_refused) return KEDGE_STOPPED;
    if (!online) return KEDGE_OFFLINE;
    if (db->worker.token_refused) return KEDGE_STOPPED;
    if (!db->worker.leading) return KEDGE_FOLLOWER;
    return db->worker.core_connection == KEDGE_OFFLINE ? KEDGE_CONNECTING
                                                       : db->worker.core_connection;
}

static kedge_error error_of(const kedge_db *db, kedge_connection connection)
{
    return connection == KEDGE_FOLLOWER ? db->worker.leader_error : kedge_worker_error(&db->worker);
}

/* Publishes the state of the connection, and wakes waiting threads when `moved`. When the app has
 * gone offline or online since the round began, what kedge_set_online has put there holds until the
 * next round. */
static void publish(kedge_db *db, bool online, bool moved)
{
    kedge_connection connection = connection_of(db, online);
    kedge_error error = error_of(db, connection);
    kedge_log_round(db, moved, connection, &error);
    pthread_mutex_lock(&db->lock);
    db->shared.dozing = db->worker.look_at_ms != 0;
    if (online == (db->shared.online && db->net != NULL)) {
        db->shared.connection = connection;
        db->shared.last_error = error;
    }
    if (moved) {
        db->shared.generation++;
        pthread_cond_broadcast(&db->moved);
    }
    pthread_mutex_unlock(&db->lock);
}

bool kedge_worker_round(kedge_db *db, bool *more)
{
    requests asked = take_requests(db);
    bool online = asked.online;
    if (asked.closing) {
        if (asked.edited) db->worker.tell_peers = true;
        return false;
    }
    look_after_store(db, &asked);
    if (asked.edited || asked.retry) db->worker.token_refused = false;
    kedge_worker_lead(db, asked.online, asked.retry);
    if (asked.edited) after_edit(db);
    db->worker.look_at_ms = 0;
    /* Before whoever waits for a sync is told of its end: the status then says how it ended. */
    publish(db, online, false);
    kedge_worker_sync(db, asked.online, asked.syncs);
    kedge_worker_history(db, asked.history, online);
    provide_token(db);
    bool moved = db->worker.moved;
    if (moved) plan_maintenance(db);
    kedge_worker_tell_peers(db);
    kedge_worker_set_tick(db, asked.online);
    if (asked.edited && !asked.online) db->worker.look_at_ms = kedge_db_now_ms(db) + DOZE_MS;
    db->worker.moved = false;
    publish(db, online, moved);
    *more = tell_watches(db, asked.inbox_touched);
    kedge_http_make_up(db->http);
    return true;
}

static void *run(void *context)
{
    kedge_db *db = context;
    bool more = false;
    pthread_mutex_lock(&db->lock);
    db->shared.worker = pthread_self();
    db->shared.worker_runs = true;
    pthread_mutex_unlock(&db->lock);
    kedge_worker_begin(db);
    while (kedge_worker_round(db, &more))
        kedge_worker_hear(db, kedge_worker_wait_ms(db, more));
    kedge_worker_end(db);
    return NULL;
}

kedge_status kedge_worker_start(kedge_db *db, kedge_error *error)
{
    /* A fault in a callback reaches the handler of the app, such as one that reports crashes. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t all;
    sigset_t before;
    if (db->caller_driven) {
        kedge_worker_begin(db);
        return KEDGE_OK;
    }
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&db->thread, NULL, run, db);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        return kedge_fail(error, KEDGE_NO_MEMORY, "thread-failed",
                          "the worker thread could not be started: %s", strerror(failed));
    }
    db->thread_runs = true;
    return KEDGE_OK;
}

void kedge_worker_stop(kedge_db *db)
{
    kedge_store_stop_pulls(db->store);
    pthread_mutex_lock(&db->lock);
    db->shared.closing = true;
    pthread_cond_broadcast(&db->moved);
    pthread_mutex_unlock(&db->lock);
    kedge_http_wake(db->http);
}

void kedge_worker_join(kedge_db *db)
{
    if (db->thread_runs) pthread_join(db->thread, NULL);
    db->thread_runs = false;
    kedge_callbacks_wait(&db->callbacks);
    pthread_mutex_lock(&db->lock);
    while (db->shared.calls > 0) {
        pthread_cond_wait(&db->moved, &db->lock);
    }
    pthread_mutex_unlock(&db->lock);
    tell_last_edits(db); /* of these calls and callbacks */
}
