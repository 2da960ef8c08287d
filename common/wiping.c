/* Blocks with their size in front of them, so that they can be overwritten. */
#include "common/wiping.h"

#include "common/hash.h"

#include <stddef.h>
#include <string.h>

typedef union front {
    size_t size;
    max_align_t align;
} front;

static void *wiping_allocate(void *context, size_t size)
{
    const kedge_wiping *wiping = context;
    if (size > SIZE_MAX - sizeof(front)) return NULL;
    front *block = wiping->inner->allocate(wiping->inner->context, sizeof *block + size);
    if (block == NULL) return NULL;
    block->size = size;
    return block + 1;
}

static void wiping_release(void *context, void *block)
{
    const kedge_wiping *wiping = context;
    if (block == NULL) return;
    front *whole = (front *)block - 1;
    kedge_cleanse(whole, sizeof *whole + whole->size);
    wiping->inner->release(wiping->inner->context, whole);
}

static void *wiping_reallocate(void *context, void *block, size_t size)
{
    void *grown = wiping_allocate(context, size);
    if (grown == NULL || block == NULL) return grown;
    const front *whole = (const front *)block - 1;
    memcpy(grown, block, whole->size < size ? whole->size : size);
    wiping_release(context, block);
    return grown;
}

void kedge_wiping_init(kedge_wiping *wiping, const kedge_allocator *inner)
{
    wiping->inner = inner;
    wiping->allocator = (kedge_allocator){
        .allocate = wiping_allocate,
        .reallocate = wiping_reallocate,
        .release = wiping_release,
        .context = wiping,
    };
}
