/* The overlay as a reader: its entries win over what is below, and its deletions hide it. */
#include "common/error.h"
#include "mutate/overlay.h"

static kedge_status empty_get(void *context, kedge_bytes collection, kedge_bytes id,
                              kedge_buffer *value, kedge_error *error)
{
    (void)context, (void)collection, (void)id, (void)value;
    return kedge_fail(error, KEDGE_NOT_FOUND, "item-not-found", "the state is empty");
}

static kedge_status empty_next(void *context, kedge_bytes collection, bool from_start,
                               kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                               kedge_error *error)
{
    (void)context, (void)collection, (void)from_start, (void)after, (void)id, (void)value;
    (void)error;
    return KEDGE_DONE;
}

const kedge_state_reader kedge_state_reader_empty = {NULL, empty_get, empty_next};

static kedge_status view_get(void *context, kedge_bytes collection, kedge_bytes id,
                             kedge_buffer *value, kedge_error *error)
{
    const kedge_overlay_view *view = context;
    kedge_overlay_entry entry;
    if (!kedge_overlay_get(view->overlay, collection, id, &entry)) {
        return view->below.get(view->below.context, collection, id, value, error);
    }
    if (entry.deleted) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "item-not-found", "the item was deleted");
    }
    kedge_buffer_append_bytes(value, entry.value);
    return kedge_buffer_status(value, error);
}

/* The overlay's first entry of the collection, or the first one behind `after`. */
static bool overlay_entry(const kedge_overlay *overlay, kedge_bytes collection, bool from_start,
                          kedge_bytes after, kedge_overlay_entry *entry)
{
    kedge_bytes empty = {NULL, 0};
    if (from_start && kedge_overlay_get(overlay, collection, empty, entry)) return true;
    kedge_overlay_entry at = {.collection = collection, .id = from_start ? empty : after};
    return kedge_overlay_next(overlay, &at, entry) &&
           kedge_bytes_equal(entry->collection, collection);
}

/* Merges two ordered sources. `id` and `value` hold what is below, read again only when the overlay
 * hid it; each round passes one entry of the overlay. */
static kedge_status view_next(void *context, kedge_bytes collection, bool from_start,
                              kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                              kedge_error *error)
{
    const kedge_overlay_view *view = context;
    kedge_overlay_entry entry;
    bool has_entry = overlay_entry(view->overlay, collection, from_start, after, &entry);
    kedge_status below =
        view->below.next(view->below.context, collection, from_start, after, id, value, error);
    while (has_entry && (below == KEDGE_OK || below == KEDGE_DONE)) {
        int order =
            below == KEDGE_DONE ? -1 : kedge_bytes_compare(entry.id, kedge_buffer_bytes(id));
        if (order > 0) return KEDGE_OK;
        if (!entry.deleted) {
            kedge_buffer_clear(id);
            kedge_buffer_clear(value);
            kedge_buffer_append_bytes(id, entry.id);
            kedge_buffer_append_bytes(value, entry.value);
            kedge_status status = kedge_buffer_status(id, error);
            return status != KEDGE_OK ? status : kedge_buffer_status(value, error);
        }
        if (order == 0) {
            kedge_buffer_clear(id);
            kedge_buffer_clear(value);
            below = view->below.next(view->below.context, collection, false, entry.id, id, value,
                                     error);
        }
        has_entry = overlay_entry(view->overlay, collection, false, entry.id, &entry);
    }
    return below;
}

kedge_state_reader kedge_overlay_reader(kedge_overlay_view *view)
{
    return (kedge_state_reader){view, view_get, view_next};
}
