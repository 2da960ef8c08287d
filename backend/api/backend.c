/* The backend's making and ending. */
#include "backend/base/backend.h"
#include "backend/api/api.h"
#include "backend/versioned/state/cache.h"
#include "backend/versioned/usage/usage.h"
#include "common/error.h"

/* All or none of what may fail to open. */
static kedge_status open_parts(kedge_backend *made, kedge_error *error)
{
    const kedge_backend_options *options = &made->options;
    size_t bytes = options->state_cache_bytes == 0 ? KEDGE_CACHE_BYTES : options->state_cache_bytes;
    kedge_status status = kedge_cache_new(made->allocator, bytes, &made->cache, error);
    if (status != KEDGE_OK) return status;
    status = kedge_new_clients_open(&made->new_clients, made->environment,
                                    options->new_clients_per_minute, error);
    if (status != KEDGE_OK) goto no_clients;
    status = kedge_log_hints_open(&made->log_hints, made->allocator, error);
    if (status != KEDGE_OK) goto no_hints;
    status = kedge_project_kinds_open(&made->project_kinds, made->allocator, error);
    if (status != KEDGE_OK) goto no_kinds;
    status = kedge_usage_new(options, &made->usage, error);
    if (status == KEDGE_OK) return KEDGE_OK;
    kedge_project_kinds_close(&made->project_kinds);
no_kinds:
    kedge_log_hints_close(&made->log_hints);
no_hints:
    kedge_new_clients_close(&made->new_clients);
no_clients:
    kedge_cache_free(made->cache);
    return status;
}

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
    kedge_status status = open_parts(made, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, made);
        return status;
    }
    kedge_unlisted_open(&made->unlisted, made->environment);
    kedge_remakes_open(&made->remakes, made->environment);
    kedge_locks_open(&made->locks);
    *backend = made;
    return KEDGE_OK;
}

void kedge_backend_free(kedge_backend *backend)
{
    if (backend == NULL) return;
    kedge_usage_close(backend);
    kedge_remakes_close(&backend->remakes);
    kedge_unlisted_close(&backend->unlisted);
    kedge_project_kinds_close(&backend->project_kinds);
    kedge_log_hints_close(&backend->log_hints);
    kedge_new_clients_close(&backend->new_clients);
    kedge_cache_free(backend->cache);
    kedge_locks_close(&backend->locks);
    kedge_release(backend->allocator, backend);
}
