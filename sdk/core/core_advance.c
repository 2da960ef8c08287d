/* Decides what comes next. Only this file starts requests and work of the store, and gives up those
 * that take too long.
 *
 * The handlers of events only change the state. Here each channel is checked in turn: whether it
 * has something to do, whether it may do it, and whether its time has come. If so, it is started.
 * At the end the timer is set to the next moment at which a channel may start by itself. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

/* ---- requests without a response, and a silent stream ---- */

static void give_up(kedge_core *core, kedge_core_channel *channel, kedge_request_kind request,
                    kedge_core_actions *actions)
{
    if (!channel->running || core->now_ms < channel->guard_ms) return;
    kedge_fail(&core->error, KEDGE_TIMEOUT, "request-timeout",
               "the server did not respond within %d seconds",
               KEDGE_CORE_REQUEST_DEADLINE_MS / 1000);
    kedge_core_act(actions, KEDGE_ACTION_CANCEL)->cancel.request = request;
    kedge_channel_fail(core, channel, 0);
    channel->lost = true;
    if (channel != &core->push) return;
    core->held = (kedge_error){.status = KEDGE_OK};
    kedge_core_push_was_late(core);
}

static void check_guards(kedge_core *core, kedge_core_actions *actions)
{
    give_up(core, &core->push, KEDGE_REQUEST_PUSH, actions);
    give_up(core, &core->pull, kedge_core_step_request(core), actions);
    if (core->stream.running && core->now_ms >= kedge_core_silence_end(core)) {
        kedge_core_act(actions, KEDGE_ACTION_CLOSE_STREAM);
        kedge_core_stream_went_down(core, NULL);
    }
}

/* ---- push ---- */

/* The lowest mutation was acknowledged, and a pull that began later does not cover it. Pushes after
 * it do not put this off. More copies do not help a slow server, so each retry in a row comes
 * later. */
static void push_what_stalls(kedge_core *core)
{
    bool uncovered = kedge_core_is_uncovered(core);
    bool progress = core->position.lowest_pending_id != core->stall_id;
    core->stall_id = core->position.lowest_pending_id;
    if (progress) core->stalls = 0;
    if (progress || !uncovered) core->stall_ms = KEDGE_CORE_NEVER;
    if (uncovered && core->stall_ms == KEDGE_CORE_NEVER) {
        core->stall_ms = kedge_core_after(core, kedge_core_stall_delay(core));
        core->stall_push = core->push_count;
    } else if (uncovered && core->now_ms >= core->stall_ms &&
               core->push_pulled >= core->stall_push) {
        core->stall_ms = KEDGE_CORE_NEVER;
        core->stalls++;
        core->acknowledged_id = 0;
    }
}

static void advance_push(kedge_core *core, kedge_core_actions *actions)
{
    push_what_stalls(core);
    if (!kedge_core_may_send(core) || !kedge_core_push_is_wanted(core)) return;
    if (!kedge_channel_ready(core, &core->push)) return;
    KEDGE_ASSERT(core->position.lowest_pending_id <= core->position.highest_id);
    KEDGE_ASSERT(core->step != KEDGE_STEP_RETIRE && core->step != KEDGE_STEP_ROTATE);
    int64_t requests = core->push_upload ? KEDGE_CORE_UPLOAD_REQUESTS : 1;
    kedge_channel_begin(
        core, &core->push,
        kedge_core_after(core, requests * KEDGE_CORE_REQUEST_DEADLINE_MS + KEDGE_CORE_GUARD_MS));
    core->push_highest_id = core->position.highest_id;
    core->push_after_id = core->acknowledged_id;
    kedge_core_action *action = kedge_core_act(actions, KEDGE_ACTION_PUSH);
    action->push.deadline_ms = KEDGE_CORE_REQUEST_DEADLINE_MS;
    if (kedge_core_is_uncovered(core)) action->push.after_id = core->acknowledged_id;
    action->push.count_max = core->push_upload ? 1 : core->push_count_max;
    action->push.size_max_bytes = core->push_size_max_bytes;
    action->push.upload = core->push_upload;
    action->push.fresh = kedge_core_is_fresh(core);
}

/* ---- pull, and what runs in its place ---- */

/* Sets the state that holds from the start of a pull. */
static void begin_pull(kedge_core *core)
{
    KEDGE_ASSERT(core->want_version >= 0 && core->push_count >= core->pull_push);
    core->pull_due = false;
    core->pull_wanted = core->want_version;
    core->heard_version = 0;
    core->pull_push = core->push_count;
    core->sync_begun = core->sync_wanted;
}

/* No push may be decided under an id that is being retired after its outcomes were told. */
static void begin_retire(kedge_core *core, kedge_core_actions *actions)
{
    if (!core->push.running) return;
    kedge_core_act(actions, KEDGE_ACTION_CANCEL)->cancel.request = KEDGE_REQUEST_PUSH;
    kedge_channel_cancel(core, &core->push);
}

static void begin_request(kedge_core *core, kedge_core_actions *actions)
{
    KEDGE_ASSERT(core->step != KEDGE_STEP_IDLE && core->step < KEDGE_STEP_APPLY);
    KEDGE_ASSERT(core->step != KEDGE_STEP_RETIRE || core->now_ms >= core->rotate_ms);
    if (core->step == KEDGE_STEP_PULL) begin_pull(core);
    if (core->step == KEDGE_STEP_RETIRE) begin_retire(core, actions);
    kedge_channel_begin(
        core, &core->pull,
        kedge_core_after(core, KEDGE_CORE_REQUEST_DEADLINE_MS + KEDGE_CORE_GUARD_MS));
    kedge_core_action *action = kedge_core_act(actions, KEDGE_ACTION_PULL_STEP);
    action->pull_step.request = kedge_core_step_request(core);
    action->pull_step.deadline_ms = KEDGE_CORE_REQUEST_DEADLINE_MS;
}

static void begin_work(kedge_core *core, kedge_core_actions *actions)
{
    KEDGE_ASSERT(core->step >= KEDGE_STEP_APPLY);
    KEDGE_ASSERT(!core->working && !core->pull.running);
    if (core->step == KEDGE_STEP_APPLY) {
        kedge_core_act(actions, KEDGE_ACTION_APPLY)->apply.request = core->source;
    } else if (core->step == KEDGE_STEP_ROTATE) {
        kedge_core_act(actions, KEDGE_ACTION_ROTATE)->rotate.lost = core->lost;
    } else {
        kedge_core_act(actions, KEDGE_ACTION_UNSTAGE);
    }
    core->working = true;
    /* This is the attempt that the app asked for. If the disk fails again, the next attempt
     * waits. */
    if (core->pull.asked) core->pull.ask_ms = kedge_core_after(core, KEDGE_CORE_ASK_MS);
    core->pull.asked = false;
}

static void advance_pull(kedge_core *core, kedge_core_actions *actions)
{
    KEDGE_ASSERT(core->started);
    if (core->working) return;
    bool waits = kedge_core_rotation_waits(core);
    if (core->step == KEDGE_STEP_RETIRE && waits) return;
    if (core->step == KEDGE_STEP_IDLE && core->rotation_held && !waits) {
        kedge_core_rotate(core, false);
    }
    if (core->step == KEDGE_STEP_IDLE) {
        if (!kedge_core_pull_is_wanted(core) || core->now_ms < core->rest_ms) return;
        core->step = KEDGE_STEP_PULL;
    }
    if (!kedge_channel_ready(core, &core->pull)) return;
    /* A pull with an earlier token may have been another user's, who is told nothing of the client:
     * there may be no reason to retire it. */
    if (core->step == KEDGE_STEP_RETIRE && core->pull.token != core->token_count) {
        core->step = KEDGE_STEP_UNSTAGE;
    }
    if (core->step >= KEDGE_STEP_APPLY) {
        begin_work(core, actions);
    } else if (kedge_core_may_send(core)) {
        begin_request(core, actions);
    }
}

/* ---- stream ---- */

static void advance_stream(kedge_core *core, kedge_core_actions *actions)
{
    if (core->stream.running && (!core->online || core->stopped)) {
        kedge_core_act(actions, KEDGE_ACTION_CLOSE_STREAM);
        kedge_channel_cancel(core, &core->stream);
        core->stream_up = false;
    }
    if (!kedge_core_stream_is_wanted(core) || !kedge_channel_ready(core, &core->stream)) return;
    kedge_channel_begin(core, &core->stream, KEDGE_CORE_NEVER);
    core->stream_up = false;
    core->stream_heard_ms = core->now_ms;
    kedge_core_act(actions, KEDGE_ACTION_OPEN_STREAM);
}

/* ---- what the app sees ---- */

/* A push that failed does not count once nothing is pending: what it was to bring has arrived, or
 * another process has pushed it. */
static bool pushes_well(const kedge_core *core)
{
    return core->push.failures == 0 || !kedge_core_is_pending(core) ||
           kedge_core_push_is_held(core);
}

static kedge_connection connection_of(const kedge_core *core)
{
    if (!core->online) return KEDGE_OFFLINE;
    if (core->stopped) return KEDGE_STOPPED;
    if (kedge_core_rotation_waits(core) || core->pull_blocked || core->token_wanted)
        return KEDGE_CONNECTING;
    bool well = core->answered && core->pull.failures == 0 && pushes_well(core);
    return well ? KEDGE_ONLINE : KEDGE_CONNECTING;
}

/* What is wrong although the last request had a response. */
static const kedge_error *error_online(const kedge_core *core)
{
    if (kedge_core_push_is_held(core)) return &core->held;
    return core->diverged.status != KEDGE_OK ? &core->diverged : &core->damage;
}

static void report(kedge_core *core, kedge_core_actions *actions)
{
    kedge_connection connection = connection_of(core);
    if (connection == KEDGE_ONLINE) core->error = *error_online(core);
    if (core->pull_blocked && !core->stopped) core->error = core->blocked_error;
    if (kedge_core_rotation_waits(core) && !core->stopped) {
        kedge_core_rotation_error(core, &core->error);
    }
    if (core->reported && connection == core->connection &&
        kedge_error_equal(&core->error, &core->error_reported)) {
        return;
    }
    core->reported = true;
    core->connection = connection;
    core->error_reported = core->error;
    kedge_core_action *action = kedge_core_act(actions, KEDGE_ACTION_REPORT);
    action->report.connection = connection;
    action->report.error = core->error;
}

static void set_timer(kedge_core *core, kedge_core_actions *actions)
{
    int64_t moment = kedge_core_next_moment(core);
    if (moment == core->timer_ms || moment == KEDGE_CORE_NEVER) return;
    core->timer_ms = moment;
    kedge_core_act(actions, KEDGE_ACTION_TIMER)->timer.at_ms = moment;
}

void kedge_core_advance(kedge_core *core, kedge_core_actions *actions)
{
    check_guards(core, actions);
    advance_pull(core, actions);
    advance_push(core, actions);
    advance_stream(core, actions);
    report(core, actions);
    if (core->sync_wanted) kedge_core_sync_end(core, actions, NULL);
    set_timer(core, actions);
}
