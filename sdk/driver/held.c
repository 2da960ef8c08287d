/* The decoded responses that wait for the store. */
#include "sdk/driver/driver_internal.h"

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
