/* Batches of the FIFO queue of pushes, as Lambda's poller brings them:
 *
 *   {"Records":[{"messageId":…,"receiptHandle":…,"body":…,"eventSource":"aws:sqs",
 *     "attributes":{"MessageGroupId":…,"ApproximateReceiveCount":…,"SentTimestamp":…}}]}
 *   → {"batchItemFailures":[{"itemIdentifier":messageId}]}
 *
 * The poller deletes what is not named, so the event source mapping must have
 * FunctionResponseTypes: ReportBatchItemFailures. When a store is away, everything of the project
 * from that message on is named. A message that cannot be decided is named alone: those after it
 * stay in order by the ids of their mutations, and one that was decided must not become a dead
 * letter together with it.
 *
 * With a queue (KEDGE_QUEUE) two things are done here that the poller does not do. What is named
 * comes again soon (backend/queued says when) and not after the queue's whole visibility, for which
 * its group would stand still. And a decided message whose push stands in blobs is deleted from the
 * queue before that push is: it must not come again without it. */
#ifndef KEDGE_BACKEND_LAMBDA_EVENT_SQS_H
#define KEDGE_BACKEND_LAMBDA_EVENT_SQS_H

#include "backend/lambda/lambda.h"
#include "backend/ports/deadline.h"
#include "common/json.h"

/* So long before the invocation's deadline a push stops, what it has decided is committed, and its
 * message is named: the next delivery goes on after that. A group that is not begun by then waits
 * for the next delivery. */
#define KEDGE_EVENT_SQS_MARGIN_MS (KEDGE_DEADLINE_COMMIT_MS + 2000)
/* The calls about messages stop so long before it, since the response must come in time. */
#define KEDGE_EVENT_SQS_RESPONSE_MS 500

/* `event` is a checked JSON object, a batch of SQS (event_messages.h). Appends the response. A
 * failure means that nothing is known of the whole batch. */
kedge_status kedge_event_sqs(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                             kedge_buffer *out, kedge_error *error);

#endif
