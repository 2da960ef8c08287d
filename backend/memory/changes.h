/* What the records in memory keep for their stream: the changes, in shards. The caller holds the
 * mutex of the records. */
#ifndef KEDGE_BACKEND_MEMORY_CHANGES_H
#define KEDGE_BACKEND_MEMORY_CHANGES_H

#include "backend/memory/list.h"
#include "backend/ports/stream.h"
#include "common/environment.h"

#include <pthread.h>

typedef struct kedge_memory_change {
    uint64_t sequence; /* 1, 2, 3… over all shards */
    kedge_stream_change_kind kind;
    int64_t at_ms;
    kedge_record_key key;
    kedge_bytes attributes; /* in the compact form */
} kedge_memory_change;      /* and the bytes */

/* Has the partitions whose hash ends with `depth` bits that are `bits`. */
typedef struct kedge_memory_shard {
    char id[32];
    char parent[32]; /* "": none */
    uint32_t depth;
    uint32_t bits;
    bool closed;
    uint64_t start;           /* its first change comes after this sequence */
    uint64_t trimmed_through; /* those of its changes up to this sequence are trimmed */
    kedge_memory_list changes;
} kedge_memory_shard;

typedef struct kedge_memory_changes {
    const kedge_environment *environment;
    pthread_mutex_t *mutex;   /* borrowed */
    kedge_memory_list shards; /* in the order in which they were made */
    uint64_t sequence;        /* of the newest change */
    uint64_t visible_through; /* readers do not see changes after this sequence */
    uint32_t made;            /* shards that ever were, beside the first */
} kedge_memory_changes;

/* NULL: no memory. One shard to begin with. */
kedge_memory_changes *kedge_memory_changes_new(const kedge_environment *environment,
                                               pthread_mutex_t *mutex);
void kedge_memory_changes_free(kedge_memory_changes *changes); /* NULL is allowed */

/* Room for `count` more changes, wherever they belong. False: no memory. */
bool kedge_memory_changes_reserve(kedge_memory_changes *changes, size_t count);
/* A change that has no place yet; release it, or add it. NULL: no memory. */
kedge_memory_change *kedge_memory_change_make(const kedge_memory_changes *changes,
                                              kedge_stream_change_kind kind,
                                              const kedge_record_key *key, kedge_bytes attributes);
/* Cannot fail: there is room. */
void kedge_memory_changes_add(kedge_memory_changes *changes, kedge_memory_change *change);

/* The changes of records that kedge_memory_records_open made, kept from the first call on. */
kedge_status kedge_memory_records_changes(const kedge_environment *environment,
                                          const kedge_records *records,
                                          kedge_memory_changes **changes, kedge_error *error);

#endif
