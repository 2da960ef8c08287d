/* Shared by the files of the core, and private to sdk/core.
 *
 * Each file calls only files that are listed above it here. core_push.c, core_pull.c, core_stream.c
 * and core_access.c, which handle events, do not call each other. docs/explanation/client-core.md
 * draws the order. */
#ifndef KEDGE_SDK_CORE_CORE_INTERNAL_H
#define KEDGE_SDK_CORE_CORE_INTERNAL_H

#include "common/assert.h"
#include "sdk/core/core.h"

#define KEDGE_CORE_AT_ONCE INT64_MIN
#define KEDGE_CORE_NEVER   INT64_MAX

/* Adds an action to the list that the step returns. */
static inline kedge_core_action *kedge_core_act(kedge_core_actions *actions, kedge_action_kind kind)
{
    KEDGE_ASSERT(actions->count < KEDGE_CORE_ACTIONS_MAX);
    kedge_core_action *action = &actions->list[actions->count++];
    *action = (kedge_core_action){.kind = kind};
    return action;
}

/* ---- core_state.c ---- */

bool kedge_core_may_send(const kedge_core *core);
/* The server was heard to have this version: a pull is to bring it. */
void kedge_core_want(kedge_core *core, int64_t version);
/* Something is pending, pushed or not. */
bool kedge_core_is_pending(const kedge_core *core);
/* Something that was acknowledged is not covered. */
bool kedge_core_is_uncovered(const kedge_core *core);
/* … and stands in the server's queue: no version is known that will cover it. */
bool kedge_core_is_queued(const kedge_core *core);
/* The last push was held back, and what it held is pending still. */
bool kedge_core_push_is_held(const kedge_core *core);
/* A pull has told what the server had when the client went online, and what all pushes have led to;
 * or no pull can tell it now. */
bool kedge_core_is_fresh(const kedge_core *core);
bool kedge_core_push_is_wanted(const kedge_core *core);
bool kedge_core_pull_is_wanted(const kedge_core *core);
bool kedge_core_stream_is_wanted(const kedge_core *core);
/* The request that the pull's step is about. */
kedge_request_kind kedge_core_step_request(const kedge_core *core);
/* A rotation is needed, but must wait. */
bool kedge_core_rotation_waits(const kedge_core *core);

/* ---- core_time.c ---- */

/* `now_ms` + `delay_ms`, never beyond the ends. */
int64_t kedge_core_after(const kedge_core *core, int64_t delay_ms);
/* A random number in 0..bound. */
int64_t kedge_core_draw(kedge_core *core, int64_t bound);
/* Sets the core's clock. When it jumped back, all times that the core keeps jump with it. */
void kedge_core_take_time(kedge_core *core, int64_t now_ms);
/* How long pushed mutations may stay uncovered before they are pushed again. */
int64_t kedge_core_stall_delay(const kedge_core *core);
/* How long until the next pull, when nothing tells of changes. */
int64_t kedge_core_pull_interval(kedge_core *core);
/* When a stream that says nothing is taken for dead. */
int64_t kedge_core_silence_end(const kedge_core *core);
/* When one of the channels may begin something, or has to give something up. */
int64_t kedge_core_next_moment(const kedge_core *core);

/* ---- core_channel.c ---- */

void kedge_channel_init(kedge_core_channel *channel);
bool kedge_channel_ready(const kedge_core *core, const kedge_core_channel *channel);
void kedge_channel_begin(kedge_core *core, kedge_core_channel *channel, int64_t guard_ms);
/* The request that runs, if one does, has its deadline anew. */
void kedge_channel_moved(const kedge_core *core, kedge_core_channel *channel);
void kedge_channel_succeed(kedge_core *core, kedge_core_channel *channel);
void kedge_channel_fail(kedge_core *core, kedge_core_channel *channel, int64_t retry_after_ms);
/* The server is in reach. When it was out of reach, the other channels that have not reached it
 * either try at once. */
void kedge_channel_reach(kedge_core *core, kedge_core_channel *channel);
/* Ends the running request without counting it as a failure; the next one waits for
 * `retry_after_ms`. */
void kedge_channel_postpone(kedge_core *core, kedge_core_channel *channel, int64_t retry_after_ms);
/* Cancels the running request. The next one begins at the earliest KEDGE_CORE_BACKOFF_FLOOR_MS
 * later, so that an app which goes offline and online all the time sends a bounded number. */
void kedge_channel_cancel(kedge_core *core, kedge_core_channel *channel);
/* Lets the channel continue at once, but only once in a backoff period. */
void kedge_channel_wake(kedge_core *core, kedge_core_channel *channel);
/* The same for what the app itself asks: whatever wakes were spent, at most once in
 * KEDGE_CORE_ASK_MS. When something runs and fails, it holds for the attempt after. */
void kedge_channel_ask(kedge_core *core, kedge_core_channel *channel);

/* ---- core_failure.c ---- */

void kedge_core_cancel_requests(kedge_core *core, kedge_core_actions *actions);
/* Stops until ONLINE or a token, and gives up running requests. */
void kedge_core_stop(kedge_core *core, kedge_core_actions *actions);
/* A request of `channel` failed as any request can: the network, the token, a server that refuses
 * or is busy. */
void kedge_core_request_failed(kedge_core *core, kedge_core_channel *channel,
                               const kedge_request_result *result, kedge_core_actions *actions);
/* A round of the pull has ended without progress: there is another one. */
void kedge_core_pull_again(kedge_core *core);

/* ---- core_sync.c ---- */

void kedge_core_sync_asked(kedge_core *core);
void kedge_core_sync_hurried(kedge_core *core);
/* While the app waits: ends the wait with `error`, or (NULL) if it is over. */
void kedge_core_sync_end(kedge_core *core, kedge_core_actions *actions, const kedge_error *error);

/* ---- core_rotate.c ---- */

/* This client id can no longer be used, or (`lost`) the lineage is another one: the next step
 * retires it. That step waits while a new id may not be taken yet. */
void kedge_core_rotate(kedge_core *core, bool lost);
/* The same, found between two pulls, which may continue until the rotation is due. */
void kedge_core_rotate_between_pulls(kedge_core *core);
/* There is a new client id, and all pending mutations have new ids. */
void kedge_core_rotated(kedge_core *core);
/* The error in the status during the wait; it does not change while it lasts. */
void kedge_core_rotation_error(const kedge_core *core, kedge_error *error);

/* ---- the handlers: one file an event, or a few that belong together ---- */

/* core_push.c */
void kedge_core_push_ended(kedge_core *core, const kedge_core_event *event,
                           kedge_core_actions *actions);
void kedge_core_push_was_late(kedge_core *core);
/* core_pull.c */
void kedge_core_pull_step_ended(kedge_core *core, const kedge_core_event *event,
                                kedge_core_actions *actions);
void kedge_core_applied(kedge_core *core, const kedge_core_event *event);
/* core_stream.c */
void kedge_core_stream_came_up(kedge_core *core);
/* `event` NULL: it was silent for too long. */
void kedge_core_stream_went_down(kedge_core *core, const kedge_core_event *event);
void kedge_core_poked(kedge_core *core, int64_t version);
void kedge_core_pinged(kedge_core *core);
/* core_access.c */
void kedge_core_went_online(kedge_core *core);
void kedge_core_went_offline(kedge_core *core, kedge_core_actions *actions);
/* `given` false: the app had none. */
void kedge_core_token_came(kedge_core *core, bool given, kedge_core_actions *actions);
void kedge_core_shut_down(kedge_core *core, kedge_core_actions *actions);

/* ---- core_advance.c ---- */

/* Gives up what has run for too long, and starts what may start in every channel. Called at the end
 * of every step. */
void kedge_core_advance(kedge_core *core, kedge_core_actions *actions);

#endif
