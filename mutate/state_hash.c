/* See state_hash.h. */
#include "mutate/state_hash.h"

#include "common/assert.h"

#include <kedge/limits.h>

void kedge_state_hash_begin(kedge_state_hash *hash)
{
    kedge_sha256_begin(&hash->stream);
}

void kedge_state_hash_add(kedge_state_hash *hash, kedge_bytes collection, kedge_bytes id,
                          kedge_bytes value)
{
    KEDGE_ASSERT(collection.size <= KEDGE_LIMIT_NAME_BYTES && id.size <= KEDGE_LIMIT_ITEM_ID_BYTES);
    KEDGE_ASSERT(value.size > 0 && (collection.size > 0 || id.size == 0));
    kedge_bytes project = KEDGE_BYTES("project");
    if (collection.size == 0) {
        kedge_sha256_add_size(&hash->stream, project.size);
        kedge_sha256_add(&hash->stream, project);
    } else {
        kedge_sha256_add_size(&hash->stream, collection.size + 1 + id.size);
        kedge_sha256_add(&hash->stream, collection);
        kedge_sha256_add(&hash->stream, KEDGE_BYTES("/"));
        kedge_sha256_add(&hash->stream, id);
    }
    kedge_sha256_add_size(&hash->stream, value.size);
    kedge_sha256_add(&hash->stream, value);
}

void kedge_state_hash_end(kedge_state_hash *hash, uint8_t out[KEDGE_SHA256_SIZE])
{
    kedge_sha256_end(&hash->stream, out);
}
