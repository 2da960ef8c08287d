/* Whatever happens in whatever order, these hold:
 *   - at most one push and one request of the pull's channel run; the store works on one thing at a
 * time
 *   - nothing is sent while offline, stopped, without the token that was asked for, or shut down
 *   - only what runs is cancelled, and only a wait that was asked for is ended
 *   - the timer is always ahead; while something waits and nothing runs, it is set
 *   - a push skips only what the server has acknowledged, and nothing once that is in doubt
 *   - once the server works, all that is pending is pushed and covered, even when it has lost what
 *     it had acknowledged
 *   - a server that always fails gets a bounded number of requests, however often we are woken
 *   - never more than two rotations in a minute, and ever fewer, whatever goes well in between
 * The random events include responses to nothing, clocks that jump, and stores that fail. */
#include "tests/core/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/error.h"

/* ---- random events ---- */

static kedge_request_result result_of(kedge_response_class class, int64_t retry_after_ms)
{
    kedge_request_result result = {.response = class, .retry_after_ms = retry_after_ms};
    if (class != KEDGE_RESPONSE_OK) {
        kedge_fail(&result.error, KEDGE_NETWORK, "fails", "as the test says");
    }
    return result;
}

static int64_t random_retry_after(world *w)
{
    return draw(w, 20) == 0 ? (int64_t)draw(w, 5000) : 0;
}

static void end_push(world *w, kedge_response_class class)
{
    kedge_core_event event = {.kind = KEDGE_EVENT_PUSH_ENDED,
                              .push_ended = {.result = result_of(class, random_retry_after(w))}};
    int64_t last_id = w->push_through - (int64_t)draw(w, 3);
    if (last_id <= w->push_after) last_id = w->push_after + 1;
    event.push_ended.last_id = last_id;
    event.push_ended.version = (int64_t)draw(w, 2) * (w->position.version + 1);
    event.push_ended.pull_first = !w->push_fresh && draw(w, 4) == 0;
    push_ends(w, &event);
}

static void end_pull_step(world *w, kedge_response_class class)
{
    kedge_core_event event = {.kind = KEDGE_EVENT_PULL_STEP_ENDED,
                              .pull_step_ended = {.request = w->pull_kind}};
    event.pull_step_ended.result = result_of(class, random_retry_after(w));
    w->pull_running = false;
    event.pull_step_ended.more_outcomes =
        w->pull_kind != KEDGE_REQUEST_PAGE && w->pull_kind != KEDGE_REQUEST_BODY && draw(w, 4) == 0;
    event.pull_step_ended.more_bodies = w->pull_kind != KEDGE_REQUEST_RETIRE &&
                                        w->core.source != KEDGE_REQUEST_RETIRE && draw(w, 4) == 0;
    take_event(w, event);
}

static void finish_work(world *w)
{
    static const int64_t took_ms[] = {0, 0, KEDGE_CORE_REST_WORK_MS, 20000};
    kedge_core_event event = {.kind = KEDGE_EVENT_APPLIED,
                              .applied = {.took_ms = took_ms[draw(w, 4)]}};
    kedge_action_kind work = w->work;
    w->working = false;
    if (draw(w, 10) == 0) {
        event.applied.result = KEDGE_APPLIED_FAILED;
        kedge_fail(&event.applied.error, KEDGE_IO, "fails", "as the test says");
    } else if (work == KEDGE_ACTION_ROTATE) {
        w->position.highest_id = (int64_t)draw(w, 5);
        w->position.lowest_pending_id = 1;
        w->acknowledged = 0;
        w->rotated_ms[w->rotations++ % 2] = w->now_ms;
    } else if (work == KEDGE_ACTION_APPLY) {
        static const kedge_applied ends[] = {
            KEDGE_APPLIED_DONE,  KEDGE_APPLIED_DONE,    KEDGE_APPLIED_DONE,   KEDGE_APPLIED_DONE,
            KEDGE_APPLIED_AGAIN, KEDGE_APPLIED_PAGES,   KEDGE_APPLIED_ROTATE, KEDGE_APPLIED_LOST,
            KEDGE_APPLIED_MORE,  KEDGE_APPLIED_DIVERGED};
        event.applied.result = ends[draw(w, 10)];
        if (event.applied.result == KEDGE_APPLIED_DONE ||
            event.applied.result == KEDGE_APPLIED_MORE) {
            w->position.version++;
            int64_t pending = w->position.highest_id - w->position.lowest_pending_id + 1;
            w->position.lowest_pending_id += (int64_t)draw(w, (uint64_t)pending + 1);
        }
    }
    take_event(w, event);
}

/* Something runs: it ends, one way or another. */
static void random_end(world *w)
{
    kedge_response_class class =
        draw(w, 3) > 0 ? KEDGE_RESPONSE_OK : (kedge_response_class)draw(w, KEDGE_RESPONSE_HELD);
    if (w->working && draw(w, 2) == 0) {
        finish_work(w);
    } else if (w->push_running && draw(w, 2) == 0) {
        end_push(w, class);
    } else if (w->pull_running) {
        end_pull_step(w, class);
    }
}

static void random_wake(world *w)
{
    kedge_core_event event = {0};
    switch (draw(w, 8)) {
    case 0:
        w->position.highest_id++;
        event.kind = KEDGE_EVENT_MUTATION;
        break;
    case 1:
        event.kind = KEDGE_EVENT_POKE;
        event.poke.version = w->position.version + (int64_t)draw(w, 3);
        break;
    case 2:
        event.kind = KEDGE_EVENT_PING;
        break;
    case 3:
        event.kind = KEDGE_EVENT_STREAM_UP;
        break;
    case 4:
        event.kind = KEDGE_EVENT_STREAM_DOWN;
        w->stream_open = false;
        break;
    case 5:
        event.kind = KEDGE_EVENT_HURRY;
        break;
    case 6: /* perhaps of a request that does not run */
        event.kind = draw(w, 2) == 0 ? KEDGE_EVENT_PUSH_MOVED : KEDGE_EVENT_PULL_STEP_MOVED;
        break;
    default:
        event.kind = KEDGE_EVENT_SYNC;
        w->sync_wanted = true;
        break;
    }
    take_event(w, event);
}

static void random_access(world *w)
{
    kedge_core_event event = {0};
    switch (draw(w, 4)) {
    case 0:
        event.kind = KEDGE_EVENT_OFFLINE;
        w->online = false;
        break;
    case 1:
        event.kind = KEDGE_EVENT_ONLINE;
        w->online = true;
        w->token_asked = false;
        break;
    default:
        event.kind = KEDGE_EVENT_TOKEN;
        event.token.given = draw(w, 4) > 0;
        w->token_asked = false;
        break;
    }
    take_event(w, event);
}

/* A response to something that was never asked, or was cancelled. */
static void random_stray(world *w)
{
    kedge_response_class class = (kedge_response_class)draw(w, KEDGE_RESPONSE_HELD);
    kedge_request_kind request = (kedge_request_kind)draw(w, 6);
    kedge_core_event event = {.kind = KEDGE_EVENT_PULL_STEP_ENDED,
                              .pull_step_ended = {.request = request}};
    event.pull_step_ended.result = result_of(class, 0);
    if (request == KEDGE_REQUEST_PUSH) {
        event = (kedge_core_event){.kind = KEDGE_EVENT_PUSH_ENDED,
                                   .push_ended = {.result = result_of(class, 0)}};
        if (w->push_running) return;
    } else if (w->pull_running && request == w->pull_kind) {
        return;
    }
    take_event(w, event);
}

static void random_time(world *w)
{
    static const int64_t leaps[] = {0, 1, 20, 500, 5000, 60000, 86400000, -3600000};
    w->now_ms += leaps[draw(w, draw(w, 50) == 0 ? 8 : 4)];
    if (w->timer_ms <= w->now_ms || draw(w, 20) == 0) {
        take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_TIMER});
    } else if (w->timer_ms != INT64_MAX && draw(w, 3) == 0) {
        w->now_ms = w->timer_ms;
        take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_TIMER});
    }
}

static void random_step(world *w)
{
    uint64_t which = draw(w, 100);
    if (w->timer_ms <= w->now_ms) {
        take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_TIMER});
    } else if (which < 10 && (w->stopped || !w->online || w->token_asked)) {
        random_access(w);
    } else if (which < 50) {
        random_end(w);
    } else if (which < 75) {
        random_time(w);
    } else if (which < 93) {
        random_wake(w);
    } else if (which < 96) {
        random_stray(w);
    } else {
        random_access(w);
    }
}

static void test_no_sequence_of_events_breaks_the_rules(void **state)
{
    (void)state;
    int64_t sends = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        world w;
        world_init(&w, seed);
        take_event(&w, (kedge_core_event){.kind = KEDGE_EVENT_START});
        for (int step = 0; step < 500; step++)
            random_step(&w);
        sends += w.sends;
        w.shut_down = true;
        kedge_core_event end = {.kind = KEDGE_EVENT_SHUTDOWN};
        take_event(&w, end);
        assert_false(w.push_running || w.pull_running || w.stream_open || w.sync_wanted);
        for (int step = 0; step < 20; step++)
            random_wake(&w);
    }
    assert_true(sends > 20000);
}

/* ---- a server that works again ---- */

/* The server decides what the push holds, unless that leaves a gap. */
static bool decide(const world *w, int64_t *decided)
{
    if (w->push_after > *decided) return false;
    if (w->push_through > *decided) *decided = w->push_through;
    return true;
}

/* Something that runs ends well; in which order is drawn. The server decides what a push holds when
 * the push ends, or before: then a pull may tell it first. The response of a push may be lost. */
static void end_well(world *w, int64_t *decided)
{
    if (w->push_running && draw(w, 3) == 0) (void)decide(w, decided);
    if (w->working) {
        w->working = false;
        if (w->work == KEDGE_ACTION_APPLY && w->position.lowest_pending_id <= *decided) {
            w->position.lowest_pending_id = *decided + 1;
            w->position.version++;
        }
        take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_APPLIED});
    } else if (w->push_running && draw(w, 2) == 0) {
        kedge_core_event event = {.kind = KEDGE_EVENT_PUSH_ENDED};
        if (!decide(w, decided)) event.push_ended.result.response = KEDGE_RESPONSE_GAP;
        event.push_ended.last_id = w->push_through;
        bool covered = w->position.lowest_pending_id > *decided;
        event.push_ended.version = covered ? w->position.version : w->position.version + 1;
        if (draw(w, 2) == 0) event.push_ended.result.response = KEDGE_RESPONSE_NETWORK;
        push_ends(w, &event);
    } else if (w->pull_running) {
        w->pull_running = false;
        take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_PULL_STEP_ENDED,
                                         .pull_step_ended = {.request = w->pull_kind}});
    }
}

/* Whatever has happened before, what is pending arrives within a minute or two; later if there have
 * been so many rotations that another has to wait. The server has nothing of what it acknowledged
 * and no pull has told. When the app does not say that it is online, backoffs go on; and when it
 * makes no further edit either, nothing but a stall shows the loss. */
static void check_recovery(world *w)
{
    int64_t until = w->now_ms + 2 * KEDGE_CORE_BACKOFF_MAX_MS;
    if (w->rotations >= 2) until += KEDGE_CORE_ROTATE_MAX_MS;
    int64_t decided = w->position.lowest_pending_id - 1;
    if (!w->online || w->stopped || w->token_asked || draw(w, 2) == 0) {
        w->online = true;
        w->token_asked = false;
        take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_ONLINE});
    } else {
        until += KEDGE_CORE_STALL_MAX_MS + 2 * KEDGE_CORE_BACKOFF_MAX_MS;
    }
    if (draw(w, 3) > 0) w->position.highest_id += 2500;
    take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_MUTATION});
    while (w->now_ms < until && (w->position.lowest_pending_id <= w->position.highest_id ||
                                 w->connection != KEDGE_ONLINE)) {
        if (w->push_running || w->pull_running || w->working) {
            end_well(w, &decided);
        } else {
            assert_true(w->timer_ms != INT64_MAX);
            if (w->timer_ms > w->now_ms) w->now_ms = w->timer_ms;
            take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_TIMER});
        }
    }
    assert_true(w->position.lowest_pending_id > w->position.highest_id);
    while (w->push_running || w->pull_running || w->working)
        end_well(w, &decided);
    assert_int_equal(w->connection, KEDGE_ONLINE);
}

static void test_after_any_sequence_of_events_a_server_that_works_gets_all(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        world w;
        world_init(&w, seed);
        take_event(&w, (kedge_core_event){.kind = KEDGE_EVENT_START});
        for (int step = 0; step < 100; step++)
            random_step(&w);
        check_recovery(&w);
    }
}

/* ---- a server that always fails ---- */

static void fail_everything(world *w, kedge_response_class class)
{
    if (w->stream_open) {
        w->stream_open = false;
        take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_STREAM_DOWN});
    }
    if (w->push_running) end_push(w, class);
    if (w->working) finish_work(w);
    if (w->pull_running) end_pull_step(w, class);
    if (w->token_asked) {
        w->token_asked = false;
        take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_TOKEN, .token = {.given = true}});
    }
}

/* Every millisecond something that would like to be sent at once: edits and pokes; and, when the
 * app `asks`, one that does not stop saying that it is online and waits. */
static void wake_in_every_way(world *w, bool asks)
{
    static const kedge_event_kind kinds[] = {KEDGE_EVENT_MUTATION, KEDGE_EVENT_POKE,
                                             KEDGE_EVENT_SYNC, KEDGE_EVENT_HURRY,
                                             KEDGE_EVENT_ONLINE};
    kedge_core_event event = {.kind = kinds[draw(w, asks ? 5 : 2)]};
    if (event.kind == KEDGE_EVENT_POKE) event.poke.version = 1000;
    if (event.kind == KEDGE_EVENT_SYNC) w->sync_wanted = true;
    if (event.kind == KEDGE_EVENT_MUTATION) w->position.highest_id++;
    if (event.kind == KEDGE_EVENT_ONLINE) w->token_asked = false;
    take_event(w, event);
    if (w->timer_ms <= w->now_ms) take_event(w, (kedge_core_event){.kind = KEDGE_EVENT_TIMER});
}

/* Edits and pokes: two attempts a backoff in each channel. What the app asks adds one a second in
 * each of the three. */
static void check_load(kedge_response_class class, uint64_t seed, bool asks)
{
    world w;
    world_init(&w, seed);
    take_event(&w, (kedge_core_event){.kind = KEDGE_EVENT_START});
    int64_t worst = 0;
    int64_t last_minute = 0;
    for (int second = 0; second < 180; second++) {
        int64_t before = w.sends;
        for (int i = 0; i < 1000; i++) {
            w.now_ms++;
            wake_in_every_way(&w, asks);
            fail_everything(&w, class);
        }
        if (w.sends - before > worst) worst = w.sends - before;
        if (second >= 120) last_minute += w.sends - before;
    }
    assert_true(w.sends > 0);
    assert_in_range(worst, 0, 60);
    assert_in_range(last_minute, 0, asks ? 40 + 3 * 60 : 40);
}

static void test_a_server_that_always_fails_is_not_stormed(void **state)
{
    (void)state;
    static const kedge_response_class classes[] = {
        KEDGE_RESPONSE_NETWORK, KEDGE_RESPONSE_TRANSIENT,    KEDGE_RESPONSE_IDENTITY,
        KEDGE_RESPONSE_GAP,     KEDGE_RESPONSE_GONE,         KEDGE_RESPONSE_SHORTER,
        KEDGE_RESPONSE_REFUSED, KEDGE_RESPONSE_UNAUTHORIZED, KEDGE_RESPONSE_LATER,
        KEDGE_RESPONSE_HELD,    KEDGE_RESPONSE_FOREIGN,      KEDGE_RESPONSE_DOUBTED};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            check_load(classes[i], seed, false);
            check_load(classes[i], seed, true);
        }
    }
}

/* ---- client ids that are spent as soon as they are there ---- */

static void respond_to_everything(world *w)
{
    int64_t before = w->rotations;
    if (w->push_running) end_push(w, KEDGE_RESPONSE_OK);
    if (w->pull_running) end_pull_step(w, KEDGE_RESPONSE_OK);
    if (w->working) finish_work(w);
    if (w->rotations > before) w->position.highest_id = 5; /* each has pending ones to tell about */
}

/* At once, once more, after 1, 2, 4 and 8 minutes, and then every 8: an hour has room for 12. */
static void test_in_an_hour_there_are_a_dozen_rotations_however_much_goes_well(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        world w;
        world_init(&w, seed);
        take_event(&w, (kedge_core_event){.kind = KEDGE_EVENT_START});
        while (w.now_ms < 3600000) {
            w.now_ms += 20;
            wake_in_every_way(&w, true);
            respond_to_everything(&w);
        }
        assert_in_range(w.rotations, 8, 12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_sequence_of_events_breaks_the_rules),
        cmocka_unit_test(test_after_any_sequence_of_events_a_server_that_works_gets_all),
        cmocka_unit_test(test_a_server_that_always_fails_is_not_stormed),
        cmocka_unit_test(test_in_an_hour_there_are_a_dozen_rotations_however_much_goes_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
