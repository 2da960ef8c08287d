/* Queued mode in the server: pushes go into the queue, and a few threads take them out again.
 *
 * A thread that found no message waits in the queue's receive, where the queue can wait. With other
 * queues it waits until this process queues a push, but at most KEDGE_CONSUMERS_POLL_MS. Another
 * thread extends the visibility of the messages that the consumers work on. */
#ifndef KEDGE_BACKEND_HTTP_CONSUMERS_H
#define KEDGE_BACKEND_HTTP_CONSUMERS_H

#include "backend/front/logger.h"
#include "backend/queued/queued.h"

#define KEDGE_CONSUMERS_MAX          16
#define KEDGE_CONSUMERS_DEFAULT      4
#define KEDGE_CONSUMERS_VISIBILITY_S 10   /* kept up while a message is in hand */
#define KEDGE_CONSUMERS_KEEPS        4    /* looks of the keeper in a visibility */
#define KEDGE_CONSUMERS_POLL_MS      1000 /* between two looks into a queue that was empty */
#define KEDGE_CONSUMERS_WAIT_MS      5000 /* that the queue may wait for a message, as SQS does */
#define KEDGE_CONSUMERS_PAUSE_MS     200  /* after a queue that failed, doubling */
#define KEDGE_CONSUMERS_PAUSE_MAX_MS 10000

typedef struct kedge_consumers kedge_consumers;

/* `options->failed` and `call_failed` are set here: failures are logged. */
kedge_status kedge_consumers_new(const kedge_queued_options *options, kedge_logger *log,
                                 kedge_consumers **consumers, kedge_error *error);
/* The backend's option `enqueue`, with the consumers as its context. */
kedge_status kedge_consumers_enqueue(void *consumers, kedge_bytes organization, kedge_bytes project,
                                     const kedge_identity *identity, kedge_bytes push,
                                     kedge_error *error);
kedge_status kedge_consumers_start(kedge_consumers *consumers, kedge_backend *backend,
                                   uint32_t count, kedge_error *error);
/* Ends the threads: what they have run is committed, and the rest stays in the queue. */
void kedge_consumers_stop(kedge_consumers *consumers);
void kedge_consumers_free(kedge_consumers *consumers); /* stopped; NULL is allowed */
/* As Prometheus text. */
void kedge_consumers_write_metrics(void *consumers, kedge_buffer *out);

#endif
