/* Server-Sent Events (WHATWG HTML, section 9.2): a poke with the new version after each commit of a
 * project, and a ping that finds the dead.
 *
 * A stream without an event to send is a suspended connection. libmicrohttpd does not notice that
 * the peer of a suspended connection has gone away. The ping finds out, because it writes. Before
 * the daemon stops, every stream is resumed and ended. */
#ifndef KEDGE_BACKEND_HTTP_EVENTS_H
#define KEDGE_BACKEND_HTTP_EVENTS_H

#include "backend/http/budgets.h"
#include "backend/http/metrics.h"
#include "common/environment.h"

#include <microhttpd.h>

typedef struct kedge_events kedge_events;
typedef struct kedge_event_stream kedge_event_stream;

kedge_events *kedge_events_new(const kedge_environment *environment, kedge_metrics *metrics,
                               size_t streams_max); /* NULL: no memory */
/* After the daemon has stopped. */
void kedge_events_free(kedge_events *events);

/* What is subscribed to: a project, or, when `log` is not empty, one of its logs. */
typedef struct kedge_event_scope {
    kedge_bytes organization;
    kedge_bytes project;
    kedge_bytes log;
} kedge_event_scope;

/* Subscribes: from now on each commit or append is sent to the stream, as its version or number.
 * Subscribe first and read the version for kedge_event_stream_tell afterwards, so that no commit is
 * missed. The stream ends when the token that opened it has expired (`expires_ms`, wall clock).
 * NULL, with the budget that is used up: the account has as many streams as it may, or the server
 * has, or there is no memory. */
kedge_event_stream *kedge_events_subscribe(kedge_events *events, const kedge_event_scope *scope,
                                           int64_t expires_ms, const kedge_budget_account *account,
                                           struct MHD_Connection *connection,
                                           kedge_budget_refusal *refusal);
void kedge_event_stream_tell(kedge_event_stream *stream, int64_t version);
/* The response of the stream, which owns the stream from now on. NULL: no memory; the caller still
 * owns the stream. */
struct MHD_Response *kedge_event_stream_respond(kedge_event_stream *stream);
void kedge_event_stream_free(kedge_event_stream *stream);

void kedge_events_committed(kedge_events *events, const kedge_event_scope *scope, int64_t version);
/* Iterates over the scopes that have streams, each once, in no particular order. `at` begins as "".
 * Sets `at` to the next scope, and `scope`, which borrows from `at`. False: there are no more, and
 * `at` is "". */
typedef char kedge_event_place[200];
bool kedge_events_next(kedge_events *events, kedge_event_place at, kedge_event_scope *scope);
void kedge_events_ping(kedge_events *events);
/* Ends the streams whose token has expired by then; INT64_MAX: all that there are. */
void kedge_events_expire(kedge_events *events, int64_t now_ms);
/* Ends all streams, also those that subscribe later. */
void kedge_events_close(kedge_events *events);

#endif
