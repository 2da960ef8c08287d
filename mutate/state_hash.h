/* The hash of a whole state, by which copies of a log project find out that they differ.
 *
 * SHA-256 over all items in key order: the project record when it is set, then each collection by
 * name, its items by id, both in byte order. Of each item: the size of its key (4 bytes, little
 * endian), the key, the size of its value, the value. The key is `collection/id`, and `project` of
 * the project record; the value is canonical JSON. Client and server compute it in the same way. */
#ifndef KEDGE_MUTATE_STATE_HASH_H
#define KEDGE_MUTATE_STATE_HASH_H

#include "common/hash.h"

typedef struct kedge_state_hash {
    kedge_sha256_stream stream;
} kedge_state_hash;

void kedge_state_hash_begin(kedge_state_hash *hash);
/* The next item, in order. The project record has two empty names. */
void kedge_state_hash_add(kedge_state_hash *hash, kedge_bytes collection, kedge_bytes id,
                          kedge_bytes value);
void kedge_state_hash_end(kedge_state_hash *hash, uint8_t out[KEDGE_SHA256_SIZE]);

#endif
