/* Gives the responses that are held to the store. A response that the store could not take for want
 * of disk or memory stays held, since the core will have it tried again. */
#include "common/assert.h"
#include "sdk/driver/driver_internal.h"
#include "wire/key.h"

static kedge_applied applied_as(kedge_apply_result result)
{
    switch (result) {
    case KEDGE_APPLY_DONE:
        return KEDGE_APPLIED_DONE;
    case KEDGE_APPLY_STALE:
        return KEDGE_APPLIED_AGAIN;
    case KEDGE_APPLY_ROTATE:
        return KEDGE_APPLIED_ROTATE;
    case KEDGE_APPLY_PAGES:
        return KEDGE_APPLIED_PAGES;
    case KEDGE_APPLY_LOST:
        return KEDGE_APPLIED_LOST;
    }
    return KEDGE_APPLIED_AGAIN;
}

/* The disk or the memory failed: the same response may be taken later. Otherwise the response
 * itself was not what the store could take, and another one is needed. */
static bool is_of_this_machine(kedge_status status)
{
    return status == KEDGE_IO || status == KEDGE_DISK_FULL || status == KEDGE_NO_MEMORY ||
           status == KEDGE_BUSY || status == KEDGE_CORRUPT;
}

/* Notifies the readers, then the core. */
static void tell_applied(kedge_driver *driver, kedge_core_event *event, kedge_status status,
                         const kedge_change_set *changes)
{
    KEDGE_ASSERT(event->kind == KEDGE_EVENT_APPLIED);
    if (status != KEDGE_OK) {
        event->applied.result =
            is_of_this_machine(status) ? KEDGE_APPLIED_FAILED : KEDGE_APPLIED_AGAIN;
    }
    if (status == KEDGE_OK && changes != NULL && (changes->all || changes->count > 0)) {
        driver->host.changed(driver->host.context, changes);
    }
    driver->position_due = true;
    kedge_driver_plan_check(driver);
    kedge_driver_tell(driver, event);
}

/* Updates the list of lost items after the store has applied a response. */
static void take_damage(kedge_driver *driver, kedge_core_event *event)
{
    kedge_driver_damage_add_all(&driver->damage, &driver->held.damage);
    driver->held.damage = (kedge_driver_damage){.count = 0};
    event->applied.has_damage = true;
    kedge_driver_damage_tell(&driver->damage, &event->applied.damage);
}

/* Keys that the pull puts or clears are no longer lost. Without memory for a key it stays noted. */
static void heal_damage(kedge_driver *driver, const kedge_wire_pull_response *pull)
{
    const kedge_wire_patch *patch = &pull->patch;
    bool anew =
        pull->snapshot || (patch->count > 0 && patch->operations[0].kind == KEDGE_WIRE_PATCH_CLEAR);
    kedge_buffer key = kedge_buffer_make(driver->allocator);
    if (anew) driver->damage = (kedge_driver_damage){.count = 0};
    for (size_t i = 0; i < patch->count && kedge_driver_damage_any(&driver->damage); i++) {
        kedge_buffer_clear(&key);
        kedge_wire_key_join(patch->operations[i].collection, patch->operations[i].id, &key);
        if (!key.no_memory) kedge_driver_damage_heal(&driver->damage, kedge_buffer_bytes(&key));
    }
    kedge_buffer_free(&key);
}

static kedge_status apply_pull(kedge_driver *driver, kedge_core_event *event,
                               kedge_change_set *changes)
{
    kedge_driver_held *held = &driver->held;
    kedge_apply_result result = KEDGE_APPLY_STALE;
    kedge_status status =
        kedge_store_apply(driver->store, &held->pull, &result, changes, &event->applied.error);
    if (status != KEDGE_OK) return status;
    event->applied.result = applied_as(result);
    if (event->applied.result != KEDGE_APPLIED_AGAIN) {
        heal_damage(driver, &held->pull);
        take_damage(driver, event);
    }
    kedge_driver_held_free_pull(held);
    return KEDGE_OK;
}

static kedge_status apply_page(kedge_driver *driver, kedge_core_event *event,
                               kedge_change_set *changes)
{
    kedge_driver_held *held = &driver->held;
    kedge_apply_result result = KEDGE_APPLY_STALE;
    kedge_status status =
        kedge_store_stage(driver->store, &held->page, &result, changes, &event->applied.error);
    if (status != KEDGE_OK) return status;
    event->applied.result = applied_as(result);
    if (event->applied.result != KEDGE_APPLIED_AGAIN) take_damage(driver, event);
    kedge_driver_held_free_page(held);
    return KEDGE_OK;
}

void kedge_driver_apply(kedge_driver *driver, kedge_request_kind request)
{
    kedge_core_event event = {.kind = KEDGE_EVENT_APPLIED,
                              .applied = {.result = KEDGE_APPLIED_AGAIN}};
    kedge_status status = KEDGE_OK;
    kedge_change_set changes = kedge_change_set_make(driver->allocator);
    if (request == KEDGE_REQUEST_PAGE && driver->held.page_there) {
        status = apply_page(driver, &event, &changes);
    } else if (request == KEDGE_REQUEST_PULL && driver->held.pull_there) {
        status = apply_pull(driver, &event, &changes);
    }
    tell_applied(driver, &event, status, &changes);
    kedge_change_set_free(&changes);
}

void kedge_driver_rotate(kedge_driver *driver, bool lost)
{
    kedge_driver_held *held = &driver->held;
    kedge_core_event event = {.kind = KEDGE_EVENT_APPLIED,
                              .applied = {.result = KEDGE_APPLIED_AGAIN}};
    kedge_status status = KEDGE_OK;
    kedge_change_set changes = kedge_change_set_make(driver->allocator);
    bool ready = lost || held->retire_there;
    if (ready && lost) {
        status = kedge_store_rotate_lost(driver->store, held->retire_there ? &held->retire : NULL,
                                         &changes, &event.applied.error);
    } else if (ready) {
        status = kedge_store_rotate(driver->store, &held->retire, &changes, &event.applied.error);
    }
    if (ready && status == KEDGE_OK) {
        event.applied.result = KEDGE_APPLIED_DONE;
        kedge_driver_held_free_retire(held);
    }
    tell_applied(driver, &event, status, &changes);
    kedge_change_set_free(&changes);
}

void kedge_driver_unstage(kedge_driver *driver)
{
    kedge_core_event event = {.kind = KEDGE_EVENT_APPLIED,
                              .applied = {.result = KEDGE_APPLIED_DONE}};
    kedge_driver_held_free(&driver->held);
    kedge_status status = kedge_store_unstage(driver->store, &event.applied.error);
    tell_applied(driver, &event, status, NULL);
}
