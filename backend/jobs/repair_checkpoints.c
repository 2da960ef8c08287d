/* Repair: checkpoints that are damaged or not the fold at their version, written from the fold. */
#include "backend/jobs/verify_internal.h"

#include "backend/versioned/state/checkpoint.h"
#include "common/error.h"

#include <string.h>

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

static kedge_status repair_root(verifying *work, const verify_bad_root *bad, kedge_error *error)
{
    const verify_root *root = &bad->root;
    kedge_version_collection collection = {.name = root->collection,
                                           .number = root->number,
                                           .last = root->version,
                                           .items = (int64_t)bad->map.count};
    kedge_key key = kedge_key_collection(root->collection, root->number, 0);
    kedge_status status =
        kedge_checkpoint_write_map(work->project, &collection, root->lineage, &bad->map, 0, error);
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
