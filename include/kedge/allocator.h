/* The allocator that Kedge uses for its memory. SQLite, libcurl, OpenSSL and cJSON have global
 * allocators of their own, which Kedge does not change. */
#ifndef KEDGE_ALLOCATOR_H
#define KEDGE_ALLOCATOR_H

#include <kedge/base.h>

KEDGE_BEGIN_DECLS

/* Kedge calls the three functions from any thread, several at a time, each with `context` as its
 * first parameter. `size` is in bytes and never 0. Blocks must be aligned as those of malloc.
 * `allocate` and `reallocate` return NULL when there is no memory; the function of Kedge that
 * needed the memory then returns KEDGE_NO_MEMORY. `reallocate` with a NULL block allocates a new
 * one. When it returns NULL, the old block must still be valid. `release` never gets NULL. */
typedef struct kedge_allocator {
    void *KEDGE_NULLABLE (*allocate)(void *KEDGE_NULLABLE context, size_t size);
    void *KEDGE_NULLABLE (*reallocate)(void *KEDGE_NULLABLE context, void *KEDGE_NULLABLE block,
                                       size_t size);
    void (*release)(void *KEDGE_NULLABLE context, void *KEDGE_NULLABLE block);
    void *KEDGE_NULLABLE context;
} kedge_allocator;

KEDGE_END_DECLS

#endif
