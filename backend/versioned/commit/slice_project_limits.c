/* The limits on a project's size: collections, and items of a collection. A mutation that would
 * exceed one is rejected. The exact count is only made when a quick estimate does not show that the
 * limit is kept. */
#include "backend/versioned/commit/slice.h"

#include "common/assert.h"
#include "common/error.h"

/* Counts what the overlay adds to one collection, whose first entry is `entry`; moves it to the
 * last. */
static kedge_status count_items(kedge_slice *slice, const kedge_overlay *overlay,
                                kedge_overlay_entry *entry, int64_t *items, kedge_error *error)
{
    const kedge_map *map = NULL;
    kedge_bytes collection = entry->collection;
    kedge_status status = kedge_state_collection(slice->head, collection, &map, error);
    if (status != KEDGE_OK) return status;
    *items = map == NULL ? 0 : (int64_t)map->count;
    for (;;) {
        bool exists = map != NULL && kedge_map_find(map, entry->id) != NULL;
        if (exists && entry->deleted) --*items;
        if (!exists && !entry->deleted) ++*items;
        kedge_overlay_entry next;
        if (!kedge_overlay_next_key(overlay, entry, &next) ||
            !kedge_bytes_equal(next.collection, collection)) {
            return KEDGE_OK;
        }
        *entry = next;
    }
}

static kedge_status count_all(kedge_slice *slice, const kedge_overlay *overlay, kedge_error *error)
{
    const kedge_version *head = slice->head->version;
    size_t collections = head->collection_count;
    kedge_overlay_entry entry;
    bool more = kedge_overlay_next_key(overlay, NULL, &entry);
    while (more) {
        int64_t items = 0;
        bool is_new = kedge_version_find_collection(head, entry.collection) == NULL;
        if (entry.collection.size > 0) {
            kedge_status status = count_items(slice, overlay, &entry, &items, error);
            if (status != KEDGE_OK) return status;
            if (is_new && items > 0) collections++;
        }
        if (items > KEDGE_LIMIT_COLLECTION_ITEMS) {
            return kedge_fail(error, KEDGE_REJECTED, "too-many-items",
                              "the collection \"%.*s\" would have %lld items; %d are allowed",
                              (int)entry.collection.size, entry.collection.data, (long long)items,
                              KEDGE_LIMIT_COLLECTION_ITEMS);
        }
        more = kedge_overlay_next_key(overlay, &entry, &entry);
    }
    if (collections > KEDGE_LIMIT_COLLECTIONS) {
        return kedge_fail(error, KEDGE_REJECTED, "too-many-collections",
                          "the project would have %zu collections; %d are allowed", collections,
                          KEDGE_LIMIT_COLLECTIONS);
    }
    return KEDGE_OK;
}

/* Collections that the overlay names and the head has not, counted to `most` at most: one step for
 * each collection, over its items. */
static size_t count_new(const kedge_version *head, const kedge_overlay *overlay, size_t most)
{
    size_t count = 0;
    kedge_overlay_entry entry;
    bool more = kedge_overlay_next_key(overlay, NULL, &entry);
    while (more && count < most) {
        bool named = entry.collection.size > 0;
        if (named && kedge_version_find_collection(head, entry.collection) == NULL) count++;
        entry.id = KEDGE_BYTES("\xff"); /* sorts after every id, since ids are UTF-8 */
        more = kedge_overlay_next_key(overlay, &entry, &entry);
    }
    return count;
}

/* Called after every mutation of a slice, so it must not read again everything that earlier
 * mutations wrote. */
kedge_status kedge_slice_accept(void *context, const kedge_overlay *overlay,
                                kedge_overlay_mark mark, kedge_error *error)
{
    (void)mark;
    kedge_slice *slice = context;
    const kedge_version *head = slice->head->version;
    KEDGE_ASSERT(overlay == slice->overlay);
    int64_t written = (int64_t)kedge_overlay_count(overlay);
    size_t room = KEDGE_LIMIT_COLLECTIONS - head->collection_count;
    int64_t largest = 0;
    for (size_t i = 0; i < head->collection_count; i++) {
        if (head->collections[i].items > largest) largest = head->collections[i].items;
    }
    if (count_new(head, overlay, room + 1) <= room &&
        largest + written <= KEDGE_LIMIT_COLLECTION_ITEMS) {
        return KEDGE_OK;
    }
    return count_all(slice, overlay, error);
}
