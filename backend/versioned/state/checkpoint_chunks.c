/* Cutting a collection into chunks whose borders depend on the items next to them alone.
 *
 * Behind an item of s bytes there is a border with the chance s / bytes_typical, drawn from a hash
 * of its id. Adding, changing or removing one item can move the borders of its own chunk, no other
 * ones, except where a run without a border was cut at bytes_max: there the cuts up to the next
 * border may move. */
#include "backend/versioned/state/checkpoint_chunks.h"

#include "backend/versioned/model/version.h"
#include "common/error.h"

#include <string.h>

typedef struct cutting {
    kedge_buffer text;  /* of the piece that is being filled, without the last brace */
    kedge_buffer entry; /* of one item */
    int64_t items;
    size_t bytes_max;
    size_t bytes_typical;
    kedge_chunk_visit visit;
    void *context;
    kedge_status status;
    kedge_error *error;
} cutting;

/* FNV-1a with a final mix, so that all bits depend on the whole id. */
static uint32_t draw(kedge_bytes id)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < id.size; i++) {
        hash = (hash ^ (unsigned char)id.data[i]) * UINT64_C(1099511628211);
    }
    hash ^= hash >> 33;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    return (uint32_t)(hash >> 32);
}

static bool ends_here(const cutting *work, kedge_bytes id, size_t size)
{
    if (work->bytes_typical == 0) return false;
    if (size >= work->bytes_typical) return true;
    return draw(id) < (uint64_t)size * UINT32_MAX / work->bytes_typical;
}

static void end_piece(cutting *work)
{
    if (work->items == 0 || work->status != KEDGE_OK) return;
    kedge_buffer_append_byte(&work->text, '}');
    work->status = kedge_buffer_status(&work->text, work->error);
    if (work->status != KEDGE_OK) return;
    kedge_chunk chunk = {kedge_buffer_bytes(&work->text), work->items};
    work->status = work->visit(work->context, &chunk, work->error);
    kedge_buffer_clear(&work->text);
    work->items = 0;
}

static bool cut_item(void *context, kedge_item *item)
{
    cutting *work = context;
    kedge_buffer_clear(&work->entry);
    kedge_json_writer writer = kedge_json_write(&work->entry);
    kedge_entry_write(&writer, &item->entry, false);
    work->status = kedge_buffer_status(&work->entry, work->error);
    if (work->status != KEDGE_OK) return false;
    size_t size = work->entry.size + 1;
    if (work->items > 0 && work->text.size + size + 1 > work->bytes_max) end_piece(work);
    if (work->status != KEDGE_OK) return false;
    kedge_buffer_append_byte(&work->text, work->items == 0 ? '{' : ',');
    kedge_buffer_append_bytes(&work->text, kedge_buffer_bytes(&work->entry));
    work->items++;
    if (ends_here(work, item->entry.id, size)) end_piece(work);
    return work->status == KEDGE_OK;
}

kedge_status kedge_chunks_cut(const kedge_allocator *allocator, const kedge_map *map,
                              size_t bytes_max, size_t bytes_typical, kedge_chunk_visit visit,
                              void *context, kedge_error *error)
{
    cutting work = {.text = kedge_buffer_make(allocator),
                    .entry = kedge_buffer_make(allocator),
                    .bytes_max = bytes_max,
                    .bytes_typical = bytes_typical,
                    .visit = visit,
                    .context = context,
                    .status = KEDGE_OK,
                    .error = error};
    kedge_map_visit_items(map, cut_item, &work);
    end_piece(&work);
    kedge_buffer_free(&work.text);
    kedge_buffer_free(&work.entry);
    return work.status;
}

/* ---- reading ---- */

void kedge_items_free(kedge_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        kedge_item_release(items->allocator, items->items[i]);
    }
    kedge_release(items->allocator, items->items);
    *items = (kedge_items){.allocator = items->allocator};
}

static kedge_status add_item(kedge_items *items, const kedge_entry *entry, kedge_error *error)
{
    if (items->count > 0 &&
        kedge_bytes_compare(items->items[items->count - 1]->entry.id, entry->id) >= 0) {
        return kedge_record_damaged("the order of a collection", error);
    }
    if (items->count == items->capacity) {
        size_t capacity = items->capacity == 0 ? 64 : items->capacity * 2;
        kedge_item **grown = items->allocator->reallocate(items->allocator->context, items->items,
                                                          capacity * sizeof(kedge_item *));
        if (grown == NULL) return kedge_fail_no_memory(error);
        items->items = grown;
        items->capacity = capacity;
    }
    kedge_item *item = kedge_item_new(items->allocator, entry, false);
    if (item == NULL) return kedge_fail_no_memory(error);
    items->items[items->count++] = item;
    return KEDGE_OK;
}

kedge_status kedge_items_read(kedge_items *items, kedge_bytes text, kedge_error *error)
{
    kedge_arena arena = kedge_arena_make(items->allocator);
    kedge_json_iterator members = kedge_json_iterate(text);
    kedge_bytes key;
    kedge_bytes value;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && kedge_json_next_member(&members, &key, &value)) {
        kedge_entry entry;
        bool deleted = false;
        status = kedge_entry_read(key, value, &arena, &entry, &deleted, error);
        if (status == KEDGE_OK && deleted) status = kedge_record_damaged("a collection", error);
        if (status == KEDGE_OK) status = add_item(items, &entry, error);
    }
    if (status == KEDGE_OK && members.failed) status = kedge_record_damaged("a collection", error);
    kedge_arena_free(&arena);
    return status;
}
