/* Access to the server: going online and offline, tokens, stopping. */
#include "common/assert.h"
#include "common/error.h"
#include "sdk/core/core_internal.h"

void kedge_core_went_online(kedge_core *core)
{
    if (!core->online || core->stopped || core->pull_blocked) {
        core->answered = core->pulled_since = false;
        core->acknowledged_id = 0;
        core->pull_due = true;
    }
    core->online = true;
    core->stopped = false;
    core->pull_blocked = false;
    core->token_wanted = core->token_asked = KEDGE_CORE_TOKEN_FINE;
    core->foreign_token = 0;
    kedge_channel_ask(core, &core->push);
    kedge_channel_ask(core, &core->pull);
    kedge_channel_ask(core, &core->stream);
}

void kedge_core_went_offline(kedge_core *core, kedge_core_actions *actions)
{
    core->online = false;
    kedge_core_cancel_requests(core, actions);
}

void kedge_core_token_came(kedge_core *core, bool given, kedge_core_actions *actions)
{
    core->token_asked = core->token_wanted;
    core->token_wanted = KEDGE_CORE_TOKEN_FINE;
    if (!given) {
        if (core->token_asked == KEDGE_CORE_TOKEN_REFUSED) kedge_core_stop(core, actions);
        return;
    }
    core->token_count++;
    core->stopped = false;
    kedge_channel_ask(core, &core->push);
    kedge_channel_ask(core, &core->pull);
    kedge_channel_ask(core, &core->stream);
}

void kedge_core_shut_down(kedge_core *core, kedge_core_actions *actions)
{
    KEDGE_ASSERT(!core->shut_down);
    kedge_error error;
    core->shut_down = true;
    kedge_core_cancel_requests(core, actions);
    if (core->stream.running) kedge_core_act(actions, KEDGE_ACTION_CLOSE_STREAM);
    core->stream.running = false;
    if (!core->sync_wanted) return;
    kedge_fail(&error, KEDGE_CANCELLED, "closed", "the database was closed");
    kedge_core_sync_end(core, actions, &error);
}
