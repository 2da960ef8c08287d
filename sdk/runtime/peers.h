/* The other processes that have the folder open: which process syncs, and how they notify each
 * other.
 *
 * All of it goes through one file, `leader.lock`: three bytes that are locked (open file
 * description locks, which end with the process, whatever kills it), and a record.
 *
 *     lock LEAD      exclusive: the process that syncs
 *     lock PRESENT   shared: held by every process; one that cannot take it alone has company
 *     lock RECORD    exclusive and short: while the record is read and written
 *
 *     record         magic, changes, sync_wanted, sync_done, sync_status: 8 bytes each, host order;
 *                    then the texts of that status, and the leader's error: a status of 8 bytes,
 *                    and its texts. Texts are a code and a message, as in kedge_error. Earlier
 *                    releases write and read the first five alone.
 *
 * `changes` rises with each commit that others should look at. `sync_wanted` rises when a
 * follower's app waits for a sync; the leader sets `sync_done` and how it ended at its end. The
 * leader's error is what its status has as the last error.
 * `changes`, `sync_wanted` and `sync_done` are counters and not times, so values that a crash left
 * in the file do no harm.
 *
 * A write to the file wakes the others by inotify; where that is not to be had they look every
 * KEDGE_PEERS_TICK_MS. With no other process only the leader's error is written, when it changes,
 * for those that come later. Used by the worker thread alone. */
#ifndef KEDGE_SDK_RUNTIME_PEERS_H
#define KEDGE_SDK_RUNTIME_PEERS_H

#include "common/environment.h"

#define KEDGE_PEERS_TICK_MS  250
#define KEDGE_PEERS_IDLE_MS  60000 /* after edits whose process did not live to tell of them */
#define KEDGE_PEERS_RETRY_MS 10    /* after a record that was busy, or could not be written */

typedef struct kedge_peers kedge_peers;

typedef struct kedge_peers_news {
    bool changed;             /* another process committed something */
    uint64_t sync_wanted;     /* tickets given out */
    uint64_t sync_done;       /* tickets that are over */
    kedge_error sync_error;   /* how the last one ended; without texts by an earlier release */
    kedge_error leader_error; /* KEDGE_OK: none */
} kedge_peers_news;

/* `folder` exists. `environment` must outlive the peers. */
kedge_status kedge_peers_open(const kedge_environment *environment, const char *folder,
                              kedge_peers **peers, kedge_error *error);
void kedge_peers_close(kedge_peers *peers);

/* Tries to become the one that syncs; true also when it is already. */
bool kedge_peers_lead(kedge_peers *peers);
void kedge_peers_resign(kedge_peers *peers);
/* True when other processes have the folder open. */
bool kedge_peers_present(const kedge_peers *peers);

/* A descriptor that can be read when there may be news; -1: there is none, look each tick. */
int kedge_peers_wake_fd(const kedge_peers *peers);
/* What is new since the last call. False when the record is held by another just now: ask again
 * soon. */
bool kedge_peers_look(kedge_peers *peers, kedge_peers_news *news);

/* These return false when the record is held by another just now, or cannot be written (a full
 * disk): do it again soon. */
bool kedge_peers_tell(kedge_peers *peers);
bool kedge_peers_want_sync(kedge_peers *peers, uint64_t *ticket);
bool kedge_peers_sync_done(kedge_peers *peers, uint64_t ticket, const kedge_error *error);
bool kedge_peers_tell_error(kedge_peers *peers, const kedge_error *error);

#endif
