/* The consequences of a failure: a backoff, a request for a token, a stop, or another round.
 *
 * Failures of the request itself (its identity, a gap, a push that is too large) are handled where
 * that request ends, in core_push.c and core_pull.c. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

void kedge_core_cancel_requests(kedge_core *core, kedge_core_actions *actions)
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

void kedge_core_stop(kedge_core *core, kedge_core_actions *actions)
{
    core->stopped = true;
    kedge_core_cancel_requests(core, actions);
}

/* The app is asked for a new token once. When the server refuses that token, too (`asked`), the
 * core stops. When somebody else does, requests go on after a backoff, and the app is asked again
 * from time to time: a gateway may have refused the token when the app could not renew it. Channels
 * that used an older token only try again. */
static void refuse_token(kedge_core *core, const kedge_core_channel *channel,
                         kedge_core_token_cause cause, bool asked, kedge_core_actions *actions)
{
    KEDGE_ASSERT(channel->token <= core->token_count);
    KEDGE_ASSERT(cause != KEDGE_CORE_TOKEN_FINE);
    if (channel->token != core->token_count || core->token_wanted != KEDGE_CORE_TOKEN_FINE) return;
    if (!asked) {
        core->token_wanted = cause;
        kedge_core_act(actions, KEDGE_ACTION_ASK_TOKEN)->ask_token.doubted =
            cause == KEDGE_CORE_TOKEN_DOUBTED;
    } else if (cause == KEDGE_CORE_TOKEN_REFUSED) {
        kedge_core_stop(core, actions);
    }
}

/* The user may have changed since the app gave the token. Pulls go well with the token of another
 * user, too, so they prove nothing: the token itself is remembered. Without tokens (number 0) there
 * is no other one to ask for. */
static void refuse_user(kedge_core *core, const kedge_core_channel *channel,
                        kedge_core_actions *actions)
{
    bool asked = core->token_count == core->foreign_token;
    core->acknowledged_id = 0;
    if (!asked) core->foreign_token = core->token_count + 1;
    refuse_token(core, channel, KEDGE_CORE_TOKEN_REFUSED, asked, actions);
}

void kedge_core_request_failed(kedge_core *core, kedge_core_channel *channel,
                               const kedge_request_result *result, kedge_core_actions *actions)
{
    KEDGE_ASSERT(channel->running && result->response != KEDGE_RESPONSE_OK);
    core->error = result->error;
    kedge_channel_fail(core, channel, result->retry_after_ms);
    if (result->response == KEDGE_RESPONSE_NETWORK) channel->lost = true;
    bool doubted = result->response == KEDGE_RESPONSE_DOUBTED;
    if (doubted || result->response == KEDGE_RESPONSE_UNAUTHORIZED) {
        kedge_core_token_cause cause =
            doubted ? KEDGE_CORE_TOKEN_DOUBTED : KEDGE_CORE_TOKEN_REFUSED;
        bool again = doubted && channel->failures % KEDGE_CORE_DOUBTS == 0;
        refuse_token(core, channel, cause, core->token_asked >= cause && !again, actions);
    }
    if (result->response == KEDGE_RESPONSE_FOREIGN) refuse_user(core, channel, actions);
    bool later =
        result->response == KEDGE_RESPONSE_LATER || result->response == KEDGE_RESPONSE_HELD;
    bool matters = channel != &core->push || kedge_core_is_pending(core);
    if (later && matters) core->sync_later = true;
    if (result->response == KEDGE_RESPONSE_REFUSED) kedge_core_stop(core, actions);
}

/* A round without progress. The first retry comes at once and further ones back off, so that a
 * server and a store that contradict each other do not loop. */
void kedge_core_pull_again(kedge_core *core)
{
    core->pull_due = true;
    core->agains++;
    if (core->agains < 2) return;
    core->pull.failures = core->agains - 2;
    kedge_channel_fail(core, &core->pull, 0);
}
