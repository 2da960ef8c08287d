/* Waits for a sync, on the worker's side. The leader runs them, one at a time, so that
 * what was asked while one runs gets a pull of its own; a follower takes a ticket and
 * the leader answers it. */
#include "sdk/runtime/worker.h"

#include "common/error.h"

/* All that were given are over. */
static void complete(kedge_db *db)
{
    kedge_worker *worker = &db->worker;
    if (worker->peers_sync_given > worker->peers_sync_done) {
        worker->peers_sync_done = worker->peers_sync_given;
        worker->tell_sync = true;
    }
    pthread_mutex_lock(&db->lock);
    if (db->shared.sync_completed < worker->sync_given) {
        db->shared.sync_completed = worker->sync_given;
        db->shared.sync_error = worker->sync_error;
        db->shared.generation++;
        pthread_cond_broadcast(&db->moved);
    }
    pthread_mutex_unlock(&db->lock);
    worker->sync_running = false;
    worker->sync_over = false;
}

/* What other processes wait for fails only when this one holds on to the lead without a token. When
 * it has gone offline, whoever leads next does it. */
static void complete_offline(kedge_db *db, uint64_t requested)
{
    kedge_worker *worker = &db->worker;
    worker->peers_sync_given =
        worker->leading ? worker->peers_sync_wanted : worker->peers_sync_done;
    worker->sync_given = requested;
    worker->ticket = 0;
    worker->want_ticket = false;
    if (worker->store_refused) {
        worker->sync_error = worker->store_error;
    } else if (worker->token_refused) {
        worker->sync_error = worker->token_error;
    } else {
        kedge_fail(&worker->sync_error, KEDGE_NETWORK, "offline", "the database is offline");
    }
    complete(db);
}

static void sync_as_leader(kedge_db *db, uint64_t requested)
{
    kedge_worker *worker = &db->worker;
    if (worker->ticket != 0 || worker->want_ticket) {
        /* It was waiting as a follower: it does it itself now. */
        worker->ticket = 0;
        worker->want_ticket = false;
        worker->sync_running = false;
        worker->sync_given = 0;
    }
    if (worker->sync_over) complete(db);
    pthread_mutex_lock(&db->lock);
    bool own = requested > db->shared.sync_completed;
    pthread_mutex_unlock(&db->lock);
    uint64_t asked = requested + worker->peers_sync_wanted;
    bool insists = asked != worker->sync_asked;
    worker->sync_asked = asked;
    if (worker->sync_running) {
        /* The one that runs may be waiting out a long backoff. */
        if (insists) kedge_driver_hurry(db->driver);
        return;
    }
    if (!own && worker->peers_sync_wanted <= worker->peers_sync_given) return;
    worker->sync_running = true;
    worker->sync_given = requested;
    worker->peers_sync_given = worker->peers_sync_wanted;
    kedge_driver_sync(db->driver);
}

static void sync_as_follower(kedge_db *db, uint64_t requested)
{
    kedge_worker *worker = &db->worker;
    if (worker->sync_over) complete(db);
    if (worker->ticket != 0 || requested <= worker->sync_given) return;
    uint64_t ticket = 0;
    worker->want_ticket = !kedge_peers_want_sync(db->peers, &ticket);
    if (worker->want_ticket) return;
    worker->ticket = ticket;
    worker->sync_given = requested;
}

void kedge_worker_sync(kedge_db *db, bool online, uint64_t requested)
{
    if (db->driver == NULL) return;
    if (!online || db->worker.token_refused) {
        complete_offline(db, requested);
    } else if (db->worker.leading) {
        sync_as_leader(db, requested);
    } else {
        sync_as_follower(db, requested);
    }
}
