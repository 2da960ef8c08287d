/* The locks of projects, and the pauses between two tries. */
#include "backend/base/locks.h"

#include <time.h>

#define PAUSE_FIRST_MS   5
#define PAUSE_LONGEST_MS 1000
#define PAUSE_DOUBLINGS  8

static size_t lock_by_hash(uint64_t hash)
{
    return (hash ^ (hash >> 32)) % KEDGE_PROJECT_LOCKS;
}

static size_t lock_of(const kedge_project_ref *ref)
{
    return lock_by_hash(kedge_project_ref_hash(ref));
}

pthread_mutex_t *kedge_backend_lock_of(kedge_backend *backend, uint64_t hash)
{
    return &backend->project_locks[lock_by_hash(hash)];
}

pthread_mutex_t *kedge_backend_project_lock(const kedge_project *project)
{
    return &project->backend->project_locks[lock_of(&project->ref)];
}

atomic_bool *kedge_backend_writing_checkpoints(const kedge_project *project)
{
    return &project->backend->writing_checkpoints[lock_of(&project->ref)];
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
