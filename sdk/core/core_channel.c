/* A channel's backoff.
 *
 * After the n-th failure in a row the next attempt comes at a random moment within
 * BACKOFF_MIN * 2^(n-1), at most BACKOFF_MAX (full jitter), and not before what Retry-After asks.
 *
 * A wake lets it come at once: a local write or a poke; for the pull also the end of a push. When
 * the server keeps failing, not every wake may cause an attempt: after one wake, no other wake
 * counts until an attempt was made on schedule. So there are at most two attempts in a backoff
 * period, however many wakes.
 *
 * An ask (SYNC, ONLINE, a new token) lets it come at once, too, whatever wakes there were. Each
 * channel makes at most one attempt in KEDGE_CORE_ASK_MS because of asks.
 *
 * A channel that reaches the server after an outage lets the others come at once that the outage
 * keeps waiting, whatever wakes there were. How often that is, and why it needs no jitter of its
 * own: docs/explanation/client-core.md, "After an outage". */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

void kedge_channel_init(kedge_core_channel *channel)
{
    *channel = (kedge_core_channel){.at_ms = KEDGE_CORE_AT_ONCE,
                                    .floor_ms = KEDGE_CORE_AT_ONCE,
                                    .ask_ms = KEDGE_CORE_AT_ONCE,
                                    .guard_ms = KEDGE_CORE_NEVER};
}

bool kedge_channel_ready(const kedge_core *core, const kedge_core_channel *channel)
{
    return !channel->running && core->now_ms >= channel->at_ms;
}

void kedge_channel_begin(kedge_core *core, kedge_core_channel *channel, int64_t guard_ms)
{
    KEDGE_ASSERT(kedge_channel_ready(core, channel));
    KEDGE_ASSERT(guard_ms > core->now_ms);
    if (!channel->woken) channel->wake_spent = false;
    if (!channel->lost) channel->lost_ms = core->now_ms;
    if (channel->asked) channel->ask_ms = kedge_core_after(core, KEDGE_CORE_ASK_MS);
    channel->asked = false;
    channel->running = true;
    channel->guard_ms = guard_ms;
    channel->token = core->token_count;
}

void kedge_channel_moved(const kedge_core *core, kedge_core_channel *channel)
{
    int64_t guard_ms = kedge_core_after(core, KEDGE_CORE_REQUEST_DEADLINE_MS + KEDGE_CORE_GUARD_MS);
    if (channel->running && channel->guard_ms < guard_ms) channel->guard_ms = guard_ms;
}

static void end(kedge_core_channel *channel)
{
    channel->running = false;
    channel->guard_ms = KEDGE_CORE_NEVER;
    channel->woken = false;
}

/* After a Retry-After it waits because the server has asked for it. */
static void resume(const kedge_core *core, kedge_core_channel *channel)
{
    if (!channel->lost || channel->running || channel->at_ms <= core->now_ms) return;
    if (channel->floor_ms != KEDGE_CORE_AT_ONCE) return;
    channel->woken = true;
    channel->at_ms = core->now_ms;
}

void kedge_channel_reach(kedge_core *core, kedge_core_channel *channel)
{
    bool back = channel->lost && core->now_ms - channel->lost_ms >= KEDGE_CORE_OUTAGE_MS;
    channel->lost = false;
    if (!back) return;
    resume(core, &core->push);
    resume(core, &core->pull);
    resume(core, &core->stream);
}

void kedge_channel_succeed(kedge_core *core, kedge_core_channel *channel)
{
    kedge_channel_reach(core, channel);
    end(channel);
    channel->wake_spent = false;
    channel->asked = false;
    channel->failures = 0;
    channel->at_ms = KEDGE_CORE_AT_ONCE;
    channel->floor_ms = KEDGE_CORE_AT_ONCE;
}

void kedge_channel_postpone(kedge_core *core, kedge_core_channel *channel, int64_t retry_after_ms)
{
    end(channel);
    if (retry_after_ms <= 0) return;
    if (retry_after_ms > KEDGE_CORE_RETRY_AFTER_MAX_MS) {
        retry_after_ms = KEDGE_CORE_RETRY_AFTER_MAX_MS;
    }
    channel->floor_ms = kedge_core_after(core, retry_after_ms);
    KEDGE_ASSERT(channel->at_ms <= channel->floor_ms); /* what runs began at its moment */
    channel->at_ms = channel->floor_ms;
}

void kedge_channel_cancel(kedge_core *core, kedge_core_channel *channel)
{
    KEDGE_ASSERT(channel->running);
    end(channel);
    KEDGE_ASSERT(channel->at_ms <= core->now_ms);
    channel->at_ms = kedge_core_after(core, KEDGE_CORE_BACKOFF_FLOOR_MS);
}

/* What was asked for starts as early as it may. */
static void hurry(const kedge_core *core, kedge_core_channel *channel)
{
    int64_t moment = core->now_ms;
    if (moment < channel->floor_ms) moment = channel->floor_ms;
    if (moment < channel->ask_ms) moment = channel->ask_ms;
    if (channel->running || moment >= channel->at_ms) return;
    channel->woken = true;
    channel->at_ms = moment;
}

void kedge_channel_ask(kedge_core *core, kedge_core_channel *channel)
{
    if (channel->running || channel->at_ms > core->now_ms) channel->asked = true;
    if (channel->asked) hurry(core, channel);
}

void kedge_channel_fail(kedge_core *core, kedge_core_channel *channel, int64_t retry_after_ms)
{
    int64_t ceiling = KEDGE_CORE_BACKOFF_MIN_MS;
    for (uint32_t i = 0; i < channel->failures && ceiling < KEDGE_CORE_BACKOFF_MAX_MS; i++)
        ceiling *= 2;
    if (ceiling > KEDGE_CORE_BACKOFF_MAX_MS) ceiling = KEDGE_CORE_BACKOFF_MAX_MS;
    if (channel->failures < UINT32_MAX) channel->failures++;
    if (retry_after_ms <= 0) channel->lost = false; /* the caller may know better */

    int64_t delay = kedge_core_draw(core, ceiling);
    if (delay < KEDGE_CORE_BACKOFF_FLOOR_MS) delay = KEDGE_CORE_BACKOFF_FLOOR_MS;
    channel->at_ms = KEDGE_CORE_AT_ONCE;
    channel->floor_ms = KEDGE_CORE_AT_ONCE;
    kedge_channel_postpone(core, channel, retry_after_ms);
    if (channel->at_ms == KEDGE_CORE_AT_ONCE) {
        channel->at_ms = kedge_core_after(core, delay);
    } else {
        /* So that clients with the same Retry-After do not all come at once. */
        channel->at_ms += delay;
    }
    if (channel->asked) hurry(core, channel);
    KEDGE_ASSERT(channel->at_ms >= channel->floor_ms);
}

void kedge_channel_wake(kedge_core *core, kedge_core_channel *channel)
{
    if (channel->running || channel->wake_spent || channel->at_ms <= core->now_ms) return;
    channel->wake_spent = true;
    channel->woken = true;
    channel->at_ms = channel->floor_ms > core->now_ms ? channel->floor_ms : core->now_ms;
}
