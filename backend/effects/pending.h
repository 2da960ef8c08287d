/* The pending snapshots of a log: records in the order of the entries that ask for them.
 *
 *   partition "P#{uuid of the log}", sort key {num of the segment}{num of the entry}
 *   attributes: number (of the entry in the log), revision, owner and since (ms) while a worker is
 *   at it, progress
 *
 * Every change has the condition that the revision is the one that was read. So a worker whose item
 * was taken by another worker cannot change it any more. */
#ifndef KEDGE_BACKEND_EFFECTS_PENDING_H
#define KEDGE_BACKEND_EFFECTS_PENDING_H

#include "backend/log/log.h"

#define KEDGE_PENDING_OWNER_HEX          33
#define KEDGE_PENDING_PROGRESS_BYTES_MAX 262144
#define KEDGE_PENDING_DAMAGED            "snapshot-pending-corrupt" /* the code of its damage */

typedef struct kedge_pending_snapshot {
    kedge_log_place at;
    char owner[KEDGE_PENDING_OWNER_HEX]; /* "": no worker has it */
    int64_t since_ms;
    int64_t revision;
    kedge_buffer progress; /* what the next piece of its snapshot needs; made by the caller */
} kedge_pending_snapshot;

/* Puts the item of an entry, unless it is there. */
kedge_status kedge_pending_snapshot_put(const kedge_log *log, const kedge_log_place *at,
                                        kedge_error *error);
/* The first item of the log. KEDGE_NOT_FOUND: there is none. KEDGE_CORRUPT KEDGE_PENDING_DAMAGED.
 */
kedge_status kedge_pending_snapshot_first(const kedge_log *log, bool consistent,
                                          kedge_pending_snapshot *pending, kedge_error *error);
/* Puts the first item of the log again if it is damaged, since its key names the entry. Removes the
 * item if there is no such entry. */
kedge_status kedge_pending_snapshot_mend(const kedge_log *log, kedge_error *error);
/* Writes the item if its record still has this revision, and increments the revision.
 * KEDGE_CONFLICT: it was changed or removed. */
kedge_status kedge_pending_snapshot_save(const kedge_log *log, kedge_pending_snapshot *pending,
                                         kedge_error *error);
/* Removes the item of this revision. KEDGE_CONFLICT: as above. */
kedge_status kedge_pending_snapshot_remove(const kedge_log *log,
                                           const kedge_pending_snapshot *pending,
                                           kedge_error *error);

#endif
