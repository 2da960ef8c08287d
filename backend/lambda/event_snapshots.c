/* See event_snapshots.h. */
#include "backend/lambda/event_snapshots.h"

#include "backend/effects/consume.h"
#include "backend/effects/make.h"
#include "backend/front/effects.h"
#include "backend/lambda/event_messages.h"
#include "common/error.h"

static void note_refused(void *context, const kedge_log *log, const kedge_log_place *at,
                         const kedge_error *error)
{
    kedge_effects_log_refused(context, log, at, error);
}

/* The invocation's end, by the monotonic clock. */
static int64_t deadline_of(const kedge_lambda *lambda, int64_t deadline_ms)
{
    const kedge_environment *environment = lambda->environment;
    int64_t left_ms = deadline_ms == INT64_MAX
                          ? KEDGE_EVENT_SNAPSHOTS_RUN_MS
                          : deadline_ms - environment->now_ms(environment->context);
    return environment->monotonic_ms(environment->context) + left_ms;
}

/* The message is to come again, and sooner than its visibility ends. */
static void give_back(const kedge_lambda *lambda, kedge_event_message *message,
                      kedge_snapshot_outcome outcome, kedge_status why)
{
    const kedge_queue *queue = &lambda->snapshots;
    kedge_error error = {0};
    message->failed = true;
    if (queue->vtable == NULL) return;
    int64_t again_ms = kedge_snapshot_again_ms(outcome, why, (uint32_t)message->receive_count);
    if (queue->vtable->extend(queue->self, message->receipt, again_ms, &error) != KEDGE_OK)
        kedge_logger_write(lambda->log, KEDGE_LOGGER_WARNING, "queue-call-failed", "call",
                           kedge_queued_call_name(KEDGE_QUEUED_CALL_EXTEND), "code", error.code,
                           "detail", error.message, NULL);
}

static void work_off(const kedge_lambda *lambda, kedge_event_message *message, int64_t deadline_ms)
{
    const kedge_snapshot_worker worker = {.backend = lambda->backend,
                                          .make = kedge_effects_make,
                                          .run_max_ms = KEDGE_EVENT_SNAPSHOTS_RUN_MS,
                                          .reserve_ms = KEDGE_EVENT_SNAPSHOTS_RESERVE_MS,
                                          .refused = note_refused,
                                          .refused_context = lambda->log};
    kedge_error error = {0};
    kedge_snapshot_outcome outcome;
    kedge_deadline deadline = {.environment = lambda->environment,
                               .end_ms = deadline_ms - KEDGE_EVENT_SNAPSHOTS_MARGIN_MS,
                               .slice_end_ms = INT64_MAX};
    kedge_deadline_set(&deadline);
    kedge_status status = kedge_snapshot_work(&worker, kedge_buffer_bytes(&message->body),
                                              deadline_ms, &outcome, &error);
    deadline.end_ms = deadline_ms - KEDGE_EVENT_SNAPSHOTS_RESPONSE_MS;
    if (status != KEDGE_OK)
        kedge_logger_write(lambda->log, KEDGE_LOGGER_WARNING, "snapshot-failed", "message",
                           message->id, "code", error.code, "detail", error.message, NULL);
    if (outcome != KEDGE_SNAPSHOT_DONE) give_back(lambda, message, outcome, status);
    kedge_deadline_set(NULL);
}

kedge_status kedge_event_snapshots(const kedge_lambda *lambda, kedge_bytes event,
                                   int64_t deadline_ms, kedge_buffer *out, kedge_error *error)
{
    kedge_event_messages messages = {.count = 0};
    int64_t end_ms = deadline_of(lambda, deadline_ms);
    kedge_status status =
        kedge_event_messages_read(lambda->environment->allocator, event, &messages, error);
    for (size_t i = 0; status == KEDGE_OK && i < messages.count; i++)
        work_off(lambda, &messages.of[i], end_ms);
    if (status == KEDGE_OK) status = kedge_event_messages_write(&messages, out, error);
    kedge_event_messages_free(&messages);
    return status;
}
