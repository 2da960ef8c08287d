/* See consumers.h. */
#include "backend/http/consumers.h"

#include "backend/front/failures.h"
#include "backend/ports/deadline.h"
#include "common/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* Each of the other consumers works for at most one owner. So among the owners that a receive asks
 * about there is one for which none works, if any such owner waits. */
_Static_assert(KEDGE_QUEUE_OWNERS_ASKED > KEDGE_CONSUMERS_MAX,
               "a receive must reach an owner without a consumer");

typedef struct consumer_thread {
    kedge_consumers *all;
    kedge_consumer *consumer;
    pthread_t thread;
} consumer_thread;

struct kedge_consumers {
    const kedge_environment *environment;
    const kedge_allocator *allocator;
    kedge_logger *log;
    kedge_queued *queued;
    int64_t keep_ms;
    pthread_mutex_t mutex;
    pthread_cond_t queued_one; /* a push, or the end */
    pthread_cond_t ended;
    bool pending; /* a push was queued, and no thread has looked since */
    bool stopping;
    consumer_thread threads[KEDGE_CONSUMERS_MAX];
    uint32_t thread_count;
    pthread_t keeper;
    bool keeper_runs;
};

/* ---- waiting ---- */

/* With the mutex held; until `wanted` is signalled and there is something to do, or time is up. */
static void wait_for(kedge_consumers *self, pthread_cond_t *condition, const bool *wanted,
                     int64_t wait_ms)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += wait_ms / 1000;
    end.tv_nsec += (wait_ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    int waited = 0;
    while (!self->stopping && (wanted == NULL || !*wanted) && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(condition, &self->mutex, &end);
}

static bool is_stopping(kedge_consumers *self)
{
    pthread_mutex_lock(&self->mutex);
    bool stopping = self->stopping;
    pthread_mutex_unlock(&self->mutex);
    return stopping;
}

static void wait_for_push(kedge_consumers *self)
{
    pthread_mutex_lock(&self->mutex);
    wait_for(self, &self->queued_one, &self->pending, KEDGE_CONSUMERS_POLL_MS);
    self->pending = false;
    pthread_mutex_unlock(&self->mutex);
}

static void pause_after(kedge_consumers *self, uint32_t failures, const kedge_error *error)
{
    int64_t pause_ms = failures > 6 ? KEDGE_CONSUMERS_PAUSE_MAX_MS
                                    : (int64_t)KEDGE_CONSUMERS_PAUSE_MS << (failures - 1);
    kedge_logger_write(self->log, KEDGE_LOGGER_WARNING, "queue-failed", "code", error->code,
                       "detail", error->message, NULL);
    pthread_mutex_lock(&self->mutex);
    wait_for(self, &self->ended, NULL, pause_ms);
    pthread_mutex_unlock(&self->mutex);
}

/* ---- threads ---- */

static bool is_cancelled(void *context)
{
    return is_stopping(context);
}

/* Until the server stops. */
static kedge_deadline deadline_of(kedge_consumers *self)
{
    return (kedge_deadline){
        .environment = self->environment,
        .end_ms = INT64_MAX / 2, /* not more: kedge_deadline_begin_commit adds to it */
        .slice_end_ms = INT64_MAX,
        .is_cancelled = is_cancelled,
        .context = self,
    };
}

static void *consume(void *argument)
{
    consumer_thread *self = argument;
    const kedge_environment *environment = self->all->environment;
    const kedge_deadline deadline = deadline_of(self->all);
    uint32_t failures = 0;
    kedge_deadline_set(&deadline);
    while (!is_stopping(self->all)) {
        kedge_error error = {0};
        size_t received = 0, left = 0;
        int64_t began_ms = environment->monotonic_ms(environment->context);
        if (kedge_consumer_round(self->consumer, KEDGE_CONSUMERS_WAIT_MS, &received, &left,
                                 &error) != KEDGE_OK) {
            pause_after(self->all, ++failures, &error);
            continue;
        }
        failures = 0;
        bool waited =
            environment->monotonic_ms(environment->context) - began_ms >= KEDGE_CONSUMERS_POLL_MS;
        if (received == 0 && !waited) wait_for_push(self->all);
    }
    kedge_deadline_set(NULL);
    return NULL;
}

static void *keep(void *argument)
{
    kedge_consumers *self = argument;
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        wait_for(self, &self->ended, NULL, self->keep_ms);
        if (self->stopping) break;
        pthread_mutex_unlock(&self->mutex);
        for (uint32_t i = 0; i < KEDGE_CONSUMERS_MAX; i++) {
            if (self->threads[i].consumer != NULL) kedge_consumer_keep(self->threads[i].consumer);
        }
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- making and ending ---- */

kedge_status kedge_consumers_new(const kedge_queued_options *options, kedge_logger *log,
                                 kedge_consumers **consumers, kedge_error *error)
{
    const kedge_allocator *allocator = options->environment->allocator;
    kedge_consumers *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    kedge_queued_options own = *options;
    own.failed = kedge_failure_log;
    own.failed_context = log;
    own.call_failed = kedge_failure_log_call;
    own.call_failed_context = log;
    kedge_status status = kedge_queued_new(&own, &made->queued, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, made);
        return status;
    }
    made->environment = options->environment;
    made->allocator = allocator;
    made->log = log;
    made->keep_ms = (own.visibility_ms > 0 ? own.visibility_ms : KEDGE_QUEUED_VISIBILITY_MS) /
                    KEDGE_CONSUMERS_KEEPS;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->queued_one, &monotonic);
    pthread_cond_init(&made->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *consumers = made;
    return KEDGE_OK;
}

kedge_status kedge_consumers_enqueue(void *context, kedge_bytes organization, kedge_bytes project,
                                     const kedge_identity *identity, kedge_bytes push,
                                     kedge_error *error)
{
    kedge_consumers *self = context;
    kedge_status status =
        kedge_queued_enqueue(self->queued, organization, project, identity, push, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    self->pending = true;
    pthread_cond_signal(&self->queued_one);
    pthread_mutex_unlock(&self->mutex);
    return KEDGE_OK;
}

/* All consumers are made before the keeper looks at them. */
kedge_status kedge_consumers_start(kedge_consumers *self, kedge_backend *backend, uint32_t count,
                                   kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (uint32_t i = 0; i < count && status == KEDGE_OK; i++) {
        self->threads[i].all = self;
        status = kedge_consumer_new(self->queued, backend, &self->threads[i].consumer, error);
    }
    if (status != KEDGE_OK) return status;
    while (self->thread_count < count &&
           pthread_create(&self->threads[self->thread_count].thread, NULL, consume,
                          &self->threads[self->thread_count]) == 0) {
        self->thread_count++;
    }
    self->keeper_runs =
        self->thread_count == count && pthread_create(&self->keeper, NULL, keep, self) == 0;
    if (self->keeper_runs) return KEDGE_OK;
    return kedge_fail(error, KEDGE_NO_MEMORY, "no-threads",
                      "the system refused to start %u consumer threads", count);
}

void kedge_consumers_stop(kedge_consumers *self)
{
    if (self == NULL) return;
    pthread_mutex_lock(&self->mutex);
    self->stopping = true;
    pthread_cond_broadcast(&self->queued_one);
    pthread_cond_broadcast(&self->ended);
    pthread_mutex_unlock(&self->mutex);
    for (uint32_t i = 0; i < self->thread_count; i++)
        pthread_join(self->threads[i].thread, NULL);
    self->thread_count = 0;
    if (self->keeper_runs) pthread_join(self->keeper, NULL);
    self->keeper_runs = false;
}

void kedge_consumers_free(kedge_consumers *self)
{
    if (self == NULL) return;
    for (uint32_t i = 0; i < KEDGE_CONSUMERS_MAX; i++)
        kedge_consumer_free(self->threads[i].consumer);
    kedge_queued_free(self->queued);
    pthread_cond_destroy(&self->queued_one);
    pthread_cond_destroy(&self->ended);
    pthread_mutex_destroy(&self->mutex);
    kedge_release(self->allocator, self);
}

void kedge_consumers_write_metrics(void *consumers, kedge_buffer *out)
{
    kedge_queued_write_metrics(((kedge_consumers *)consumers)->queued, out);
    kedge_consumers_write_age(((kedge_consumers *)consumers)->queued, out);
}
