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

/* What was before the first version: number 0, and the lineage that stands in the record of the
 * project's creation. KEDGE_NOT_FOUND: no such project. */
kedge_status kedge_version_load_creation(kedge_backend *backend, const kedge_project_ref *ref,
                                         const kedge_version **version, kedge_error *error);

/* A version of which only number, lineage and runs are read, not the blobs that it may refer to. */
kedge_status kedge_version_load_runs(kedge_backend *backend, const kedge_project_ref *ref,
                                     int64_t number, const kedge_version **version,
                                     kedge_error *error);

/* Whether the record of version `number` has this lineage, by a consistent read; that of a version
 * which is no longer kept still tells. A version without a record counts as the same: what is left
 * of it is the truth. `*gone` (NULL: not asked): it is not there, or no longer kept. */
kedge_status kedge_version_has_lineage(kedge_backend *backend, const kedge_project_ref *ref,
                                       int64_t number, kedge_bytes lineage, bool *same, bool *gone,
                                       kedge_error *error);
/* The lineage of version `number`, also when it is no longer kept. KEDGE_NOT_FOUND: no record. */
kedge_status kedge_version_lineage(kedge_backend *backend, const kedge_project_ref *ref,
                                   int64_t number, char lineage[KEDGE_LINEAGE_HEX],
                                   kedge_error *error);
/* Whether there is or was a version of this number and lineage: what a client says that it has. */
kedge_status kedge_version_is_known(kedge_backend *backend, const kedge_project_ref *ref,
                                    int64_t number, const char *lineage, bool *known,
                                    kedge_error *error);

#endif
