/* The core under a script: each event is written down with the actions that it brought, so that a
 * test reads as a page of the protocol's documentation.
 *
 *     [    0] start at version 3
 *               send pull
 *     [   10] pull ok
 *               apply pull
 *
 * Time is simulated: it moves only by the tests' calls. */
#ifndef KEDGE_TESTS_CORE_TRACE_H
#define KEDGE_TESTS_CORE_TRACE_H

#include "common/bytes.h"
#include "sdk/core/core.h"

typedef struct trace {
    kedge_core core;
    int64_t now_ms;
    uint64_t random;
    int64_t timer_ms; /* the timer set last; INT64_MAX: none */
    bool show_timer;
    int64_t took_ms; /* by the store, for what it applies from now on */
    kedge_core_position position;
    kedge_core_actions actions; /* of the last event */
    kedge_buffer text;
} trace;

/* cmocka's: `*state` is a trace that is online. */
int trace_setup(void **state);
int trace_teardown(void **state);
/* What was written since the last call is `expected`. */
void trace_expect(trace *t, const char *expected);
/* Forgets what was written. */
void trace_skip(trace *t);

/* One event, written down as `name`. `event`'s time and randomness are filled in. */
void trace_event(trace *t, kedge_core_event event, const char *name);

/* ---- events ---- */

void trace_start(trace *t, int64_t version, int64_t lowest_pending, int64_t highest_id);
void trace_mutation(trace *t);                   /* one more */
void trace_pass(trace *t, int64_t milliseconds); /* time passes; no event */
void trace_timer(trace *t);                      /* time passes until the timer, which then fires */
void trace_ok(trace *t,
              kedge_request_kind request); /* of a pull's channel; nothing more to fetch */
void trace_ok_more(trace *t, kedge_request_kind request, bool outcomes, bool bodies);
void trace_pushed(trace *t, int64_t last_id, int64_t version);
void trace_queued(trace *t, int64_t last_id); /* the server will decide them later */
void trace_pull_first(trace *t);              /* nothing was sent: a pull must come first */
void trace_failed(trace *t, kedge_request_kind request, kedge_response_class response);
/* The server took no push of so many mutations. */
void trace_too_large(trace *t, uint32_t held);
void trace_retry_after(trace *t, kedge_request_kind request, int64_t retry_after_ms);
/* The store ended its work, and stands at this version with ids up to `covered` covered. */
void trace_applied(trace *t, int64_t version, int64_t covered);
void trace_applied_as(trace *t, kedge_applied applied);
void trace_rotated(trace *t, int64_t pending);   /* a new client with so many renumbered */
void trace_stream_up(trace *t, int64_t version); /* and its first poke */
void trace_poke(trace *t, int64_t version);
void trace_simple(trace *t, kedge_event_kind kind, const char *name);
void trace_token(trace *t, bool ok);

/* The last event brought a send of this kind. */
bool trace_sends(const trace *t, kedge_request_kind request);

/* Started, pulled version `version`, stream up, nothing pending, nothing to say. */
void trace_settle(trace *t, int64_t version);

#endif
