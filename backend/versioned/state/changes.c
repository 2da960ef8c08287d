/* The changes between two versions: the fold of their deltas, with the newest change of each key.
 *
 * Versions are read downwards from the newer one, so the first change found for an item counts.
 * Memory is bounded by the number of changed items, not of changes: only a few version records are
 * in memory at a time. */
#include "backend/versioned/state/state_internal.h"

#include "backend/versioned/model/version.h"
#include "common/error.h"

#include <string.h>

#define VERSIONS_PER_PAGE 64
#define PAGE_BYTES        4194304 /* pages of versions that hold more become shorter */

/* By `collection NUL id`, which sorts as (collection, id) does: no name holds a NUL. */
struct kedge_fold {
    const kedge_allocator *allocator;
    kedge_map map;
    kedge_version_change *changes;
    size_t count;
};

/* ---- keys ---- */

static bool join_key(kedge_buffer *key, kedge_bytes collection, kedge_bytes id)
{
    kedge_buffer_clear(key);
    kedge_buffer_append_bytes(key, collection);
    kedge_buffer_append_byte(key, '\0');
    kedge_buffer_append_bytes(key, id);
    return !key->no_memory;
}

static bool add_change(void *context, kedge_item *item)
{
    struct kedge_fold *fold = context;
    kedge_bytes key = item->entry.id;
    const char *end = memchr(key.data, '\0', key.size);
    size_t name = (size_t)(end - key.data);
    kedge_version_change *change = &fold->changes[fold->count++];
    change->collection = (kedge_bytes){key.data, name};
    change->deleted = item->deleted;
    change->entry = item->entry;
    change->entry.id = (kedge_bytes){end + 1, key.size - name - 1};
    return true;
}

/* ---- folding ---- */

static kedge_status fold_version(struct kedge_fold *fold, const kedge_version *version,
                                 kedge_buffer *key, kedge_error *error)
{
    for (size_t i = 0; i < version->change_count; i++) {
        const kedge_version_change *change = &version->changes[i];
        if (!join_key(key, change->collection, change->entry.id))
            return kedge_fail_no_memory(error);
        if (kedge_map_find(&fold->map, kedge_buffer_bytes(key)) != NULL) continue;
        kedge_entry entry = change->entry;
        entry.id = kedge_buffer_bytes(key);
        kedge_item *item = kedge_item_new(fold->allocator, &entry, change->deleted);
        bool fine = item != NULL && kedge_map_put(fold->allocator, &fold->map, item);
        kedge_item_release(fold->allocator, item);
        if (!fine) return kedge_fail_no_memory(error);
    }
    if (fold->map.bytes <= KEDGE_CHANGES_BYTES_MAX) return KEDGE_OK;
    return kedge_fail(error, KEDGE_NOT_FOUND, "changes-too-many", "too much has changed");
}

/* Folds the versions below `*below`, at most `limit` of them, and moves `*below` to the last. */
static kedge_status fold_page(kedge_state *state, struct kedge_fold *fold, kedge_changes *changes,
                              int64_t *below, uint32_t limit, size_t *bytes, kedge_error *error)
{
    const kedge_version *versions[VERSIONS_PER_PAGE];
    size_t count = 0;
    kedge_buffer key = kedge_buffer_make(fold->allocator);
    kedge_status status = kedge_version_list(&state->project, *below, limit, KEDGE_VERSION_STATE,
                                             versions, &count, error);
    if (status == KEDGE_OK && count == 0) {
        status = kedge_fail(error, KEDGE_NOT_FOUND, "version-gone",
                            "version %lld is no longer there", (long long)(*below - 1));
    }
    *bytes = 0;
    for (size_t i = 0; i < count; i++) {
        *bytes += ((const kedge_version_object *)versions[i])->arena.bytes;
        if (status == KEDGE_OK && versions[i]->number != *below - 1) {
            status = kedge_fail(error, KEDGE_NOT_FOUND, "version-gone",
                                "version %lld is no longer there", (long long)(*below - 1));
        }
        if (status == KEDGE_OK) status = fold_version(fold, versions[i], &key, error);
        if (versions[i]->project_changed) changes->project_changed = true;
        *below = versions[i]->number;
        kedge_version_release(versions[i]);
    }
    kedge_buffer_free(&key);
    return status;
}

static kedge_status fold_all(kedge_state *state, int64_t from, struct kedge_fold *fold,
                             kedge_changes *changes, kedge_error *error)
{
    kedge_buffer key = kedge_buffer_make(fold->allocator);
    kedge_status status = fold_version(fold, state->version, &key, error);
    kedge_buffer_free(&key);
    changes->project_changed = state->version->project_changed;
    int64_t below = state->version->number;
    uint32_t limit = 4;
    while (status == KEDGE_OK && below > from + 1) {
        size_t bytes = 0;
        int64_t left = below - from - 1;
        if (left < limit) limit = (uint32_t)left;
        status = fold_page(state, fold, changes, &below, limit, &bytes, error);
        limit = bytes > PAGE_BYTES ? (limit + 1) / 2 : limit * 2;
        if (limit > VERSIONS_PER_PAGE) limit = VERSIONS_PER_PAGE;
    }
    return status;
}

kedge_status kedge_state_changes(kedge_state *state, int64_t from, kedge_changes *changes,
                                 kedge_error *error)
{
    const kedge_allocator *allocator = state->project.allocator;
    kedge_changes made = {.count = 0};
    int64_t to = state->version->number;
    if (from < 0 || from > to) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "version-order",
                          "version %lld is not before version %lld", (long long)from,
                          (long long)to);
    }
    if (to - from > KEDGE_CHANGES_VERSIONS_MAX) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "changes-too-many", "too much has changed");
    }
    if (from == to) {
        *changes = made;
        return KEDGE_OK;
    }
    made.fold = kedge_allocate(allocator, sizeof *made.fold);
    if (made.fold == NULL) return kedge_fail_no_memory(error);
    made.fold->allocator = allocator;
    kedge_status status = fold_all(state, from, made.fold, &made, error);
    if (status == KEDGE_OK) {
        size_t count = made.fold->map.count;
        made.fold->changes = kedge_allocate(allocator, (count + 1) * sizeof *made.changes);
        if (made.fold->changes == NULL) status = kedge_fail_no_memory(error);
    }
    if (status != KEDGE_OK) {
        kedge_changes_free(&made);
        return status;
    }
    kedge_map_visit_items(&made.fold->map, add_change, made.fold);
    made.changes = made.fold->changes;
    made.count = made.fold->count;
    *changes = made;
    return KEDGE_OK;
}

void kedge_changes_free(kedge_changes *changes)
{
    if (changes->fold != NULL) {
        const kedge_allocator *allocator = changes->fold->allocator;
        kedge_map_free(allocator, &changes->fold->map);
        kedge_release(allocator, changes->fold->changes);
        kedge_release(allocator, changes->fold);
    }
    memset(changes, 0, sizeof *changes);
}
