/* Leadership among the processes that have the folder open, and what they tell each other.
 *
 * A process that is online and has a url tries to lead. The others follow, and try again at each
 * tick, so that one of them takes over when the leader dies, closes or goes offline. Only the
 * leader's core is online. A follower tells the others of its commits, too, and hears of theirs. */
#include "common/error.h"
#include "sdk/runtime/worker.h"

#include <string.h>

/* Asks the app for the token, which the first request needs. Without one the core stays offline. */
static bool has_token(kedge_db *db)
{
    kedge_worker *worker = &db->worker;
    if (db->token.function == NULL || db->token.known) return true;
    if (worker->token_refused) return false;
    worker->token_asked = false;
    if (kedge_token_ask(&db->token, &worker->token_error) != KEDGE_OK) {
        worker->token_refused = true;
        return false;
    }
    kedge_driver_token(db->driver, kedge_token_text(&db->token));
    return true;
}

static void set_core_online(kedge_db *db, bool online)
{
    db->worker.core_online = online;
    db->worker.cause = "going online";
    if (online) kedge_driver_mutated(db->driver); /* others may have written since */
    kedge_driver_set_online(db->driver, online);
}

/* Asked before each request and each response, since a round, or the delivery of many responses,
 * may take long. So after kedge_set_online(db, false) no edit is sent and no response is shown. The
 * next round resigns. */
bool kedge_worker_still_online(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    bool online = db->shared.online;
    pthread_mutex_unlock(&db->lock);
    if (!online && db->worker.core_online) set_core_online(db, false);
    return online;
}

void kedge_worker_lead(kedge_db *db, bool online, bool retry)
{
    kedge_worker *worker = &db->worker;
    if (db->driver == NULL) return;
    if (retry) kedge_token_forget(&db->token); /* another user may have logged in */
    if (online && !worker->leading && kedge_peers_lead(db->peers)) {
        worker->leading = true;
        worker->moved = true;
        worker->error_due = true; /* it replaces the error of the leader before */
        kedge_worker_hear_peers(db);
        kedge_worker_sync_lead(db);
    }
    bool core_online =
        online && worker->leading && has_token(db) && kedge_worker_has_project(db, retry);
    if (core_online != worker->core_online || (core_online && retry)) {
        set_core_online(db, core_online);
    }
    if (!online) kedge_worker_creation_cancel(db);
    if (!online && worker->leading) {
        kedge_peers_resign(db->peers);
        worker->leading = false;
        worker->moved = true;
    }
}

/* A process that was killed right behind an edit, or has ended without kedge_close, told nobody. So
 * from time to time it counts as news that nobody has told any. */
void kedge_worker_hear_peers(kedge_db *db)
{
    kedge_worker *worker = &db->worker;
    kedge_peers_news news;
    int64_t now_ms = kedge_db_now_ms(db);
    worker->tick_at_ms = 0;
    worker->look_again = !kedge_peers_look(db->peers, &news);
    if (worker->look_again) return;
    kedge_worker_sync_hear(db, &news);
    if (!worker->leading && !kedge_error_equal(&news.leader_error, &worker->leader_error)) {
        worker->leader_error = news.leader_error;
        worker->moved = true;
    }
    if (!news.changed && now_ms - worker->followed_ms < KEDGE_PEERS_IDLE_MS) return;
    worker->followed_ms = now_ms;
    worker->moved = true;
    worker->inbox_touched = true;
    if (kedge_store_follow(db->store, NULL) != KEDGE_OK) kedge_db_changed(db, NULL);
    if (db->driver != NULL) kedge_driver_mutated(db->driver);
}

/* Returns whether anything has changed that other processes must see, and remembers it as told. */
static bool position_moved(kedge_db *db)
{
    kedge_store_position now;
    kedge_store_position *told = &db->worker.position;
    if (kedge_store_position_get(db->store, &now, NULL) != KEDGE_OK) return false;
    bool moved = now.version != told->version || now.lmid != told->lmid ||
                 now.pending != told->pending || now.rejected != told->rejected ||
                 strcmp(now.client, told->client) != 0 || now.resyncing != told->resyncing;
    *told = now;
    return moved;
}

kedge_error kedge_worker_error(const kedge_worker *worker)
{
    if (worker->store_refused) return worker->store_error;
    if (worker->token_refused) return worker->token_error;
    bool absent = strcmp(worker->core_error.code, "project-not-found") == 0;
    if (worker->creation.error.status != KEDGE_OK && (absent || !worker->creation.settled))
        return worker->creation.error; /* it says why there is no project */
    return worker->core_error;
}

/* The error is told even when no other process is there, for those that open the folder later. */
static void tell_error(kedge_db *db)
{
    kedge_worker *worker = &db->worker;
    kedge_error error = kedge_worker_error(worker);
    if (!worker->leading) worker->error_due = false;
    if (!worker->leading || (!worker->error_due && kedge_error_equal(&error, &worker->error_told)))
        return;
    worker->error_due = !kedge_peers_tell_error(db->peers, &error);
    worker->error_told = error;
}

void kedge_worker_tell_peers(kedge_db *db)
{
    kedge_worker *worker = &db->worker;
    tell_error(db);
    if (!worker->moved && !worker->tell_peers && !worker->sync.done_due) return;
    bool present = kedge_peers_present(db->peers);
    if (present && worker->moved && position_moved(db)) worker->tell_peers = true;
    if (!present || (worker->tell_peers && kedge_peers_tell(db->peers))) worker->tell_peers = false;
    kedge_worker_sync_tell(db, present);
}

void kedge_worker_set_tick(kedge_db *db, bool online)
{
    kedge_worker *worker = &db->worker;
    bool follows = online && !worker->leading;
    bool deaf = kedge_peers_wake_fd(db->peers) < 0 && kedge_peers_present(db->peers);
    /* Without peers an error that is due can wait for the next round. */
    bool error_due = worker->error_due && kedge_peers_present(db->peers);
    int64_t wait_ms = follows || deaf ? KEDGE_PEERS_TICK_MS : KEDGE_PEERS_IDLE_MS;
    if (worker->look_again || worker->tell_peers || error_due || worker->sync.done_due ||
        worker->sync.ticket_due)
        wait_ms = KEDGE_PEERS_RETRY_MS;
    int64_t at_ms = kedge_db_now_ms(db) + wait_ms;
    if (worker->tick_at_ms == 0 || worker->tick_at_ms > at_ms) worker->tick_at_ms = at_ms;
}
