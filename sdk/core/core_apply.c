/* Handles the end of the store's work, and chooses the next step. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

/* A pull, with all that belonged to it, has ended. */
static void pulled(kedge_core *core)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_APPLY);
    KEDGE_ASSERT(core->pull_push >= core->push_pulled);
    kedge_channel_succeed(&core->pull);
    kedge_core_sync_follow(core, &core->push);
    core->step = KEDGE_STEP_IDLE;
    core->agains = 0;
    core->pulled = true;
    core->push_pulled = core->pull_push;
    if (core->sync_begun) core->sync_pulled = true;
    core->sync_begun = false;
    bool looked =
        kedge_core_is_uncovered(core) && core->looked_at_id == core->position.lowest_pending_id;
    core->looks = looked ? core->looks + 1 : 0;
    core->looked_at_id = core->position.lowest_pending_id;
    core->next_pull_ms = kedge_core_after(core, kedge_core_pull_interval(core));
    /* A pull that was started after a poke did not bring the poke's version: do not pull for
     * ever. */
    if (core->want_version <= core->pull_wanted) core->want_version = 0;
    if (core->identity_held && !core->pull_due) {
        if (core->identity >= KEDGE_CORE_IDENTITY_MAX) {
            kedge_core_rotate_between_pulls(core);
        } else {
            core->identity_held = false;
        }
    }
}

static void done(kedge_core *core, kedge_pull_step step)
{
    switch (step) {
    case KEDGE_STEP_ROTATE:
        kedge_core_rotated(core);
        break;
    case KEDGE_STEP_UNSTAGE: /* the backoff of kedge_core_pull_again, if any, holds on */
        core->step = KEDGE_STEP_PULL;
        break;
    default:
        pulled(core);
        break;
    }
}

static void rotate(kedge_core *core, bool lost)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_APPLY);
    kedge_core_rotate(core, lost);
    kedge_core_pull_again(core);
}

static void more_pages(kedge_core *core)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_APPLY);
    core->step = KEDGE_STEP_PAGE;
    if (core->source != KEDGE_REQUEST_PAGE) return;
    core->agains = 0;
    kedge_channel_succeed(&core->pull);
}

void kedge_core_applied(kedge_core *core, const kedge_core_event *event)
{
    KEDGE_ASSERT(core->working && core->step >= KEDGE_STEP_APPLY);
    KEDGE_ASSERT(!core->pull.running);
    core->working = false;
    if (event->applied.has_damage) core->damage = event->applied.damage;
    switch (event->applied.result) {
    case KEDGE_APPLIED_DONE:
        done(core, core->step);
        break;
    case KEDGE_APPLIED_AGAIN:
        if (event->applied.error.status != KEDGE_OK) core->error = event->applied.error;
        core->step = KEDGE_STEP_PULL;
        kedge_core_pull_again(core);
        break;
    case KEDGE_APPLIED_PAGES:
        more_pages(core);
        break;
    case KEDGE_APPLIED_ROTATE:
        rotate(core, false);
        break;
    case KEDGE_APPLIED_LOST:
        rotate(core, true);
        break;
    case KEDGE_APPLIED_FAILED:
        core->error = event->applied.error;
        kedge_channel_fail(core, &core->pull, 0);
        break;
    }
}
