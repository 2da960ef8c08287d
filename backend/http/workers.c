/* See workers.h: threads under one mutex, which take their jobs from the queues of fair_queue.c. */
#include "backend/http/workers.h"

#include "backend/http/fair_queue.h"
#include "common/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

struct kedge_workers {
    const kedge_environment *environment;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* there is a job that may run, or the pool stops */
    kedge_fair_queue queue;
    atomic_size_t waiting; /* as many as the queue has, for those that do not hold the mutex */
    uint32_t idle;         /* threads that wait for `changed` */
    bool stopping;
    pthread_t threads[KEDGE_WORKERS_MAX];
    uint32_t thread_count;
};

/* The system's clocks, since it is measured how long a thread was taken. */
static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Wakes an idle thread if a job may run. Called when a job was added, and when a thread has taken
 * one: a thread that ends a job takes the next one itself, and the end may have let a second job
 * run. A job of a tenant that has its share of the threads wakes none. */
static void wake_one(kedge_workers *workers, int64_t now_us)
{
    if (workers->idle > 0 && kedge_fair_queue_is_ready(&workers->queue, now_us))
        pthread_cond_signal(&workers->changed);
}

static void *run(void *argument)
{
    kedge_workers *workers = argument;
    kedge_fair_job job;
    pthread_mutex_lock(&workers->mutex);
    for (;;) {
        int64_t now_us = clock_us(CLOCK_MONOTONIC);
        if (!kedge_fair_queue_take(&workers->queue, now_us, &job)) {
            if (workers->stopping && workers->queue.waiting == 0) break;
            workers->idle++;
            pthread_cond_wait(&workers->changed, &workers->mutex);
            workers->idle--;
            continue;
        }
        wake_one(workers, now_us);
        atomic_store(&workers->waiting, workers->queue.waiting);
        pthread_mutex_unlock(&workers->mutex);
        int64_t started_us = clock_us(CLOCK_MONOTONIC);
        int64_t cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
        job.work(job.argument);
        int64_t computed_us = clock_us(CLOCK_THREAD_CPUTIME_ID) - cpu_us;
        int64_t took_us = clock_us(CLOCK_MONOTONIC) - started_us;
        pthread_mutex_lock(&workers->mutex);
        kedge_fair_queue_finished(&workers->queue, &job, took_us, computed_us);
        if (workers->stopping) pthread_cond_broadcast(&workers->changed);
    }
    pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

kedge_status kedge_workers_start(const kedge_environment *environment, uint32_t count,
                                 kedge_workers **workers, kedge_error *error)
{
    kedge_workers *made = kedge_allocate(environment->allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    if (count < 1) count = 1;
    if (count > KEDGE_WORKERS_MAX) count = KEDGE_WORKERS_MAX;
    made->environment = environment;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    kedge_fair_queue_open(&made->queue, environment->allocator, count,
                          processors > 0 ? (uint32_t)processors : 1);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    while (made->thread_count < count &&
           pthread_create(&made->threads[made->thread_count], NULL, run, made) == 0) {
        made->thread_count++;
    }
    if (made->thread_count < count) {
        kedge_workers_stop(made);
        kedge_workers_free(made);
        return kedge_fail(error, KEDGE_NO_MEMORY, "no-threads",
                          "the system refused to start %u worker threads", count);
    }
    *workers = made;
    return KEDGE_OK;
}

/* kedge_fair_queue_add, or kedge_fair_queue_go_on. */
typedef kedge_workers_admission (*add_function)(kedge_fair_queue *queue,
                                                const kedge_tenant_name *tenant, int64_t now_us,
                                                void (*work)(void *argument), void *argument);

static kedge_workers_admission take(kedge_workers *workers, add_function add,
                                    const kedge_tenant_name *tenant, void (*work)(void *argument),
                                    void *argument)
{
    kedge_workers_admission admission = KEDGE_WORKERS_FULL;
    pthread_mutex_lock(&workers->mutex);
    int64_t now_us = clock_us(CLOCK_MONOTONIC);
    if (!workers->stopping) admission = add(&workers->queue, tenant, now_us, work, argument);
    if (admission == KEDGE_WORKERS_TAKEN) {
        atomic_store(&workers->waiting, workers->queue.waiting);
        wake_one(workers, now_us);
    }
    pthread_mutex_unlock(&workers->mutex);
    return admission;
}

kedge_workers_admission kedge_workers_submit(kedge_workers *workers,
                                             const kedge_tenant_name *tenant,
                                             void (*work)(void *argument), void *argument)
{
    return take(workers, kedge_fair_queue_add, tenant, work, argument);
}

kedge_workers_admission kedge_workers_go_on(kedge_workers *workers, const kedge_tenant_name *tenant,
                                            void (*work)(void *argument), void *argument)
{
    return take(workers, kedge_fair_queue_go_on, tenant, work, argument);
}

bool kedge_workers_are_awaited(const kedge_workers *workers)
{
    return kedge_workers_waiting(workers) > 0;
}

size_t kedge_workers_waiting(const kedge_workers *workers)
{
    return atomic_load_explicit(&workers->waiting, memory_order_relaxed);
}

void kedge_workers_stop(kedge_workers *workers)
{
    if (!workers) return;
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->mutex);
    for (uint32_t i = 0; i < workers->thread_count; i++)
        pthread_join(workers->threads[i], NULL);
    workers->thread_count = 0;
}

void kedge_workers_free(kedge_workers *workers)
{
    if (!workers) return;
    kedge_fair_queue_close(&workers->queue);
    pthread_cond_destroy(&workers->changed);
    pthread_mutex_destroy(&workers->mutex);
    kedge_release(workers->environment->allocator, workers);
}
