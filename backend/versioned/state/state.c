/* States: opening, sharing, reading. */
#include "backend/versioned/state/state_internal.h"

#include "backend/versioned/model/version_object.h"
#include "backend/versioned/versions/blob.h"
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
