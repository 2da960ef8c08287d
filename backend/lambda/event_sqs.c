/* See event_sqs.h. */
#include "backend/lambda/event_sqs.h"

#include "backend/ports/meter.h"
#include "backend/queued/message.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

#define ID_SIZE      128
#define RECEIPT_SIZE 2048
#define RECEIPT      "sqs-" /* in front of SQS's handle: a receipt of the queue's port */

typedef struct sqs_record {
    char id[ID_SIZE];
    char receipt[RECEIPT_SIZE];
    kedge_buffer group;
    kedge_buffer body;
    int64_t sent_ms;
    int64_t receive_count;
    bool seen;   /* its group had its turn */
    bool failed; /* to be named */
} sqs_record;

typedef struct sqs_batch {
    const kedge_lambda *lambda;
    int64_t deadline_ms;
    sqs_record records[KEDGE_QUEUE_RECEIVE_MAX];
    size_t count;
} sqs_batch;

bool kedge_event_is_sqs(kedge_bytes event)
{
    kedge_bytes records, first;
    char source[32];
    if (!kedge_json_member(event, "Records", &records) ||
        kedge_json_type_of(records) != KEDGE_JSON_ARRAY) {
        return false;
    }
    kedge_json_iterator elements = kedge_json_iterate(records);
    return kedge_json_next_element(&elements, &first) &&
           kedge_json_member_chars(first, "eventSource", source, sizeof source) &&
           strcmp(source, "aws:sqs") == 0;
}

/* ---- reading ---- */

static bool read_number(kedge_bytes attributes, const char *name, int64_t *number)
{
    char text[24];
    return kedge_json_member_chars(attributes, name, text, sizeof text) &&
           kedge_json_to_integer(kedge_bytes_of(text), number) && *number >= 0;
}

static bool read_text(kedge_bytes object, const char *name, kedge_buffer *text)
{
    kedge_bytes value;
    return kedge_json_member(object, name, &value) && kedge_json_to_text(value, text);
}

static bool read_record(kedge_bytes value, sqs_record *record)
{
    kedge_bytes attributes;
    memcpy(record->receipt, RECEIPT, sizeof RECEIPT);
    return kedge_json_member_chars(value, "messageId", record->id, sizeof record->id) &&
           kedge_json_member_chars(value, "receiptHandle", record->receipt + sizeof RECEIPT - 1,
                                   sizeof record->receipt - sizeof RECEIPT + 1) &&
           kedge_json_member(value, "attributes", &attributes) &&
           read_number(attributes, "ApproximateReceiveCount", &record->receive_count) &&
           record->receive_count <= UINT32_MAX &&
           read_number(attributes, "SentTimestamp", &record->sent_ms) &&
           read_text(attributes, "MessageGroupId", &record->group) &&
           read_text(value, "body", &record->body);
}

static kedge_status read_batch(kedge_bytes event, sqs_batch *batch, kedge_error *error)
{
    kedge_bytes records, value;
    (void)kedge_json_member(event, "Records", &records);
    kedge_json_iterator elements = kedge_json_iterate(records);
    while (kedge_json_next_element(&elements, &value)) {
        if (batch->count == KEDGE_QUEUE_RECEIVE_MAX) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "event-invalid",
                              "a batch of a FIFO queue has at most %d records",
                              KEDGE_QUEUE_RECEIVE_MAX);
        }
        sqs_record *record = &batch->records[batch->count++];
        const kedge_allocator *allocator = batch->lambda->environment->allocator;
        record->group = kedge_buffer_make(allocator);
        record->body = kedge_buffer_make(allocator);
        bool read = read_record(value, record);
        if (record->group.no_memory || record->body.no_memory) return kedge_fail_no_memory(error);
        if (!read) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "event-invalid",
                              "record %zu is not a message of a FIFO queue: it lacks messageId, "
                              "receiptHandle, body, or an attribute",
                              batch->count - 1);
        }
    }
    return KEDGE_OK;
}

/* ---- one group ---- */

static kedge_queue_message message_of(sqs_record *record)
{
    return (kedge_queue_message){.receipt = record->receipt,
                                 .group = kedge_buffer_bytes(&record->group),
                                 .body = kedge_buffer_bytes(&record->body),
                                 .sent_ms = record->sent_ms,
                                 .receive_count = (uint32_t)record->receive_count};
}

/* The message is to come again, and may do so before its visibility ends. */
static void give_back(const sqs_batch *batch, sqs_record *record, int64_t again_ms)
{
    const kedge_queue *queue = &batch->lambda->queue;
    kedge_error error = {0};
    record->failed = true;
    if (queue->vtable == NULL) return;
    if (queue->vtable->extend(queue->self, record->receipt, again_ms, &error) != KEDGE_OK)
        kedge_queued_call_failed(batch->lambda->queued, KEDGE_QUEUED_CALL_EXTEND, &error);
}

/* Not without a queue: then the push stays in blobs, until garbage collection removes it. */
static void release(const sqs_batch *batch, sqs_record *record)
{
    const kedge_queue *queue = &batch->lambda->queue;
    kedge_queue_message message = message_of(record);
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

static bool has_time(const sqs_batch *batch)
{
    const kedge_environment *environment = batch->lambda->environment;
    if (batch->deadline_ms == INT64_MAX) return true;
    return environment->now_ms(environment->context) + KEDGE_EVENT_SQS_MARGIN_MS <
           batch->deadline_ms;
}

/* When a message waits for a store, kedge_consume has not started the later ones of its group, and
 * all of these are given back with it. A message that can never be decided is given back alone. If
 * the others were given back too, their deliveries would be counted like its own, and in the end
 * they would be dead letters although they were decided. */
static void settle_group(const sqs_batch *batch, sqs_record *const *group, size_t count,
                         const kedge_consume_outcome *outcomes)
{
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i].what == KEDGE_CONSUMED_DECIDED)
            release(batch, group[i]);
        else
            give_back(batch, group[i], outcomes[i].again_ms);
    }
}

/* The records of the group that `first` is of. */
static kedge_status consume_group(sqs_batch *batch, size_t first, kedge_error *error)
{
    sqs_record *group[KEDGE_QUEUE_RECEIVE_MAX];
    kedge_queue_message messages[KEDGE_QUEUE_RECEIVE_MAX];
    kedge_consume_outcome outcomes[KEDGE_QUEUE_RECEIVE_MAX];
    size_t count = 0;
    for (size_t i = first; i < batch->count; i++) {
        sqs_record *record = &batch->records[i];
        if (!kedge_bytes_equal(kedge_buffer_bytes(&record->group),
                               kedge_buffer_bytes(&batch->records[first].group))) {
            continue;
        }
        record->seen = true;
        messages[count] = message_of(record);
        group[count++] = record;
    }
    if (!has_time(batch)) {
        for (size_t i = 0; i < count; i++)
            give_back(batch, group[i], 0);
        return KEDGE_OK;
    }
    kedge_status status = kedge_consume(batch->lambda->queued, batch->lambda->backend, messages,
                                        count, NULL, outcomes, error);
    if (status == KEDGE_OK) settle_group(batch, group, count, outcomes);
    return status;
}

/* ---- the whole ---- */

static kedge_status write_failures(const sqs_batch *batch, kedge_buffer *out, kedge_error *error)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "batchItemFailures");
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < batch->count; i++) {
        if (!batch->records[i].failed) continue;
        kedge_json_begin_object(&writer);
        kedge_json_key(&writer, "itemIdentifier");
        kedge_json_chars(&writer, batch->records[i].id);
        kedge_json_end_object(&writer);
    }
    kedge_json_end_array(&writer);
    kedge_json_end_object(&writer);
    return kedge_buffer_status(out, error);
}

/* At the level info, since this line alone tells what the decided pushes cost. */
static void log_batch(const sqs_batch *batch, const kedge_cost *before)
{
    int64_t failed = 0;
    for (size_t i = 0; i < batch->count; i++)
        failed += batch->records[i].failed;
    kedge_logger_line line;
    kedge_logger_level level = failed > 0 ? KEDGE_LOGGER_WARNING : KEDGE_LOGGER_INFO;
    kedge_cost after = kedge_meter_of_thread();
    kedge_cost cost = kedge_cost_minus(&after, before);
    if (!kedge_logger_begin(&line, batch->lambda->log, level, "consumed")) return;
    kedge_json_key(&line.json, "messages");
    kedge_json_integer(&line.json, (int64_t)batch->count);
    kedge_json_key(&line.json, "failed");
    kedge_json_integer(&line.json, failed);
    kedge_json_key(&line.json, "cost");
    kedge_cost_write(&cost, &line.json);
    kedge_logger_end(&line);
}

kedge_status kedge_event_sqs(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                             kedge_buffer *out, kedge_error *error)
{
    sqs_batch batch = {.lambda = lambda, .deadline_ms = deadline_ms};
    kedge_cost before = kedge_meter_of_thread();
    kedge_status status = read_batch(event, &batch, error);
    for (size_t i = 0; status == KEDGE_OK && i < batch.count; i++) {
        if (!batch.records[i].seen) status = consume_group(&batch, i, error);
    }
    if (status == KEDGE_OK) status = write_failures(&batch, out, error);
    if (status == KEDGE_OK) log_batch(&batch, &before);
    for (size_t i = 0; i < batch.count; i++) {
        kedge_buffer_free(&batch.records[i].group);
        kedge_buffer_free(&batch.records[i].body);
    }
    return status;
}
