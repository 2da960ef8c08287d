/* Batches of the table's stream, as Lambda's poller brings them:
 *
 *   {"Records":[{"eventName":…,"eventSource":"aws:dynamodb",
 *     "dynamodb":{"Keys":…,"NewImage":…,"SequenceNumber":…}}]}
 *   → {"batchItemFailures":[{"itemIdentifier":SequenceNumber}]}
 *
 * The first record whose effects failed is named, and Lambda brings it again with all after it; so
 * the event source mapping must have FunctionResponseTypes: ReportBatchItemFailures, and new images
 * in the stream. Whatever else the mapping does not filter out is passed over. */
#ifndef KEDGE_BACKEND_LAMBDA_EVENT_STREAM_H
#define KEDGE_BACKEND_LAMBDA_EVENT_STREAM_H

#include "backend/lambda/lambda.h"
#include "common/json.h"

/* So long before the invocation's end the work on a record stops. The record and all after it are
 * left to the next invocation. */
#define KEDGE_EVENT_STREAM_MARGIN_MS 2000

/* `event` is a JSON object, checked but for what kedge_dynamodb_change_may_have tells. */
bool kedge_event_is_stream(kedge_bytes event);
/* Appends the response. A failure means that nothing is known of the whole batch, which can be
 * repeated. */
kedge_status kedge_event_stream(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                                kedge_buffer *out, kedge_error *error);

#endif
