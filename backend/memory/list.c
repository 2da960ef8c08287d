/* An array of blocks that it owns. */
#include "backend/memory/list.h"

#include <string.h>

void kedge_memory_list_free(kedge_memory_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        kedge_release(list->allocator, list->entries[i]);
    kedge_release(list->allocator, list->entries);
    *list = (kedge_memory_list){.allocator = list->allocator};
}

bool kedge_memory_list_reserve(kedge_memory_list *list, size_t more)
{
    if (list->capacity - list->count >= more) return true;
    size_t capacity =
        list->capacity * 2 > list->count + more ? list->capacity * 2 : list->count + more;
    void **entries = kedge_allocate(list->allocator, capacity * sizeof *entries);
    if (entries == NULL) return false;
    if (list->count > 0) memcpy(entries, list->entries, list->count * sizeof *entries);
    kedge_release(list->allocator, list->entries);
    list->entries = entries;
    list->capacity = capacity;
    return true;
}

void kedge_memory_list_insert(kedge_memory_list *list, size_t place, void *entry)
{
    memmove(&list->entries[place + 1], &list->entries[place],
            (list->count - place) * sizeof *list->entries);
    list->entries[place] = entry;
    list->count++;
}

void *kedge_memory_list_take(kedge_memory_list *list, size_t place)
{
    void *entry = list->entries[place];
    list->count--;
    memmove(&list->entries[place], &list->entries[place + 1],
            (list->count - place) * sizeof *list->entries);
    return entry;
}

size_t kedge_memory_list_place(const kedge_memory_list *list, kedge_memory_order order,
                               const void *key)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(list->entries[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kedge_bytes kedge_memory_place_bytes(char **at, kedge_bytes bytes)
{
    kedge_bytes copy = {*at, bytes.size};
    if (bytes.size > 0) memcpy(*at, bytes.data, bytes.size);
    (*at)[bytes.size] = '\0';
    *at += bytes.size + 1;
    return copy;
}
