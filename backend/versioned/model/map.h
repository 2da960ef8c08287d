/* A persistent ordered map from item id to item: what a collection is in memory.
 *
 * An AVL tree whose nodes are never changed once they are shared: a put copies the path from the
 * root and shares the rest, so that the map before it stays as it was. Nodes and items count their
 * references with atomics; maps may be read and released on any thread. Depth is at most 1.44 log2
 * of the count. */
#ifndef KEDGE_BACKEND_MODEL_MAP_H
#define KEDGE_BACKEND_MODEL_MAP_H

#include "backend/versioned/model/version.h"

#include <stdatomic.h>

typedef struct kedge_item {
    atomic_uint references;
    bool deleted;      /* a mark in the fold of a tail; never in a state */
    kedge_entry entry; /* its bytes follow the struct */
} kedge_item;

/* One reference; NULL: no memory. */
kedge_item *kedge_item_new(const kedge_allocator *allocator, const kedge_entry *entry,
                           bool deleted);
void kedge_item_retain(kedge_item *item);
void kedge_item_release(const kedge_allocator *allocator, kedge_item *item);

typedef struct kedge_map_node kedge_map_node;

/* A value: copy it with kedge_map_share. {0} is the empty map. */
typedef struct kedge_map {
    kedge_map_node *root;
    size_t count;
    size_t bytes; /* of ids, metadata and bodies, with a share for the structure */
} kedge_map;

kedge_map kedge_map_share(const kedge_map *map);
void kedge_map_free(const kedge_allocator *allocator, kedge_map *map);

/* NULL when there is none. Items are borrowed from the map. */
kedge_item *kedge_map_find(const kedge_map *map, kedge_bytes id);
/* Returns the first item after `after`, or the first of all when `from_start`; NULL when there are
 * no more. */
kedge_item *kedge_map_next(const kedge_map *map, bool from_start, kedge_bytes after);

/* Puts an item (the map takes its own reference), or removes an id. Returns false when there is no
 * memory; the map is then unchanged. Removing an absent id returns true. */
bool kedge_map_put(const kedge_allocator *allocator, kedge_map *map, kedge_item *item);
bool kedge_map_remove(const kedge_allocator *allocator, kedge_map *map, kedge_bytes id);

/* A balanced map of items in ascending order of ids, in linear time; takes references. False: no
 * memory. */
bool kedge_map_build(const kedge_allocator *allocator, kedge_item *const *items, size_t count,
                     kedge_map *map);

/* Visits all items in order. The visit returns false to stop. */
typedef bool (*kedge_map_visit)(void *context, kedge_item *item);
void kedge_map_visit_items(const kedge_map *map, kedge_map_visit visit, void *context);

#endif
