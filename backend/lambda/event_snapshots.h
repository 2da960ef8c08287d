/* Batches of the queue of snapshots (backend/effects/snapshots.h), in the form of event_sqs.h.
 *
 * The response names a message whose snapshots are not all made: another function works on the log,
 * a store is unavailable, or the invocation's time is over. The message then comes again soon, and
 * the next invocation goes on. */
#ifndef KEDGE_BACKEND_LAMBDA_EVENT_SNAPSHOTS_H
#define KEDGE_BACKEND_LAMBDA_EVENT_SNAPSHOTS_H

#include "backend/lambda/lambda.h"
#include "backend/ports/deadline.h"
#include "common/json.h"

/* Lambda's longest invocation. An item that an invocation has had for longer may go to another. */
#define KEDGE_EVENT_SNAPSHOTS_RUN_MS 900000
/* A piece of a snapshot takes less than this, and is not begun with less time left. */
#define KEDGE_EVENT_SNAPSHOTS_RESERVE_MS 15000
/* A piece that takes longer nevertheless is stopped so long before the invocation's end. That time
 * is for saving the progress, giving the message back, and responding. */
#define KEDGE_EVENT_SNAPSHOTS_MARGIN_MS   (KEDGE_DEADLINE_COMMIT_MS + 3000)
#define KEDGE_EVENT_SNAPSHOTS_RESPONSE_MS 500 /* of it, for the response alone */

/* `event` is a checked JSON object, a batch of SQS (event_messages.h). Appends the response. */
kedge_status kedge_event_snapshots(const kedge_lambda *lambda, kedge_bytes event,
                                   int64_t deadline_ms, kedge_buffer *out, kedge_error *error);

#endif
