/* Verify: every checkpoint against the fold at its version.
 *
 * Their places are listed first, in the order of versions, so that the visit of the versions meets
 * them one after the other. */
#include "backend/jobs/verify_internal.h"

#include "backend/versioned/state/checkpoint.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static kedge_status note_root(void *context, const kedge_record *record, kedge_error *error)
{
    verifying *work = context;
    kedge_bytes collection;
    int64_t number = 0;
    uint32_t part = 0;
    if (!kedge_key_read_collection(record->key.sort, &collection, &number, &part)) {
        return verify_tell(work, "record-unknown", 0, record->key.sort, error,
                           "there is no entity with such a key");
    }
    if (part != 0) return KEDGE_OK;
    if (work->root_count == work->root_capacity) {
        size_t capacity = work->root_capacity == 0 ? 64 : work->root_capacity * 2;
        verify_root *grown = kedge_arena_take_array(&work->arena, capacity, sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        if (work->root_count > 0) memcpy(grown, work->roots, work->root_count * sizeof *grown);
        work->roots = grown;
        work->root_capacity = capacity;
    }
    verify_root *root = &work->roots[work->root_count++];
    const kedge_attribute *version = kedge_record_attribute(record, "version");
    const kedge_attribute *lineage = kedge_record_attribute(record, "lineage");
    root->number = number;
    root->version = version == NULL ? 0 : version->number;
    if (lineage != NULL && lineage->bytes.size == sizeof root->lineage - 1) {
        memcpy(root->lineage, lineage->bytes.data, lineage->bytes.size);
    }
    return kedge_arena_copy(&work->arena, collection, &root->collection)
               ? KEDGE_OK
               : kedge_fail_no_memory(error);
}

static int compare_roots(const void *a, const void *b)
{
    const verify_root *left = a;
    const verify_root *right = b;
    if (left->version != right->version) return left->version < right->version ? -1 : 1;
    return kedge_bytes_compare(left->collection, right->collection);
}

kedge_status verify_list_roots(verifying *work, kedge_error *error)
{
    kedge_status status = kedge_visit_records(work->project, "Collection#", note_root, work, error);
    if (status == KEDGE_OK && work->root_count > 1) {
        qsort(work->roots, work->root_count, sizeof *work->roots, compare_roots);
    }
    return status;
}

/* ---- one checkpoint ---- */

kedge_status verify_load_root(verifying *work, const verify_root *root, kedge_map *map,
                              kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key sort = kedge_key_collection(root->collection, root->number, 0);
    kedge_record_key key = {kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status != KEDGE_OK) return status;
    status = kedge_checkpoint_read_root(work->project, root->collection, root->number,
                                        &set.records[0], map, error);
    kedge_record_set_free(&set);
    return status;
}

static kedge_status compare_root(verifying *work, const verify_root *root, kedge_bytes key,
                                 const kedge_map *map, kedge_error *error)
{
    const kedge_replayed_collection *folded = kedge_replay_find(&work->replay, root->collection);
    if (folded == NULL || folded->number != root->number || folded->last != root->version) {
        return verify_tell(work, "checkpoint-wrong", root->version, key, error,
                           "the version did not give the collection this number");
    }
    kedge_buffer difference = kedge_buffer_make(work->project->allocator);
    kedge_status status = KEDGE_OK;
    if (!kedge_replay_same(&folded->map, map, &difference)) {
        status = kedge_buffer_status(&difference, error);
        if (status == KEDGE_OK) {
            status = verify_tell(work, "checkpoint-wrong", root->version, key, error, "%s",
                                 difference.data);
        }
    }
    kedge_buffer_free(&difference);
    return status;
}

static kedge_status check_root(verifying *work, const verify_root *root, bool compare,
                               kedge_error *error)
{
    kedge_key sort = kedge_key_collection(root->collection, root->number, 0);
    kedge_bytes key = kedge_key_bytes(&sort);
    bool known = false;
    kedge_map map = {0};
    kedge_error failure = {0};
    work->summary->checkpoints++;
    kedge_status status =
        verify_knows(work, root->version, kedge_bytes_of(root->lineage), &known, error);
    if (status != KEDGE_OK) return status;
    if (!known) {
        return verify_tell(work, "checkpoint-foreign", root->version, key, error,
                           "the version that it names is not there or has another lineage");
    }
    int64_t before = work->summary->findings;
    status = verify_load_root(work, root, &map, &failure);
    if (status != KEDGE_OK) {
        status =
            verify_failure(work, status, "checkpoint-damaged", root->version, key, &failure, error);
    } else if (compare && !work->broken) {
        status = compare_root(work, root, key, &map, error);
    }
    kedge_map_free(work->project->allocator, &map);
    bool bad = work->repair && compare && work->summary->findings > before;
    return status == KEDGE_OK && bad ? verify_note_bad_root(work, root, error) : status;
}

kedge_status verify_roots_of(verifying *work, int64_t version, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    while (work->next_root < work->root_count && status == KEDGE_OK) {
        const verify_root *root = &work->roots[work->next_root];
        if (root->version > version) break;
        work->next_root++;
        /* A root of an older version is not compared: the fold started from it, or retention is
         * about to remove it. */
        status = check_root(work, root, root->version == version, error);
    }
    return status;
}

kedge_status verify_other_roots(verifying *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (; work->next_root < work->root_count && status == KEDGE_OK; work->next_root++) {
        status = check_root(work, &work->roots[work->next_root], false, error);
    }
    return status;
}
