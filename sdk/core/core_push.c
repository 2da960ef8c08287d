/* Handles the end of a push. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

static void grow(kedge_core *core)
{
    core->push_count_max += core->push_count_max / 4 + 1;
    core->push_size_max_bytes += core->push_size_max_bytes / 4;
    if (core->push_count_max > KEDGE_CORE_PUSH_COUNT_MAX) {
        core->push_count_max = KEDGE_CORE_PUSH_COUNT_MAX;
    }
    if (core->push_size_max_bytes > KEDGE_CORE_PUSH_BYTES_MAX) {
        core->push_size_max_bytes = KEDGE_CORE_PUSH_BYTES_MAX;
    }
}

/* The push is in the server's queue: there is no version to pull yet, and the next push may
 * follow. */
static void queued(kedge_core *core)
{
    core->queued = true;
    core->push_cut = false;
    core->looks = 0;
    core->looked_at_id = core->position.lowest_pending_id;
    int64_t next = kedge_core_after(core, kedge_core_pull_interval(core));
    if (next < core->next_pull_ms) core->next_pull_ms = next;
}

/* Decided, in a version that a pull has to bring. A pull may have covered all of the push before
 * this response came: then there is nothing to wait for. */
static void decided(kedge_core *core, const kedge_core_event *event)
{
    bool uncovered = core->position.lowest_pending_id <= event->push_ended.last_id;
    core->queued = false;
    core->push_cut = uncovered && event->push_ended.last_id < core->push_highest_id;
    core->push_cut_at_id = core->position.lowest_pending_id;
    kedge_core_want(core, event->push_ended.version);
    if (uncovered && event->push_ended.version <= core->position.version) core->pull_due = true;
}

/* The server has decided, or safely holds, everything up to `last_id`. Only a pull can tell how. */
static void pushed(kedge_core *core, const kedge_core_event *event)
{
    KEDGE_ASSERT(event->push_ended.last_id > 0);
    kedge_channel_succeed(core, &core->push);
    core->answered = true;
    core->token_asked = KEDGE_CORE_TOKEN_FINE;
    core->identity = 0;
    core->push_count++;
    core->push_upload = false;
    if (core->push_after_id <= core->acknowledged_id ||
        core->push_after_id < core->position.lowest_pending_id) /* nothing is in doubt below it */
        core->acknowledged_id = event->push_ended.last_id;
    grow(core);
    if (event->push_ended.queued) {
        queued(core);
    } else {
        decided(core, event);
    }
    kedge_channel_wake(core, &core->pull);
    /* While the app waits, the pull does not sit out a backoff. */
    if (core->sync_wanted) kedge_channel_ask(core, &core->pull);
}

/* The next push starts where this one did. */
static void push_again(kedge_core *core)
{
    KEDGE_ASSERT(!core->push.running);
    core->push_upload = false;
    core->pull_due = true;
    kedge_channel_wake(core, &core->pull);
}

/* It starts at the lowest id that is not covered, whatever was acknowledged. */
static void push_anew(kedge_core *core)
{
    core->acknowledged_id = 0;
    push_again(core);
}

static void halve(kedge_core *core)
{
    core->push_count_max = core->push_count_max / 2 > 1 ? core->push_count_max / 2 : 1;
    core->push_size_max_bytes = core->push_size_max_bytes / 2 > KEDGE_CORE_PUSH_BYTES_MIN
                                    ? core->push_size_max_bytes / 2
                                    : KEDGE_CORE_PUSH_BYTES_MIN;
}

/* The server has taken only a part of the push, or nothing: the next one is half as long. A push of
 * one mutation cannot be made any shorter: it is uploaded. When the server does not take that
 * either, the push has failed. */
static void shorten(kedge_core *core, const kedge_core_event *event)
{
    const kedge_request_result *result = &event->push_ended.result;
    bool uploaded = core->push_upload;
    bool single =
        event->push_ended.count == 1 ||
        (core->push_count_max == 1 && core->push_size_max_bytes <= KEDGE_CORE_PUSH_BYTES_MIN);
    core->answered = true;
    if (uploaded) core->error = result->error;
    if (uploaded ||
        (single && core->push.failures > 0)) { /* one request a backoff, this and the other way */
        kedge_channel_fail(core, &core->push, result->retry_after_ms);
    } else {
        kedge_channel_postpone(core, &core->push, result->retry_after_ms);
    }
    if (!single) halve(core);
    push_again(core);
    core->push_upload = single && !uploaded;
}

/* Nothing was sent: what is next is made anew on what the pull brings. It may have come meanwhile,
 * or failed; then the push begins again at once. */
static void wait_for_pull(kedge_core *core)
{
    kedge_channel_postpone(core, &core->push, 0);
    core->push.at_ms = KEDGE_CORE_AT_ONCE;
    kedge_channel_wake(core, &core->pull);
}

/* It may be too much for a slow network, which is not faster the next time. */
void kedge_core_push_was_late(kedge_core *core)
{
    if (core->push_size_max_bytes > KEDGE_CORE_PUSH_BYTES_SLOW) halve(core);
}

void kedge_core_push_ended(kedge_core *core, const kedge_core_event *event,
                           kedge_core_actions *actions)
{
    const kedge_request_result *result = &event->push_ended.result;
    KEDGE_ASSERT(event->kind == KEDGE_EVENT_PUSH_ENDED && core->push.running);
    core->held = (kedge_error){.status = KEDGE_OK};
    core->pull_first = result->response == KEDGE_RESPONSE_OK && event->push_ended.pull_first;
    switch (result->response) {
    case KEDGE_RESPONSE_OK:
        if (core->pull_first) {
            wait_for_pull(core);
        } else if (event->push_ended.last_id > 0) {
            pushed(core, event);
        } else { /* the store had nothing although something is pending: look again, not at once */
            kedge_channel_fail(core, &core->push, 0);
        }
        break;
    case KEDGE_RESPONSE_IDENTITY: /* a pull tells why */
        core->error = result->error;
        kedge_channel_fail(core, &core->push, result->retry_after_ms);
        core->identity++;
        core->identity_held = true;
        push_anew(core);
        break;
    case KEDGE_RESPONSE_GAP:
        core->error = result->error;
        kedge_channel_fail(core, &core->push, result->retry_after_ms);
        push_anew(core);
        break;
    case KEDGE_RESPONSE_SHORTER:
        shorten(core, event);
        break;
    case KEDGE_RESPONSE_HELD:
        core->held = result->error;
        kedge_core_request_failed(core, &core->push, result, actions);
        break;
    default:
        if (result->error.status == KEDGE_TIMEOUT) kedge_core_push_was_late(core);
        kedge_core_request_failed(core, &core->push, result, actions);
        break;
    }
}
