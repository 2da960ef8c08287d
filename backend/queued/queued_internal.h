/* What the files of this folder share. */
#ifndef KEDGE_BACKEND_QUEUED_QUEUED_INTERNAL_H
#define KEDGE_BACKEND_QUEUED_QUEUED_INTERNAL_H

#include "backend/queued/queued.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct kedge_queued_counters {
    atomic_ullong queued; /* messages */
    atomic_ullong claims; /* … that stand in blobs */
    atomic_ullong received;
    atomic_ullong decided;
    atomic_ullong merged; /* messages that were decided together with another */
    atomic_ullong again;
    atomic_ullong failed;                       /* tries of messages that cannot be decided */
    atomic_ullong dropped[KEDGE_PUSH_PROBLEMS]; /* mutations */
    atomic_ullong call_failures[KEDGE_QUEUED_CALLS];
    atomic_ullong rounds_failed; /* of consumers */
    atomic_llong received_ms;    /* age of the oldest message of the last receive, then */
} kedge_queued_counters;

struct kedge_queued {
    kedge_queued_options options;
    const kedge_environment *environment;
    const kedge_allocator *allocator;
    kedge_queued_counters counters;
    pthread_mutex_t mutex; /* of the list */
    kedge_consumer *consumers;
    pthread_mutex_t owners_mutex; /* also of the list, and of what is noted in it about owners; with
                                     it nothing else is locked or called */
};

#endif
