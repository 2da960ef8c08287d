/* See followers.h. */
#include "backend/http/followers.h"

#include "backend/effects/apply.h"
#include "backend/effects/consume.h"
#include "backend/effects/make.h"
#include "backend/effects/reader.h"
#include "backend/front/effects.h"
#include "common/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct kedge_followers {
    kedge_followers_options options;
    kedge_effects effects;
    kedge_snapshot_worker worker;
    kedge_stream_reader *reader;
    pthread_mutex_t mutex;
    pthread_cond_t signal; /* changes, messages, or the end */
    uint64_t appends;      /* with the mutex */
    uint64_t requests;
    bool stopping;
    bool reads; /* the reader's thread runs */
    pthread_t thread;
    pthread_t workers[KEDGE_FOLLOWERS_WORKERS];
    uint32_t worker_count;
    atomic_uint_fast64_t changes;
    atomic_uint_fast64_t expired;
    atomic_uint_fast64_t passed;
    atomic_uint_fast64_t done;
    atomic_uint_fast64_t returned;
    atomic_uint_fast64_t refused;
    atomic_uint_fast64_t failures;
};

/* ---- waiting ---- */

/* Until the count is another one, time is up, or it ends. NULL: nothing wakes it. */
static void wait_for(kedge_followers *self, const uint64_t *count, uint64_t seen, int64_t wait_ms)
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
    pthread_mutex_lock(&self->mutex);
    while (!self->stopping && (count == NULL || *count == seen) && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&self->signal, &self->mutex, &end);
    pthread_mutex_unlock(&self->mutex);
}

static uint64_t look_at(kedge_followers *self, const uint64_t *count, bool *stopping)
{
    pthread_mutex_lock(&self->mutex);
    uint64_t seen = *count;
    *stopping = self->stopping;
    pthread_mutex_unlock(&self->mutex);
    return seen;
}

static void count_up(kedge_followers *self, uint64_t *count)
{
    pthread_mutex_lock(&self->mutex);
    ++*count;
    pthread_cond_broadcast(&self->signal);
    pthread_mutex_unlock(&self->mutex);
}

static void pause_after(kedge_followers *self, uint32_t failures, const char *what,
                        const kedge_error *error)
{
    int64_t pause_ms = failures > 6 ? KEDGE_FOLLOWERS_PAUSE_MAX_MS
                                    : (int64_t)KEDGE_FOLLOWERS_PAUSE_MS << (failures - 1);
    atomic_fetch_add(&self->failures, 1);
    kedge_logger_write(self->options.log, KEDGE_LOGGER_WARNING, what, "code", error->code, "detail",
                       error->message, NULL);
    wait_for(self, NULL, 0, pause_ms);
}

/* ---- what is told ---- */

static void note_passed(void *context, const kedge_error *error)
{
    kedge_followers *self = context;
    atomic_fetch_add(&self->passed, 1);
    kedge_effects_log_passed(self->options.log, error);
}

static void note_expired(void *context, const kedge_stream_expired *expired)
{
    kedge_effects *effects = context;
    kedge_followers *self = effects->context;
    atomic_fetch_add(&self->expired, 1);
    kedge_effects_log_expired(self->options.log, expired);
}

static void note_refused(void *context, const kedge_log *log, const kedge_log_place *at,
                         const kedge_error *error)
{
    kedge_followers *self = context;
    atomic_fetch_add(&self->refused, 1);
    kedge_effects_log_refused(self->options.log, log, at, error);
}

/* ---- threads ---- */

static void *follow(void *argument)
{
    kedge_followers *self = argument;
    uint32_t failures = 0;
    for (;;) {
        bool stopping;
        kedge_error error = {0};
        kedge_stream_round round;
        uint64_t seen = look_at(self, &self->appends, &stopping);
        if (stopping) return NULL;
        kedge_status status = kedge_stream_reader_round(self->reader, &round, &error);
        atomic_fetch_add(&self->changes, round.handled);
        if (round.handled > 0) count_up(self, &self->requests);
        if (status != KEDGE_OK) {
            pause_after(self, ++failures, "stream-failed", &error);
            continue;
        }
        failures = 0;
        if (!round.more) wait_for(self, &self->appends, seen, KEDGE_FOLLOWERS_POLL_MS);
    }
}

static void *work(void *argument)
{
    kedge_followers *self = argument;
    const kedge_environment *environment = self->options.environment;
    const kedge_snapshot_consumer consumer = {.worker = &self->worker,
                                              .queue = &self->options.snapshots,
                                              .visibility_ms = KEDGE_FOLLOWERS_RUN_MS,
                                              .work_ms = KEDGE_FOLLOWERS_WORK_MS};
    uint32_t failures = 0;
    for (;;) {
        bool stopping, received, done;
        kedge_error error = {0};
        uint64_t seen = look_at(self, &self->requests, &stopping);
        if (stopping) return NULL;
        int64_t began_ms = environment->monotonic_ms(environment->context);
        kedge_status status =
            kedge_snapshot_round(&consumer, KEDGE_FOLLOWERS_WAIT_MS, &received, &done, &error);
        if (received) atomic_fetch_add(done ? &self->done : &self->returned, 1);
        if (status != KEDGE_OK) {
            pause_after(self, ++failures, "snapshot-failed", &error);
            continue;
        }
        failures = 0;
        bool waited =
            environment->monotonic_ms(environment->context) - began_ms >= KEDGE_FOLLOWERS_POLL_MS;
        if (!received && !waited) wait_for(self, &self->requests, seen, KEDGE_FOLLOWERS_POLL_MS);
    }
}

/* ---- making and ending ---- */

static kedge_status open_reader(kedge_followers *self, kedge_error *error)
{
    const kedge_stream_reader_options reader = {.environment = self->options.environment,
                                                .records = &self->options.records,
                                                .stream = &self->options.stream,
                                                .name = KEDGE_FOLLOWERS_NAME,
                                                .owner = self->options.alone ? "alone" : NULL,
                                                .patterns = &kedge_effects_pattern,
                                                .pattern_count = 1,
                                                .handle = kedge_effects_handle,
                                                .expired = note_expired,
                                                .context = &self->effects};
    return kedge_stream_reader_new(&reader, &self->reader, error);
}

kedge_status kedge_followers_new(const kedge_followers_options *options,
                                 kedge_followers **followers, kedge_error *error)
{
    const kedge_allocator *allocator = options->environment->allocator;
    kedge_followers *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->options = *options;
    kedge_status status = open_reader(made, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, made);
        return status;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->signal, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *followers = made;
    return KEDGE_OK;
}

kedge_status kedge_followers_start(kedge_followers *self, kedge_backend *backend,
                                   kedge_error *error)
{
    self->effects = (kedge_effects){.backend = backend,
                                    .queue = self->options.snapshots,
                                    .passed = note_passed,
                                    .context = self};
    self->worker = (kedge_snapshot_worker){.backend = backend,
                                           .make = kedge_effects_make,
                                           .run_max_ms = KEDGE_FOLLOWERS_RUN_MS,
                                           .reserve_ms = KEDGE_FOLLOWERS_RESERVE_MS,
                                           .refused = note_refused,
                                           .refused_context = self};
    self->reads = pthread_create(&self->thread, NULL, follow, self) == 0;
    while (self->reads && self->worker_count < KEDGE_FOLLOWERS_WORKERS &&
           pthread_create(&self->workers[self->worker_count], NULL, work, self) == 0)
        self->worker_count++;
    if (self->worker_count == KEDGE_FOLLOWERS_WORKERS) return KEDGE_OK;
    return kedge_fail(error, KEDGE_NO_MEMORY, "no-threads",
                      "the system refused to start the threads that follow the logs");
}

void kedge_followers_appended(kedge_followers *self)
{
    count_up(self, &self->appends);
}

static void leave(kedge_followers *self)
{
    kedge_error error = {0};
    if (kedge_stream_reader_leave(self->reader, &error) == KEDGE_OK) return;
    kedge_logger_write(self->options.log, KEDGE_LOGGER_WARNING, "stream-not-left", "code",
                       error.code, "detail", error.message, NULL);
}

void kedge_followers_stop(kedge_followers *self)
{
    if (self == NULL) return;
    pthread_mutex_lock(&self->mutex);
    self->stopping = true;
    pthread_cond_broadcast(&self->signal);
    pthread_mutex_unlock(&self->mutex);
    if (self->reads) pthread_join(self->thread, NULL);
    if (self->reads && !self->options.alone) leave(self);
    self->reads = false;
    for (uint32_t i = 0; i < self->worker_count; i++)
        pthread_join(self->workers[i], NULL);
    self->worker_count = 0;
}

void kedge_followers_free(kedge_followers *self)
{
    if (self == NULL) return;
    kedge_stream_reader_free(self->reader);
    pthread_cond_destroy(&self->signal);
    pthread_mutex_destroy(&self->mutex);
    kedge_release(self->options.environment->allocator, self);
}

void kedge_followers_write_metrics(kedge_followers *self, kedge_buffer *out)
{
    kedge_buffer_append_format(
        out,
        "# TYPE kedge_effects_changes_total counter\nkedge_effects_changes_total %llu\n"
        "# TYPE kedge_effects_passed_total counter\nkedge_effects_passed_total %llu\n"
        "# TYPE kedge_effects_expired_total counter\nkedge_effects_expired_total %llu\n"
        "# TYPE kedge_effects_failures_total counter\nkedge_effects_failures_total %llu\n"
        "# TYPE kedge_snapshot_messages_total counter\n"
        "kedge_snapshot_messages_total{outcome=\"done\"} %llu\n"
        "kedge_snapshot_messages_total{outcome=\"returned\"} %llu\n"
        "# TYPE kedge_snapshots_refused_total counter\nkedge_snapshots_refused_total %llu\n",
        (unsigned long long)atomic_load(&self->changes),
        (unsigned long long)atomic_load(&self->passed),
        (unsigned long long)atomic_load(&self->expired),
        (unsigned long long)atomic_load(&self->failures),
        (unsigned long long)atomic_load(&self->done),
        (unsigned long long)atomic_load(&self->returned),
        (unsigned long long)atomic_load(&self->refused));
}
