/* Questions about the state: what is wanted, what may be sent, what waits. Nothing here changes
 * it. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

bool kedge_core_may_send(const kedge_core *core)
{
    KEDGE_ASSERT(core->started && !core->shut_down);
    return core->online && !core->stopped && !core->token_wanted;
}

/* ---- push ---- */

bool kedge_core_is_pending(const kedge_core *core)
{
    return core->position.lowest_pending_id <= core->position.highest_id;
}

/* What is acknowledged may be above the highest id of the position: a push has what the store has
 * when it is made, also edits of other processes of which nobody has told yet. */
bool kedge_core_is_uncovered(const kedge_core *core)
{
    return core->position.lowest_pending_id <= core->acknowledged_id;
}

bool kedge_core_is_queued(const kedge_core *core)
{
    return core->queued && kedge_core_is_uncovered(core);
}

bool kedge_core_push_is_held(const kedge_core *core)
{
    return core->held.status != KEDGE_OK && kedge_core_is_pending(core);
}

/* An identity change is under way: what would be pushed has no id yet. */
static bool rotating(const kedge_core *core)
{
    return core->step == KEDGE_STEP_RETIRE || core->step == KEDGE_STEP_ROTATE ||
           (core->step == KEDGE_STEP_OUTCOMES && core->source == KEDGE_REQUEST_RETIRE);
}

bool kedge_core_is_fresh(const kedge_core *core)
{
    return core->pull_blocked || core->pull.failures > 0 ||
           (core->pulled_since && core->push_pulled == core->push_count);
}

static bool push_waits_for_pull(const kedge_core *core)
{
    return core->pull_first && kedge_core_is_pending(core) && !kedge_core_is_fresh(core);
}

bool kedge_core_push_is_wanted(const kedge_core *core)
{
    const kedge_core_position *position = &core->position;
    if (!kedge_core_is_pending(core) || push_waits_for_pull(core)) return false;
    if (core->identity_held || rotating(core)) return false;
    if (position->highest_id <= core->acknowledged_id) return false;
    bool cut = core->push_cut && position->lowest_pending_id <= core->push_cut_at_id;
    return !cut || core->pull_blocked || !kedge_core_is_uncovered(core);
}

/* ---- pull, and what runs in its place ---- */

void kedge_core_want(kedge_core *core, int64_t version)
{
    if (version > core->want_version) core->want_version = version;
    if (version > core->heard_version) core->heard_version = version;
}

bool kedge_core_pull_is_wanted(const kedge_core *core)
{
    if (core->pull_blocked) return false;
    return core->pull_due || push_waits_for_pull(core) ||
           core->want_version > core->position.version ||
           ((!core->stream_up || kedge_core_is_queued(core)) && core->now_ms >= core->next_pull_ms);
}

kedge_request_kind kedge_core_step_request(const kedge_core *core)
{
    switch (core->step) {
    case KEDGE_STEP_PAGE:
        return KEDGE_REQUEST_PAGE;
    case KEDGE_STEP_OUTCOMES:
        return KEDGE_REQUEST_OUTCOMES;
    case KEDGE_STEP_BODY:
        return KEDGE_REQUEST_BODY;
    case KEDGE_STEP_RETIRE:
        return KEDGE_REQUEST_RETIRE;
    default:
        return KEDGE_REQUEST_PULL;
    }
}

/* ---- stream ---- */

bool kedge_core_stream_is_wanted(const kedge_core *core)
{
    return kedge_core_may_send(core) && core->pulled;
}

/* ---- rotation ---- */

/* True also while the rotation is delayed by its wait: see kedge_core_rotation_waits. */
static bool rotation_is_wanted(const kedge_core *core)
{
    return core->rotation_held || core->step == KEDGE_STEP_RETIRE;
}

bool kedge_core_rotation_waits(const kedge_core *core)
{
    return rotation_is_wanted(core) && core->now_ms < core->rotate_ms;
}
