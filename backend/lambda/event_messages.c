/* See event_messages.h. */
#include "backend/lambda/event_messages.h"

#include "common/error.h"

#include <stdio.h>
#include <string.h>

#define ARN_SIZE 256
#define RECEIPT  "sqs-" /* in front of SQS's handle: a receipt of the queue's port */

bool kedge_event_messages_queue(kedge_bytes event, char *name, size_t size)
{
    kedge_bytes records, first;
    char source[32], arn[ARN_SIZE] = "";
    if (!kedge_json_member(event, "Records", &records) ||
        kedge_json_type_of(records) != KEDGE_JSON_ARRAY)
        return false;
    kedge_json_iterator elements = kedge_json_iterate(records);
    if (!kedge_json_next_element(&elements, &first) ||
        !kedge_json_member_chars(first, "eventSource", source, sizeof source) ||
        strcmp(source, "aws:sqs") != 0)
        return false;
    kedge_json_member_chars(first, "eventSourceARN", arn, sizeof arn);
    const char *last = strrchr(arn, ':');
    snprintf(name, size, "%s", last == NULL ? arn : last + 1);
    return true;
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

static bool read_record(kedge_bytes value, kedge_event_message *record)
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

kedge_status kedge_event_messages_read(const kedge_allocator *allocator, kedge_bytes event,
                                       kedge_event_messages *messages, kedge_error *error)
{
    kedge_bytes records, value;
    (void)kedge_json_member(event, "Records", &records);
    kedge_json_iterator elements = kedge_json_iterate(records);
    while (kedge_json_next_element(&elements, &value)) {
        if (messages->count == KEDGE_QUEUE_RECEIVE_MAX) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "event-invalid",
                              "a batch of a FIFO queue has at most %d records",
                              KEDGE_QUEUE_RECEIVE_MAX);
        }
        kedge_event_message *message = &messages->of[messages->count++];
        message->group = kedge_buffer_make(allocator);
        message->body = kedge_buffer_make(allocator);
        bool read = read_record(value, message);
        if (message->group.no_memory || message->body.no_memory) return kedge_fail_no_memory(error);
        if (!read) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "event-invalid",
                              "record %zu is not a message of a FIFO queue: it lacks messageId, "
                              "receiptHandle, body, or an attribute",
                              messages->count - 1);
        }
    }
    return KEDGE_OK;
}

void kedge_event_messages_free(kedge_event_messages *messages)
{
    for (size_t i = 0; i < messages->count; i++) {
        kedge_buffer_free(&messages->of[i].group);
        kedge_buffer_free(&messages->of[i].body);
    }
}

kedge_queue_message kedge_event_message_of(kedge_event_message *record)
{
    return (kedge_queue_message){.receipt = record->receipt,
                                 .group = kedge_buffer_bytes(&record->group),
                                 .body = kedge_buffer_bytes(&record->body),
                                 .sent_ms = record->sent_ms,
                                 .receive_count = (uint32_t)record->receive_count};
}

/* ---- the response ---- */

kedge_status kedge_event_messages_write(const kedge_event_messages *messages, kedge_buffer *out,
                                        kedge_error *error)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "batchItemFailures");
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < messages->count; i++) {
        if (!messages->of[i].failed) continue;
        kedge_json_begin_object(&writer);
        kedge_json_key(&writer, "itemIdentifier");
        kedge_json_chars(&writer, messages->of[i].id);
        kedge_json_end_object(&writer);
    }
    kedge_json_end_array(&writer);
    kedge_json_end_object(&writer);
    return kedge_buffer_status(out, error);
}
