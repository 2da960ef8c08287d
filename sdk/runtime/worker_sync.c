/* Waits for a sync, on the worker's side. The leader runs them, one at a time, so that what was
 * asked for while one runs gets a pull of its own; a follower draws a ticket, and the leader tells
 * when it is done. */
#include "sdk/runtime/worker.h"

#include "common/assert.h"
#include "common/error.h"
#include "sdk/runtime/check.h"

/* ---- how one ends ---- */

void kedge_worker_sync_ended(kedge_db *db, bool ok, const kedge_error *error)
{
    kedge_sync_waits *waits = &db->worker.sync;
    waits->over = true;
    waits->error = (kedge_error){0};
    if (ok) return;
    if (error != NULL) waits->error = *error;
    if (waits->error.status == KEDGE_OK) {
        kedge_fail(&waits->error, KEDGE_NETWORK, "sync-failed", "the server could not be reached");
    }
}

/* All that were taken are over. */
static void complete(kedge_db *db)
{
    kedge_sync_waits *waits = &db->worker.sync;
    if (waits->peers_taken > waits->peers_done) {
        waits->peers_done = waits->peers_taken;
        waits->done_due = true;
    }
    pthread_mutex_lock(&db->lock);
    if (db->shared.sync_completed < waits->app_taken) {
        db->shared.sync_completed = waits->app_taken;
        db->shared.sync_error = waits->error;
        db->shared.generation++;
        pthread_cond_broadcast(&db->moved);
    }
    pthread_mutex_unlock(&db->lock);
    waits->over = false;
}

static void give_ticket_up(kedge_sync_waits *waits)
{
    waits->ticket = 0;
    waits->ticket_due = false;
}

/* What other processes wait for fails only when this one holds on to the lead without a token. When
 * it has gone offline, whoever leads next does it. */
static void complete_offline(kedge_db *db, uint64_t requested)
{
    kedge_worker *worker = &db->worker;
    kedge_sync_waits *waits = &worker->sync;
    waits->peers_taken = worker->leading ? waits->peers_asked : waits->peers_done;
    waits->app_taken = requested;
    give_ticket_up(waits);
    if (worker->store_refused) {
        waits->error = worker->store_error;
    } else if (worker->token_refused) {
        waits->error = worker->token_error;
    } else {
        (void)kedge_fail_offline(db, &waits->error);
    }
    complete(db);
}

/* ---- how one begins ---- */

static bool app_waits(kedge_db *db, uint64_t requested)
{
    pthread_mutex_lock(&db->lock);
    bool waits = requested > db->shared.sync_completed;
    pthread_mutex_unlock(&db->lock);
    return waits;
}

static void sync_as_leader(kedge_db *db, uint64_t requested)
{
    kedge_sync_waits *waits = &db->worker.sync;
    if (waits->ticket != 0 || waits->ticket_due) {
        /* It was waiting as a follower: it does it itself now. */
        give_ticket_up(waits);
        waits->app_taken = 0;
    }
    if (waits->over) complete(db);
    bool insists = requested + waits->peers_asked != waits->all_asked;
    waits->all_asked = requested + waits->peers_asked;
    if (kedge_driver_syncs(db->driver)) {
        /* The one that runs may be waiting out a long backoff. */
        if (insists) kedge_driver_hurry(db->driver);
        return;
    }
    if (!app_waits(db, requested) && waits->peers_asked <= waits->peers_taken) return;
    waits->app_taken = requested;
    waits->peers_taken = waits->peers_asked;
    db->worker.cause = "a wait for a sync";
    kedge_driver_sync(db->driver);
    KEDGE_ASSERT(waits->over || kedge_driver_syncs(db->driver));
}

static void sync_as_follower(kedge_db *db, uint64_t requested)
{
    kedge_sync_waits *waits = &db->worker.sync;
    if (waits->over) complete(db);
    if (waits->ticket != 0 || requested <= waits->app_taken) return;
    uint64_t ticket = 0;
    waits->ticket_due = !kedge_peers_want_sync(db->peers, &ticket);
    if (waits->ticket_due) return;
    waits->ticket = ticket;
    waits->app_taken = requested;
}

/* The core is offline until the project is there, which has ended the sync that ran. All waits are
 * for the next one. */
static void put_off(kedge_sync_waits *waits)
{
    waits->over = false;
    waits->app_taken = 0;
    waits->peers_taken = waits->peers_done;
}

void kedge_worker_sync(kedge_db *db, bool online, uint64_t requested)
{
    if (db->driver == NULL) return;
    if (!online || db->worker.token_refused) {
        complete_offline(db, requested);
    } else if (db->worker.leading && kedge_worker_creates(db)) {
        put_off(&db->worker.sync);
    } else if (db->worker.leading) {
        sync_as_leader(db, requested);
    } else {
        sync_as_follower(db, requested);
    }
}

/* ---- among processes ---- */

void kedge_worker_sync_lead(kedge_db *db)
{
    KEDGE_ASSERT(db->worker.leading);
    db->worker.sync.peers_taken = db->worker.sync.peers_done;
}

void kedge_worker_sync_hear(kedge_db *db, const kedge_peers_news *news)
{
    kedge_sync_waits *waits = &db->worker.sync;
    waits->peers_asked = news->sync_wanted;
    if (!waits->done_due) waits->peers_done = news->sync_done;
    if (waits->ticket == 0 || news->sync_done < waits->ticket) return;
    waits->ticket = 0;
    kedge_error error = news->sync_error;
    if (error.status != KEDGE_OK && error.code[0] == '\0') { /* of an earlier release */
        kedge_fail(&error, error.status, "sync-failed",
                   "the process that syncs this database could not: %s",
                   kedge_status_name(error.status));
    }
    kedge_worker_sync_ended(db, error.status == KEDGE_OK, &error);
}

void kedge_worker_sync_tell(kedge_db *db, bool present)
{
    kedge_sync_waits *waits = &db->worker.sync;
    if (!present) {
        waits->done_due = false;
    } else if (waits->done_due) {
        waits->done_due = !kedge_peers_sync_done(db->peers, waits->peers_done, &waits->error);
    }
}
