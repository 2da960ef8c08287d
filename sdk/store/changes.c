/* The set of keys that one commit changed for readers. */
#include "sdk/store/store_internal.h"

#include <string.h>

kedge_change_set kedge_change_set_make(const kedge_allocator *allocator)
{
    return (kedge_change_set){.keys = kedge_buffer_make(allocator)};
}

void kedge_change_set_free(kedge_change_set *changes)
{
    kedge_changes_clear(changes);
    kedge_buffer_free(&changes->keys);
}

void kedge_changes_clear(kedge_change_set *changes)
{
    if (!changes) return;
    changes->all = false;
    changes->count = 0;
    kedge_buffer_clear(&changes->keys);
}

void kedge_changes_all(kedge_change_set *changes)
{
    if (!changes) return;
    kedge_changes_clear(changes);
    changes->all = true;
}

void kedge_changes_add(kedge_change_set *changes, kedge_bytes collection, kedge_bytes id)
{
    if (!changes || changes->all) return;
    uint32_t size = (uint32_t)id.size;
    kedge_buffer_append_bytes(&changes->keys, collection);
    kedge_buffer_append_byte(&changes->keys, '\0');
    kedge_buffer_append(&changes->keys, &size, sizeof size);
    kedge_buffer_append_bytes(&changes->keys, id);
    changes->count++;
    /* When the keys cannot be listed, the set says that any key may have changed. */
    if (changes->count > KEDGE_STORE_CHANGES_MAX || changes->keys.no_memory)
        kedge_changes_all(changes);
}

bool kedge_change_set_next(const kedge_change_set *changes, size_t *offset, kedge_bytes *collection,
                           kedge_bytes *id)
{
    if (*offset >= changes->keys.size) return false;
    const char *at = changes->keys.data + *offset;
    size_t name = strlen(at);
    uint32_t size;
    memcpy(&size, at + name + 1, sizeof size);
    *collection = (kedge_bytes){at, name};
    *id = (kedge_bytes){at + name + 1 + sizeof size, size};
    *offset += name + 1 + sizeof size + size;
    return true;
}
