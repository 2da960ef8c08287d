/* Where Kedge gets its memory. SQLite, libcurl, OpenSSL and cJSON have global allocators of their
 * own, which Kedge leaves alone. */
#ifndef KEDGE_ALLOCATOR_H
#define KEDGE_ALLOCATOR_H

#include <kedge/base.h>

KEDGE_BEGIN_DECLS

/* All three functions must be callable from any thread. `reallocate` gets NULL for a new block.
 * NULL from the first two means out of memory and is always survived. */
typedef struct kedge_allocator {
    void *KEDGE_NULLABLE (*allocate)(void *KEDGE_NULLABLE context, size_t size);
    void *KEDGE_NULLABLE (*reallocate)(void *KEDGE_NULLABLE context, void *KEDGE_NULLABLE block,
                                       size_t size);
    void (*release)(void *KEDGE_NULLABLE context, void *KEDGE_NULLABLE block);
    void *KEDGE_NULLABLE context;
} kedge_allocator;

KEDGE_END_DECLS

#endif
