/* Moments, delays drawn at random, and a clock that goes back. */
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
        shift(&core->rotate_ms, by);
        core->spell_ms += by;
        core->rotated_ms += by;
        core->stream_up_ms += by;
        core->stream_heard_ms += by;
        core->timer_ms = KEDGE_CORE_NEVER;
    }
    core->now_ms = now_ms;
}
