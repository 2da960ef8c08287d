/* The jobs that wait for a worker, by tenant and project, and which of them is next. Pure: no lock,
 * no clock. workers.h says what is fair. */
#ifndef KEDGE_BACKEND_HTTP_FAIR_QUEUE_H
#define KEDGE_BACKEND_HTTP_FAIR_QUEUE_H

#include "backend/http/workers.h"

typedef struct kedge_fair_tenant kedge_fair_tenant;

typedef struct kedge_fair_job {
    void (*work)(void *argument);
    void *argument;
    kedge_fair_tenant *tenant;
    int64_t charged_us; /* that the tenant has paid for it in advance */
} kedge_fair_job;

typedef struct kedge_fair_queue {
    const kedge_allocator *allocator;
    uint32_t threads;
    uint32_t processors;
    uint32_t running;
    size_t waiting;
    kedge_fair_tenant *first; /* those with jobs that wait or run */
    int64_t served_us;        /* by the tenant that was served last: where a new one starts */
    int64_t shared_until_us;
} kedge_fair_queue;

void kedge_fair_queue_open(kedge_fair_queue *queue, const kedge_allocator *allocator,
                           uint32_t threads, uint32_t processors);
void kedge_fair_queue_close(kedge_fair_queue *queue); /* no job waits or runs */

/* `now_us` is monotonic in all calls. */
kedge_workers_admission kedge_fair_queue_add(kedge_fair_queue *queue,
                                             const kedge_tenant_name *tenant, int64_t now_us,
                                             void (*work)(void *argument), void *argument);
/* The same for a job that goes on with what another one began: it is added however many wait. */
kedge_workers_admission kedge_fair_queue_go_on(kedge_fair_queue *queue,
                                               const kedge_tenant_name *tenant, int64_t now_us,
                                               void (*work)(void *argument), void *argument);
/* Whether there is a job that may run now. */
bool kedge_fair_queue_is_ready(const kedge_fair_queue *queue, int64_t now_us);
/* The next job, which runs from now on. False: none may run now. */
bool kedge_fair_queue_take(kedge_fair_queue *queue, int64_t now_us, kedge_fair_job *job);
/* A job that was taken is done: it has kept a thread for `took_us`, and a processor for
 * `computed_us` of them. */
void kedge_fair_queue_finished(kedge_fair_queue *queue, const kedge_fair_job *job, int64_t took_us,
                               int64_t computed_us);

#endif
