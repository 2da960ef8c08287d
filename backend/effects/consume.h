/* Takes requests of snapshots out of their queue. */
#ifndef KEDGE_BACKEND_EFFECTS_CONSUME_H
#define KEDGE_BACKEND_EFFECTS_CONSUME_H

#include "backend/effects/snapshots.h"
#include "backend/ports/deadline.h"

/* A worker stops so long before another worker may take over its item. That time is for saving the
 * progress and giving the message back. */
#define KEDGE_SNAPSHOT_MARGIN_MS (KEDGE_DEADLINE_COMMIT_MS + 3000)
/* When a message that goes back is to come again. */
#define KEDGE_SNAPSHOT_AGAIN_MS     1000 /* also the first time of those that are doubled */
#define KEDGE_SNAPSHOT_AGAIN_MAX_MS 120000

typedef struct kedge_snapshot_consumer {
    const kedge_snapshot_worker *worker;
    const kedge_queue *queue;
    int64_t visibility_ms; /* not less than the worker's run_max_ms */
    int64_t work_ms;       /* that the worker has for a message; less than its run_max_ms */
} kedge_snapshot_consumer;

/* After how long a message is delivered again. Each failure makes the time longer, and so does each
 * delivery while another worker may hold the item: a worker that ended may hold it for longer than
 * the queue would deliver the message every second. */
int64_t kedge_snapshot_again_ms(kedge_snapshot_outcome outcome, kedge_status status,
                                uint32_t receive_count);

/* Receives a message, for which the queue may wait, and handles it. `*received`: there was a
 * message; `*done`: it is out of the queue. The error says why it is not, or that the queue
 * failed. */
kedge_status kedge_snapshot_round(const kedge_snapshot_consumer *consumer, int64_t wait_ms,
                                  bool *received, bool *done, kedge_error *error);

#endif
