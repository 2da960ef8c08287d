/* May we talk to the server? Going online and offline, tokens, refusals, the end. */
#include "common/assert.h"
#include "common/error.h"
#include "sdk/core/core_internal.h"

static void cancel_requests(kedge_core *core, kedge_core_actions *actions)
{
    if (core->push.running) {
        kedge_core_act(actions, KEDGE_ACTION_CANCEL)->cancel.request = KEDGE_REQUEST_PUSH;
        kedge_channel_cancel(core, &core->push);
    }
    if (core->pull.running) {
        kedge_core_act(actions, KEDGE_ACTION_CANCEL)->cancel.request =
            kedge_core_step_request(core);
        kedge_channel_cancel(core, &core->pull);
    }
}

void kedge_core_went_online(kedge_core *core)
{
    if (!core->online || core->stopped) {
        core->answered = false;
        core->pull_due = true;
    }
    core->online = true;
    core->stopped = false;
    core->token_wanted = false;
    core->token_asked = false;
    kedge_channel_ask(core, &core->push);
    kedge_channel_ask(core, &core->pull);
    kedge_channel_ask(core, &core->stream);
}

void kedge_core_went_offline(kedge_core *core, kedge_core_actions *actions)
{
    core->online = false;
    cancel_requests(core, actions);
}

/* Until ONLINE or a token. What runs is given up. */
static void stop(kedge_core *core, kedge_core_actions *actions)
{
    core->stopped = true;
    cancel_requests(core, actions);
}

/* The app is asked once; when the server does not take that token either, it is over. Channels that
 * used an older token just try again. */
static void refuse_token(kedge_core *core, const kedge_core_channel *channel,
                         kedge_core_actions *actions)
{
    KEDGE_ASSERT(channel->token <= core->token_count);
    if (channel->token != core->token_count || core->token_wanted) return;
    if (core->token_asked) {
        stop(core, actions);
        return;
    }
    core->token_wanted = true;
    kedge_core_act(actions, KEDGE_ACTION_ASK_TOKEN);
}

void kedge_core_token_came(kedge_core *core, bool given, kedge_core_actions *actions)
{
    bool wanted = core->token_wanted;
    core->token_wanted = false;
    if (!given) {
        if (wanted) stop(core, actions);
        return;
    }
    core->token_count++;
    core->token_asked = wanted;
    core->stopped = false;
    kedge_channel_ask(core, &core->push);
    kedge_channel_ask(core, &core->pull);
    kedge_channel_ask(core, &core->stream);
}

void kedge_core_request_failed(kedge_core *core, kedge_core_channel *channel,
                               const kedge_request_result *result, kedge_core_actions *actions)
{
    KEDGE_ASSERT(channel->running && result->response != KEDGE_RESPONSE_OK);
    core->error = result->error;
    kedge_channel_fail(core, channel, result->retry_after_ms);
    if (result->response == KEDGE_RESPONSE_UNAUTHORIZED) refuse_token(core, channel, actions);
    if (result->response == KEDGE_RESPONSE_REFUSED) stop(core, actions);
}

void kedge_core_shut_down(kedge_core *core, kedge_core_actions *actions)
{
    KEDGE_ASSERT(!core->shut_down);
    kedge_error error;
    core->shut_down = true;
    cancel_requests(core, actions);
    if (core->stream.running) kedge_core_act(actions, KEDGE_ACTION_CLOSE_STREAM);
    core->stream.running = false;
    if (!core->sync_wanted) return;
    kedge_fail(&error, KEDGE_CANCELLED, "closed", "the database was closed");
    kedge_core_sync_end(core, actions, &error);
}
