/* Folding deltas into maps. */
#include "backend/jobs/replay.h"

#include "backend/base/backend.h"
#include "backend/versioned/state/checkpoint.h"
#include "common/error.h"

#include <string.h>

kedge_replay kedge_replay_make(const kedge_project *project)
{
    return (kedge_replay){.project = project};
}

void kedge_replay_free(kedge_replay *replay)
{
    const kedge_allocator *allocator = replay->project->allocator;
    for (size_t i = 0; i < replay->count; i++) {
        kedge_map_free(allocator, &replay->collections[i].map);
    }
    kedge_release(allocator, replay->collections);
    *replay = kedge_replay_make(replay->project);
}

kedge_replayed_collection *kedge_replay_find(const kedge_replay *replay, kedge_bytes name)
{
    for (size_t i = 0; i < replay->count; i++) {
        if (kedge_bytes_equal_text(name, replay->collections[i].name)) {
            return &replay->collections[i];
        }
    }
    return NULL;
}

static kedge_replayed_collection *find_or_add(kedge_replay *replay, kedge_bytes name)
{
    const kedge_allocator *allocator = replay->project->allocator;
    kedge_replayed_collection *found = kedge_replay_find(replay, name);
    if (found != NULL) return found;
    if (replay->count == replay->capacity) {
        size_t capacity = replay->capacity == 0 ? 16 : replay->capacity * 2;
        kedge_replayed_collection *grown = allocator->reallocate(
            allocator->context, replay->collections, capacity * sizeof *grown);
        if (grown == NULL) return NULL;
        replay->collections = grown;
        replay->capacity = capacity;
    }
    kedge_replayed_collection *added = &replay->collections[replay->count++];
    memset(added, 0, sizeof *added);
    size_t size = name.size < sizeof added->name ? name.size : sizeof added->name - 1;
    memcpy(added->name, name.data, size);
    return added;
}

bool kedge_replay_before(const kedge_version *version, const kedge_version_collection *collection,
                         kedge_version_collection *before)
{
    *before = *collection;
    if (collection->last != version->number) return true;
    before->number--;
    before->last = collection->previous;
    before->previous = 0; /* not known */
    before->items = 0;
    return before->number > 0;
}

kedge_status kedge_replay_start(kedge_replay *replay, const kedge_version *version,
                                kedge_error *error)
{
    for (size_t i = 0; i < version->collection_count; i++) {
        kedge_version_collection before;
        int64_t found_version = 0;
        int64_t number = 0;
        bool damaged = false;
        if (!kedge_replay_before(version, &version->collections[i], &before)) continue;
        kedge_replayed_collection *into = find_or_add(replay, before.name);
        if (into == NULL) return kedge_fail_no_memory(error);
        kedge_status status = kedge_checkpoint_read(replay->project, &before, &into->map,
                                                    &found_version, &number, &damaged, error);
        if (status != KEDGE_OK) return status;
        if (number != before.number || damaged) {
            return kedge_fail(error, KEDGE_CORRUPT, "base-missing",
                              "the checkpoint of \"%.*s\" in front of version %lld, the oldest "
                              "that is kept, is not there whole",
                              (int)before.name.size, before.name.data, (long long)version->number);
        }
        into->number = before.number;
        into->last = before.last;
        into->previous = before.previous;
    }
    replay->version = version->number - 1;
    return KEDGE_OK;
}

kedge_status kedge_replay_put(kedge_replay *replay, const kedge_version_collection *collection,
                              const kedge_map *map, kedge_error *error)
{
    kedge_replayed_collection *into = find_or_add(replay, collection->name);
    if (into == NULL) return kedge_fail_no_memory(error);
    kedge_map_free(replay->project->allocator, &into->map);
    into->map = kedge_map_share(map);
    into->number = collection->number;
    into->last = collection->last;
    into->previous = collection->previous;
    return KEDGE_OK;
}

static kedge_status take_change(kedge_replay *replay, const kedge_version *version,
                                const kedge_version_change *change, kedge_error *error)
{
    const kedge_allocator *allocator = replay->project->allocator;
    kedge_replayed_collection *into = find_or_add(replay, change->collection);
    if (into == NULL) return kedge_fail_no_memory(error);
    if (into->last != version->number) {
        into->number++;
        into->previous = into->last;
        into->last = version->number;
    }
    bool fine = true;
    if (change->deleted) {
        fine = kedge_map_remove(allocator, &into->map, change->entry.id);
    } else {
        kedge_item *item = kedge_item_new(allocator, &change->entry, false);
        fine = item != NULL && kedge_map_put(allocator, &into->map, item);
        kedge_item_release(allocator, item);
    }
    return fine ? KEDGE_OK : kedge_fail_no_memory(error);
}

kedge_status kedge_replay_take(kedge_replay *replay, const kedge_version *version,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < version->change_count && status == KEDGE_OK; i++) {
        status = take_change(replay, version, &version->changes[i], error);
    }
    replay->version = version->number;
    return status;
}

/* ---- comparing ---- */

static bool same_entry(const kedge_entry *a, const kedge_entry *b)
{
    return memcmp(a->hash, b->hash, sizeof a->hash) == 0 && a->size == b->size &&
           (a->body.data == NULL) == (b->body.data == NULL) &&
           kedge_bytes_equal(a->body, b->body) && kedge_bytes_equal(a->meta, b->meta);
}

static void tell(kedge_buffer *difference, kedge_bytes id, const char *how)
{
    kedge_buffer_append_format(difference, "the item \"%.*s\" %s", (int)id.size, id.data, how);
}

bool kedge_replay_same(const kedge_map *a, const kedge_map *b, kedge_buffer *difference)
{
    kedge_bytes none = {NULL, 0};
    const kedge_item *left = kedge_map_next(a, true, none);
    const kedge_item *right = kedge_map_next(b, true, none);
    while (left != NULL && right != NULL) {
        int order = kedge_bytes_compare(left->entry.id, right->entry.id);
        if (order != 0) break;
        if (!same_entry(&left->entry, &right->entry)) {
            tell(difference, left->entry.id, "is another one");
            return false;
        }
        left = kedge_map_next(a, false, left->entry.id);
        right = kedge_map_next(b, false, right->entry.id);
    }
    if (left == NULL && right == NULL) return true;
    bool missing =
        right == NULL || (left != NULL && kedge_bytes_compare(left->entry.id, right->entry.id) < 0);
    tell(difference, missing ? left->entry.id : right->entry.id,
         missing ? "is missing" : "should not be there");
    return false;
}
