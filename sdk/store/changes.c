/* The set of keys that one commit changed for readers, with their values before and after.
 *
 * A change is written as: collection, NUL; the size of the id in 4 bytes, the id, NUL; then the
 * value before and the one after, each as its size in 4 bytes (NONE: no item), the value, NUL.
 * Numbers are in host order: a set never leaves the machine. */
#include "sdk/store/client_only.h"

#include <string.h>

#define NONE UINT32_MAX

kedge_change_set kedge_change_set_make(const kedge_allocator *allocator)
{
    return (kedge_change_set){.by = KEDGE_CHANGED_BY_EDIT, .bytes = kedge_buffer_make(allocator)};
}

void kedge_change_set_free(kedge_change_set *changes)
{
    kedge_changes_clear(changes);
    kedge_buffer_free(&changes->bytes);
}

void kedge_changes_are_pulled(kedge_change_set *changes)
{
    if (changes) changes->by = KEDGE_CHANGED_BY_PULL;
}

void kedge_changes_clear(kedge_change_set *changes)
{
    if (!changes) return;
    changes->all = false;
    changes->count = 0;
    kedge_buffer_clear(&changes->bytes);
}

void kedge_changes_all(kedge_change_set *changes)
{
    if (!changes) return;
    kedge_changes_clear(changes);
    changes->all = true;
}

static void append(kedge_buffer *bytes, const kedge_bytes *text)
{
    uint32_t size = text ? (uint32_t)text->size : NONE;
    kedge_buffer_append(bytes, &size, sizeof size);
    if (!text) return;
    kedge_buffer_append_bytes(bytes, *text);
    kedge_buffer_append_byte(bytes, '\0');
}

void kedge_changes_add(kedge_change_set *changes, kedge_bytes collection, kedge_bytes id,
                       const kedge_bytes *before, const kedge_bytes *after)
{
    if (!changes || changes->all) return;
    kedge_buffer_append_bytes(&changes->bytes, collection);
    kedge_buffer_append_byte(&changes->bytes, '\0');
    append(&changes->bytes, &id);
    append(&changes->bytes, changes->values ? before : NULL);
    append(&changes->bytes, changes->values ? after : NULL);
    changes->count++;
    /* When the changes cannot be listed, the set says that any key may have changed. */
    if (changes->count > KEDGE_STORE_CHANGES_MAX || changes->bytes.no_memory ||
        changes->bytes.size > KEDGE_STORE_CHANGES_BYTES)
        kedge_changes_all(changes);
}

/* A text with its size before it and a NUL after it. Returns false when the bytes do not hold
 * one. */
static bool take(kedge_bytes *bytes, bool *present, kedge_bytes *text)
{
    uint32_t size;
    *text = (kedge_bytes){0};
    if (bytes->size < sizeof size) return false;
    memcpy(&size, bytes->data, sizeof size);
    *bytes = (kedge_bytes){bytes->data + sizeof size, bytes->size - sizeof size};
    *present = size != NONE;
    if (!*present) return true;
    if (bytes->size <= size || bytes->data[size] != '\0') return false;
    *text = (kedge_bytes){bytes->data, size};
    *bytes = (kedge_bytes){bytes->data + size + 1, bytes->size - size - 1};
    return true;
}

bool kedge_change_set_next(const kedge_change_set *changes, size_t *offset, kedge_changed *next)
{
    kedge_bytes all = kedge_buffer_bytes(&changes->bytes);
    if (*offset >= all.size) return false;
    kedge_bytes rest = {all.data + *offset, all.size - *offset};
    const char *end = memchr(rest.data, '\0', rest.size);
    bool present = false;
    if (!end) return false;
    next->collection = (kedge_bytes){rest.data, (size_t)(end - rest.data)};
    rest = (kedge_bytes){end + 1, rest.size - next->collection.size - 1};
    if (!take(&rest, &present, &next->id) || !present ||
        !take(&rest, &next->was_there, &next->before) ||
        !take(&rest, &next->is_there, &next->after))
        return false;
    *offset = all.size - rest.size;
    return true;
}

/* ---- two sets as one ---- */

static bool keep(kedge_overlay *values, const kedge_changed *change, bool there, kedge_bytes value)
{
    kedge_status status =
        there ? kedge_overlay_put(values, change->collection, change->id, value, NULL)
              : kedge_overlay_delete(values, change->collection, change->id, NULL);
    return status == KEDGE_OK;
}

static bool keep_all(const kedge_change_set *from, kedge_overlay *befores, kedge_overlay *afters)
{
    size_t offset = 0;
    kedge_changed change;
    while (kedge_change_set_next(from, &offset, &change))
        if ((befores && !keep(befores, &change, change.was_there, change.before)) ||
            (afters && !keep(afters, &change, change.is_there, change.after)))
            return false;
    return true;
}

bool kedge_changes_before(const kedge_change_set *changes, kedge_overlay *before)
{
    return keep_all(changes, before, NULL);
}

static void add_all(kedge_change_set *changes, const kedge_overlay *befores,
                    const kedge_overlay *afters)
{
    kedge_overlay_entry before, after = {.deleted = true}, at;
    for (bool more = kedge_overlay_next(befores, NULL, &before); more;
         more = kedge_overlay_next(befores, &at, &before)) {
        at = before;
        (void)kedge_overlay_get(afters, before.collection, before.id, &after);
        bool same = before.deleted == after.deleted && kedge_bytes_equal(before.value, after.value);
        if (same && changes->values) continue;
        kedge_changes_add(changes, before.collection, before.id,
                          before.deleted ? NULL : &before.value,
                          after.deleted ? NULL : &after.value);
    }
}

void kedge_changes_merge(kedge_change_set *changes, const kedge_change_set *later)
{
    if (!changes || changes->all || (!later->all && later->count == 0)) return;
    kedge_overlay *befores = kedge_overlay_new(changes->bytes.allocator);
    kedge_overlay *afters = kedge_overlay_new(changes->bytes.allocator);
    if (later->all || !befores || !afters || !keep_all(later, befores, NULL) ||
        !keep_all(changes, befores, afters) || !keep_all(later, NULL, afters)) {
        kedge_changes_all(changes);
    } else {
        kedge_changes_clear(changes);
        add_all(changes, befores, afters);
    }
    kedge_overlay_free(afters);
    kedge_overlay_free(befores);
}
