/* Guards over what never ends, and the next moment to look. */
#include "common/assert.h"
#include "common/error.h"
#include "sdk/core/core_internal.h"

/* ---- guards ---- */

static void give_up(kedge_core *core, kedge_core_channel *channel, kedge_request_kind request,
                    kedge_core_actions *actions)
{
    if (!channel->running || core->now_ms < channel->guard_ms) return;
    kedge_fail(&core->error, KEDGE_TIMEOUT, "request-timeout",
               "the server did not answer within %d seconds",
               KEDGE_CORE_REQUEST_DEADLINE_MS / 1000);
    kedge_core_act(actions, KEDGE_ACTION_CANCEL)->cancel.request = request;
    kedge_channel_fail(core, channel, 0);
}

static int64_t silence_end(const kedge_core *core)
{
    return core->stream_heard_ms + KEDGE_CORE_STREAM_SILENCE_MS;
}

void kedge_core_check_guards(kedge_core *core, kedge_core_actions *actions)
{
    give_up(core, &core->push, KEDGE_REQUEST_PUSH, actions);
    give_up(core, &core->pull, kedge_core_step_request(core), actions);
    if (core->stream.running && core->now_ms >= silence_end(core)) {
        kedge_core_act(actions, KEDGE_ACTION_CLOSE_STREAM);
        kedge_core_stream_went_down(core, NULL);
    }
}

/* ---- the next moment ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t push_moment(const kedge_core *core)
{
    if (core->push.running) return core->push.guard_ms;
    if (!kedge_core_may_send(core)) return KEDGE_CORE_NEVER;
    if (kedge_core_push_is_wanted(core)) return core->push.at_ms;
    return core->push_pulled == core->push_count ? core->stall_ms : KEDGE_CORE_NEVER;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t pull_moment(const kedge_core *core)
{
    if (core->pull.running) return core->pull.guard_ms;
    if (core->working) return KEDGE_CORE_NEVER;
    if (core->step >= KEDGE_STEP_APPLY) return core->pull.at_ms;
    if (!kedge_core_may_send(core)) return KEDGE_CORE_NEVER;
    if (core->step == KEDGE_STEP_RETIRE) return later(core->pull.at_ms, core->rotate_ms);
    if (core->step != KEDGE_STEP_IDLE) return core->pull.at_ms;
    bool told = core->stream_up && !kedge_core_is_queued(core);
    int64_t next = told ? KEDGE_CORE_NEVER : core->next_pull_ms;
    return core->rotation_held ? earlier(next, core->rotate_ms) : next;
}

static int64_t stream_moment(const kedge_core *core)
{
    if (core->stream.running) return silence_end(core);
    return kedge_core_stream_is_wanted(core) ? core->stream.at_ms : KEDGE_CORE_NEVER;
}

int64_t kedge_core_next_moment(const kedge_core *core)
{
    return earlier(push_moment(core), earlier(pull_moment(core), stream_moment(core)));
}
