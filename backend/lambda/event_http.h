/* Requests as API Gateway's HTTP APIs and function URLs bring them: payload format 2.0.
 *
 *   {"version":"2.0","rawPath":…,"rawQueryString":…,"headers":{…},"requestContext":{…,
 *    "http":{"method":…}},"body":…,"isBase64Encoded":…}
 *   → {"statusCode":…,"headers":{…},"body":…,"isBase64Encoded":…}
 *
 * The identity comes from the bearer token in the header; the claims that an authorizer of API
 * Gateway puts into the event are not used. Cookies are not used. */
#ifndef KEDGE_BACKEND_LAMBDA_EVENT_HTTP_H
#define KEDGE_BACKEND_LAMBDA_EVENT_HTTP_H

#include "backend/lambda/lambda.h"
#include "backend/ports/deadline.h"
#include "common/json.h"

/* `event` is a checked JSON object. */
bool kedge_event_is_http(kedge_bytes event);
/* How much of an invocation's time is left to commit, and to write and send the response; half of
 * the time when that is less. */
#define KEDGE_EVENT_HTTP_MARGIN_MS (KEDGE_DEADLINE_COMMIT_MS + 2000)

/* Appends the response. `deadline_ms` is when the invocation ends, by the wall clock, or INT64_MAX.
 * A request that is refused is answered, too; it fails only without memory. */
kedge_status kedge_event_http(const kedge_lambda *lambda, kedge_bytes event, int64_t deadline_ms,
                              kedge_buffer *out, kedge_error *error);

/* For an event with a "\u0000", which the parser here refuses: a peer may put a NUL into a path, a
 * query, a header or a body. The first function turns each "\u0000" into another character. When
 * the event then is a request, the second function refuses it. */
void kedge_event_http_blank_nuls(kedge_buffer *event);
kedge_status kedge_event_http_refuse_nul(const kedge_lambda *lambda, kedge_bytes event,
                                         kedge_buffer *out, kedge_error *error);

#endif
