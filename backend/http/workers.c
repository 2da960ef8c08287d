/* See workers.h: a ring of jobs under one mutex. */
#include "backend/http/workers.h"

#include "common/error.h"

#include <pthread.h>

typedef struct kedge_job {
    void (*work)(void *argument);
    void *argument;
} kedge_job;

struct kedge_workers {
    const kedge_allocator *allocator;
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    kedge_job jobs[KEDGE_WORKER_QUEUE_MAX];
    size_t first;
    size_t count;
    bool stopping;
    pthread_t threads[KEDGE_WORKERS_MAX];
    uint32_t thread_count;
};

static void *run(void *argument)
{
    kedge_workers *workers = argument;
    pthread_mutex_lock(&workers->mutex);
    for (;;) {
        while (workers->count == 0 && !workers->stopping) {
            pthread_cond_wait(&workers->filled, &workers->mutex);
        }
        if (workers->count == 0) break;
        kedge_job job = workers->jobs[workers->first];
        workers->first = (workers->first + 1) % KEDGE_WORKER_QUEUE_MAX;
        workers->count--;
        pthread_mutex_unlock(&workers->mutex);
        job.work(job.argument);
        pthread_mutex_lock(&workers->mutex);
    }
    pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

kedge_status kedge_workers_start(const kedge_allocator *allocator, uint32_t count,
                                 kedge_workers **workers, kedge_error *error)
{
    kedge_workers *made = kedge_allocate(allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->filled, NULL);
    if (count < 1) count = 1;
    if (count > KEDGE_WORKERS_MAX) count = KEDGE_WORKERS_MAX;
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

bool kedge_workers_submit(kedge_workers *workers, void (*work)(void *argument), void *argument)
{
    pthread_mutex_lock(&workers->mutex);
    bool taken = !workers->stopping && workers->count < KEDGE_WORKER_QUEUE_MAX;
    if (taken) {
        size_t last = (workers->first + workers->count) % KEDGE_WORKER_QUEUE_MAX;
        workers->jobs[last] = (kedge_job){work, argument};
        workers->count++;
        pthread_cond_signal(&workers->filled);
    }
    pthread_mutex_unlock(&workers->mutex);
    return taken;
}

void kedge_workers_stop(kedge_workers *workers)
{
    if (!workers) return;
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->filled);
    pthread_mutex_unlock(&workers->mutex);
    for (uint32_t i = 0; i < workers->thread_count; i++)
        pthread_join(workers->threads[i], NULL);
    workers->thread_count = 0;
}

void kedge_workers_free(kedge_workers *workers)
{
    if (!workers) return;
    pthread_cond_destroy(&workers->filled);
    pthread_mutex_destroy(&workers->mutex);
    kedge_release(workers->allocator, workers);
}
