/* The backend's making and ending. */
#include "backend/base/backend.h"
#include "backend/api/api.h"
#include "backend/versioned/state/cache.h"
#include "common/error.h"

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
    size_t bytes = options->state_cache_bytes == 0 ? KEDGE_CACHE_BYTES : options->state_cache_bytes;
    kedge_status status = kedge_cache_new(allocator, bytes, &made->cache, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, made);
        return status;
    }
    status = kedge_new_clients_open(&made->new_clients, made->environment,
                                    options->new_clients_per_minute, error);
    if (status != KEDGE_OK) {
        kedge_cache_free(made->cache);
        kedge_release(allocator, made);
        return status;
    }
    status = kedge_log_hints_open(&made->log_hints, allocator, error);
    if (status != KEDGE_OK) {
        kedge_new_clients_close(&made->new_clients);
        kedge_cache_free(made->cache);
        kedge_release(allocator, made);
        return status;
    }
    status = kedge_project_kinds_open(&made->project_kinds, allocator, error);
    if (status != KEDGE_OK) {
        kedge_log_hints_close(&made->log_hints);
        kedge_new_clients_close(&made->new_clients);
        kedge_cache_free(made->cache);
        kedge_release(allocator, made);
        return status;
    }
    kedge_unlisted_open(&made->unlisted, made->environment);
    kedge_locks_open(&made->locks);
    *backend = made;
    return KEDGE_OK;
}

void kedge_backend_free(kedge_backend *backend)
{
    if (backend == NULL) return;
    kedge_unlisted_close(&backend->unlisted);
    kedge_project_kinds_close(&backend->project_kinds);
    kedge_log_hints_close(&backend->log_hints);
    kedge_new_clients_close(&backend->new_clients);
    kedge_cache_free(backend->cache);
    kedge_locks_close(&backend->locks);
    kedge_release(backend->allocator, backend);
}
