/* Projects that had no access list a moment ago: a project without one costs a read of the store
 * now and then, and not with each request.
 *
 * A list that another process puts is therefore in force after KEDGE_UNLISTED_MS at the latest. One
 * that is there is read with every request. In the memory of this process; any thread. */
#ifndef KEDGE_BACKEND_BASE_UNLISTED_H
#define KEDGE_BACKEND_BASE_UNLISTED_H

#include "common/environment.h"

#include <pthread.h>

#define KEDGE_UNLISTED_PLACES 1024 /* of two projects in one, the later stays */
#define KEDGE_UNLISTED_MS     10000

typedef struct kedge_unlisted_place {
    uint64_t project; /* hash of organization and resource id; 0: free */
    int64_t until_ms; /* monotonic */
} kedge_unlisted_place;

typedef struct kedge_unlisted {
    const kedge_environment *environment;
    pthread_mutex_t lock;
    kedge_unlisted_place places[KEDGE_UNLISTED_PLACES];
} kedge_unlisted;

void kedge_unlisted_open(kedge_unlisted *unlisted, const kedge_environment *environment);
void kedge_unlisted_close(kedge_unlisted *unlisted);

/* `id` is the id of the access list. */
bool kedge_unlisted_has(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id);
void kedge_unlisted_note(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id);
void kedge_unlisted_forget(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id);

#endif
