/* The memory of one response: a list of blocks, each twice as large as the one before. */
#include "backend/ports/arena.h"

#include <stdalign.h>
#include <string.h>

#define SMALLEST_BLOCK 1024
#define LARGEST_BLOCK  262144

typedef struct block {
    struct block *next;
    size_t size;
    size_t used;
    alignas(max_align_t) char data[];
} block;

struct kedge_port_arena {
    const kedge_allocator *allocator;
    block *newest;
    size_t next_size;
};

kedge_port_arena *kedge_port_arena_make(const kedge_allocator *allocator)
{
    kedge_port_arena *arena = kedge_allocate(allocator, sizeof *arena);
    if (arena == NULL) return NULL;
    arena->allocator = allocator;
    arena->next_size = SMALLEST_BLOCK;
    return arena;
}

static bool grow(kedge_port_arena *arena, size_t size)
{
    size_t block_size = size > arena->next_size ? size : arena->next_size;
    block *fresh = kedge_allocate(arena->allocator, sizeof *fresh + block_size);
    if (fresh == NULL) return false;
    fresh->size = block_size;
    fresh->next = arena->newest;
    arena->newest = fresh;
    if (arena->next_size < LARGEST_BLOCK) arena->next_size *= 2;
    return true;
}

void *kedge_port_arena_take(kedge_port_arena *arena, size_t size)
{
    const size_t alignment = alignof(max_align_t);
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + alignment - 1) / alignment * alignment;
    if (arena->newest == NULL || arena->newest->size - arena->newest->used < size) {
        if (!grow(arena, size)) return NULL;
    }
    void *taken = arena->newest->data + arena->newest->used;
    arena->newest->used += size;
    return taken;
}

bool kedge_port_arena_copy(kedge_port_arena *arena, kedge_bytes bytes, kedge_bytes *copy)
{
    char *data = kedge_port_arena_take(arena, bytes.size + 1);
    if (data == NULL) return false;
    if (bytes.size > 0) memcpy(data, bytes.data, bytes.size);
    *copy = (kedge_bytes){data, bytes.size};
    return true;
}

void kedge_port_arena_free(void *arena)
{
    kedge_port_arena *self = arena;
    if (self == NULL) return;
    for (block *at = self->newest; at != NULL;) {
        block *next = at->next;
        kedge_release(self->allocator, at);
        at = next;
    }
    kedge_release(self->allocator, self);
}
