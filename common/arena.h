/* Memory that is taken piece by piece and given back all at once: what a decoded record, or the
 * result of a port, borrows from. One thread at a time. */
#ifndef KEDGE_COMMON_ARENA_H
#define KEDGE_COMMON_ARENA_H

#include "common/bytes.h"

typedef struct kedge_arena_block kedge_arena_block;

typedef struct kedge_arena {
    const kedge_allocator *allocator;
    kedge_arena_block *blocks; /* the newest first */
    size_t bytes;              /* taken from the allocator */
    bool no_memory;            /* something of it could not be taken */
} kedge_arena;

kedge_arena kedge_arena_make(const kedge_allocator *allocator);
void kedge_arena_free(kedge_arena *arena);
/* Makes an arena in memory of its own, for kedge_arena_delete. NULL: no memory. */
kedge_arena *kedge_arena_new(const kedge_allocator *allocator);
/* Frees an arena that kedge_arena_new has made; NULL is allowed. Takes a `void *` because it is the
 * `memory_free` of what a port gives. */
void kedge_arena_delete(void *arena);
/* Zeroed and aligned for anything; NULL: no memory. */
void *kedge_arena_take(kedge_arena *arena, size_t size);
/* Zeroed. Returns NULL when there is no memory, or the product overflows. */
void *kedge_arena_take_array(kedge_arena *arena, size_t count, size_t size);
/* Copies `bytes` and a NUL after them. False: no memory, and `copy` is untouched. */
bool kedge_arena_copy(kedge_arena *arena, kedge_bytes bytes, kedge_bytes *copy);
/* KEDGE_NO_MEMORY when something could not be taken since the arena was made or freed. A reader
 * that has failed calls it before it reports damage, because the reason may be memory. */
kedge_status kedge_arena_status(const kedge_arena *arena, kedge_error *error);

#endif
