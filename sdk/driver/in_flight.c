/* What the driver has under way: the requests that the transport has, and the decoded responses
 * that wait for the store.
 *
 * In flight are one push and one step of a pull at most, each known by its number. A response with
 * another number is one to a request that was given up.
 *
 * What is held has a bound, whatever the server names. Bodies that a patch names by hash are
 * fetched and held until the store can have all of them. A delta cannot be applied in parts, but
 * its version can be read in pages, so one with too much becomes a snapshot of that version. A page
 * with too much is cut, and the next one starts after the last item that was kept. */
#include "common/assert.h"
#include "sdk/driver/driver_internal.h"
#include "wire/key.h"

/* ---- requests in flight ---- */

kedge_status kedge_driver_hand_over(kedge_driver *driver, kedge_request_kind kind,
                                    kedge_driver_request *request, kedge_error *error)
{
    request->number = ++driver->last_number;
    kedge_status status = driver->transport.send(driver->transport.context, request, error);
    if (status != KEDGE_OK) return status;
    if (kind == KEDGE_REQUEST_PUSH) {
        driver->push_number = request->number;
    } else {
        driver->pull_number = request->number;
        driver->pull_kind = kind;
    }
    return KEDGE_OK;
}

void kedge_driver_give_up(kedge_driver *driver, kedge_request_kind kind)
{
    uint64_t *number = kind == KEDGE_REQUEST_PUSH ? &driver->push_number : &driver->pull_number;
    if (*number != 0) driver->transport.cancel(driver->transport.context, *number);
    *number = 0;
}

bool kedge_driver_take_back(kedge_driver *driver, uint64_t number, kedge_request_kind *kind)
{
    if (number == 0) return false;
    if (number == driver->push_number) {
        *kind = KEDGE_REQUEST_PUSH;
        driver->push_number = 0;
        return true;
    }
    if (number != driver->pull_number) return false;
    *kind = driver->pull_kind;
    driver->pull_number = 0;
    return true;
}

/* ---- responses that are held ---- */

void kedge_driver_held_init(kedge_driver_held *held, const kedge_allocator *allocator)
{
    *held = (kedge_driver_held){.pull_body = kedge_buffer_make(allocator),
                                .page_body = kedge_buffer_make(allocator),
                                .parts = kedge_buffer_make(allocator)};
}

void kedge_driver_held_free_parts(kedge_driver_held *held)
{
    kedge_buffer_free(&held->parts);
    held->parts_size = 0;
    held->parts_gzip = false;
}

void kedge_driver_held_free_pull(kedge_driver_held *held)
{
    kedge_wire_pull_response_free(&held->pull);
    held->pull = (kedge_wire_pull_response){0};
    kedge_buffer_free(&held->pull_body);
    kedge_driver_held_free_parts(held);
    held->pull_there = false;
}

void kedge_driver_held_free_page(kedge_driver_held *held)
{
    kedge_wire_page_response_free(&held->page);
    held->page = (kedge_wire_page_response){0};
    kedge_buffer_free(&held->page_body);
    kedge_driver_held_free_parts(held);
    held->page_there = false;
}

void kedge_driver_held_free_retire(kedge_driver_held *held)
{
    kedge_wire_retire_response_free(&held->retire);
    held->retire = (kedge_wire_retire_response){0};
    held->retire_there = false;
}

void kedge_driver_held_free(kedge_driver_held *held)
{
    kedge_driver_held_free_pull(held);
    kedge_driver_held_free_page(held);
    kedge_driver_held_free_retire(held);
}

kedge_wire_patch *kedge_driver_held_patch(kedge_driver_held *held)
{
    if (held->source == KEDGE_REQUEST_PULL && held->pull_there) return &held->pull.patch;
    if (held->source == KEDGE_REQUEST_PAGE && held->page_there) return &held->page.items;
    return NULL;
}

kedge_wire_patch_operation *kedge_driver_held_next_body(kedge_driver_held *held)
{
    kedge_wire_patch *patch = kedge_driver_held_patch(held);
    if (patch == NULL) return NULL;
    while (held->next_body < patch->count) {
        kedge_wire_patch_operation *operation = &patch->operations[held->next_body];
        if (operation->kind == KEDGE_WIRE_PATCH_PUT_HASH) return operation;
        held->next_body++;
    }
    return NULL;
}

kedge_wire_outcomes *kedge_driver_held_outcomes(kedge_driver_held *held)
{
    if (held->source == KEDGE_REQUEST_PULL && held->pull_there) return &held->pull.outcomes;
    if (held->source == KEDGE_REQUEST_RETIRE && held->retire_there) return &held->retire.outcomes;
    return NULL;
}

/* ---- how much is held ---- */

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
    KEDGE_ASSERT(count > 0); /* the decoder refuses an item that alone has too much */
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
