/* How long the waits are, and the next moment at which something may begin by itself. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

int64_t kedge_core_stall_delay(const kedge_core *core)
{
    int64_t delay = KEDGE_CORE_STALL_MAX_MS;
    if (core->stalls < 5) delay = (int64_t)KEDGE_CORE_STALL_MS << core->stalls;
    return delay < KEDGE_CORE_STALL_MAX_MS ? delay : KEDGE_CORE_STALL_MAX_MS;
}

/* Soon while something pushed is not covered, and then ever later. Spread by a tenth. */
int64_t kedge_core_pull_interval(kedge_core *core)
{
    int64_t interval = KEDGE_CORE_PULL_INTERVAL_MS;
    if (kedge_core_is_uncovered(core) && core->looks < 6) {
        interval = (int64_t)KEDGE_CORE_COVER_MS << core->looks;
    }
    KEDGE_ASSERT(interval <= KEDGE_CORE_PULL_INTERVAL_MS);
    return interval - kedge_core_draw(core, interval / 10);
}

int64_t kedge_core_silence_end(const kedge_core *core)
{
    return core->stream_heard_ms + KEDGE_CORE_STREAM_SILENCE_MS;
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
    if (core->stream.running) return kedge_core_silence_end(core);
    return kedge_core_stream_is_wanted(core) ? core->stream.at_ms : KEDGE_CORE_NEVER;
}

int64_t kedge_core_next_moment(const kedge_core *core)
{
    return earlier(push_moment(core), earlier(pull_moment(core), stream_moment(core)));
}
