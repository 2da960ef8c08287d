/* When the wait of a kedge_sync ends. It succeeds when all that was pending at the call is covered
 * and a pull that began after the call has ended. It fails when nothing can be sent any more, or
 * not before the wait for another client id is over, when the server has no such project or cannot
 * run a mutation yet, and when the app must be updated before it can pull. A request that fails for
 * another reason does not end it. */
#include "common/assert.h"
#include "common/error.h"
#include "sdk/core/core_internal.h"

void kedge_core_sync_asked(kedge_core *core)
{
    core->sync_wanted = true;
    core->sync_begun = false;
    core->sync_pulled = false;
    core->sync_later = false;
    core->sync_through_id = core->position.highest_id;
    core->pull_due = true;
    kedge_core_sync_hurried(core);
}

void kedge_core_sync_hurried(kedge_core *core)
{
    kedge_channel_ask(core, &core->push);
    kedge_channel_ask(core, &core->pull);
}

static void end(kedge_core *core, kedge_core_actions *actions, const kedge_error *error)
{
    KEDGE_ASSERT(error == NULL || error->status != KEDGE_OK);
    core->sync_wanted = false;
    core->sync_begun = false;
    kedge_core_action *action = kedge_core_act(actions, KEDGE_ACTION_SYNCED);
    action->synced.ok = error == NULL;
    if (error != NULL) action->synced.error = *error;
}

void kedge_core_sync_end(kedge_core *core, kedge_core_actions *actions, const kedge_error *error)
{
    kedge_error offline;
    KEDGE_ASSERT(core->sync_wanted);
    if (error != NULL) {
        end(core, actions, error);
    } else if (!core->online) {
        kedge_fail(&offline, KEDGE_NETWORK, "offline", "the database is offline");
        end(core, actions, &offline);
    } else if (core->stopped || core->sync_later) {
        end(core, actions, &core->error);
    } else if (core->pull_blocked) {
        end(core, actions, &core->blocked_error);
    } else if (core->sync_pulled && core->position.lowest_pending_id > core->sync_through_id) {
        end(core, actions, NULL);
    } else if (kedge_core_rotation_waits(core)) {
        end(core, actions, &core->error);
    }
}
