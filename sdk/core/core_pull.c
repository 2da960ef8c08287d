/* The pull's channel: handles the end of each of its requests and of the store's work, and chooses
 * the next step. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

/* ---- a request has ended ---- */

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
    core->token_asked = KEDGE_CORE_TOKEN_FINE;
    if (!part) core->source = request;
    core->step = step_after(core, event);
    if (part) {
        kedge_channel_succeed(core, &core->pull);
    } else {
        /* Neither a success nor a failure until the store has tried to apply it. */
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
    case KEDGE_RESPONSE_FOREIGN:
        /* The pull told another user that the server does not know this client. With the token of
         * the client's own user there may be nothing to retire. */
        core->step = KEDGE_STEP_UNSTAGE;
        kedge_core_request_failed(core, &core->pull, result, actions);
        break;
    default:
        kedge_core_request_failed(core, &core->pull, result, actions);
        break;
    }
}

/* ---- the store has ended its work ---- */

/* In a long turn of the store no edit is made. When others change what all pending edits have read,
 * each pull runs all of them again, so that pulls one after the other would leave edits no time. */
static void rest(kedge_core *core, int64_t took_ms)
{
    if (took_ms < KEDGE_CORE_REST_WORK_MS) return;
    int64_t rest_ms = 2 * took_ms;
    if (rest_ms > KEDGE_CORE_REST_MAX_MS) rest_ms = KEDGE_CORE_REST_MAX_MS;
    core->rest_ms = kedge_core_after(core, rest_ms);
}

/* A pull, with all that belonged to it, has ended. */
static void pulled(kedge_core *core, int64_t took_ms)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_APPLY);
    KEDGE_ASSERT(core->pull_push >= core->push_pulled);
    kedge_channel_succeed(core, &core->pull);
    /* While the app waits, the push does not sit out a backoff. */
    if (core->sync_wanted) kedge_channel_ask(core, &core->push);
    core->step = KEDGE_STEP_IDLE;
    rest(core, took_ms);
    core->agains = 0;
    core->pulled = core->pulled_since = true;
    core->push_pulled = core->pull_push;
    if (core->sync_begun) core->sync_pulled = true;
    core->sync_begun = false;
    bool looked =
        kedge_core_is_uncovered(core) && core->looked_at_id == core->position.lowest_pending_id;
    core->looks = looked ? core->looks + 1 : 0;
    core->looked_at_id = core->position.lowest_pending_id;
    core->next_pull_ms = kedge_core_after(core, kedge_core_pull_interval(core));
    /* This pull began after the poke. When even it did not bring the poke's version, the version is
     * given up; otherwise there would be pulls for ever. It may have been of a lineage that is
     * lost, so what was told since counts, if it is lower. */
    if (core->want_version <= core->pull_wanted) core->want_version = core->heard_version;
    if (core->identity_held && !core->pull_due) {
        if (core->identity >= KEDGE_CORE_IDENTITY_MAX) {
            kedge_core_rotate_between_pulls(core);
        } else {
            core->identity_held = false;
        }
    }
}

static void done(kedge_core *core, kedge_pull_step step, int64_t took_ms)
{
    switch (step) {
    case KEDGE_STEP_ROTATE:
        kedge_core_rotated(core);
        break;
    case KEDGE_STEP_UNSTAGE: /* the backoff of kedge_core_pull_again, if any, holds on */
        core->step = KEDGE_STEP_PULL;
        break;
    default:
        pulled(core, took_ms);
        break;
    }
}

/* Applied, and the server has further entries: the round goes on with these. */
static void more_entries(kedge_core *core)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_APPLY);
    kedge_channel_succeed(core, &core->pull);
    core->agains = 0;
    core->step = KEDGE_STEP_PULL;
}

/* The app must be updated before it can pull. Meanwhile pushes go on, and the stream stays. */
static void block(kedge_core *core, const kedge_error *error)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_APPLY && error->status != KEDGE_OK);
    kedge_channel_succeed(core, &core->pull);
    core->agains = 0;
    core->step = KEDGE_STEP_IDLE;
    core->pull_blocked = true;
    core->blocked_error = *error;
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
    kedge_channel_succeed(core, &core->pull);
}

void kedge_core_applied(kedge_core *core, const kedge_core_event *event)
{
    KEDGE_ASSERT(core->working && core->step >= KEDGE_STEP_APPLY);
    KEDGE_ASSERT(!core->pull.running);
    core->working = false;
    if (event->applied.has_damage) core->damage = event->applied.damage;
    if (event->applied.agrees) core->diverged = (kedge_error){.status = KEDGE_OK};
    switch (event->applied.result) {
    case KEDGE_APPLIED_DONE:
        done(core, core->step, event->applied.took_ms);
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
    case KEDGE_APPLIED_MORE:
        more_entries(core);
        break;
    case KEDGE_APPLIED_DIVERGED:
        core->diverged = event->applied.error;
        core->step = KEDGE_STEP_PULL;
        kedge_core_pull_again(core);
        break;
    case KEDGE_APPLIED_BLOCKED:
        block(core, &event->applied.error);
        break;
    case KEDGE_APPLIED_FAILED:
        core->error = event->applied.error;
        kedge_channel_fail(core, &core->pull, 0);
        break;
    }
}
