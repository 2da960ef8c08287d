/* kedge-lambda: the backend as an AWS Lambda function on a custom runtime (provided.al2023).
 *
 *   main.c             starts everything once, then answers one invocation after another
 *   settings.c         what the environment variables say
 *   runtime.c          the Runtime API: fetches events, posts responses
 *   event_http.c       requests of API Gateway HTTP APIs and function URLs (payload format 2.0)
 *   event_path.c       what such an event says of the path
 *   event_messages.c   batches of a FIFO queue, with partial failures
 *   event_sqs.c        those of the queue of pushes
 *   event_snapshots.c  those of the queue of snapshots
 *   event_stream.c     batches of the table's stream
 *
 * Lambda runs one invocation at a time in a process and freezes the process in between. So nothing
 * is left for later: checkpoints are written before the push is answered. Connections to AWS may
 * break during a freeze. The AWS client then sees a request fail on a connection that it kept, and
 * tries again on a new one. */
#ifndef KEDGE_BACKEND_LAMBDA_H
#define KEDGE_BACKEND_LAMBDA_H

#include "backend/api/api.h"
#include "backend/auth/auth.h"
#include "backend/front/logger.h"
#include "backend/front/origins.h"
#include "backend/queued/queued.h"

/* Lambda's limits. */
#define KEDGE_LAMBDA_EVENT_BYTES    8388608 /* read; Lambda sends 6 MiB at most */
#define KEDGE_LAMBDA_RESPONSE_BYTES 6291456
/* A body that arrives whatever it holds, with each of its bytes escaped in the event. */
#define KEDGE_LAMBDA_PUSH_BYTES 3000000
/* A body that fits a response as base64, beside its headers. */
#define KEDGE_LAMBDA_RESPONSE_BODY_BYTES 4700000

/* What the handlers of events work with. */
typedef struct kedge_lambda {
    const kedge_environment *environment;
    kedge_logger *log;
    kedge_backend *backend;
    kedge_auth *auth; /* NULL: the function has no key set, and answers no requests */
    const kedge_cors_origins *origins;
    bool cost_header; /* responses tell what they cost */
    kedge_queued *queued;
    kedge_queue queue;     /* vtable NULL: none */
    kedge_queue snapshots; /* likewise */
} kedge_lambda;

#endif
