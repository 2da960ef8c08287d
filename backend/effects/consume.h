/* Takes requests of snapshots out of their queue. */
#ifndef KEDGE_BACKEND_EFFECTS_CONSUME_H
#define KEDGE_BACKEND_EFFECTS_CONSUME_H

#include "backend/effects/snapshots.h"

/* When a message that goes back is to come again. */
#define KEDGE_SNAPSHOT_AGAIN_MS     1000 /* also the first time after a failure; then doubled */
#define KEDGE_SNAPSHOT_AGAIN_MAX_MS 120000

typedef struct kedge_snapshot_consumer {
    const kedge_snapshot_worker *worker;
    const kedge_queue *queue;
    int64_t visibility_ms; /* not less than the worker's run_max_ms */
    int64_t work_ms;       /* that the worker has for a message */
} kedge_snapshot_consumer;

/* After how long a message goes to a worker again: after a failure later and later. */
int64_t kedge_snapshot_again_ms(kedge_status status, uint32_t receive_count);

/* Receives a message, for which the queue may wait, and works it off. `*received`: there was one;
 * `*done`: it is out of the queue. A failure says why it is not, or that the queue failed. */
kedge_status kedge_snapshot_round(const kedge_snapshot_consumer *consumer, int64_t wait_ms,
                                  bool *received, bool *done, kedge_error *error);

#endif
