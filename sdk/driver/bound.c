/* How much is kept in memory for one pull or page, whatever the server names.
 *
 * Bodies that a patch names by hash are fetched and held until the store can have all of them. A
 * delta cannot be applied in parts, but its version can be read in pages, so one with too much
 * becomes a snapshot of that version. A page with too much is cut, and the next one starts after
 * the last item that was kept. */
#include "sdk/driver/driver_internal.h"
#include "wire/key.h"

static int64_t body_bytes(const kedge_wire_patch_operation *operation)
{
    return operation->kind == KEDGE_WIRE_PATCH_PUT_HASH ? operation->size_bytes : 0;
}

/* How many operations, from the first, have bodies within the bound. */
static size_t count_within(const kedge_wire_patch *patch)
{
    int64_t bytes = 0;
    size_t count = 0;
    while (count < patch->count) {
        bytes += body_bytes(&patch->operations[count]);
        if (bytes > KEDGE_DRIVER_BODIES_MAX) break;
        count++;
    }
    return count;
}

void kedge_driver_bound_pull(kedge_wire_pull_response *pull)
{
    if (count_within(&pull->patch) == pull->patch.count) return;
    kedge_wire_patch_free(&pull->patch);
    pull->snapshot = true;
}

kedge_status kedge_driver_bound_page(kedge_wire_page_response *page, kedge_error *error)
{
    kedge_wire_patch *items = &page->items;
    size_t count = count_within(items);
    if (count == items->count) return KEDGE_OK;
    const kedge_wire_patch_operation *last = &items->operations[count - 1];
    kedge_buffer_clear(&page->next_text);
    kedge_wire_key_join(last->collection, last->id, &page->next_text);
    kedge_status status = kedge_buffer_status(&page->next_text, error);
    if (status != KEDGE_OK) return status;
    items->count = count;
    page->next = kedge_buffer_bytes(&page->next_text);
    page->last = false;
    return KEDGE_OK;
}

void kedge_driver_bound_outcomes(const kedge_driver *driver, kedge_wire_outcomes *outcomes)
{
    kedge_store_position position;
    if (outcomes->next == 0) return;
    if (kedge_store_position_get(driver->store, &position, NULL) != KEDGE_OK) return;
    if (outcomes->next - KEDGE_LIMIT_OUTCOMES_PER_PULL > position.highest_id) outcomes->next = 0;
}
