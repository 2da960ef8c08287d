/* Loading a collection of a state: a start (a state in memory, or the newest checkpoint), then the
 * changes after it, from newest to oldest over `last` and `previous`.
 *
 * The newest change of an item comes first, and older changes of the item are ignored. One version
 * record is in memory at a time, however long the tail is. */
#include "backend/versioned/model/version_object.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/versions/retained.h"
#include "common/error.h"

#define CHANGE_BYTES 128 /* what a change costs in a tail besides its own bytes */

static kedge_status add_changes(const kedge_allocator *allocator, const kedge_version *version,
                                kedge_bytes name, kedge_map *tail, long long *bytes,
                                kedge_error *error)
{
    size_t first;
    size_t count;
    kedge_version_find_changes(version, name, &first, &count);
    for (size_t i = first; i < first + count; i++) {
        const kedge_version_change *change = &version->changes[i];
        *bytes += CHANGE_BYTES + (long long)(change->entry.id.size + change->entry.body.size);
        if (kedge_map_find(tail, change->entry.id) != NULL) continue;
        kedge_item *item = kedge_item_new(allocator, &change->entry, change->deleted);
        bool fine = item != NULL && kedge_map_put(allocator, tail, item);
        kedge_item_release(allocator, item);
        if (!fine) return kedge_fail_no_memory(error);
    }
    return KEDGE_OK;
}

/* Everything that changed in the collection after version `from`. KEDGE_NOT_FOUND: version
 * `*missing` is not there. */
static kedge_status read_tail(kedge_state *state, const kedge_version_collection *collection,
                              int64_t from, kedge_map *tail, long long *bytes, int64_t *missing,
                              kedge_error *error)
{
    kedge_backend *backend = state->project.backend;
    int64_t at = collection->last;
    while (at > from) {
        const kedge_version *version = state->version;
        kedge_status status = KEDGE_OK;
        if (at == state->version->number) {
            kedge_version_retain(version);
        } else {
            status = kedge_version_load(&state->project, at, &version, error);
        }
        if (status == KEDGE_NOT_FOUND) *missing = at;
        if (status != KEDGE_OK) return status;
        const kedge_version_collection *then =
            kedge_version_find_collection(version, collection->name);
        int64_t previous = then == NULL ? at : then->previous;
        status = add_changes(backend->allocator, version, collection->name, tail, bytes, error);
        kedge_version_release(version);
        if (status != KEDGE_OK) return status;
        if (previous >= at) {
            return kedge_fail(error, KEDGE_CORRUPT, "record-damaged",
                              "version %lld does not tell the change before it", (long long)at);
        }
        at = previous;
    }
    return KEDGE_OK;
}

typedef struct laying {
    const kedge_allocator *allocator;
    kedge_map *map;
    bool fine;
} laying;

static bool lay_item(void *context, kedge_item *item)
{
    laying *to = context;
    to->fine = item->deleted ? kedge_map_remove(to->allocator, to->map, item->entry.id)
                             : kedge_map_put(to->allocator, to->map, item);
    return to->fine;
}

static kedge_status find_start(kedge_state *state, const kedge_version_collection *collection,
                               kedge_slot *slot, kedge_map *map, int64_t *from, kedge_error *error)
{
    if (slot->has_base) {
        *map = kedge_map_share(&slot->base);
        *from = slot->base_version;
        return KEDGE_OK;
    }
    int64_t number = 0;
    bool damaged = false;
    kedge_status status =
        kedge_checkpoint_read(&state->project, collection, map, from, &number, &damaged, error);
    if (status != KEDGE_OK) return status;
    /* No changes lead from one snapshot of a history to the next. */
    if (state->project.history != NULL && *from != collection->last) {
        kedge_map_free(state->project.allocator, map);
        return kedge_fail(error, KEDGE_CORRUPT, "snapshot-damaged",
                          "the collection \"%.*s\" of the snapshot of %lld cannot be read",
                          (int)collection->name.size, collection->name.data,
                          (long long)collection->last);
    }
    atomic_store(&slot->root_number, number);
    atomic_store(&slot->root_damaged, damaged);
    atomic_store(&slot->tail_bytes, 0);
    return KEDGE_OK;
}

/* KEDGE_NOT_FOUND: version `*missing` is not there. */
static kedge_status try_load(kedge_state *state, const kedge_version_collection *collection,
                             kedge_slot *slot, int64_t *missing, kedge_error *error)
{
    const kedge_allocator *allocator = state->project.allocator;
    kedge_map map = {0};
    kedge_map tail = {0};
    int64_t from = 0;
    long long bytes = 0;
    laying to = {allocator, &map, true};
    kedge_status status = find_start(state, collection, slot, &map, &from, error);
    if (status == KEDGE_OK) {
        status = read_tail(state, collection, from, &tail, &bytes, missing, error);
    }
    if (status != KEDGE_OK) goto out;
    kedge_map_visit_items(&tail, lay_item, &to);
    if (!to.fine) {
        status = kedge_fail_no_memory(error);
        goto out;
    }
    if (map.count != (size_t)collection->items) {
        status = kedge_fail(error, KEDGE_CORRUPT, "collection-damaged",
                            "the collection \"%.*s\" has %zu items where its version says %lld",
                            (int)collection->name.size, collection->name.data, map.count,
                            (long long)collection->items);
        goto out;
    }
    atomic_fetch_add(&slot->tail_bytes, bytes);
    slot->map = map;
    map = (kedge_map){0};
    kedge_map_free(allocator, &slot->base);
    slot->has_base = false;
    atomic_store_explicit(&slot->loaded, true, memory_order_release);
out:
    kedge_map_free(allocator, &tail);
    kedge_map_free(allocator, &map);
    return status;
}

/* Versions between the start and this one may have been removed by retention, which leaves a
 * checkpoint behind them: the next try finds it. */
static kedge_status load(kedge_state *state, const kedge_version_collection *collection,
                         kedge_slot *slot, kedge_error *error)
{
    int64_t missing = 0;
    kedge_status status = try_load(state, collection, slot, &missing, error);
    if (status != KEDGE_NOT_FOUND) return status;
    kedge_map_free(state->project.allocator, &slot->base);
    slot->has_base = false;
    status = try_load(state, collection, slot, &missing, error);
    if (status != KEDGE_NOT_FOUND) return status;
    return kedge_retained_fail(&state->project, state->version->number, missing, error);
}

kedge_status kedge_state_collection(kedge_state *state, kedge_bytes name, const kedge_map **map,
                                    kedge_error *error)
{
    const kedge_version_collection *collection =
        kedge_version_find_collection(state->version, name);
    if (collection == NULL) {
        *map = NULL;
        return KEDGE_OK;
    }
    kedge_slot *slot = &state->slots[collection - state->version->collections];
    kedge_status status = KEDGE_OK;
    if (!atomic_load_explicit(&slot->loaded, memory_order_acquire)) {
        pthread_mutex_lock(&state->lock);
        if (!atomic_load_explicit(&slot->loaded, memory_order_acquire)) {
            status = load(state, collection, slot, error);
        }
        pthread_mutex_unlock(&state->lock);
    }
    if (status == KEDGE_OK) *map = &slot->map;
    return status;
}
