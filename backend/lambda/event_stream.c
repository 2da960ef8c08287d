/* See event_stream.h. */
#include "backend/lambda/event_stream.h"

#include "backend/aws/dynamodb_stream.h"
#include "backend/effects/apply.h"
#include "backend/front/effects.h"
#include "backend/ports/deadline.h"
#include "common/error.h"

#include <string.h>

#define SEQUENCE_SIZE (KEDGE_STREAM_POSITION_BYTES_MAX + 1)

typedef struct stream_batch {
    const kedge_lambda *lambda;
    kedge_effects effects;
    size_t handled;
    char failed[SEQUENCE_SIZE]; /* the first that failed; "": none */
} stream_batch;

bool kedge_event_is_stream(kedge_bytes event)
{
    kedge_bytes records, first;
    char source[32];
    if (!kedge_json_member(event, "Records", &records) ||
        kedge_json_type_of(records) != KEDGE_JSON_ARRAY)
        return false;
    kedge_json_iterator elements = kedge_json_iterate(records);
    return kedge_json_next_element(&elements, &first) &&
           kedge_json_member_chars(first, "eventSource", source, sizeof source) &&
           strcmp(source, "aws:dynamodb") == 0;
}

static void note_passed(void *context, const kedge_error *error)
{
    kedge_effects_log_passed(context, error);
}

static kedge_status handle(stream_batch *batch, kedge_bytes record, kedge_error *error)
{
    kedge_stream_batch changes = {0};
    size_t handled;
    kedge_status status =
        kedge_dynamodb_change_read(batch->lambda->environment->allocator, record, &changes, error);
    if (status == KEDGE_OK)
        status =
            kedge_effects_handle(&batch->effects, changes.changes, changes.count, &handled, error);
    kedge_stream_batch_free(&changes);
    return status;
}

static bool read_sequence(kedge_bytes record, char sequence[SEQUENCE_SIZE])
{
    kedge_bytes change;
    return kedge_json_member(record, "dynamodb", &change) &&
           kedge_json_member_chars(change, "SequenceNumber", sequence, SEQUENCE_SIZE);
}

static void log_failure(const stream_batch *batch, const kedge_error *error)
{
    kedge_logger_write(batch->lambda->log, KEDGE_LOGGER_WARNING, "stream-failed", "sequence",
                       batch->failed, "code", error->code, "detail", error->message, NULL);
}

static kedge_status handle_all(stream_batch *batch, kedge_bytes event, kedge_error *error)
{
    kedge_bytes records, record;
    (void)kedge_json_member(event, "Records", &records);
    kedge_json_iterator elements = kedge_json_iterate(records);
    while (kedge_json_next_element(&elements, &record)) {
        kedge_error failure = {0};
        char sequence[SEQUENCE_SIZE];
        if (!read_sequence(record, sequence))
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "event-invalid",
                              "record %zu is none of a DynamoDB stream: it has no SequenceNumber",
                              batch->handled);
        kedge_status status = kedge_deadline_check(&failure);
        if (status == KEDGE_OK) status = handle(batch, record, &failure);
        if (status != KEDGE_OK) {
            memcpy(batch->failed, sequence, sizeof sequence);
            log_failure(batch, &failure);
            return KEDGE_OK;
        }
        batch->handled++;
    }
    return KEDGE_OK;
}

static void write_response(const stream_batch *batch, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "batchItemFailures");
    kedge_json_begin_array(&writer);
    if (batch->failed[0] != '\0') {
        kedge_json_begin_object(&writer);
        kedge_json_key(&writer, "itemIdentifier");
        kedge_json_chars(&writer, batch->failed);
        kedge_json_end_object(&writer);
    }
    kedge_json_end_array(&writer);
    kedge_json_end_object(&writer);
}

kedge_status kedge_event_stream(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                                kedge_buffer *out, kedge_error *error)
{
    stream_batch batch = {.lambda = lambda,
                          .effects = {.backend = lambda->backend,
                                      .queue = lambda->snapshots,
                                      .passed = note_passed,
                                      .context = lambda->log}};
    const kedge_environment *environment = lambda->environment;
    int64_t left_ms = deadline_ms - environment->now_ms(environment->context);
    kedge_deadline deadline = {.environment = environment,
                               .end_ms = environment->monotonic_ms(environment->context) +
                                         (left_ms - KEDGE_EVENT_STREAM_MARGIN_MS),
                               .slice_end_ms = INT64_MAX};
    if (lambda->snapshots.vtable == NULL)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "setting-missing",
                          "a function that follows the stream needs KEDGE_SNAPSHOTS");
    if (deadline_ms != INT64_MAX) kedge_deadline_set(&deadline);
    kedge_status status = handle_all(&batch, event, error);
    kedge_deadline_set(NULL);
    if (status != KEDGE_OK) return status;
    write_response(&batch, out);
    return kedge_buffer_status(out, error);
}
