/* What follows the writes of logs, in the server: a thread that reads the stream of changes, and a
 * few that make snapshots (backend/effects).
 *
 * A thread that found nothing to do waits for a second, or until there is something: an append of
 * this process wakes the reader, a request of a snapshot the others. */
#ifndef KEDGE_BACKEND_HTTP_FOLLOWERS_H
#define KEDGE_BACKEND_HTTP_FOLLOWERS_H

#include "backend/base/options.h"
#include "backend/front/logger.h"
#include "backend/ports/queue.h"
#include "backend/ports/stream.h"

#define KEDGE_FOLLOWERS_NAME         "logs" /* of the stream's reader, in its checkpoints */
#define KEDGE_FOLLOWERS_WORKERS      2      /* threads that make snapshots */
#define KEDGE_FOLLOWERS_POLL_MS      1000
#define KEDGE_FOLLOWERS_WAIT_MS      5000  /* that the queue may wait for a message, as SQS does */
#define KEDGE_FOLLOWERS_WORK_MS      30000 /* on one message; then it goes to the next worker */
#define KEDGE_FOLLOWERS_RESERVE_MS   10000 /* a piece takes less */
#define KEDGE_FOLLOWERS_RUN_MS       60000 /* then a worker has ended, and another takes over */
#define KEDGE_FOLLOWERS_PAUSE_MS     200   /* after a failure, doubling */
#define KEDGE_FOLLOWERS_PAUSE_MAX_MS 10000

typedef struct kedge_followers_options {
    const kedge_environment *environment; /* must outlive it, like the ports and the log */
    kedge_records records;
    kedge_stream stream;
    kedge_queue snapshots;
    bool alone; /* no other process follows this stream: there is no lease to wait for */
    kedge_logger *log;
} kedge_followers_options;

typedef struct kedge_followers kedge_followers;

kedge_status kedge_followers_new(const kedge_followers_options *options,
                                 kedge_followers **followers, kedge_error *error);
kedge_status kedge_followers_start(kedge_followers *followers, kedge_backend *backend,
                                   kedge_error *error);
/* An entry was appended to a log, or may have been. Any thread. */
void kedge_followers_appended(kedge_followers *followers);
/* Ends the threads; what they have in hand is gone on with after the next start. */
void kedge_followers_stop(kedge_followers *followers); /* NULL is allowed */
void kedge_followers_free(kedge_followers *followers); /* stopped; NULL is allowed */
/* As Prometheus text. */
void kedge_followers_write_metrics(kedge_followers *followers, kedge_buffer *out);

#endif
