/* States kept in memory, by project: the head, and versions that are being paged through.
 *
 * A hint only: the cached head may be old. Projects are evicted, the longest unused first, when all
 * states together exceed the budget. Any thread. */
#ifndef KEDGE_BACKEND_STATE_CACHE_H
#define KEDGE_BACKEND_STATE_CACHE_H

#include "backend/versioned/state/state.h"

#include <pthread.h>

#define KEDGE_CACHE_BYTES ((size_t)64 * 1024 * 1024) /* unless the options say otherwise */

typedef struct kedge_cache_project kedge_cache_project;

struct kedge_cache {
    const kedge_allocator *allocator;
    pthread_mutex_t lock;
    kedge_cache_project **buckets;
    kedge_cache_project *newest; /* by last use, doubly linked */
    kedge_cache_project *oldest;
    size_t bytes;
    size_t bytes_max;
};

kedge_status kedge_cache_new(const kedge_allocator *allocator, size_t bytes_max,
                             kedge_cache **cache, kedge_error *error);
void kedge_cache_free(kedge_cache *cache);

/* The newest state known, with a reference for the caller; NULL: none. */
kedge_state *kedge_cache_head(kedge_cache *cache, const kedge_project_ref *ref);
/* The state of exactly this version; NULL: none. */
kedge_state *kedge_cache_find(kedge_cache *cache, const kedge_project_ref *ref, int64_t number,
                              const char *lineage);
/* The newest state at or below a version: a start for a fold. Its lineage is not checked. */
kedge_state *kedge_cache_nearest(kedge_cache *cache, const kedge_project_ref *ref, int64_t number);
/* Keeps a state (a reference of its own). A `head` replaces the head before it, and states above it
 * are forgotten. Without memory nothing is kept. `ref` is the state's project. For states that are
 * not those of versions, such as the snapshots of a log project, a caller gives a longer name that
 * begins with the project's, so that the two kinds are kept apart. */
void kedge_cache_add(kedge_cache *cache, const kedge_project_ref *ref, kedge_state *state,
                     bool head);

/* The first notes that this backend has written the index rows of all versions up to this one. The
 * second returns whether that was noted. */
void kedge_cache_set_indexed(kedge_cache *cache, const kedge_project_ref *ref,
                             const kedge_version *version);
bool kedge_cache_is_indexed(kedge_cache *cache, const kedge_project_ref *ref,
                            const kedge_version *version);

#endif
