/* The path of an HTTP event, as the API has it: from "/v1" on, still percent-encoded.
 *
 * A function URL hands the path on as it came. An HTTP API decodes it first, and puts the stage in
 * front unless that is $default; so it is encoded again here. API Gateway loses two things for
 * good: whether a slash was encoded, and what follows an encoded question mark. Only the ids of
 * items may have either. */
#ifndef KEDGE_BACKEND_LAMBDA_EVENT_PATH_H
#define KEDGE_BACKEND_LAMBDA_EVENT_PATH_H

#include "common/json.h"

/* `context` is the event's requestContext. Appends to `path`; false: there is no path, or, when
 * path->no_memory is set, no memory. */
bool kedge_event_path(kedge_bytes event, kedge_bytes context, kedge_buffer *path);

#endif
