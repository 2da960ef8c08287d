/* The queue port: messages in order within a group, in the shape of SQS FIFO.
 *
 * Each group has an owner. In the queues of this repository (SQLite and memory) the owners are
 * served round-robin, and so are the groups of an owner: however many messages one owner has,
 * another one waits for one receive of each. At-least-once: a message comes again when it is not
 * done before its visibility ends. While a message of a group is in flight, no other receive gets
 * one of that group. A message received the configured number of times goes to the dead letters
 * instead of being received once more, and its group goes on. Owners, groups, deduplication names
 * and bodies are bytes, not empty. Failures as in records.h; a receipt that no receive can have
 * given is KEDGE_INVALID_ARGUMENT. Implementations: SQLite, SQS, memory. */
#ifndef KEDGE_BACKEND_PORTS_QUEUE_H
#define KEDGE_BACKEND_PORTS_QUEUE_H

#include "common/bytes.h"

#define KEDGE_QUEUE_OWNER_BYTES_MAX         128
#define KEDGE_QUEUE_GROUP_BYTES_MAX         128
#define KEDGE_QUEUE_BODY_BYTES_MAX          1048576
#define KEDGE_QUEUE_RECEIVE_MAX             10
#define KEDGE_QUEUE_OWNERS_ASKED            24   /* about which a receive asks `may_take` */
#define KEDGE_QUEUE_DEAD_LETTERS_MAX        100  /* that one call shows */
#define KEDGE_QUEUE_DEAD_LETTERS_OF_GROUP   10   /* that it shows of one group at least */
#define KEDGE_QUEUE_DELIVERIES              50   /* of a message, in queues that Kedge makes */
#define KEDGE_QUEUE_DELIVERIES_LEAST        6    /* fewer: see backend/queued/queued.h */
#define KEDGE_QUEUE_DELIVERIES_MAX          1000 /* the most that may be configured */
#define KEDGE_QUEUE_DEDUPLICATION_BYTES_MAX 128
#define KEDGE_QUEUE_DEDUPLICATION_MS        300000   /* 5 minutes */
#define KEDGE_QUEUE_VISIBILITY_MS_MAX       43200000 /* 12 hours */
#define KEDGE_QUEUE_WAIT_MS_MAX             20000

typedef struct kedge_queue_message {
    char *receipt; /* names this delivery; NUL-terminated */
    kedge_bytes group;
    kedge_bytes body;
    int64_t sent_ms;
    uint32_t receive_count; /* 1 at the first delivery */
} kedge_queue_message;

/* Messages that a receive gave, with their memory. Start from {0}; kedge_queue_batch_free. */
typedef struct kedge_queue_batch {
    kedge_queue_message *messages;
    size_t count;
    bool more; /* there may be other dead letters than these */
    void *memory;
    void (*memory_free)(void *memory);
} kedge_queue_batch;

void kedge_queue_batch_free(kedge_queue_batch *batch);

/* From which owners a receive takes messages. The queue calls `may_take` for the owners with
 * waiting messages, in the order in which they are next, until it returns true, and for at most
 * KEDGE_QUEUE_OWNERS_ASKED. The receive then gives messages of that owner, unless it fails or the
 * owner turns out to have none. `may_take` may run on any thread, one call at a time for a queue,
 * and must not call the queue. */
typedef struct kedge_queue_admission {
    bool (*may_take)(void *context, kedge_bytes owner);
    void *context;
} kedge_queue_admission;

typedef struct kedge_queue_vtable {
    /* must. Durable when KEDGE_OK. All messages of a group have the same owner; SQS does not know
     * of owners. A second send to the group with the same `deduplication` within 5 minutes is
     * accepted and does nothing; whether one to another group does anything differs, so that names
     * are best used once. KEDGE_UNAVAILABLE: unknown whether it was sent; sending it again is
     * right. KEDGE_LIMIT_EXCEEDED also for a body that the engine cannot hold: SQS needs four bytes
     * for three where a body is not text. */
    kedge_status (*send)(void *self, kedge_bytes owner, kedge_bytes group,
                         kedge_bytes deduplication, kedge_bytes body, kedge_error *error);
    /* must. Up to `count` (1 to 10) messages, possibly of several groups, in order within each;
     * invisible for `visibility_ms`. SQLite and memory give messages of the owner and the group
     * that are next, and of other groups of that owner only when no other owner has messages that
     * wait. `admission` may be NULL: from all owners; SQS does not look at it. An empty
     * batch is KEDGE_OK. While there is no message, the call may wait up to `wait_ms` (0 to 20,000;
     * 0: not at all) for one: SQS does, in whole seconds, so that a consumer need not poll. SQLite
     * and memory return at once, so their consumer waits by itself between two empty batches. */
    kedge_status (*receive)(void *self, uint32_t count, int64_t visibility_ms, int64_t wait_ms,
                            const kedge_queue_admission *admission, kedge_queue_batch *batch,
                            kedge_error *error);
    /* must. The visibility ends `visibility_ms` from now (0: at once). KEDGE_CONFLICT when the
     * delivery is no longer the message's newest. */
    kedge_status (*extend)(void *self, const char *receipt, int64_t visibility_ms,
                           kedge_error *error);
    /* must. Deletes the message. KEDGE_CONFLICT as above; of a message that is gone already SQS
     * may say KEDGE_OK, since it does not remember who deleted it. */
    kedge_status (*done)(void *self, const char *receipt, kedge_error *error);
    /* must. Up to `count` (1 to 100) dead letters, oldest first, which stay; their receipts are for
     * redrive. `more` is true when there may be others. SQS shows the
     * KEDGE_QUEUE_DEAD_LETTERS_OF_GROUP oldest of a group, to one caller at a time. Its count may
     * be a minute old, so `more` may miss letters of the last minute. Letters that Kedge did not
     * send are not shown. */
    kedge_status (*dead_letters)(void *self, uint32_t count, kedge_queue_batch *batch,
                                 kedge_error *error);
    /* must. Puts one dead letter back at the end of its group, as if it had never been received.
     * KEDGE_CONFLICT when it is no dead letter any more. KEDGE_UNAVAILABLE: it may be back, and a
     * dead letter as well; redriving it again within 5 minutes is right. */
    kedge_status (*redrive)(void *self, const char *receipt, kedge_error *error);
    /* must. */
    void (*close)(void *self);
    /* may; NULL: callers use `extend`. The same for up to KEDGE_QUEUE_RECEIVE_MAX deliveries in one
     * request (SQS). `failures` has an empty error for each receipt; one that could not be extended
     * gets the error that `extend` would give. */
    void (*extend_all)(void *self, const char *const *receipts, size_t count, int64_t visibility_ms,
                       kedge_error *failures);
} kedge_queue_vtable;

typedef struct kedge_queue {
    const kedge_queue_vtable *vtable;
    void *self;
} kedge_queue;

#endif
