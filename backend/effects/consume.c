/* A round with the queue of snapshots. */
#include "backend/effects/consume.h"

#include "backend/base/backend.h"
#include "common/error.h"

int64_t kedge_snapshot_again_ms(kedge_status status, uint32_t receive_count)
{
    int64_t again_ms = KEDGE_SNAPSHOT_AGAIN_MS;
    if (status == KEDGE_OK) return again_ms;
    for (uint32_t i = 1; i < receive_count && again_ms < KEDGE_SNAPSHOT_AGAIN_MAX_MS; i++)
        again_ms *= 2;
    return again_ms < KEDGE_SNAPSHOT_AGAIN_MAX_MS ? again_ms : KEDGE_SNAPSHOT_AGAIN_MAX_MS;
}

/* One that comes again although it is done with finds nothing pending. */
static kedge_status settle(const kedge_snapshot_consumer *consumer,
                           const kedge_queue_message *message, bool *done, kedge_error *error)
{
    const kedge_queue *queue = consumer->queue;
    const kedge_environment *environment = consumer->worker->backend->environment;
    int64_t deadline_ms = environment->monotonic_ms(environment->context) + consumer->work_ms;
    kedge_snapshot_outcome outcome;
    kedge_status status =
        kedge_snapshot_work(consumer->worker, message->body, deadline_ms, &outcome, error);
    kedge_status settled =
        outcome == KEDGE_SNAPSHOT_DONE
            ? queue->vtable->done(queue->self, message->receipt, status == KEDGE_OK ? error : NULL)
            : queue->vtable->extend(queue->self, message->receipt,
                                    kedge_snapshot_again_ms(status, message->receive_count),
                                    status == KEDGE_OK ? error : NULL);
    *done = outcome == KEDGE_SNAPSHOT_DONE && settled == KEDGE_OK;
    return status == KEDGE_OK ? settled : status;
}

kedge_status kedge_snapshot_round(const kedge_snapshot_consumer *consumer, int64_t wait_ms,
                                  bool *received, bool *done, kedge_error *error)
{
    const kedge_queue *queue = consumer->queue;
    kedge_queue_batch batch = {0};
    *received = *done = false;
    kedge_status status = queue->vtable->receive(queue->self, 1, consumer->visibility_ms, wait_ms,
                                                 NULL, &batch, error);
    if (status == KEDGE_OK && batch.count > 0) {
        *received = true;
        status = settle(consumer, &batch.messages[0], done, error);
    }
    kedge_queue_batch_free(&batch);
    return status;
}
