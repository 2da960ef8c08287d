/* A backend world with a queue in memory, a clock of its own and a consumer: what the tests of
 * queued mode share. */
#ifndef KEDGE_TESTS_BACKEND_QUEUE_WORLD_H
#define KEDGE_TESTS_BACKEND_QUEUE_WORLD_H

#include "tests/backend/world.h"

#include "backend/queued/dead_letters.h"
#include "backend/queued/message.h"

#define QUEUE_DELIVERIES KEDGE_QUEUE_DELIVERIES /* before a message is dead */

typedef struct queue_world {
    test_world *base;
    kedge_queue store; /* the real one */
    kedge_queue queue; /* with the faults of the base's ports in front */
    kedge_queued *queued;
    kedge_consumer *consumer;
    size_t queue_bytes_max; /* of a body: what the queue itself takes; 0: all */
    size_t failures;        /* told to the option `failed` */
    char failure[64];
    size_t call_failures[KEDGE_QUEUED_CALLS]; /* told to the option `call_failed` */
} queue_world;

/* Memory ports; the claim check begins at 4,000 bytes. */
queue_world *queue_world_new(void);
void queue_world_free(queue_world *world);
/* Another process in the place of the one that was. */
void queue_world_restart(queue_world *world);
void queue_world_pass(int64_t ms); /* the clock goes on */

/* ---- sending ---- */

/* A push of kedge.put of {"v":N} under items/item for each id from first to last, as `who`. */
void queue_put(queue_world *world, const kedge_identity *who, const char *group, const char *client,
               int64_t first, int64_t last, const char *item);
/* The same with a text of `size` bytes beside "v". */
void queue_put_large(queue_world *world, const char *client, int64_t id, const char *item,
                     size_t size);
/* One mutation of Ann's client. */
void queue_call(queue_world *world, const char *client, int64_t id, const char *name,
                const char *args);
/* Any body into the group of acme/notes. */
void queue_raw(queue_world *world, const char *body);

/* ---- consuming ---- */

typedef struct round_result {
    kedge_status status;
    size_t received;
    size_t left;
} round_result;

round_result queue_round(queue_world *world);
/* Rounds, with the clock going on, until nothing comes any more. Gives how many had messages. */
size_t queue_drain(queue_world *world);
size_t queue_dead_letter_count(queue_world *world);
/* The code of the reason of the oldest dead letter. */
const char *queue_dead_letter_code(queue_world *world);
size_t queue_reasons(queue_world *world); /* rows of reasons */
/* The value of a metric; 0: there is none. */
int64_t queue_metric(queue_world *world, const char *name);
size_t queue_claims(queue_world *world); /* pushes in blobs */

#endif
