/* Batches of the queue of snapshots (backend/effects/snapshots.h), in the form of event_sqs.h.
 *
 * A message is named when its snapshots are not all made: another function is at the log, a store
 * is away, or the invocation's time is over. Then it comes again soon, and the next one goes on. */
#ifndef KEDGE_BACKEND_LAMBDA_EVENT_SNAPSHOTS_H
#define KEDGE_BACKEND_LAMBDA_EVENT_SNAPSHOTS_H

#include "backend/lambda/lambda.h"
#include "backend/ports/deadline.h"
#include "common/json.h"

/* Lambda ends every invocation by then: what one was at for longer goes to another. */
#define KEDGE_EVENT_SNAPSHOTS_RUN_MS 900000
/* A piece of a snapshot takes less than this, and is not begun with less time left. */
#define KEDGE_EVENT_SNAPSHOTS_RESERVE_MS 15000
/* One that takes longer after all stops so long before the invocation's end: what is left is to
 * save how far it came, to give the message back, and to respond. */
#define KEDGE_EVENT_SNAPSHOTS_MARGIN_MS   (KEDGE_DEADLINE_COMMIT_MS + 3000)
#define KEDGE_EVENT_SNAPSHOTS_RESPONSE_MS 500 /* of it, for the response alone */

/* `event` is a checked JSON object, a batch of SQS (event_messages.h). Appends the response. */
kedge_status kedge_event_snapshots(const kedge_lambda *lambda, kedge_bytes event,
                                   int64_t deadline_ms, kedge_buffer *out, kedge_error *error);

#endif
