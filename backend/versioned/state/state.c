/* States: making, sharing, loading, reading.
 *
 * A collection is loaded when it is first read: a start (a state in memory, or the newest
 * checkpoint), then the changes after it, from newest to oldest over `last` and `previous`. The
 * newest change of an item comes first, and older changes of the item are ignored. One version
 * record is in memory at a time, however long the tail is. */
#include "backend/versioned/state/state_internal.h"

#include "backend/versioned/model/version.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/versions/blob.h"
#include "backend/versioned/versions/versions.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

#define STATE_BYTES 1024 /* what a state costs besides its maps and its version */

/* ---- lifetime ---- */

void kedge_state_retain(kedge_state *state)
{
    KEDGE_ASSERT(atomic_load_explicit(&state->references, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&state->references, 1, memory_order_relaxed);
}

void kedge_state_close(kedge_state *state)
{
    if (state == NULL) return;
    KEDGE_ASSERT(atomic_load_explicit(&state->references, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&state->references, 1, memory_order_acq_rel) != 1) return;
    const kedge_allocator *allocator = state->project.allocator;
    for (size_t i = 0; i < state->version->collection_count; i++) {
        kedge_map_free(allocator, &state->slots[i].map);
        kedge_map_free(allocator, &state->slots[i].base);
    }
    kedge_release(allocator, state->slots);
    kedge_version_release(state->version);
    pthread_mutex_destroy(&state->lock);
    kedge_release(allocator, state);
}

const kedge_version *kedge_state_version(const kedge_state *state)
{
    return state->version;
}

size_t kedge_state_bytes(const kedge_state *state)
{
    size_t bytes = STATE_BYTES + ((const kedge_version_object *)state->version)->arena.bytes;
    for (size_t i = 0; i < state->version->collection_count; i++) {
        const kedge_slot *slot = &state->slots[i];
        bool loaded = atomic_load_explicit(&slot->loaded, memory_order_acquire);
        bytes += sizeof *slot + (loaded ? slot->map.bytes : 0);
    }
    return bytes;
}

kedge_slot *kedge_state_slot(kedge_state *state, kedge_bytes name)
{
    const kedge_version_collection *found = kedge_version_find_collection(state->version, name);
    return found == NULL ? NULL : &state->slots[found - state->version->collections];
}

/* ---- making ---- */

/* What the parent has of a collection: all of it when nothing changed since, else a start. The
 * parent may load the slot at this moment, which the lock orders. */
static void inherit(kedge_slot *slot, const kedge_version_collection *collection,
                    kedge_state *parent)
{
    kedge_slot *from = kedge_state_slot(parent, collection->name);
    if (from == NULL) return;
    atomic_store(&slot->root_number, atomic_load(&from->root_number));
    atomic_store(&slot->tail_bytes, atomic_load(&from->tail_bytes));
    atomic_store(&slot->tail_changes, atomic_load(&from->tail_changes));
    atomic_store(&slot->root_damaged, atomic_load(&from->root_damaged));
    if (atomic_load_explicit(&from->loaded, memory_order_acquire)) {
        slot->base = kedge_map_share(&from->map);
        slot->base_version = parent->version->number;
        slot->has_base = true;
    } else if (from->has_base) {
        slot->base = kedge_map_share(&from->base);
        slot->base_version = from->base_version;
        slot->has_base = true;
    }
    if (slot->has_base && collection->last <= slot->base_version) {
        slot->map = slot->base;
        slot->base = (kedge_map){0};
        slot->has_base = false;
        atomic_store_explicit(&slot->loaded, true, memory_order_release);
    }
}

static kedge_state *make(const kedge_project *project, const kedge_version *version)
{
    size_t names = project->ref.organization.size + project->ref.project.size;
    kedge_state *state = kedge_allocate(project->allocator, sizeof *state + names + 1);
    if (state == NULL) return NULL;
    state->slots =
        kedge_allocate(project->allocator, version->collection_count * sizeof *state->slots);
    if (state->slots == NULL) {
        kedge_release(project->allocator, state);
        return NULL;
    }
    char *text = (char *)(state + 1);
    memcpy(text, project->ref.organization.data, project->ref.organization.size);
    memcpy(text + project->ref.organization.size, project->ref.project.data,
           project->ref.project.size);
    state->project = *project;
    state->project.ref.organization = (kedge_bytes){text, project->ref.organization.size};
    state->project.ref.project =
        (kedge_bytes){text + project->ref.organization.size, project->ref.project.size};
    state->version = version;
    kedge_version_retain(version);
    atomic_init(&state->references, 1);
    pthread_mutex_init(&state->lock, NULL);
    return state;
}

kedge_status kedge_state_derive(const kedge_project *project, kedge_state *parent,
                                const kedge_version *version, kedge_state **state,
                                kedge_error *error)
{
    KEDGE_ASSERT(parent == NULL || parent->version->number <= version->number);
    kedge_state *made = make(project, version);
    if (made == NULL) return kedge_fail_no_memory(error);
    if (parent != NULL) {
        pthread_mutex_lock(&parent->lock);
        for (size_t i = 0; i < version->collection_count; i++) {
            inherit(&made->slots[i], &version->collections[i], parent);
        }
        pthread_mutex_unlock(&parent->lock);
        made->family = parent->family;
    } else {
        made->family = atomic_fetch_add(&project->backend->families, 1);
    }
    *state = made;
    return KEDGE_OK;
}

/* ---- reading ---- */

kedge_status kedge_state_find(kedge_state *state, kedge_bytes collection, kedge_bytes id,
                              kedge_entry *entry, kedge_error *error)
{
    const kedge_map *map = NULL;
    kedge_status status = kedge_state_collection(state, collection, &map, error);
    if (status != KEDGE_OK) return status;
    const kedge_item *item = map == NULL ? NULL : kedge_map_find(map, id);
    if (item == NULL) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "item-not-found",
                          "there is no such item in \"%.*s\"", (int)collection.size,
                          collection.data);
    }
    *entry = item->entry;
    return KEDGE_OK;
}

kedge_status kedge_state_next(kedge_state *state, kedge_bytes collection, bool from_start,
                              kedge_bytes after, kedge_entry *entry, kedge_error *error)
{
    const kedge_map *map = NULL;
    kedge_status status = kedge_state_collection(state, collection, &map, error);
    if (status != KEDGE_OK) return status;
    const kedge_item *item = map == NULL ? NULL : kedge_map_next(map, from_start, after);
    if (item == NULL) return KEDGE_DONE;
    *entry = item->entry;
    return KEDGE_OK;
}

kedge_status kedge_state_body(kedge_state *state, kedge_bytes collection, const kedge_entry *entry,
                              kedge_buffer *out, kedge_error *error)
{
    if (entry->body.data == NULL) {
        return kedge_blob_body(&state->project, collection, entry->hash, NULL, out, error);
    }
    kedge_buffer_append_bytes(out, entry->body);
    return kedge_buffer_status(out, error);
}

/* ---- loading a collection ---- */

#define CHANGE_BYTES 128 /* what a change costs in a tail besides its own bytes */

/* The changes of a collection after a start. */
typedef struct reading_tail {
    kedge_map map; /* the newest change of each item */
    long long bytes;
    long long changes;
} reading_tail;

static kedge_status add_changes(const kedge_allocator *allocator, const kedge_version *version,
                                kedge_bytes name, reading_tail *tail, kedge_error *error)
{
    size_t first;
    size_t count;
    kedge_version_find_changes(version, name, &first, &count);
    tail->changes += (long long)count;
    for (size_t i = first; i < first + count; i++) {
        const kedge_version_change *change = &version->changes[i];
        tail->bytes += CHANGE_BYTES + (long long)(change->entry.id.size + change->entry.body.size);
        if (kedge_map_find(&tail->map, change->entry.id) != NULL) continue;
        kedge_item *item = kedge_item_new(allocator, &change->entry, change->deleted);
        bool fine = item != NULL && kedge_map_put(allocator, &tail->map, item);
        kedge_item_release(allocator, item);
        if (!fine) return kedge_fail_no_memory(error);
    }
    return KEDGE_OK;
}

/* Everything that changed in the collection after version `from`. KEDGE_NOT_FOUND: version
 * `*missing` is not there. */
static kedge_status read_tail(kedge_state *state, const kedge_version_collection *collection,
                              int64_t from, reading_tail *tail, int64_t *missing,
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
            status = kedge_version_load_detail(&state->project, at, KEDGE_VERSION_STATE, &version,
                                               error);
        }
        if (status == KEDGE_NOT_FOUND) *missing = at;
        if (status != KEDGE_OK) return status;
        const kedge_version_collection *then =
            kedge_version_find_collection(version, collection->name);
        int64_t previous = then == NULL ? at : then->previous;
        status = add_changes(backend->allocator, version, collection->name, tail, error);
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
    atomic_store(&slot->tail_changes, 0);
    return KEDGE_OK;
}

/* KEDGE_NOT_FOUND: version `*missing` is not there. */
static kedge_status try_load(kedge_state *state, const kedge_version_collection *collection,
                             kedge_slot *slot, int64_t *missing, kedge_error *error)
{
    const kedge_allocator *allocator = state->project.allocator;
    kedge_map map = {0};
    reading_tail tail = {.bytes = 0};
    int64_t from = 0;
    laying to = {allocator, &map, true};
    kedge_status status = find_start(state, collection, slot, &map, &from, error);
    if (status == KEDGE_OK) {
        status = read_tail(state, collection, from, &tail, missing, error);
    }
    if (status != KEDGE_OK) goto out;
    kedge_map_visit_items(&tail.map, lay_item, &to);
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
    atomic_fetch_add(&slot->tail_bytes, tail.bytes);
    atomic_fetch_add(&slot->tail_changes, tail.changes);
    slot->map = map;
    map = (kedge_map){0};
    kedge_map_free(allocator, &slot->base);
    slot->has_base = false;
    atomic_store_explicit(&slot->loaded, true, memory_order_release);
out:
    kedge_map_free(allocator, &tail.map);
    kedge_map_free(allocator, &map);
    return status;
}

/* Versions between the start and this one may have been removed by retention, which leaves a
 * checkpoint after them: the next try finds it. */
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

/* ---- as what a transaction reads ---- */

static kedge_status read_item(void *context, kedge_bytes collection, kedge_bytes id,
                              kedge_buffer *value, kedge_error *error)
{
    kedge_state *state = context;
    if (collection.size == 0) {
        kedge_bytes record = state->version->project_record;
        if (record.size == 0) return KEDGE_NOT_FOUND;
        kedge_buffer_append_bytes(value, record);
        return kedge_buffer_status(value, error);
    }
    kedge_entry entry;
    kedge_status status = kedge_state_find(state, collection, id, &entry, error);
    if (status != KEDGE_OK) return status;
    return kedge_state_body(state, collection, &entry, value, error);
}

static kedge_status read_next(void *context, kedge_bytes collection, bool from_start,
                              kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                              kedge_error *error)
{
    kedge_state *state = context;
    kedge_entry entry;
    kedge_status status = kedge_state_next(state, collection, from_start, after, &entry, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_bytes(id, entry.id);
    status = kedge_buffer_status(id, error);
    if (status != KEDGE_OK) return status;
    return kedge_state_body(state, collection, &entry, value, error);
}

kedge_state_reader kedge_state_reader_of(kedge_state *state)
{
    return (kedge_state_reader){state, read_item, read_next};
}
