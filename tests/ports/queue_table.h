/* The tables of implementations that the contract of the queue port is tested with:
 * queue_embedded.c, or queue_sqs.c in a program of its own.
 *
 * A queue of our own lives by the clock that it is given, which the test moves. A real engine has
 * its own time: there the tests wait until nothing is in flight any more, and those that need
 * minutes, or a clock that goes back, are left out. */
#ifndef KEDGE_TESTS_PORTS_QUEUE_TABLE_H
#define KEDGE_TESTS_PORTS_QUEUE_TABLE_H

#include "tests/ports/world.h"

#define QUEUE_TABLE_RECEIVE_MAX 3

/* One row an implementation. */
typedef struct queue_implementation {
    const char *name;
    /* A queue with nothing in it that gives a message QUEUE_TABLE_RECEIVE_MAX times. */
    kedge_status (*open)(world *around, kedge_queue *queue, kedge_error *error);
    void (*close)(kedge_queue *queue); /* NULL: the port's own */
    /* NULL: the world's clock is the queue's. Else waits until no message is in flight. */
    void (*settle)(const kedge_queue *queue);
    size_t any_bytes_max;   /* of a body that fits, whatever bytes it is made of */
    bool names_span_groups; /* a deduplication name sent in one group is known in another */
} queue_implementation;

/* Ends with {0}. */
extern const queue_implementation queue_implementations[];
/* The environment variable that names the engine of the table; NULL: it needs none. */
extern const char *const queue_engine;

#endif
