/* See state_hash.h. */
#include "mutate/state_hash.h"

#include "common/assert.h"

#include <kedge/limits.h>

static void add_size(kedge_state_hash *hash, size_t size)
{
    KEDGE_ASSERT(size <= UINT32_MAX);
    char bytes[4] = {(char)(size & 0xff), (char)(size >> 8 & 0xff), (char)(size >> 16 & 0xff),
                     (char)(size >> 24 & 0xff)};
    kedge_sha256_add(&hash->stream, (kedge_bytes){bytes, sizeof bytes});
}

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
        add_size(hash, project.size);
        kedge_sha256_add(&hash->stream, project);
    } else {
        add_size(hash, collection.size + 1 + id.size);
        kedge_sha256_add(&hash->stream, collection);
        kedge_sha256_add(&hash->stream, KEDGE_BYTES("/"));
        kedge_sha256_add(&hash->stream, id);
    }
    add_size(hash, value.size);
    kedge_sha256_add(&hash->stream, value);
}

void kedge_state_hash_end(kedge_state_hash *hash, uint8_t out[KEDGE_SHA256_SIZE])
{
    kedge_sha256_end(&hash->stream, out);
}
