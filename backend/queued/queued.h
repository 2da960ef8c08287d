/* Queued mode: a push is answered when it is durable in a queue, and decided later.
 *
 * Enqueue. kedge_queued_enqueue is the backend's option `enqueue`: it makes a message of a push
 * that the API has examined, and sends it into the group of its project. A message over
 * `claim_bytes`, or over the queue's own limit, or with bytes that a queue of text cannot hold,
 * stands in blobs, and the queue holds its hash (a claim check).
 *
 * Consume. kedge_consume decides up to ten messages, wherever they come from. Those of one project
 * become one push, and so one version where one can hold them; each mutation keeps the sender of
 * its message. Mutations that a push may not decide (after a gap, with a mismatch, of a retired
 * client) are dropped without an outcome: their client still has them. kedge_consumer_round
 * receives messages, consumes them and takes them out of the queue.
 *
 * Where the queue knows of owners, the consumers of one kedge_queued keep some consumers free for
 * owners that none of them works for.
 *
 * A message that comes again (its consumer's process ended, or the store failed) is merged with
 * fewer messages each time: up to 10, 5, 2 in all, then it is alone. A message that cannot be
 * decided fails without the others. It goes to the dead letters when it was delivered as often as
 * the queue allows; the reason is in records (dead_letters.h). The same happens to a message for
 * which a store fails in as many deliveries. A queue that allows KEDGE_QUEUE_DELIVERIES tolerates
 * an outage of KEDGE_QUEUED_OUTAGE_MS. A queue must allow at least KEDGE_QUEUE_DELIVERIES_LEAST
 * (6); programs warn at their start of one that allows fewer. A message that ends its consumers'
 * processes is found after four deliveries, and those that were merged with it until then need one
 * more. docs/explanation/backend.md explains this. */
#ifndef KEDGE_BACKEND_QUEUED_QUEUED_H
#define KEDGE_BACKEND_QUEUED_QUEUED_H

#include "backend/ports/queue.h"
#include "backend/versioned/commit/processor.h"

#define KEDGE_QUEUED_CLAIM_BYTES   256000 /* a larger message goes to blobs */
#define KEDGE_QUEUED_VISIBILITY_MS 60000
#define KEDGE_QUEUED_ALONE_COUNT   4  /* from this delivery on a message is tried alone */
#define KEDGE_QUEUED_ENDED_MAX     10 /* such tries in a row that may end their consumers */
#define KEDGE_QUEUED_FREE_SHARE    4  /* one consumer in so many, and at least one, stays free */
_Static_assert(KEDGE_QUEUE_DELIVERIES_LEAST == KEDGE_QUEUED_ALONE_COUNT + 2,
               "those that were merged with a message that ends its consumers need one more");
/* When a message is to come again: doubles with each delivery. */
#define KEDGE_QUEUED_AGAIN_MS     1000 /* after a fault that passes */
#define KEDGE_QUEUED_AGAIN_MAX_MS 120000
/* 1 + 2 + 4 + … + 64 s, then 42 times 120 s: when the last of KEDGE_QUEUE_DELIVERIES comes, of a
 * message whose tries take no time. */
#define KEDGE_QUEUED_OUTAGE_MS        5167000
#define KEDGE_QUEUED_UNDECIDED_MS     250 /* after a failure of its own: it holds up its group */
#define KEDGE_QUEUED_UNDECIDED_MAX_MS 1000

/* A message that could not be decided, for the log. */
typedef struct kedge_queued_failure {
    const char *organization; /* "" when the message does not tell */
    const char *project;
    const char *id; /* SHA-256 of the message's body */
    uint32_t receive_count;
    const kedge_error *error;
} kedge_queued_failure;

/* What is done with a message besides deciding it. After a failure the message comes again and is
 * recognized as decided, or data is left over, which is removed by its age. */
typedef enum kedge_queued_call {
    KEDGE_QUEUED_CALL_EXTEND,  /* its visibility, so that it comes later, or to nobody else */
    KEDGE_QUEUED_CALL_DONE,    /* out of the queue */
    KEDGE_QUEUED_CALL_RELEASE, /* its push out of the blobs */
    KEDGE_QUEUED_CALL_NOTE,    /* why it cannot be decided */
    KEDGE_QUEUED_CALL_FORGET,  /* that note */
    KEDGE_QUEUED_CALLS
} kedge_queued_call;

/* "extend" and so on: as metrics and logs call it. */
const char *kedge_queued_call_name(kedge_queued_call call);

typedef struct kedge_queued_options {
    const kedge_environment *environment; /* must outlive it, like the ports */
    kedge_records records;
    kedge_blobs blobs;
    kedge_queue queue;     /* vtable NULL: messages are only handed to kedge_consume */
    size_t claim_bytes;    /* 0: KEDGE_QUEUED_CLAIM_BYTES */
    int64_t visibility_ms; /* 0: KEDGE_QUEUED_VISIBILITY_MS */
    void (*failed)(void *context, const kedge_queued_failure *failure); /* may be NULL */
    void *failed_context;
    void (*call_failed)(void *context, kedge_queued_call call,
                        const kedge_error *error); /* may be NULL */
    void *call_failed_context;
} kedge_queued_options;

typedef struct kedge_queued kedge_queued;

kedge_status kedge_queued_new(const kedge_queued_options *options, kedge_queued **queued,
                              kedge_error *error);
void kedge_queued_free(kedge_queued *queued); /* NULL is allowed */

/* The backend's option `enqueue`; `queued` is a kedge_queued. Any thread. */
kedge_status kedge_queued_enqueue(void *queued, kedge_bytes organization, kedge_bytes project,
                                  const kedge_identity *identity, kedge_bytes push,
                                  kedge_error *error);

/* ---- consuming ---- */

typedef enum kedge_consumed {
    KEDGE_CONSUMED_DECIDED, /* or dropped by the rules: the message may go */
    KEDGE_CONSUMED_AGAIN, /* not now: a fault that passes, of the store or of one in front of it */
    KEDGE_CONSUMED_FAILED /* undecidable: it comes again until it goes to the dead letters */
} kedge_consumed;

typedef struct kedge_consume_outcome {
    kedge_consumed what;
    int64_t again_ms;  /* unless decided: how long the message is better left alone */
    kedge_error error; /* unless decided */
} kedge_consume_outcome;

/* `settled` is called for each message as soon as its outcome is known. So a consumer whose process
 * ends later leaves as few messages as possible unsettled. */
typedef struct kedge_consume_watch {
    void (*settled)(void *context, size_t message, const kedge_consume_outcome *outcome);
    void *context;
} kedge_consume_watch;

/* Decides `count` (at most KEDGE_QUEUE_RECEIVE_MAX) messages, in order within each project, and
 * fills as many outcomes. `delivered`: how many messages were delivered together, including these;
 * a message that has ended a consumer's process is tried only when it was delivered alone. After a
 * message that gets KEDGE_CONSUMED_AGAIN, all later ones of its project get the same. One that gets
 * KEDGE_CONSUMED_FAILED does not affect the others. Receipts are not used. `watch` may be NULL. Any
 * thread. */
kedge_status kedge_consume(kedge_queued *queued, kedge_backend *backend,
                           const kedge_queue_message *messages, size_t count, size_t delivered,
                           const kedge_consume_watch *watch, kedge_consume_outcome *outcomes,
                           kedge_error *error);
/* Removes the blobs of a decided message. Call it when the message is out of the queue for good; a
 * message that comes again after that fails. */
kedge_status kedge_queued_release(kedge_queued *queued, const kedge_queue_message *message,
                                  kedge_error *error);

/* ---- a consumer: one thread's ---- */

typedef struct kedge_consumer kedge_consumer;

kedge_status kedge_consumer_new(kedge_queued *queued, kedge_backend *backend,
                                kedge_consumer **consumer, kedge_error *error);
void kedge_consumer_free(kedge_consumer *consumer); /* NULL is allowed */
/* Receives up to 10 messages (the queue may wait `wait_ms` for the first) and settles each: decided
 * ones are deleted from the queue, the others given back. `*received`: how many there were;
 * `*left`: how many are not decided. A failure is counted; the caller logs it. */
kedge_status kedge_consumer_round(kedge_consumer *consumer, int64_t wait_ms, size_t *received,
                                  size_t *left, kedge_error *error);
/* Extends the visibility of the messages that a round works on, so that no other consumer receives
 * them. Call it from another thread, several times within each visibility. */
void kedge_consumer_keep(kedge_consumer *consumer);

/* ---- telling ---- */

/* Counts the failure and tells it to the option `call_failed`. */
void kedge_queued_call_failed(kedge_queued *queued, kedge_queued_call call,
                              const kedge_error *error);

/* Counters as Prometheus text. */
void kedge_queued_write_metrics(kedge_queued *queued, kedge_buffer *out);
/* The same: the age of the oldest message that a consumer has in hand, or that came last. */
void kedge_consumers_write_age(kedge_queued *queued, kedge_buffer *out);

#endif
