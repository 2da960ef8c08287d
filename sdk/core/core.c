/* The step function: takes one event, then advances all channels as far as they may go. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

void kedge_core_init(kedge_core *core, bool online)
{
    *core = (kedge_core){.online = online};
    kedge_channel_init(&core->push);
    kedge_channel_init(&core->pull);
    kedge_channel_init(&core->stream);
    core->push_count_max = KEDGE_CORE_PUSH_COUNT_MAX;
    core->push_size_max_bytes = KEDGE_CORE_PUSH_BYTES_MAX;
    core->next_pull_ms = KEDGE_CORE_NEVER;
    core->rest_ms = KEDGE_CORE_AT_ONCE;
    core->timer_ms = KEDGE_CORE_NEVER;
    core->stall_ms = KEDGE_CORE_NEVER;
}

/* A request that was given up may still end; its end is ignored. */
static bool is_running_step(const kedge_core *core, kedge_request_kind request)
{
    return core->pull.running && request == kedge_core_step_request(core);
}

static void started(kedge_core *core)
{
    KEDGE_ASSERT(!core->started);
    KEDGE_ASSERT(core->step == KEDGE_STEP_IDLE);
    core->started = true;
    core->pull_due = true;
    if (core->position.staging) core->step = KEDGE_STEP_PAGE;
}

static void take_event(kedge_core *core, const kedge_core_event *event, kedge_core_actions *actions)
{
    switch (event->kind) {
    case KEDGE_EVENT_START:
        started(core);
        break;
    case KEDGE_EVENT_MUTATION:
        kedge_channel_wake(core, &core->push);
        break;
    case KEDGE_EVENT_TIMER:
        core->timer_ms = KEDGE_CORE_NEVER;
        break;
    case KEDGE_EVENT_PUSH_ENDED:
        if (core->push.running) kedge_core_push_ended(core, event, actions);
        break;
    case KEDGE_EVENT_PUSH_MOVED:
        kedge_channel_moved(core, &core->push);
        break;
    case KEDGE_EVENT_PULL_STEP_MOVED:
        kedge_channel_moved(core, &core->pull);
        break;
    case KEDGE_EVENT_PULL_STEP_ENDED:
        if (is_running_step(core, event->pull_step_ended.request))
            kedge_core_pull_step_ended(core, event, actions);
        break;
    case KEDGE_EVENT_APPLIED:
        kedge_core_applied(core, event);
        break;
    case KEDGE_EVENT_POKE:
        kedge_core_poked(core, event->poke.version);
        break;
    case KEDGE_EVENT_PING:
        kedge_core_pinged(core);
        break;
    case KEDGE_EVENT_STREAM_UP:
        kedge_core_stream_came_up(core);
        break;
    case KEDGE_EVENT_STREAM_DOWN:
        kedge_core_stream_went_down(core, event);
        break;
    case KEDGE_EVENT_ONLINE:
        kedge_core_went_online(core);
        break;
    case KEDGE_EVENT_OFFLINE:
        kedge_core_went_offline(core, actions);
        break;
    case KEDGE_EVENT_TOKEN:
        kedge_core_token_came(core, event->token.given, actions);
        break;
    case KEDGE_EVENT_SYNC:
        kedge_core_sync_asked(core);
        break;
    case KEDGE_EVENT_HURRY:
        kedge_core_sync_hurried(core);
        break;
    case KEDGE_EVENT_SHUTDOWN:
        kedge_core_shut_down(core, actions);
        break;
    }
}

/* Asserts what each channel may be doing at each step. */
static void check_channels(const kedge_core *core)
{
    bool connected = core->started && core->online && !core->stopped;
    bool retiring = core->source == KEDGE_REQUEST_RETIRE && core->step == KEDGE_STEP_OUTCOMES;
    retiring = retiring || (core->step == KEDGE_STEP_RETIRE && core->pull.running);
    KEDGE_ASSERT(connected || !(core->push.running || core->pull.running || core->stream.running));
    KEDGE_ASSERT(core->push.running == (core->push.guard_ms != KEDGE_CORE_NEVER));
    KEDGE_ASSERT(core->pull.running == (core->pull.guard_ms != KEDGE_CORE_NEVER));
    KEDGE_ASSERT(!core->stream_up || core->stream.running);
    KEDGE_ASSERT(!core->pull.running ||
                 (core->step != KEDGE_STEP_IDLE && core->step < KEDGE_STEP_APPLY));
    KEDGE_ASSERT(!core->working || core->step >= KEDGE_STEP_APPLY);
    KEDGE_ASSERT(!core->push.running || !(retiring || core->step == KEDGE_STEP_ROTATE));
    KEDGE_ASSERT(core->step != KEDGE_STEP_ROTATE || core->source == KEDGE_REQUEST_RETIRE);
    KEDGE_ASSERT(core->step != KEDGE_STEP_APPLY || core->source == KEDGE_REQUEST_PULL ||
                 core->source == KEDGE_REQUEST_PAGE);
}

/* The invariants between two steps. */
static void check(const kedge_core *core)
{
    check_channels(core);
    KEDGE_ASSERT(core->position.version >= 0);
    KEDGE_ASSERT(core->push_pulled <= core->push_count);
    KEDGE_ASSERT(core->push_count_max >= 1 && core->push_count_max <= KEDGE_CORE_PUSH_COUNT_MAX);
    KEDGE_ASSERT(core->push_size_max_bytes >= KEDGE_CORE_PUSH_BYTES_MIN &&
                 core->push_size_max_bytes <= KEDGE_CORE_PUSH_BYTES_MAX);
    KEDGE_ASSERT(!core->identity_held || core->identity > 0);
    KEDGE_ASSERT(!core->sync_begun || core->sync_wanted);
}

/* A position that goes back: the cache was set aside, or a file of the store has turned out to be
 * older. */
static void take_position(kedge_core *core, const kedge_core_position *next)
{
    const kedge_core_position *last = &core->position;
    if (next->version < last->version || next->lowest_pending_id < last->lowest_pending_id ||
        next->highest_id < last->highest_id) {
        core->acknowledged_id = 0;
        core->push_after_id = KEDGE_CORE_NEVER;
        /* Without a cache all is pulled again, even without a poke. */
        if (next->version == 0 && last->version > 0) core->pull_due = true;
    }
    core->position = *next;
}

void kedge_core_step(kedge_core *core, const kedge_core_event *event, kedge_core_actions *actions)
{
    actions->count = 0;
    if (core->shut_down) return;
    KEDGE_ASSERT(core->started || event->kind == KEDGE_EVENT_START);
    check(core);
    kedge_core_take_time(core, event->now_ms);
    core->random = event->random;
    if (event->has_position) take_position(core, &event->position);
    take_event(core, event, actions);
    if (core->shut_down) return;
    kedge_core_advance(core, actions);
    check(core);
}
