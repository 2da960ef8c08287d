/* Memory that is given back all at once: a chain of blocks, filled one after the other. */
#include "common/arena.h"

#include "common/error.h"

#include <stdalign.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)65536)
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
    arena->no_memory = false;
}

kedge_arena *kedge_arena_new(const kedge_allocator *allocator)
{
    kedge_arena *arena = kedge_allocate(allocator, sizeof *arena);
    if (arena != NULL) *arena = kedge_arena_make(allocator);
    return arena;
}

void kedge_arena_delete(void *arena)
{
    kedge_arena *self = arena;
    if (self == NULL) return;
    const kedge_allocator *allocator = self->allocator;
    kedge_arena_free(self);
    kedge_release(allocator, self);
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
    /* A large piece gets a block of its own, after the one that is being filled. */
    if (capacity == size && arena->blocks != NULL) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

/* NULL: no memory. */
static void *take(kedge_arena *arena, size_t size)
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

void *kedge_arena_take(kedge_arena *arena, size_t size)
{
    void *memory = take(arena, size);
    if (memory == NULL) arena->no_memory = true;
    return memory;
}

void *kedge_arena_take_array(kedge_arena *arena, size_t count, size_t size)
{
    return kedge_arena_take(arena, size != 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size);
}

bool kedge_arena_copy(kedge_arena *arena, kedge_bytes bytes, kedge_bytes *copy)
{
    char *memory = kedge_arena_take(arena, bytes.size == SIZE_MAX ? SIZE_MAX : bytes.size + 1);
    if (memory == NULL) return false;
    if (bytes.size > 0) memcpy(memory, bytes.data, bytes.size);
    *copy = (kedge_bytes){memory, bytes.size};
    return true;
}

kedge_status kedge_arena_status(const kedge_arena *arena, kedge_error *error)
{
    return arena->no_memory ? kedge_fail_no_memory(error) : KEDGE_OK;
}
