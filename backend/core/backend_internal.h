/* The backend's insides, for backend/core only. */
#ifndef KEDGE_BACKEND_CORE_BACKEND_INTERNAL_H
#define KEDGE_BACKEND_CORE_BACKEND_INTERNAL_H

#include "backend/core/cache.h"
#include "backend/core/new_clients.h"
#include "backend/core/version.h"

#include <stdatomic.h>

#define KEDGE_PROJECT_LOCKS 64

struct kedge_backend {
    kedge_backend_options options;
    const kedge_environment *environment;
    const kedge_allocator *allocator;
    kedge_cache cache;
    kedge_new_clients new_clients;
    atomic_ullong families; /* of states, given out so far */
    /* One push at a time for a project in this process, to spare useless races; nothing relies on
     * it. */
    pthread_mutex_t project_locks[KEDGE_PROJECT_LOCKS];
    /* Checkpoints are being written for a project of that lock, by `later`. */
    atomic_bool writing_checkpoints[KEDGE_PROJECT_LOCKS];
};

/* The lock of a project; other projects may share it. */
pthread_mutex_t *kedge_backend_project_lock(kedge_backend *backend, const kedge_project_ref *ref);
atomic_bool *kedge_backend_writing_checkpoints(kedge_backend *backend,
                                               const kedge_project_ref *ref);
uint64_t kedge_project_ref_hash(const kedge_project_ref *ref);

/* Waits a random time below 5 ms * 2^attempt, at most a second. */
void kedge_backend_pause(kedge_backend *backend, uint32_t attempt);

#endif
