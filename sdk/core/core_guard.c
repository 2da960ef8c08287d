/* Timeouts: for a request without a response, and for a silent stream. */
#include "common/error.h"
#include "sdk/core/core_internal.h"

static void give_up(kedge_core *core, kedge_core_channel *channel, kedge_request_kind request,
                    kedge_core_actions *actions)
{
    if (!channel->running || core->now_ms < channel->guard_ms) return;
    kedge_fail(&core->error, KEDGE_TIMEOUT, "request-timeout",
               "the server did not respond within %d seconds",
               KEDGE_CORE_REQUEST_DEADLINE_MS / 1000);
    kedge_core_act(actions, KEDGE_ACTION_CANCEL)->cancel.request = request;
    kedge_channel_fail(core, channel, 0);
}

void kedge_core_check_guards(kedge_core *core, kedge_core_actions *actions)
{
    give_up(core, &core->push, KEDGE_REQUEST_PUSH, actions);
    give_up(core, &core->pull, kedge_core_step_request(core), actions);
    if (core->stream.running && core->now_ms >= kedge_core_silence_end(core)) {
        kedge_core_act(actions, KEDGE_ACTION_CLOSE_STREAM);
        kedge_core_stream_went_down(core, NULL);
    }
}
