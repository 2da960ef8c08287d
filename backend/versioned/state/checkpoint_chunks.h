/* Cutting a collection into chunks and map parts, and reading them back. */
#ifndef KEDGE_BACKEND_STATE_CHECKPOINT_CHUNKS_H
#define KEDGE_BACKEND_STATE_CHECKPOINT_CHUNKS_H

#include "backend/versioned/model/map.h"
#include "common/arena.h"

/* One piece of a collection: the text {id: entry, …} of some neighbouring items. */
typedef struct kedge_chunk {
    kedge_bytes text; /* borrowed during the visit */
    int64_t items;
} kedge_chunk;

typedef kedge_status (*kedge_chunk_visit)(void *context, const kedge_chunk *chunk,
                                          kedge_error *error);

/* Cuts all items, in order. A piece ends before it would exceed `bytes_max`. When `bytes_typical`
 * is not 0, it also ends after an item that a hash of its id and its size select, about once in
 * that many bytes, independent of the item's neighbours. A piece has at least one item. */
kedge_status kedge_chunks_cut(const kedge_allocator *allocator, const kedge_map *map,
                              size_t bytes_max, size_t bytes_typical, kedge_chunk_visit visit,
                              void *context, kedge_error *error);

/* Items read from pieces, in order. Start from {0} and an allocator; kedge_items_free. */
typedef struct kedge_items {
    const kedge_allocator *allocator;
    kedge_item **items;
    size_t count;
    size_t capacity;
} kedge_items;

void kedge_items_free(kedge_items *items);
/* Appends the items of one piece; KEDGE_CORRUPT, also when they are not after those before. */
kedge_status kedge_items_read(kedge_items *items, kedge_bytes text, kedge_error *error);

#endif
