/* A lane's backoff.
 *
 * After the n-th failure in a row the next attempt comes at a random moment within
 * BACKOFF_MIN * 2^(n-1), at most BACKOFF_MAX (full jitter), and not before what Retry-After asks.
 *
 * A wake (a local write, a poke, ONLINE, SYNC) lets it come at once. Against a server that goes on
 * failing that must not become one attempt a wake: a wake is spent until an attempt was made on
 * schedule, so that there are never more than two attempts a backoff period, however many wakes. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

void kedge_lane_init(kedge_core_lane *lane)
{
    *lane = (kedge_core_lane){.at_ms = KEDGE_CORE_AT_ONCE,
                              .floor_ms = KEDGE_CORE_AT_ONCE,
                              .ask_ms = KEDGE_CORE_AT_ONCE,
                              .guard_ms = KEDGE_CORE_NEVER};
}

bool kedge_lane_ready(const kedge_core *core, const kedge_core_lane *lane)
{
    return !lane->running && core->now_ms >= lane->at_ms;
}

void kedge_lane_begin(kedge_core *core, kedge_core_lane *lane, int64_t guard_ms)
{
    KEDGE_ASSERT(kedge_lane_ready(core, lane));
    KEDGE_ASSERT(guard_ms > core->now_ms);
    if (!lane->woken) lane->wake_spent = false;
    if (lane->asked) lane->ask_ms = kedge_core_after(core, KEDGE_CORE_ASK_MS);
    lane->asked = false;
    lane->running = true;
    lane->guard_ms = guard_ms;
    lane->token = core->token_count;
}

static void end(kedge_core_lane *lane)
{
    lane->running = false;
    lane->guard_ms = KEDGE_CORE_NEVER;
    lane->woken = false;
}

void kedge_lane_succeed(kedge_core_lane *lane)
{
    end(lane);
    lane->wake_spent = false;
    lane->asked = false;
    lane->failures = 0;
    lane->at_ms = KEDGE_CORE_AT_ONCE;
    lane->floor_ms = KEDGE_CORE_AT_ONCE;
}

void kedge_lane_postpone(kedge_core *core, kedge_core_lane *lane, int64_t retry_after_ms)
{
    end(lane);
    if (retry_after_ms <= 0) return;
    if (retry_after_ms > KEDGE_CORE_RETRY_AFTER_MAX_MS) {
        retry_after_ms = KEDGE_CORE_RETRY_AFTER_MAX_MS;
    }
    lane->floor_ms = kedge_core_after(core, retry_after_ms);
    if (lane->at_ms < lane->floor_ms) lane->at_ms = lane->floor_ms;
}

void kedge_lane_cancel(kedge_core *core, kedge_core_lane *lane)
{
    KEDGE_ASSERT(lane->running);
    end(lane);
    int64_t next = kedge_core_after(core, KEDGE_CORE_BACKOFF_FLOOR_MS);
    if (lane->at_ms < next) lane->at_ms = next;
}

/* What was asked comes as early as it may. */
static void hurry(const kedge_core *core, kedge_core_lane *lane)
{
    int64_t moment = core->now_ms;
    if (moment < lane->floor_ms) moment = lane->floor_ms;
    if (moment < lane->ask_ms) moment = lane->ask_ms;
    if (lane->running || moment >= lane->at_ms) return;
    lane->woken = true;
    lane->at_ms = moment;
}

void kedge_lane_ask(kedge_core *core, kedge_core_lane *lane)
{
    if (lane->running || lane->at_ms > core->now_ms) lane->asked = true;
    if (lane->asked) hurry(core, lane);
}

void kedge_lane_fail(kedge_core *core, kedge_core_lane *lane, int64_t retry_after_ms)
{
    int64_t ceiling = KEDGE_CORE_BACKOFF_MAX_MS;
    if (lane->failures < 10) ceiling = (int64_t)KEDGE_CORE_BACKOFF_MIN_MS << lane->failures;
    if (ceiling > KEDGE_CORE_BACKOFF_MAX_MS) ceiling = KEDGE_CORE_BACKOFF_MAX_MS;
    if (lane->failures < UINT32_MAX) lane->failures++;

    int64_t delay = kedge_core_draw(core, ceiling);
    if (delay < KEDGE_CORE_BACKOFF_FLOOR_MS) delay = KEDGE_CORE_BACKOFF_FLOOR_MS;
    lane->at_ms = KEDGE_CORE_AT_ONCE;
    lane->floor_ms = KEDGE_CORE_AT_ONCE;
    kedge_lane_postpone(core, lane, retry_after_ms);
    if (lane->at_ms == KEDGE_CORE_AT_ONCE) {
        lane->at_ms = kedge_core_after(core, delay);
    } else {
        lane->at_ms += delay; /* so that those who were told the same moment do not come at once */
    }
    if (lane->asked) hurry(core, lane);
    KEDGE_ASSERT(lane->at_ms >= lane->floor_ms);
}

void kedge_lane_wake(kedge_core *core, kedge_core_lane *lane)
{
    if (lane->running || lane->wake_spent || lane->at_ms <= core->now_ms) return;
    lane->wake_spent = true;
    lane->woken = true;
    lane->at_ms = lane->floor_ms > core->now_ms ? lane->floor_ms : core->now_ms;
}
