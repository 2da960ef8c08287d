/* Memory that is freed all at once: a chain of blocks, filled one after the other. */
#include "backend/base/arena.h"

#include <stdalign.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)4096)
/* The first block. Each next one is twice as large: most arenas stay small. */
#define FIRST_BLOCK_BYTES ((size_t)512)

struct kedge_arena_block {
    kedge_arena_block *next;
    size_t used;
    size_t capacity;
    alignas(max_align_t) char data[];
};

kedge_arena kedge_arena_make(const kedge_allocator *allocator)
{
    return (kedge_arena){.allocator = allocator};
}

void kedge_arena_free(kedge_arena *arena)
{
    while (arena->blocks != NULL) {
        kedge_arena_block *next = arena->blocks->next;
        kedge_release(arena->allocator, arena->blocks);
        arena->blocks = next;
    }
    arena->bytes = 0;
}

static kedge_arena_block *add_block(kedge_arena *arena, size_t size)
{
    size_t usual = arena->bytes < FIRST_BLOCK_BYTES ? FIRST_BLOCK_BYTES : arena->bytes;
    if (usual > BLOCK_BYTES) usual = BLOCK_BYTES;
    size_t capacity = size > usual / 4 ? size : usual;
    if (capacity > SIZE_MAX - sizeof(kedge_arena_block)) return NULL;
    size_t total = sizeof(kedge_arena_block) + capacity;
    kedge_arena_block *block = kedge_allocate(arena->allocator, total);
    if (block == NULL) return NULL;
    block->capacity = capacity;
    arena->bytes += total;
    /* A large piece gets a block of its own, behind the one that is being filled. */
    if (capacity == size && arena->blocks != NULL) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

void *kedge_arena_take(kedge_arena *arena, size_t size)
{
    const size_t alignment = alignof(max_align_t);
    if (size > SIZE_MAX - alignment) return NULL;
    size = (size + alignment - 1) / alignment * alignment;
    kedge_arena_block *block = arena->blocks;
    if (block == NULL || size > block->capacity - block->used) block = add_block(arena, size);
    if (block == NULL) return NULL;
    void *memory = block->data + block->used;
    block->used += size;
    return memory;
}

void *kedge_arena_take_array(kedge_arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    return kedge_arena_take(arena, count * size);
}

bool kedge_arena_copy(kedge_arena *arena, kedge_bytes bytes, kedge_bytes *copy)
{
    if (bytes.size == SIZE_MAX) return false;
    char *memory = kedge_arena_take(arena, bytes.size + 1);
    if (memory == NULL) return false;
    if (bytes.size > 0) memcpy(memory, bytes.data, bytes.size);
    *copy = (kedge_bytes){memory, bytes.size};
    return true;
}
