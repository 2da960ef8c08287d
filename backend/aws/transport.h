/* Requests of many threads, each over an HTTP client that it has to itself while it waits.
 *
 * An HTTP client belongs to one thread at a time and keeps its connections. Idle ones stand in a
 * stack, so that the one with the freshest connections is taken first. There are at most as many as
 * requests may run at a time; a caller that finds none waits for one, and one that is still waiting
 * at its deadline never sent its request, and is told so. */
#ifndef KEDGE_BACKEND_AWS_TRANSPORT_H
#define KEDGE_BACKEND_AWS_TRANSPORT_H

#include "http/http.h"

#include <time.h>

typedef struct kedge_aws_transport kedge_aws_transport;

/* The error of a request that no client became free for. */
#define KEDGE_AWS_CONNECTIONS_TAKEN "aws-connections-taken"

/* `hosts`: how many a client keeps a connection to. */
kedge_status kedge_aws_transport_new(const kedge_environment *environment, uint32_t requests_max,
                                     uint32_t hosts, kedge_aws_transport **transport,
                                     kedge_error *error);
void kedge_aws_transport_free(kedge_aws_transport *transport); /* nothing runs; NULL is allowed */

/* The end of a request: as kedge_http_response. */
typedef struct kedge_aws_reply {
    int status; /* 0: no whole response; `error` says why */
    bool sent;  /* false: the request cannot have had an effect */
    int64_t retry_after_ms;
    kedge_error error;
} kedge_aws_reply;

/* Sends a request and waits for its end; the functions and the context in `request` are not used.
 * Headers and body go into the two buffers, which are cleared before. Any thread. */
void kedge_aws_transport_run(kedge_aws_transport *transport, const kedge_http_request *request,
                             kedge_buffer *headers, kedge_buffer *body, kedge_aws_reply *reply);

/* The time on the monotonic clock so many milliseconds from now. */
struct timespec kedge_aws_after(int64_t duration_ms);

#endif
