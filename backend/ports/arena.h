/* The memory of one response: blocks that are taken one by one and freed together. */
#ifndef KEDGE_BACKEND_PORTS_ARENA_H
#define KEDGE_BACKEND_PORTS_ARENA_H

#include "common/bytes.h"

typedef struct kedge_port_arena kedge_port_arena;

/* NULL: no memory. */
kedge_port_arena *kedge_port_arena_make(const kedge_allocator *allocator);
/* Zeroed, and aligned for anything; NULL: no memory. */
void *kedge_port_arena_take(kedge_port_arena *arena, size_t size);
/* Copies `bytes` and a NUL behind them; false: no memory. */
bool kedge_port_arena_copy(kedge_port_arena *arena, kedge_bytes bytes, kedge_bytes *copy);
/* NULL is allowed; fits `memory_free` of the results of the ports. */
void kedge_port_arena_free(void *arena);

#endif
