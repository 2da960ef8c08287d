/* The backend's making and ending, its locks and its pauses. */
#include "backend/core/backend_internal.h"

#include "common/error.h"

#include <time.h>

#define STATE_CACHE_BYTES ((size_t)64 * 1024 * 1024)
#define PAUSE_FIRST_MS    5
#define PAUSE_LONGEST_MS  1000
#define PAUSE_DOUBLINGS   8

kedge_status kedge_backend_new(const kedge_backend_options *options, kedge_backend **backend,
                               kedge_error *error)
{
    if (options->environment == NULL || options->records.vtable == NULL ||
        options->blobs.vtable == NULL || options->registry == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "backend-options-incomplete",
                          "a backend needs an environment, records, blobs and a registry");
    }
    const kedge_allocator *allocator = options->environment->allocator;
    kedge_backend *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->options = *options;
    made->environment = options->environment;
    made->allocator = allocator;
    size_t bytes = options->state_cache_bytes == 0 ? STATE_CACHE_BYTES : options->state_cache_bytes;
    kedge_status status = kedge_cache_open(&made->cache, allocator, bytes, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, made);
        return status;
    }
    status = kedge_new_clients_open(&made->new_clients, made->environment,
                                    options->new_clients_per_minute, error);
    if (status != KEDGE_OK) {
        kedge_cache_close(&made->cache);
        kedge_release(allocator, made);
        return status;
    }
    for (size_t i = 0; i < KEDGE_PROJECT_LOCKS; i++) {
        pthread_mutex_init(&made->project_locks[i], NULL);
        atomic_init(&made->writing_checkpoints[i], false);
    }
    *backend = made;
    return KEDGE_OK;
}

void kedge_backend_free(kedge_backend *backend)
{
    if (backend == NULL) return;
    kedge_new_clients_close(&backend->new_clients);
    kedge_cache_close(&backend->cache);
    for (size_t i = 0; i < KEDGE_PROJECT_LOCKS; i++) {
        pthread_mutex_destroy(&backend->project_locks[i]);
    }
    kedge_release(backend->allocator, backend);
}

const kedge_environment *kedge_backend_environment(const kedge_backend *backend)
{
    return backend->environment;
}

const kedge_allocator *kedge_backend_allocator(const kedge_backend *backend)
{
    return backend->allocator;
}

const kedge_records *kedge_backend_records(const kedge_backend *backend)
{
    return &backend->options.records;
}

const kedge_blobs *kedge_backend_blobs(const kedge_backend *backend)
{
    return &backend->options.blobs;
}

static uint64_t mix(uint64_t hash, kedge_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ (unsigned char)bytes.data[i]) * UINT64_C(1099511628211);
    }
    return (hash ^ '/') * UINT64_C(1099511628211);
}

/* FNV-1a. */
uint64_t kedge_project_ref_hash(const kedge_project_ref *ref)
{
    return mix(mix(UINT64_C(14695981039346656037), ref->organization), ref->project);
}

static size_t lock_of(const kedge_project_ref *ref)
{
    uint64_t hash = kedge_project_ref_hash(ref);
    return (hash ^ (hash >> 32)) % KEDGE_PROJECT_LOCKS;
}

pthread_mutex_t *kedge_backend_project_lock(kedge_backend *backend, const kedge_project_ref *ref)
{
    return &backend->project_locks[lock_of(ref)];
}

atomic_bool *kedge_backend_writing_checkpoints(kedge_backend *backend, const kedge_project_ref *ref)
{
    return &backend->writing_checkpoints[lock_of(ref)];
}

void kedge_backend_pause(kedge_backend *backend, uint32_t attempt)
{
    uint32_t doublings = attempt < PAUSE_DOUBLINGS ? attempt : PAUSE_DOUBLINGS;
    int64_t longest = (int64_t)PAUSE_FIRST_MS << doublings;
    if (longest > PAUSE_LONGEST_MS) longest = PAUSE_LONGEST_MS;
    int64_t ms = (int64_t)(kedge_random_u64(backend->environment) % (uint64_t)(longest + 1));
    if (backend->options.pause != NULL) {
        backend->options.pause(backend->options.pause_context, ms);
        return;
    }
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    nanosleep(&wait, NULL);
}
