/* The lifetime of a version in memory, and looking into it. */
#include "backend/versioned/model/version_object.h"

#include "common/assert.h"

/* ---- lifetime ---- */

kedge_version_object *kedge_version_object_new(const kedge_allocator *allocator)
{
    kedge_version_object *object = kedge_allocate(allocator, sizeof *object);
    if (object == NULL) return NULL;
    atomic_init(&object->references, 1);
    object->arena = kedge_arena_make(allocator);
    return object;
}

static kedge_version_object *object_of(const kedge_version *version)
{
    return (kedge_version_object *)version;
}

void kedge_version_retain(const kedge_version *version)
{
    KEDGE_ASSERT(atomic_load_explicit(&object_of(version)->references, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&object_of(version)->references, 1, memory_order_relaxed);
}

void kedge_version_release(const kedge_version *version)
{
    if (version == NULL) return;
    kedge_version_object *object = object_of(version);
    KEDGE_ASSERT(atomic_load_explicit(&object->references, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1) return;
    const kedge_allocator *allocator = object->arena.allocator;
    kedge_arena_free(&object->arena);
    kedge_release(allocator, object);
}

/* ---- looking into a version ---- */

const kedge_version_collection *kedge_version_find_collection(const kedge_version *version,
                                                              kedge_bytes name)
{
    size_t low = 0;
    size_t high = version->collection_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = kedge_bytes_compare(version->collections[middle].name, name);
        if (order == 0) return &version->collections[middle];
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

void kedge_version_find_changes(const kedge_version *version, kedge_bytes name, size_t *first,
                                size_t *count)
{
    size_t low = 0;
    size_t high = version->change_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kedge_bytes_compare(version->changes[middle].collection, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *first = low;
    while (low < version->change_count &&
           kedge_bytes_equal(version->changes[low].collection, name)) {
        low++;
    }
    *count = low - *first;
}
