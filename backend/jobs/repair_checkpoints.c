/* Repair: checkpoints that are damaged or not the fold at their version, written from the fold. */
#include "backend/jobs/verify_internal.h"

#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/state/checkpoint_chunks.h"
#include "common/error.h"
#include "common/gzip.h"

#include <string.h>

#define CHUNK_BYTES_MAX ((size_t)2 * KEDGE_CHUNK_BYTES_MAX)

kedge_status verify_note_bad_root(verifying *work, const verify_root *root, kedge_error *error)
{
    const kedge_replayed_collection *folded = kedge_replay_find(&work->replay, root->collection);
    if (work->broken || folded == NULL || folded->number != root->number ||
        folded->last != root->version) {
        return KEDGE_OK; /* nobody knows what it should be */
    }
    if (work->bad_root_count == work->bad_root_capacity) {
        size_t capacity = work->bad_root_capacity == 0 ? 16 : work->bad_root_capacity * 2;
        verify_bad_root *grown = kedge_arena_take_array(&work->arena, capacity, sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        if (work->bad_root_count > 0)
            memcpy(grown, work->bad_roots, work->bad_root_count * sizeof *grown);
        work->bad_roots = grown;
        work->bad_root_capacity = capacity;
    }
    work->bad_roots[work->bad_root_count++] =
        (verify_bad_root){.root = *root, .map = kedge_map_share(&folded->map)};
    return KEDGE_OK;
}

void verify_forget_bad_roots(verifying *work)
{
    for (size_t i = 0; i < work->bad_root_count; i++)
        kedge_map_free(work->project->allocator, &work->bad_roots[i].map);
    work->bad_root_count = 0;
}

/* Chunks are put if absent. One under whose name something else stands has to go first. */
static kedge_status drop_damaged_chunk(void *context, const kedge_chunk *chunk, kedge_error *error)
{
    verifying *work = context;
    const kedge_allocator *allocator = work->project->allocator;
    const kedge_blobs *blobs = work->project->blobs;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(chunk->text, hash);
    kedge_key key = kedge_key_chunk(&work->project->ref, hash);
    kedge_buffer stored = kedge_buffer_make(allocator);
    kedge_buffer plain = kedge_buffer_make(allocator);
    kedge_status status = blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &stored, error);
    if (status == KEDGE_OK) {
        status = kedge_gunzip(kedge_buffer_bytes(&stored), CHUNK_BYTES_MAX, &plain, error);
        bool same =
            status == KEDGE_OK && kedge_bytes_equal(kedge_buffer_bytes(&plain), chunk->text);
        if (status != KEDGE_NO_MEMORY) {
            status =
                same ? KEDGE_OK : blobs->vtable->remove(blobs->self, kedge_key_bytes(&key), error);
        }
    } else if (status == KEDGE_NOT_FOUND) {
        status = KEDGE_OK;
    }
    kedge_buffer_free(&plain);
    kedge_buffer_free(&stored);
    return status;
}

static kedge_status repair_root(verifying *work, const verify_bad_root *bad, kedge_error *error)
{
    const verify_root *root = &bad->root;
    kedge_version_collection collection = {.name = root->collection,
                                           .number = root->number,
                                           .last = root->version,
                                           .items = (int64_t)bad->map.count};
    kedge_key key = kedge_key_collection(root->collection, root->number, 0);
    kedge_status status =
        kedge_chunks_cut(work->project->allocator, &bad->map, KEDGE_CHUNK_BYTES_MAX,
                         KEDGE_CHUNK_BYTES_TYPICAL, drop_damaged_chunk, work, error);
    if (status == KEDGE_OK) {
        status = kedge_checkpoint_write_map(work->project, &collection, root->lineage, &bad->map, 0,
                                            error);
    }
    if (status != KEDGE_OK) return status;
    return verify_tell_repaired(work, "checkpoint", root->version, kedge_key_bytes(&key),
                                "the versions", error);
}

kedge_status verify_repair_checkpoints(verifying *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->bad_root_count && status == KEDGE_OK; i++)
        status = repair_root(work, &work->bad_roots[i], error);
    return status;
}
