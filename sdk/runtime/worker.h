/* The worker: the driver's one thread, and the one that calls the app back. Of a database that is
 * caller-driven it is the app's thread while it runs the loop (loop.h). */
#ifndef KEDGE_SDK_RUNTIME_WORKER_H
#define KEDGE_SDK_RUNTIME_WORKER_H

#include "sdk/runtime/db.h"

/* What the net and the driver call: every function of both runs on the worker thread. */
kedge_net_sink kedge_worker_sink(kedge_db *db);
kedge_driver_host kedge_worker_host(kedge_db *db);

/* Starts the worker; in its thread all signals are blocked, but those of faults. */
kedge_status kedge_worker_start(kedge_db *db, kedge_error *error);
/* End the worker. kedge_worker_stop ends the rounds, and ends waiting threads with KEDGE_CANCELLED;
 * kedge_worker_join waits until the worker thread, the callbacks and the calls of other threads
 * have left. Between the two, kedge_worker_end is called where there is no worker thread. */
void kedge_worker_stop(kedge_db *db);
void kedge_worker_join(kedge_db *db);

/* ---- a round ---- */

/* Before the first round, and after the last one. */
void kedge_worker_begin(kedge_db *db);
void kedge_worker_end(kedge_db *db);
/* Does all that can be done without waiting. `*more`: there is more already. False: the database
 * closes. */
bool kedge_worker_round(kedge_db *db, bool *more);
/* How long kedge_worker_hear may wait now. */
int64_t kedge_worker_wait_ms(kedge_db *db, bool more);
/* Waits at most `timeout_ms` for the network or a peer, hears them, and runs the timers. */
void kedge_worker_hear(kedge_db *db, int64_t timeout_ms);

/* The steps of a round that have files of their own. */
void kedge_worker_lead(kedge_db *db, bool online, bool retry); /* leader.c */
/* False: the app has switched the database offline, perhaps since the round began. The driver is
 * offline from here on, and has given up what ran. leader.c */
bool kedge_worker_still_online(kedge_db *db);
void kedge_worker_hear_peers(kedge_db *db); /* leader.c */
/* What is wrong with the sync of this process; KEDGE_OK: nothing. leader.c */
kedge_error kedge_worker_error(const kedge_worker *worker);
void kedge_worker_tell_peers(kedge_db *db); /* leader.c */
/* When to look after the peers next: soon when the record was busy, each tick as a follower, who
 * waits for the lock to fall free, or where nothing wakes this process; otherwise seldom. */
void kedge_worker_set_tick(kedge_db *db, bool online); /* leader.c */
void kedge_worker_history(kedge_db *db, kedge_history_call *new_calls,
                          bool online);         /* worker_history.c */
void kedge_worker_history_cancel(kedge_db *db); /* worker_history.c */

/* ---- worker_log.c: on the worker thread ---- */

bool kedge_log_takes(const kedge_db *db, kedge_log_level level);
void kedge_log_write(const kedge_db *db, kedge_log_level level, const char *event,
                     const char *format, ...) KEDGE_PRINTF(4, 5);
void kedge_log_request(const kedge_db *db, const kedge_driver_request *request);
void kedge_log_response(const kedge_db *db, const kedge_driver_response *response);
/* What has changed since the round before; `stirred`: the store may have moved. */
void kedge_log_round(kedge_db *db, bool stirred, kedge_connection connection,
                     const kedge_error *error);

/* ---- worker_project.c ---- */

/* Creates the project when the app wants that and it is not known to exist. False: this is not done
 * yet, and no other request may be sent. `retry`: now, even if the server refused it before. */
bool kedge_worker_has_project(kedge_db *db, bool retry);
/* A wait for a sync is not to be begun yet. */
bool kedge_worker_creates(const kedge_db *db);
/* When the next try is due, monotonic; 0: none is planned. */
int64_t kedge_worker_creates_at_ms(const kedge_db *db);
void kedge_worker_creation_cancel(kedge_db *db);

/* ---- worker_sync.c ---- */

/* `requested`: how many syncs were asked for, read together with `online`. */
void kedge_worker_sync(kedge_db *db, bool online, uint64_t requested);
/* The sync that ran is over, here or in the process that leads. */
void kedge_worker_sync_ended(kedge_db *db, bool ok, const kedge_error *error);
/* This process leads from now on: what others have asked for before is still to be done. */
void kedge_worker_sync_lead(kedge_db *db);
void kedge_worker_sync_hear(kedge_db *db, const kedge_peers_news *news);
/* Tells the others, if there are any (`present`), which of their waits are over. */
void kedge_worker_sync_tell(kedge_db *db, bool present);

#endif
