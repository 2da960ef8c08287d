/* What the core's actions mean, and when each may come. */
#include "tests/core/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

uint64_t draw(world *w, uint64_t bound)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (w->seed >> 11) % bound;
}

void world_init(world *w, uint64_t seed)
{
    *w = (world){.seed = seed * UINT64_C(0x9E3779B97F4A7C15) + 1,
                 .timer_ms = INT64_MAX,
                 .online = true,
                 .position = {.lowest_pending_id = 1}};
    kedge_core_init(&w->core, true);
}

/* ---- what each action means, and when it may come ---- */

/* The third rotation within a minute has not begun. */
static void check_rotations(const world *w)
{
    if (w->rotations < 2) return;
    assert_true(w->now_ms - w->rotated_ms[w->rotations % 2] >= KEDGE_CORE_ROTATE_MIN_MS);
}

static void take_send(world *w, int64_t deadline_ms)
{
    assert_true(w->online && !w->stopped && !w->token_asked && !w->shut_down);
    assert_true(deadline_ms > 0);
    w->sends++;
}

static void take_push(world *w, const kedge_core_action *action)
{
    take_send(w, action->push.deadline_ms);
    assert_false(w->push_running);
    assert_in_range(action->push.count_max, 1, KEDGE_CORE_PUSH_COUNT_MAX);
    assert_in_range(action->push.size_max_bytes, 1, KEDGE_CORE_PUSH_BYTES_MAX);
    assert_true(w->position.lowest_pending_id <= w->position.highest_id);
    w->push_running = true;
    w->push_fresh = action->push.fresh;
    assert_in_range(action->push.after_id, 0, w->acknowledged);
    w->push_after = w->position.lowest_pending_id - 1;
    if (action->push.after_id > w->push_after) w->push_after = action->push.after_id;
    w->push_through = w->push_after + action->push.count_max;
    if (w->push_through > w->position.highest_id) w->push_through = w->position.highest_id;
}

static void take_pull_step(world *w, const kedge_core_action *action)
{
    take_send(w, action->pull_step.deadline_ms);
    assert_int_not_equal(action->pull_step.request, KEDGE_REQUEST_PUSH);
    assert_false(w->pull_running || w->working);
    if (action->pull_step.request == KEDGE_REQUEST_RETIRE) check_rotations(w);
    w->pull_running = true;
    w->pull_kind = action->pull_step.request;
}

static void take_cancel(world *w, const kedge_core_action *action)
{
    if (action->cancel.request == KEDGE_REQUEST_PUSH) {
        assert_true(w->push_running);
        w->push_running = false;
    } else {
        assert_true(w->pull_running);
        assert_int_equal(w->pull_kind, action->cancel.request);
        w->pull_running = false;
    }
}

static void take_action(world *w, const kedge_core_action *action)
{
    switch (action->kind) {
    case KEDGE_ACTION_PUSH:
        take_push(w, action);
        break;
    case KEDGE_ACTION_PULL_STEP:
        take_pull_step(w, action);
        break;
    case KEDGE_ACTION_CANCEL:
        take_cancel(w, action);
        break;
    case KEDGE_ACTION_APPLY:
    case KEDGE_ACTION_ROTATE:
    case KEDGE_ACTION_UNSTAGE:
        assert_false(w->pull_running || w->working || w->shut_down);
        w->working = true;
        w->work = action->kind;
        break;
    case KEDGE_ACTION_TIMER:
        assert_true(action->timer.at_ms > w->now_ms);
        w->timer_ms = action->timer.at_ms;
        break;
    case KEDGE_ACTION_OPEN_STREAM:
        assert_true(w->online && !w->stopped && !w->stream_open && !w->shut_down);
        w->stream_open = true;
        w->sends++;
        break;
    case KEDGE_ACTION_CLOSE_STREAM:
        assert_true(w->stream_open);
        w->stream_open = false;
        break;
    case KEDGE_ACTION_ASK_TOKEN:
        assert_false(w->token_asked);
        w->token_asked = true;
        break;
    case KEDGE_ACTION_REPORT:
        w->connection = action->report.connection;
        w->stopped = w->connection == KEDGE_STOPPED;
        break;
    case KEDGE_ACTION_SYNCED:
        assert_true(w->sync_wanted);
        w->sync_wanted = false;
        break;
    }
}

static void check_waits(const world *w)
{
    bool runs = w->push_running || w->pull_running || w->working;
    if (w->shut_down || !w->online || w->stopped || w->token_asked) return;
    /* Requests have guards, too; only the store's own work needs none. */
    if (w->working && !w->push_running && !w->stream_open) return;
    if (w->timer_ms != INT64_MAX && w->timer_ms > w->now_ms) return;
    assert_true(runs && w->working);
}

/* A clock that goes back takes all moments with it. */
static void take_time(world *w)
{
    if (w->now_ms < w->seen_ms) {
        w->rotated_ms[0] += w->now_ms - w->seen_ms;
        w->rotated_ms[1] += w->now_ms - w->seen_ms;
    }
    w->seen_ms = w->now_ms;
}

void take_event(world *w, kedge_core_event event)
{
    kedge_core_actions actions;
    take_time(w);
    event.now_ms = w->now_ms;
    event.random = draw(w, UINT64_MAX);
    event.has_position = true;
    event.position = w->position;
    bool was_stopped = w->stopped;
    if (event.kind == KEDGE_EVENT_ONLINE ||
        (event.kind == KEDGE_EVENT_TOKEN && event.token.given)) {
        w->stopped = false;
    }
    if (event.kind == KEDGE_EVENT_TIMER) w->timer_ms = INT64_MAX;
    kedge_core_step(&w->core, &event, &actions);
    for (size_t i = 0; i < actions.count; i++)
        take_action(w, &actions.list[i]);
    if (was_stopped && w->core.stopped) w->stopped = true;
    check_waits(w);
}

/* ---- what is acknowledged ---- */

void push_ends(world *w, const kedge_core_event *event)
{
    kedge_response_class response = event->push_ended.result.response;
    bool goes_on =
        w->push_after <= w->acknowledged || w->push_after < w->position.lowest_pending_id;
    w->push_running = false;
    if (response == KEDGE_RESPONSE_IDENTITY || response == KEDGE_RESPONSE_GAP ||
        response == KEDGE_RESPONSE_FOREIGN)
        w->acknowledged = 0;
    if (response == KEDGE_RESPONSE_OK && !event->push_ended.pull_first && goes_on)
        w->acknowledged = event->push_ended.last_id;
    take_event(w, *event);
}
