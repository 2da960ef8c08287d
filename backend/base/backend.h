/* Shared by all folders of the backend: the ports and options, the locks of projects, the cache of
 * states. Only for the folders below the API. */
#ifndef KEDGE_BACKEND_BASE_BACKEND_H
#define KEDGE_BACKEND_BASE_BACKEND_H

#include "backend/base/hints.h"
#include "backend/base/locks.h"
#include "backend/base/new_clients.h"
#include "backend/base/options.h"
#include "backend/base/project_ref.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct kedge_cache kedge_cache; /* backend/versioned/state/cache.h */
typedef struct kedge_usage kedge_usage; /* backend/versioned/usage/usage.h */

struct kedge_backend {
    kedge_backend_options options;
    const kedge_environment *environment;
    const kedge_allocator *allocator;
    kedge_cache *cache;
    kedge_new_clients new_clients;
    kedge_usage *usage; /* NULL: organizations have no such bounds */
    kedge_log_hints log_hints;
    kedge_unlisted unlisted;
    kedge_remakes remakes;
    kedge_project_kinds project_kinds;
    atomic_ullong families; /* of states, given out so far */
    /* In this process only one push runs at a time for a project. This avoids useless races;
     * correctness does not depend on it. */
    kedge_locks locks;
};

#endif
