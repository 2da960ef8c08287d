/* Handles the end of each request of the pull's channel, and chooses the next step. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

/* First fetches the outcomes and bodies that are still missing; then the store applies the
 * response. */
static kedge_pull_step step_after(const kedge_core *core, const kedge_core_event *event)
{
    if (event->pull_step_ended.more_outcomes) return KEDGE_STEP_OUTCOMES;
    if (event->pull_step_ended.more_bodies) return KEDGE_STEP_BODY;
    return core->source == KEDGE_REQUEST_RETIRE ? KEDGE_STEP_ROTATE : KEDGE_STEP_APPLY;
}

static void received(kedge_core *core, const kedge_core_event *event)
{
    kedge_request_kind request = event->pull_step_ended.request;
    bool part = request == KEDGE_REQUEST_OUTCOMES || request == KEDGE_REQUEST_BODY;
    core->answered = true;
    core->token_asked = false;
    if (!part) core->source = request;
    core->step = step_after(core, event);
    if (part) {
        kedge_channel_succeed(&core->pull);
    } else { /* whether it was a success the store will tell */
        kedge_channel_postpone(core, &core->pull, 0);
        core->pull.at_ms = KEDGE_CORE_AT_ONCE;
    }
}

/* The version that was being read is no longer there. */
static void gone(kedge_core *core, const kedge_request_result *result)
{
    core->error = result->error;
    kedge_channel_postpone(core, &core->pull, result->retry_after_ms);
    core->step = KEDGE_STEP_UNSTAGE;
    core->lost = false;
    kedge_core_pull_again(core);
}

void kedge_core_pull_step_ended(kedge_core *core, const kedge_core_event *event,
                                kedge_core_actions *actions)
{
    const kedge_request_result *result = &event->pull_step_ended.result;
    KEDGE_ASSERT(core->pull.running && !core->working);
    KEDGE_ASSERT(event->pull_step_ended.request == kedge_core_step_request(core));
    switch (result->response) {
    case KEDGE_RESPONSE_OK:
        received(core, event);
        break;
    case KEDGE_RESPONSE_GONE:
        gone(core, result);
        break;
    case KEDGE_RESPONSE_IDENTITY:
        if (core->step == KEDGE_STEP_RETIRE && core->lost) {
            /* The restored backend never knew this client: nothing to retire. */
            core->source = KEDGE_REQUEST_RETIRE;
            core->step = KEDGE_STEP_ROTATE;
            kedge_channel_postpone(core, &core->pull, 0);
            break;
        }
        kedge_core_request_failed(core, &core->pull, result, actions);
        break;
    default:
        kedge_core_request_failed(core, &core->pull, result, actions);
        break;
    }
}
