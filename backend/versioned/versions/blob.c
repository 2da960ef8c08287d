/* Blobs, put and read. */
#include "backend/versioned/versions/blob.h"

#include "backend/base/backend.h"
#include "backend/versioned/versions/garbage.h"
#include "common/error.h"
#include "common/gzip.h"

#include <string.h>

/* KEDGE_CONFLICT from a content address means that the blob exists; its mark tells whether it will
 * be removed. Without a mark no collector is going to remove it, but one may have removed it just
 * before the mark was read: a second put that still finds the blob makes sure. */
kedge_status kedge_blob_put(const kedge_project *project, const kedge_key *key,
                            kedge_bytes compressed, kedge_error *error)
{
    const kedge_blobs *blobs = project->blobs;
    bool unmarked = false;
    for (;;) {
        bool kept = false;
        kedge_status status =
            blobs->vtable->put_if_absent(blobs->self, kedge_key_bytes(key), compressed, error);
        if (status != KEDGE_CONFLICT) return status;
        if (unmarked) return KEDGE_OK;
        status = kedge_garbage_keep(project, kedge_key_bytes(key), &kept, error);
        if (status != KEDGE_OK || kept) return status;
        unmarked = true;
    }
}

kedge_status kedge_blob_put_plain(const kedge_project *project, const kedge_key *key,
                                  kedge_bytes plain, kedge_error *error)
{
    kedge_buffer compressed = kedge_buffer_make(project->allocator);
    kedge_status status = kedge_gzip(plain, &compressed, error);
    if (status == KEDGE_OK) {
        status = kedge_blob_put(project, key, kedge_buffer_bytes(&compressed), error);
    }
    kedge_buffer_free(&compressed);
    return status;
}

static kedge_status check(kedge_bytes compressed, kedge_bytes collection,
                          const uint8_t hash[KEDGE_SHA256_SIZE], kedge_buffer *plain,
                          kedge_error *error)
{
    size_t start = plain->size;
    uint8_t found[KEDGE_SHA256_SIZE];
    kedge_status status = kedge_gunzip(compressed, KEDGE_LIMIT_ITEM_BYTES, plain, error);
    if (status == KEDGE_OK) {
        kedge_sha256((kedge_bytes){plain->data + start, plain->size - start}, found);
        if (memcmp(found, hash, sizeof found) == 0) return KEDGE_OK;
    }
    kedge_buffer_truncate(plain, start);
    if (status == KEDGE_NO_MEMORY) return status;
    return kedge_fail(error, KEDGE_CORRUPT, "item-body-damaged",
                      "the body of an item in \"%.*s\" is not what its hash says",
                      (int)collection.size, collection.data);
}

kedge_status kedge_blob_body(const kedge_project *project, kedge_bytes collection,
                             const uint8_t hash[KEDGE_SHA256_SIZE], kedge_buffer *stored,
                             kedge_buffer *plain, kedge_error *error)
{
    const kedge_blobs *blobs = project->blobs;
    kedge_key key = kedge_key_body(&project->ref, collection, hash);
    kedge_buffer compressed = kedge_buffer_make(project->allocator);
    kedge_status status =
        blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &compressed, error);
    if (status == KEDGE_NOT_FOUND) {
        status = kedge_fail(error, KEDGE_CORRUPT, "item-body-missing",
                            "the body of an item in \"%.*s\" is no longer in the blobs",
                            (int)collection.size, collection.data);
    }
    if (status == KEDGE_OK) {
        status = check(kedge_buffer_bytes(&compressed), collection, hash, plain, error);
    }
    if (status == KEDGE_OK && stored != NULL) {
        kedge_buffer_append_bytes(stored, kedge_buffer_bytes(&compressed));
        status = kedge_buffer_status(stored, error);
    }
    kedge_buffer_free(&compressed);
    return status;
}
