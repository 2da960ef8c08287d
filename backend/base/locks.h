/* The locks of projects, and the pauses between two tries. */
#ifndef KEDGE_BACKEND_BASE_LOCKS_H
#define KEDGE_BACKEND_BASE_LOCKS_H

#include "backend/base/project.h"

/* The lock of a project; other projects may share it. */
pthread_mutex_t *kedge_backend_project_lock(const kedge_project *project);
/* The same for anything else, by its hash. No call holds two of them. */
pthread_mutex_t *kedge_backend_lock_of(kedge_backend *backend, uint64_t hash);
atomic_bool *kedge_backend_writing_checkpoints(const kedge_project *project);

/* Waits a random time below 5 ms * 2^attempt, at most a second. */
void kedge_backend_pause(kedge_backend *backend, uint32_t attempt);

#endif
