/* Writing down events and actions. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/error.h"

int trace_setup(void **state)
{
    trace *t = test_malloc(sizeof *t);
    *t = (trace){.random = 7, .timer_ms = INT64_MAX, .position = {.lowest_pending_id = 1}};
    t->text = kedge_buffer_make(&kedge_allocator_default);
    kedge_core_init(&t->core, true);
    *state = t;
    return 0;
}

int trace_teardown(void **state)
{
    trace *t = *state;
    kedge_buffer_free(&t->text);
    test_free(t);
    return 0;
}

void trace_expect(trace *t, const char *expected)
{
    const char *written = t->text.size == 0 ? "" : t->text.data;
    if (strcmp(written, expected) != 0) {
        print_error("expected:\n%s\nwritten:\n%s\n", expected, written);
        fail();
    }
    trace_skip(t);
}

void trace_skip(trace *t)
{
    kedge_buffer_clear(&t->text);
}

/* ---- writing ---- */

static const char *request_name(kedge_request_kind request)
{
    static const char *const names[] = {"push", "pull", "page", "outcomes", "body", "retire"};
    return names[request];
}

static const char *connection_name(kedge_connection connection)
{
    static const char *const names[] = {"offline", "follower", "connecting", "online", "stopped"};
    return names[connection];
}

static void write_push(trace *t, const kedge_core_action *action)
{
    if (action->push.after_id > 0) {
        kedge_buffer_append_format(&t->text, " after %lld", (long long)action->push.after_id);
    }
    if (action->push.upload) kedge_buffer_append_text(&t->text, " by upload");
    if (action->push.count_max == KEDGE_CORE_PUSH_COUNT_MAX) return;
    kedge_buffer_append_format(&t->text, " of %u", action->push.count_max);
}

static void write_action(trace *t, const kedge_core_action *action)
{
    static const char *const names[] = {"send push",    "send ",          "cancel ", "apply ",
                                        "rotate",       "drop the pages", NULL,      "open stream",
                                        "close stream", "ask token",      "report ", "synced"};
    if (action->kind == KEDGE_ACTION_TIMER) {
        t->timer_ms = action->timer.at_ms;
        if (!t->show_timer) return;
        kedge_buffer_append_format(&t->text, "          timer in %lld\n",
                                   (long long)(action->timer.at_ms - t->now_ms));
        return;
    }
    kedge_buffer_append_format(&t->text, "          %s", names[action->kind]);
    switch (action->kind) {
    case KEDGE_ACTION_PUSH:
        write_push(t, action);
        break;
    case KEDGE_ACTION_PULL_STEP:
        kedge_buffer_append_text(&t->text, request_name(action->pull_step.request));
        break;
    case KEDGE_ACTION_CANCEL:
        kedge_buffer_append_text(&t->text, request_name(action->cancel.request));
        break;
    case KEDGE_ACTION_APPLY:
        kedge_buffer_append_text(&t->text, request_name(action->apply.request));
        break;
    case KEDGE_ACTION_ROTATE:
        if (action->rotate.lost) kedge_buffer_append_text(&t->text, " to another lineage");
        break;
    case KEDGE_ACTION_REPORT:
        kedge_buffer_append_text(&t->text, connection_name(action->report.connection));
        if (action->report.error.status != KEDGE_OK) {
            kedge_buffer_append_format(&t->text, ": %s", action->report.error.code);
        }
        break;
    case KEDGE_ACTION_SYNCED:
        kedge_buffer_append_format(&t->text, " %s",
                                   action->synced.ok ? "ok" : action->synced.error.code);
        break;
    default:
        break;
    }
    kedge_buffer_append_byte(&t->text, '\n');
}

void trace_event(trace *t, kedge_core_event event, const char *name)
{
    event.now_ms = t->now_ms;
    event.random = t->random++;
    kedge_buffer_append_format(&t->text, "[%5lld] %s\n", (long long)t->now_ms, name);
    kedge_core_step(&t->core, &event, &t->actions);
    for (size_t i = 0; i < t->actions.count; i++)
        write_action(t, &t->actions.list[i]);
}

/* ---- events ---- */

static void event_here(trace *t, kedge_core_event event, const char *name)
{
    event.has_position = true;
    event.position = t->position;
    trace_event(t, event, name);
}

void trace_start(trace *t, int64_t version, int64_t lowest_pending, int64_t highest_id)
{
    char name[64];
    t->position.version = version;
    t->position.lowest_pending_id = lowest_pending;
    t->position.highest_id = highest_id;
    snprintf(name, sizeof name, "start at version %lld", (long long)version);
    event_here(t, (kedge_core_event){.kind = KEDGE_EVENT_START}, name);
}

void trace_mutation(trace *t)
{
    char name[64];
    t->position.highest_id++;
    snprintf(name, sizeof name, "mutation %lld", (long long)t->position.highest_id);
    event_here(t, (kedge_core_event){.kind = KEDGE_EVENT_MUTATION}, name);
}

void trace_pass(trace *t, int64_t milliseconds)
{
    t->now_ms += milliseconds;
}

void trace_timer(trace *t)
{
    assert_true(t->timer_ms != INT64_MAX);
    if (t->timer_ms > t->now_ms) t->now_ms = t->timer_ms;
    t->timer_ms = INT64_MAX;
    trace_event(t, (kedge_core_event){.kind = KEDGE_EVENT_TIMER}, "timer");
}

void trace_ok_more(trace *t, kedge_request_kind request, bool outcomes, bool bodies)
{
    char name[64];
    snprintf(name, sizeof name, "%s ok%s%s", request_name(request),
             outcomes ? ", more outcomes" : "", bodies ? ", more bodies" : "");
    trace_event(t,
                (kedge_core_event){.kind = KEDGE_EVENT_PULL_STEP_ENDED,
                                   .pull_step_ended = {.request = request,
                                                       .more_outcomes = outcomes,
                                                       .more_bodies = bodies}},
                name);
}

void trace_ok(trace *t, kedge_request_kind request)
{
    trace_ok_more(t, request, false, false);
}

void trace_pushed(trace *t, int64_t last_id, int64_t version)
{
    char name[64];
    snprintf(name, sizeof name, "pushed through %lld, in version %lld", (long long)last_id,
             (long long)version);
    trace_event(t,
                (kedge_core_event){.kind = KEDGE_EVENT_PUSH_ENDED,
                                   .push_ended = {.last_id = last_id, .version = version}},
                name);
}

static const char *response_name(kedge_response_class response)
{
    static const char *const names[] = {
        "ok",  "network", "transient", "unauthorized", "doubted", "foreign", "identity",
        "gap", "gone",    "shorter",   "later",        "held",    "refused"};
    return names[response];
}

static void fail_event(trace *t, kedge_request_kind request, kedge_response_class response,
                       int64_t retry_after_ms)
{
    char name[64];
    kedge_request_result result = {.response = response, .retry_after_ms = retry_after_ms};
    kedge_fail(&result.error, KEDGE_NETWORK, response_name(response), "as the test says");
    kedge_core_event event = {.kind = KEDGE_EVENT_PULL_STEP_ENDED,
                              .pull_step_ended = {.request = request, .result = result}};
    if (request == KEDGE_REQUEST_PUSH) {
        event =
            (kedge_core_event){.kind = KEDGE_EVENT_PUSH_ENDED, .push_ended = {.result = result}};
    }
    snprintf(name, sizeof name, "%s %s", request_name(request), response_name(response));
    trace_event(t, event, name);
}

void trace_queued(trace *t, int64_t last_id)
{
    char name[64];
    snprintf(name, sizeof name, "queued through %lld", (long long)last_id);
    trace_event(t,
                (kedge_core_event){.kind = KEDGE_EVENT_PUSH_ENDED,
                                   .push_ended = {.last_id = last_id, .queued = true}},
                name);
}

void trace_pull_first(trace *t)
{
    trace_event(
        t, (kedge_core_event){.kind = KEDGE_EVENT_PUSH_ENDED, .push_ended = {.pull_first = true}},
        "push waits for a pull");
}

void trace_failed(trace *t, kedge_request_kind request, kedge_response_class response)
{
    fail_event(t, request, response, 0);
}

void trace_too_large(trace *t, uint32_t held)
{
    char name[64];
    kedge_core_event event = {
        .kind = KEDGE_EVENT_PUSH_ENDED,
        .push_ended = {.result = {.response = KEDGE_RESPONSE_SHORTER}, .count = held}};
    kedge_fail(&event.push_ended.result.error, KEDGE_LIMIT_EXCEEDED, "push-too-large",
               "as the test says");
    snprintf(name, sizeof name, "push of %u too large", held);
    trace_event(t, event, name);
}

void trace_retry_after(trace *t, kedge_request_kind request, int64_t retry_after_ms)
{
    fail_event(t, request, KEDGE_RESPONSE_TRANSIENT, retry_after_ms);
}

void trace_applied(trace *t, int64_t version, int64_t covered)
{
    char name[64];
    t->position.version = version;
    if (covered >= t->position.lowest_pending_id) t->position.lowest_pending_id = covered + 1;
    snprintf(name, sizeof name, "applied version %lld, covers %lld", (long long)version,
             (long long)covered);
    event_here(t,
               (kedge_core_event){.kind = KEDGE_EVENT_APPLIED, .applied = {.took_ms = t->took_ms}},
               name);
}

void trace_applied_as(trace *t, kedge_applied applied)
{
    static const char *const names[] = {"done",   "stale",           "pages follow",
                                        "rotate", "another lineage", "the disk failed",
                                        "more",   "diverged",        "blocked"};
    kedge_core_event event = {.kind = KEDGE_EVENT_APPLIED, .applied = {.result = applied}};
    if (applied == KEDGE_APPLIED_FAILED) {
        kedge_fail(&event.applied.error, KEDGE_DISK_FULL, "disk-full", "as the test says");
    }
    if (applied == KEDGE_APPLIED_DIVERGED)
        kedge_fail(&event.applied.error, KEDGE_CONFLICT, "diverged", "as the test says");
    if (applied == KEDGE_APPLIED_BLOCKED)
        kedge_fail(&event.applied.error, KEDGE_UNSUPPORTED, "update-required", "as the test says");
    event_here(t, event, names[applied]);
}

void trace_rotated(trace *t, int64_t pending)
{
    t->position.lowest_pending_id = 1;
    t->position.highest_id = pending;
    event_here(t, (kedge_core_event){.kind = KEDGE_EVENT_APPLIED}, "rotated");
}

void trace_simple(trace *t, kedge_event_kind kind, const char *name)
{
    trace_event(t, (kedge_core_event){.kind = kind}, name);
}

void trace_poke(trace *t, int64_t version)
{
    char name[64];
    snprintf(name, sizeof name, "poke of version %lld", (long long)version);
    trace_event(t, (kedge_core_event){.kind = KEDGE_EVENT_POKE, .poke = {.version = version}},
                name);
}

void trace_stream_up(trace *t, int64_t version)
{
    trace_simple(t, KEDGE_EVENT_STREAM_UP, "stream up");
    trace_poke(t, version);
}

void trace_token(trace *t, bool ok)
{
    trace_event(t, (kedge_core_event){.kind = KEDGE_EVENT_TOKEN, .token = {.given = ok}},
                ok ? "token" : "no token");
}

bool trace_sends(const trace *t, kedge_request_kind request)
{
    for (size_t i = 0; i < t->actions.count; i++) {
        const kedge_core_action *action = &t->actions.list[i];
        if (action->kind == KEDGE_ACTION_PUSH && request == KEDGE_REQUEST_PUSH) return true;
        if (action->kind == KEDGE_ACTION_PULL_STEP && action->pull_step.request == request)
            return true;
    }
    return false;
}

void trace_settle(trace *t, int64_t version)
{
    trace_start(t, version, 1, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, version, 0);
    trace_stream_up(t, version);
    trace_skip(t);
}
