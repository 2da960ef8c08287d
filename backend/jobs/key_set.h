/* A set of keys, each kept as 64 bits of its hash: 16 bytes a key at most, however long it is.
 *
 * Two keys with the same hash count as one: kedge_key_set_has may be true for a key that was never
 * added, with a probability of 2^-64 for each pair. Callers must tolerate this. */
#ifndef KEDGE_BACKEND_JOBS_KEY_SET_H
#define KEDGE_BACKEND_JOBS_KEY_SET_H

#include "common/bytes.h"

/* Start from {.allocator = …}. */
typedef struct kedge_key_set {
    const kedge_allocator *allocator;
    uint64_t *slots;
    size_t capacity;
    size_t count;
} kedge_key_set;

/* `*added` is true when the key was not there. NULL: not asked. */
kedge_status kedge_key_set_add(kedge_key_set *set, kedge_bytes key, bool *added,
                               kedge_error *error);
bool kedge_key_set_has(const kedge_key_set *set, kedge_bytes key);
void kedge_key_set_free(kedge_key_set *set);

#endif
