/* Batches of the FIFO queue of pushes, as Lambda's poller brings them:
 *
 *   {"Records":[{"messageId":…,"receiptHandle":…,"body":…,"eventSource":"aws:sqs",
 *     "attributes":{"MessageGroupId":…,"ApproximateReceiveCount":…,"SentTimestamp":…}}]}
 *   → {"batchItemFailures":[{"itemIdentifier":messageId}]}
 *
 * The poller deletes the messages that the response does not name, so the event source mapping must
 * have FunctionResponseTypes: ReportBatchItemFailures. When a store is unavailable, the response
 * names all messages of the project from the failed one on. Of a message that cannot be decided it
 * names only that one: later messages stay in order by the ids of their mutations, and a decided
 * message must not become a dead letter together with it.
 *
 * With a queue (KEDGE_QUEUE) the function does two things that the poller does not do. It makes a
 * named message come again soon (backend/queued says when), instead of after the queue's whole
 * visibility, which would block its group. And it deletes a decided message whose push is a blob
 * from the queue before it deletes the blob, so that the message cannot come again without its
 * push. */
#ifndef KEDGE_BACKEND_LAMBDA_EVENT_SQS_H
#define KEDGE_BACKEND_LAMBDA_EVENT_SQS_H

#include "backend/lambda/lambda.h"
#include "backend/ports/deadline.h"
#include "common/json.h"

/* So long before the invocation's deadline a push stops. The mutations that it has decided are
 * committed, and its message is named, so that the next delivery continues. A group that was not
 * begun by then waits for the next delivery. */
#define KEDGE_EVENT_SQS_MARGIN_MS (KEDGE_DEADLINE_COMMIT_MS + 2000)
/* The calls to the queue stop so long before the deadline, since the response must come in time. */
#define KEDGE_EVENT_SQS_RESPONSE_MS 500

/* `event` is a checked JSON object, a batch of SQS (event_messages.h). Appends the response. A
 * failure means that nothing is known of the whole batch. */
kedge_status kedge_event_sqs(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                             kedge_buffer *out, kedge_error *error);

#endif
