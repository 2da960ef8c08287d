/* Gives the responses that are held to the store. A response that the store could not take for want
 * of disk or memory stays held, since the core will have it tried again. */
#include "common/assert.h"
#include "common/error.h"
#include "sdk/driver/driver_internal.h"
#include "wire/key.h"

#include <string.h>

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
    case KEDGE_APPLY_DIVERGED:
        return KEDGE_APPLIED_DIVERGED;
    }
    return KEDGE_APPLIED_AGAIN;
}

/* The disk or the memory failed, or the store takes no responses any more: the same response could
 * be taken later. Otherwise the response itself was not what the store could take, and another one
 * is needed. */
static bool is_of_this_machine(kedge_status status)
{
    return status == KEDGE_IO || status == KEDGE_DISK_FULL || status == KEDGE_NO_MEMORY ||
           status == KEDGE_BUSY || status == KEDGE_CORRUPT || status == KEDGE_CANCELLED;
}

/* What follows a failure of the store. */
static kedge_applied applied_as_failure(kedge_status status, const kedge_error *error)
{
    bool update = status == KEDGE_UNSUPPORTED && strcmp(error->code, "update-required") == 0;
    bool diverged = status == KEDGE_CONFLICT && strcmp(error->code, "diverged") == 0;
    if (update || diverged) return KEDGE_APPLIED_BLOCKED;
    return is_of_this_machine(status) ? KEDGE_APPLIED_FAILED : KEDGE_APPLIED_AGAIN;
}

/* Updates the list of lost items after the store has applied a response. */
static void take_damage(kedge_driver *driver, kedge_core_event *event)
{
    event->applied.has_damage = true;
    if (kedge_driver_damage_any(&driver->held.damage)) {
        kedge_driver_damage_add_all(&driver->damage, &driver->held.damage);
        driver->held.damage = (kedge_driver_damage){.count = 0};
    }
    if (kedge_driver_damage_any(&driver->damage)) {
        kedge_driver_damage_tell(&driver->damage, &event->applied.damage);
    }
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

/* Of a log project: whether the state agrees with the server's hash, and whether the server has
 * entries after those that were applied. */
static void take_log(kedge_driver *driver, kedge_core_event *event)
{
    const kedge_wire_pull_response *pull = &driver->held.pull;
    driver->log = pull->log.present;
    if (event->applied.result == KEDGE_APPLIED_DIVERGED)
        kedge_fail(&event->applied.error, KEDGE_CONFLICT, "diverged",
                   "the state at version %lld differed from the server's, and is pulled anew: a"
                   " mutator does not do the same on every copy",
                   (long long)pull->version);
    if (event->applied.result != KEDGE_APPLIED_DONE) return;
    event->applied.agrees = pull->log.hashed;
    /* More without a step forward would be asked for again and again. */
    if (pull->log.more)
        event->applied.result =
            pull->version > pull->from ? KEDGE_APPLIED_MORE : KEDGE_APPLIED_AGAIN;
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
    take_log(driver, event);
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
    /* The entries after a log project's snapshot. */
    if (event->applied.result == KEDGE_APPLIED_DONE && driver->log)
        event->applied.result = KEDGE_APPLIED_MORE;
    kedge_driver_held_free_page(held);
    return KEDGE_OK;
}

static kedge_status apply(kedge_driver *driver, kedge_request_kind request, kedge_core_event *event,
                          kedge_change_set *changes)
{
    kedge_driver_held *held = &driver->held;
    if (request == KEDGE_REQUEST_PAGE && held->page_there) {
        return apply_page(driver, event, changes);
    }
    if (request == KEDGE_REQUEST_PULL && held->pull_there) {
        return apply_pull(driver, event, changes);
    }
    return KEDGE_OK;
}

static kedge_status rotate(kedge_driver *driver, bool lost, kedge_core_event *event,
                           kedge_change_set *changes)
{
    kedge_driver_held *held = &driver->held;
    kedge_status status;
    if (!held->retire_there) return KEDGE_OK;
    if (lost) {
        status =
            kedge_store_rotate_lost(driver->store, &held->retire, changes, &event->applied.error);
    } else {
        status = kedge_store_rotate(driver->store, &held->retire, changes, &event->applied.error);
    }
    if (status != KEDGE_OK) return status;
    event->applied.result = KEDGE_APPLIED_DONE;
    kedge_driver_held_free_retire(held);
    return KEDGE_OK;
}

static kedge_status unstage(kedge_driver *driver, kedge_core_event *event)
{
    event->applied.result = KEDGE_APPLIED_DONE;
    kedge_driver_held_free(&driver->held);
    return kedge_store_unstage(driver->store, &event->applied.error);
}

kedge_core_event kedge_driver_work(kedge_driver *driver, const kedge_core_action *action)
{
    kedge_core_event event = {.kind = KEDGE_EVENT_APPLIED,
                              .applied = {.result = KEDGE_APPLIED_AGAIN}};
    kedge_change_set changes = kedge_change_set_make(driver->allocator);
    kedge_status status;
    if (action->kind == KEDGE_ACTION_APPLY) {
        status = apply(driver, action->apply.request, &event, &changes);
    } else if (action->kind == KEDGE_ACTION_ROTATE) {
        status = rotate(driver, action->rotate.lost, &event, &changes);
    } else {
        KEDGE_ASSERT(action->kind == KEDGE_ACTION_UNSTAGE);
        status = unstage(driver, &event);
    }
    if (status != KEDGE_OK) {
        event.applied.result = applied_as_failure(status, &event.applied.error);
    } else if (changes.all || changes.count > 0) {
        driver->host.changed(driver->host.context, &changes);
    }
    kedge_change_set_free(&changes);
    return event;
}
