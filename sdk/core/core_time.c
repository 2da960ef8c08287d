/* Time: moments, delays drawn at random, a clock that goes back; how long the waits are, and the
 * next moment at which something may begin by itself. */
#include "common/assert.h"
#include "sdk/core/core_internal.h"

int64_t kedge_core_after(const kedge_core *core, int64_t delay_ms)
{
    KEDGE_ASSERT(delay_ms >= 0);
    if (core->now_ms > KEDGE_CORE_NEVER - 1 - delay_ms) return KEDGE_CORE_NEVER - 1;
    return core->now_ms + delay_ms;
}

/* One step of splitmix64 a draw: the event brings one random number, a step may need several. */
int64_t kedge_core_draw(kedge_core *core, int64_t bound)
{
    KEDGE_ASSERT(bound >= 0);
    core->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = core->random;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    mixed ^= mixed >> 31;
    return (int64_t)(mixed % ((uint64_t)bound + 1));
}

/* ---- a clock that goes back ---- */

static void shift(int64_t *moment, int64_t by)
{
    KEDGE_ASSERT(by < 0);
    if (*moment != KEDGE_CORE_AT_ONCE && *moment != KEDGE_CORE_NEVER) *moment += by;
}

static void shift_channel(kedge_core_channel *channel, int64_t by)
{
    shift(&channel->at_ms, by);
    shift(&channel->floor_ms, by);
    shift(&channel->ask_ms, by);
    shift(&channel->guard_ms, by);
    channel->lost_ms += by;
}

/* When the clock goes back all moments go with it, as if it had stood still: no wait becomes longer
 * than it was. When it jumps ahead, waits end early. */
void kedge_core_take_time(kedge_core *core, int64_t now_ms)
{
    if (core->started && now_ms < core->now_ms) {
        int64_t by = now_ms - core->now_ms;
        shift_channel(&core->push, by);
        shift_channel(&core->pull, by);
        shift_channel(&core->stream, by);
        shift(&core->stall_ms, by);
        shift(&core->next_pull_ms, by);
        shift(&core->rest_ms, by);
        shift(&core->rotate_ms, by);
        core->spell_ms += by;
        core->rotated_ms += by;
        core->stream_up_ms += by;
        core->stream_heard_ms += by;
        core->timer_ms = KEDGE_CORE_NEVER;
    }
    core->now_ms = now_ms;
}

/* ---- how long the waits are ---- */

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
    return core->push_pulled >= core->stall_push ? core->stall_ms : KEDGE_CORE_NEVER;
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
    int64_t next = told || core->pull_blocked ? KEDGE_CORE_NEVER : core->next_pull_ms;
    next = kedge_core_pull_is_wanted(core) ? core->rest_ms : later(next, core->rest_ms);
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
