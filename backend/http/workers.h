/* A bounded pool of threads with a bounded queue in front of it. */
#ifndef KEDGE_BACKEND_HTTP_WORKERS_H
#define KEDGE_BACKEND_HTTP_WORKERS_H

#include "common/bytes.h"

#define KEDGE_WORKERS_MAX      64
#define KEDGE_WORKERS_DEFAULT  16
#define KEDGE_WORKER_QUEUE_MAX 1024

typedef struct kedge_workers kedge_workers;

kedge_status kedge_workers_start(const kedge_allocator *allocator, uint32_t count,
                                 kedge_workers **workers, kedge_error *error);
/* False when the queue is full or the pool is stopping; `work` was not taken. */
bool kedge_workers_submit(kedge_workers *workers, void (*work)(void *argument), void *argument);
/* Runs what was taken and ends the threads; from then on nothing is taken. */
void kedge_workers_stop(kedge_workers *workers);
void kedge_workers_free(kedge_workers *workers); /* stopped; NULL is allowed */

#endif
