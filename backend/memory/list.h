/* An array of blocks that it owns, in the order that its user keeps. */
#ifndef KEDGE_BACKEND_MEMORY_LIST_H
#define KEDGE_BACKEND_MEMORY_LIST_H

#include "common/bytes.h"

typedef struct kedge_memory_list {
    const kedge_allocator *allocator;
    void **entries;
    size_t count;
    size_t capacity;
} kedge_memory_list;

void kedge_memory_list_free(kedge_memory_list *list); /* releases the entries, too */
/* Makes room, so that as many inserts cannot fail; false: no memory. */
bool kedge_memory_list_reserve(kedge_memory_list *list, size_t more);
void kedge_memory_list_insert(kedge_memory_list *list, size_t place, void *entry); /* has room */
void *kedge_memory_list_take(kedge_memory_list *list, size_t place);

/* The first place whose entry does not stand before `key`; `order` compares an entry with it. */
typedef int (*kedge_memory_order)(const void *entry, const void *key);
size_t kedge_memory_list_place(const kedge_memory_list *list, kedge_memory_order order,
                               const void *key);

/* Copies bytes to `*at`, moves it after them and a NUL, and returns the copy: how an entry carries
 * its bytes in its own block. */
kedge_bytes kedge_memory_place_bytes(char **at, kedge_bytes bytes);

#endif
