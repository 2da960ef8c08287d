/* The event stream: what it tells, and how it ends. */
#include "sdk/core/core_internal.h"

#include "common/assert.h"

void kedge_core_stream_came_up(kedge_core *core)
{
    if (!core->stream.running) return;
    core->stream_up = true;
    core->stream_poked = false;
    core->stream_up_ms = core->now_ms;
    core->stream_heard_ms = core->now_ms;
    kedge_channel_reach(core, &core->stream);
}

/* A stream that the server keeps closing right after it was opened has failed each time; one that
 * lived for a while has not. */
void kedge_core_stream_went_down(kedge_core *core, const kedge_core_event *event)
{
    kedge_status why = event == NULL ? KEDGE_NETWORK : event->stream_down.error.status;
    if (!core->stream.running) return;
    if (core->stream_up && core->now_ms - core->stream_up_ms >= KEDGE_CORE_STREAM_STEADY_MS) {
        kedge_channel_succeed(core, &core->stream);
    }
    if (core->stream_up) {
        core->stream.lost_ms = event == NULL ? core->stream_heard_ms : core->now_ms;
    }
    core->stream_up = false;
    kedge_channel_fail(core, &core->stream, event == NULL ? 0 : event->stream_down.retry_after_ms);
    if (why == KEDGE_NETWORK || why == KEDGE_TIMEOUT || why == KEDGE_UNAVAILABLE)
        core->stream.lost = true;
    /* The last pull has set when the next one comes. Without a stream that time counts again. */
    KEDGE_ASSERT(core->next_pull_ms <= kedge_core_after(core, KEDGE_CORE_PULL_INTERVAL_MS));
    /* An idle client learns from the stream that its token has expired: a pull asks for another. It
     * learns from the stream alone that the server is gone: the pull fails, and the app is told. */
    if (why == KEDGE_UNAUTHORIZED || why == KEDGE_NETWORK) core->pull_due = true;
}

void kedge_core_pinged(kedge_core *core)
{
    KEDGE_ASSERT(core->stream_heard_ms <= core->now_ms || !core->stream.running);
    core->stream_heard_ms = core->now_ms;
}

/* The first poke of a stream tells the current version: another than ours, even a lower one, is
 * worth a pull (a restored backend). Later ones may be overtaken by a pull, so only higher ones
 * count. */
void kedge_core_poked(kedge_core *core, int64_t version)
{
    if (!core->stream.running) return;
    kedge_core_pinged(core);
    if (!core->stream_poked && version != core->position.version) core->pull_due = true;
    core->stream_poked = true;
    kedge_core_want(core, version);
    kedge_channel_wake(core, &core->pull);
    kedge_channel_wake(core, &core->push);
}
