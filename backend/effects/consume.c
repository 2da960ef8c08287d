/* A round with the queue of snapshots. */
#include "backend/effects/consume.h"

#include "backend/base/backend.h"
#include "common/error.h"

int64_t kedge_snapshot_again_ms(kedge_snapshot_outcome outcome, kedge_status status,
                                uint32_t receive_count)
{
    int64_t again_ms = KEDGE_SNAPSHOT_AGAIN_MS;
    if (status == KEDGE_OK && outcome != KEDGE_SNAPSHOT_WAIT) return again_ms;
    for (uint32_t i = 1; i < receive_count && again_ms < KEDGE_SNAPSHOT_AGAIN_MAX_MS; i++)
        again_ms *= 2;
    return again_ms < KEDGE_SNAPSHOT_AGAIN_MAX_MS ? again_ms : KEDGE_SNAPSHOT_AGAIN_MAX_MS;
}

/* Works the message off. A piece that takes longer than it should stops before another worker may
 * take the item: otherwise each would do the same, and none could save it. */
static kedge_status work_off(const kedge_snapshot_consumer *consumer, kedge_bytes message,
                             kedge_snapshot_outcome *outcome, kedge_error *error)
{
    const kedge_environment *environment = consumer->worker->backend->environment;
    int64_t end_ms = environment->monotonic_ms(environment->context) + consumer->work_ms;
    int64_t spare_ms = consumer->worker->run_max_ms - consumer->work_ms - KEDGE_SNAPSHOT_MARGIN_MS;
    const kedge_deadline deadline = {
        .environment = environment, .end_ms = end_ms + spare_ms, .slice_end_ms = INT64_MAX};
    if (spare_ms > 0) kedge_deadline_set(&deadline);
    kedge_status status = kedge_snapshot_work(consumer->worker, message, end_ms, outcome, error);
    kedge_deadline_set(NULL);
    return status;
}

/* One that comes again although it is done with finds nothing pending. */
static kedge_status settle(const kedge_snapshot_consumer *consumer,
                           const kedge_queue_message *message, bool *done, kedge_error *error)
{
    const kedge_queue *queue = consumer->queue;
    kedge_snapshot_outcome outcome;
    kedge_status status = work_off(consumer, message->body, &outcome, error);
    int64_t again_ms = kedge_snapshot_again_ms(outcome, status, message->receive_count);
    kedge_status settled =
        outcome == KEDGE_SNAPSHOT_DONE
            ? queue->vtable->done(queue->self, message->receipt, status == KEDGE_OK ? error : NULL)
            : queue->vtable->extend(queue->self, message->receipt, again_ms,
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
