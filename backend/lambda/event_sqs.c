/* See event_sqs.h. */
#include "backend/lambda/event_sqs.h"

#include "backend/lambda/event_messages.h"
#include "backend/ports/deadline.h"
#include "backend/ports/meter.h"
#include "backend/queued/message.h"
#include "common/error.h"

typedef struct sqs_batch {
    const kedge_lambda *lambda;
    int64_t begin_ms; /* of the invocation, by the monotonic clock */
    int64_t end_ms;   /* likewise; INT64_MAX: not known */
    kedge_event_messages messages;
} sqs_batch;

/* ---- time ---- */

/* The invocation's end, by the monotonic clock. */
static int64_t end_of(const kedge_lambda *lambda, int64_t deadline_ms)
{
    const kedge_environment *environment = lambda->environment;
    if (deadline_ms == INT64_MAX) return INT64_MAX;
    return environment->monotonic_ms(environment->context) + deadline_ms -
           environment->now_ms(environment->context);
}

/* What this thread begins must end so long before the invocation does; of a short one, in its first
 * half. */
static void limit(const sqs_batch *batch, int64_t margin_ms, kedge_deadline *deadline)
{
    if (batch->end_ms == INT64_MAX) return;
    int64_t half_ms = (batch->end_ms - batch->begin_ms) / 2;
    if (margin_ms > half_ms) margin_ms = half_ms;
    *deadline = (kedge_deadline){.environment = batch->lambda->environment,
                                 .end_ms = batch->end_ms - margin_ms,
                                 .slice_end_ms = INT64_MAX};
    kedge_deadline_set(deadline);
}

/* ---- one group ---- */

/* The message is to come again, and may do so before its visibility ends. */
static void give_back(const sqs_batch *batch, kedge_event_message *record, int64_t again_ms)
{
    const kedge_queue *queue = &batch->lambda->queue;
    kedge_error error = {0};
    record->failed = true;
    if (queue->vtable == NULL) return;
    if (queue->vtable->extend(queue->self, record->receipt, again_ms, &error) != KEDGE_OK)
        kedge_queued_call_failed(batch->lambda->queued, KEDGE_QUEUED_CALL_EXTEND, &error);
}

/* Deletes a decided message from the queue, and then its push from the blobs. Without a queue the
 * push stays there until garbage collection removes it. */
static void release(const sqs_batch *batch, kedge_event_message *record)
{
    const kedge_queue *queue = &batch->lambda->queue;
    kedge_queue_message message = kedge_event_message_of(record);
    kedge_message read;
    kedge_error error = {0};
    if (queue->vtable == NULL || kedge_message_read(message.body, &read, NULL) != KEDGE_OK ||
        read.claim[0] == '\0') {
        return;
    }
    kedge_queued *queued = batch->lambda->queued;
    if (queue->vtable->done(queue->self, record->receipt, &error) != KEDGE_OK)
        kedge_queued_call_failed(queued, KEDGE_QUEUED_CALL_DONE, &error);
    else if (kedge_queued_release(queued, &message, &error) != KEDGE_OK)
        kedge_queued_call_failed(queued, KEDGE_QUEUED_CALL_RELEASE, &error);
}

/* When a message waits for a store, kedge_consume has not started the later ones of its group, and
 * all of these are given back with it. A message that can never be decided is given back alone. If
 * the others were given back too, their deliveries would be counted like its own, and in the end
 * they would be dead letters although they were decided. */
static void settle_group(const sqs_batch *batch, kedge_event_message *const *group, size_t count,
                         const kedge_consume_outcome *outcomes)
{
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i].what == KEDGE_CONSUMED_DECIDED)
            release(batch, group[i]);
        else
            give_back(batch, group[i], outcomes[i].again_ms);
    }
}

/* The records of the group that `chosen` is of. */
static kedge_status consume_group(sqs_batch *batch, const kedge_event_message *chosen,
                                  kedge_error *error)
{
    kedge_event_message *group[KEDGE_QUEUE_RECEIVE_MAX];
    kedge_queue_message messages[KEDGE_QUEUE_RECEIVE_MAX];
    kedge_consume_outcome outcomes[KEDGE_QUEUE_RECEIVE_MAX];
    size_t count = 0;
    for (size_t i = 0; i < batch->messages.count; i++) {
        kedge_event_message *record = &batch->messages.of[i];
        if (!kedge_bytes_equal(kedge_buffer_bytes(&record->group),
                               kedge_buffer_bytes(&chosen->group)))
            continue;
        record->seen = true;
        messages[count] = kedge_event_message_of(record);
        group[count++] = record;
    }
    kedge_deadline deciding, settling;
    kedge_status status = KEDGE_OK;
    limit(batch, KEDGE_EVENT_SQS_MARGIN_MS, &deciding);
    bool begun = kedge_deadline_check(NULL) == KEDGE_OK;
    if (begun)
        status = kedge_consume(batch->lambda->queued, batch->lambda->backend, messages, count,
                               batch->messages.count, NULL, outcomes, error);
    limit(batch, KEDGE_EVENT_SQS_RESPONSE_MS, &settling);
    if (begun && status == KEDGE_OK) settle_group(batch, group, count, outcomes);
    for (size_t i = 0; i < count && !begun; i++)
        give_back(batch, group[i], 0);
    kedge_deadline_set(NULL);
    return status;
}

/* Of the records whose group was not served yet the first of those that came most often: a group
 * that found no time in an invocation is early in the next one, before groups that came later.
 * NULL: all were served. */
static const kedge_event_message *next_record(const sqs_batch *batch)
{
    const kedge_event_message *next = NULL;
    for (size_t i = 0; i < batch->messages.count; i++) {
        const kedge_event_message *record = &batch->messages.of[i];
        if (!record->seen && (next == NULL || record->receive_count > next->receive_count))
            next = record;
    }
    return next;
}

/* ---- the whole ---- */

/* At the level info, since this line alone tells what the decided pushes cost. */
static void log_batch(const sqs_batch *batch, const kedge_cost *before)
{
    int64_t failed = 0;
    for (size_t i = 0; i < batch->messages.count; i++)
        failed += batch->messages.of[i].failed;
    kedge_logger_line line;
    kedge_logger_level level = failed > 0 ? KEDGE_LOGGER_WARNING : KEDGE_LOGGER_INFO;
    kedge_cost after = kedge_meter_of_thread();
    kedge_cost cost = kedge_cost_minus(&after, before);
    if (!kedge_logger_begin(&line, batch->lambda->log, level, "consumed")) return;
    kedge_json_key(&line.json, "messages");
    kedge_json_integer(&line.json, (int64_t)batch->messages.count);
    kedge_json_key(&line.json, "failed");
    kedge_json_integer(&line.json, failed);
    kedge_json_key(&line.json, "cost");
    kedge_cost_write(&cost, &line.json);
    kedge_logger_end(&line);
}

kedge_status kedge_event_sqs(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                             kedge_buffer *out, kedge_error *error)
{
    const kedge_environment *environment = lambda->environment;
    sqs_batch batch = {.lambda = lambda,
                       .begin_ms = environment->monotonic_ms(environment->context),
                       .end_ms = end_of(lambda, deadline_ms)};
    kedge_cost before = kedge_meter_of_thread();
    kedge_status status =
        kedge_event_messages_read(lambda->environment->allocator, event, &batch.messages, error);
    const kedge_event_message *next = NULL;
    while (status == KEDGE_OK && (next = next_record(&batch)) != NULL)
        status = consume_group(&batch, next, error);
    if (status == KEDGE_OK) status = kedge_event_messages_write(&batch.messages, out, error);
    if (status == KEDGE_OK) log_batch(&batch, &before);
    kedge_event_messages_free(&batch.messages);
    return status;
}
