/* The ports of one processor, with a point before and after every call: there it is stopped, or
 * dies.
 *
 * Points are numbered from 0: 2k is in front of call k, 2k + 1 after it, when its effect is there
 * and its response is not. A processor that dies has no effect any more: its calls fail. */
#ifndef KEDGE_TESTS_CRASHPOINTS_GATE_H
#define KEDGE_TESTS_CRASHPOINTS_GATE_H

#include "backend/ports/blobs.h"
#include "backend/ports/queue.h"
#include "backend/ports/records.h"
#include "backend/ports/stream.h"

#include <pthread.h>

#define GATE_NEVER INT64_MAX

typedef struct gate {
    const kedge_records *store_records;
    const kedge_blobs *store_blobs;
    const kedge_queue *store_queue; /* NULL: none */
    const kedge_stream *store_stream;
    kedge_records records;
    kedge_blobs blobs;
    kedge_queue queue;
    kedge_stream stream;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t next;    /* the point that comes */
    int64_t stop_at; /* GATE_NEVER: none */
    bool stopped;    /* it waits at its point */
    bool released;
    bool dead;
    bool ended; /* the operation is over */
} gate;

void gate_make(gate *made, const kedge_records *records, const kedge_blobs *blobs);
/* It has these, too. */
void gate_add(gate *made, const kedge_queue *queue, const kedge_stream *stream);
void gate_free(gate *gone);

/* From a thread beside the processor's. */
/* Until the processor waits at its point or is over; true: it waits. */
bool gate_wait(gate *watched);
/* It goes on, or dies. */
void gate_release(gate *watched, bool dies);
/* The processor's own last word. */
void gate_end(gate *own);

#endif
