/* See foreign_commits.h. */
#include "backend/http/foreign_commits.h"

#include "backend/ports/deadline.h"
#include "common/error.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

struct kedge_foreign_commits {
    const kedge_environment *environment;
    kedge_events *events;
    _Atomic(kedge_backend *) *backend;
    kedge_event_place at; /* looked at last */
    pthread_mutex_t mutex;
    pthread_cond_t stop;
    atomic_bool stopping;
    pthread_t thread;
};

static bool is_stopping(void *context)
{
    kedge_foreign_commits *self = context;
    return atomic_load(&self->stopping);
}

static kedge_status read_newest(kedge_foreign_commits *self, kedge_backend *backend,
                                const kedge_event_scope *scope, int64_t *version)
{
    static const kedge_identity all = {.user = "", .role = "", .organization = "*", .admin = true};
    const kedge_environment *environment = self->environment;
    const kedge_deadline deadline = {.environment = environment,
                                     .end_ms = environment->monotonic_ms(environment->context) +
                                               KEDGE_FOREIGN_COMMITS_READ_MS,
                                     .slice_end_ms = INT64_MAX,
                                     .is_cancelled = is_stopping,
                                     .context = self};
    kedge_deadline_set(&deadline);
    kedge_status status =
        scope->log.size > 0
            ? kedge_backend_current_number(backend, &all, scope->organization, scope->project,
                                           scope->log, version, NULL)
            : kedge_backend_newest_version(backend, &all, scope->organization, scope->project,
                                           version, NULL);
    kedge_deadline_set(NULL);
    return status;
}

/* A failure of the stores ends the look; the next one goes on after it. */
static void look(kedge_foreign_commits *self, kedge_backend *backend)
{
    kedge_event_scope scope;
    bool goes_on = true;
    while (goes_on && !is_stopping(self) && kedge_events_next(self->events, self->at, &scope)) {
        int64_t version = 0;
        kedge_status status = read_newest(self, backend, &scope, &version);
        if (status == KEDGE_OK) kedge_events_committed(self->events, &scope, version);
        goes_on = status == KEDGE_OK || status == KEDGE_NOT_FOUND || status == KEDGE_CORRUPT;
    }
}

static void *run(void *argument)
{
    kedge_foreign_commits *self = argument;
    pthread_mutex_lock(&self->mutex);
    while (!is_stopping(self)) {
        struct timespec end;
        int waited = 0;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += KEDGE_FOREIGN_COMMITS_LOOK_MS / 1000;
        while (!is_stopping(self) && waited != ETIMEDOUT)
            waited = pthread_cond_timedwait(&self->stop, &self->mutex, &end);
        pthread_mutex_unlock(&self->mutex);
        kedge_backend *backend = atomic_load(self->backend);
        if (backend) look(self, backend);
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

static void free_commits(kedge_foreign_commits *self)
{
    pthread_cond_destroy(&self->stop);
    pthread_mutex_destroy(&self->mutex);
    kedge_release(self->environment->allocator, self);
}

kedge_status kedge_foreign_commits_start(const kedge_environment *environment, kedge_events *events,
                                         _Atomic(kedge_backend *) *backend,
                                         kedge_foreign_commits **commits, kedge_error *error)
{
    kedge_foreign_commits *made = kedge_allocate(environment->allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->environment = environment;
    made->events = events;
    made->backend = backend;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->stop, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&made->thread, NULL, run, made) != 0) {
        free_commits(made);
        return kedge_fail(error, KEDGE_NO_MEMORY, "no-threads",
                          "the system refused to start a thread");
    }
    *commits = made;
    return KEDGE_OK;
}

void kedge_foreign_commits_stop(kedge_foreign_commits *commits)
{
    if (!commits) return;
    pthread_mutex_lock(&commits->mutex);
    atomic_store(&commits->stopping, true);
    pthread_cond_signal(&commits->stop);
    pthread_mutex_unlock(&commits->mutex);
}

void kedge_foreign_commits_free(kedge_foreign_commits *commits)
{
    if (!commits) return;
    pthread_join(commits->thread, NULL);
    free_commits(commits);
}
