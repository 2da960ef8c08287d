/* Snapshots of logs in the background: one at a time for a log, in the order of its entries.
 *
 * A process that sees an entry which asks for a snapshot puts a pending item (pending.h), and then
 * sends a message that names the log. A worker that gets the message takes the log's first item,
 * makes the snapshot in pieces, saves after each piece how far it came, sets the snapshot's id at
 * the entry, and removes the item. All of it can be repeated: a second request of the same snapshot
 * finds that the entry has one, and since the id is a hash of the entry's place, a snapshot that is
 * made twice has one id. */
#ifndef KEDGE_BACKEND_EFFECTS_SNAPSHOTS_H
#define KEDGE_BACKEND_EFFECTS_SNAPSHOTS_H

#include "backend/effects/pending.h"
#include "backend/ports/queue.h"
#include "common/hash.h"

#include <kedge/limits.h>

#define KEDGE_SNAPSHOT_TRIES_MAX 8 /* to take an item that others take, too */

/* Asks for the snapshot of an entry. The item is put before the message is sent, since a message
 * without an item has no effect. Can be repeated. Each message has a deduplication name of its own,
 * so that the queue does not drop it as a duplicate of a message that was handled before. */
kedge_status kedge_snapshot_request(const kedge_log *log, const kedge_queue *queue,
                                    const kedge_log_place *at, kedge_error *error);

/* What a message names. */
#define KEDGE_SNAPSHOT_NAME_SIZE (KEDGE_LIMIT_NAME_BYTES + 1)
typedef struct kedge_snapshot_message {
    char organization[KEDGE_SNAPSHOT_NAME_SIZE];
    char project[KEDGE_SNAPSHOT_NAME_SIZE];
    char log[KEDGE_SNAPSHOT_NAME_SIZE];
} kedge_snapshot_message;
/* False when the message is not one that kedge_snapshot_request sends. */
bool kedge_snapshot_message_read(kedge_bytes message, kedge_snapshot_message *read);

/* The same id for the same entry of the same log, whoever asks: NUL-terminated. */
void kedge_snapshot_id(const kedge_log *log, const kedge_log_place *at, char id[KEDGE_SHA256_HEX]);

/* Makes the next piece of the snapshot at an entry. `progress` has what the piece before left; it
 * is empty at first. The function sets it to what the next piece needs, at most
 * KEDGE_PENDING_PROGRESS_BYTES_MAX, or, with `*complete`, to the id of the snapshot
 * (kedge_log_metadata). A piece is made again when its progress was not saved. A piece must take
 * less time than `reserve_ms`. KEDGE_UNSUPPORTED: the snapshot cannot be made here, and is not
 * tried again. */
typedef kedge_status (*kedge_snapshot_fn)(void *context, const kedge_log *log,
                                          const kedge_log_place *at, kedge_buffer *progress,
                                          bool *complete, kedge_error *error);

typedef struct kedge_snapshot_worker {
    kedge_backend *backend;
    kedge_snapshot_fn make;
    void *context;
    int64_t run_max_ms; /* how long a worker keeps an item; then another worker may take it */
    int64_t reserve_ms; /* with less time than this left no further piece is begun */
    /* Called when `make` has returned KEDGE_UNSUPPORTED and the item is removed: the entry stays
     * without a snapshot until it is requested again. May be NULL. */
    void (*refused)(void *context, const kedge_log *log, const kedge_log_place *at,
                    const kedge_error *error);
    void *refused_context;
} kedge_snapshot_worker;

/* What becomes of the message. */
typedef enum kedge_snapshot_outcome {
    KEDGE_SNAPSHOT_DONE,   /* it is done with */
    KEDGE_SNAPSHOT_RETURN, /* it goes back to the queue */
    KEDGE_SNAPSHOT_WAIT    /* the same; another worker has the item, and may still be at work */
} kedge_snapshot_outcome;

/* Handles a message, until `deadline_ms` of the monotonic clock at the latest. A status other than
 * KEDGE_OK says why the message goes back to the queue, or that it is not one of
 * kedge_snapshot_request (KEDGE_INVALID_ARGUMENT, with KEDGE_SNAPSHOT_DONE). */
kedge_status kedge_snapshot_work(const kedge_snapshot_worker *worker, kedge_bytes message,
                                 int64_t deadline_ms, kedge_snapshot_outcome *outcome,
                                 kedge_error *error);

#endif
