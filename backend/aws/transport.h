/* One thread that runs the HTTP client, for callers on any thread.
 *
 * At most `connections_max` requests run at a time; the others wait in order of their arrival. One
 * that is still waiting at its deadline never left, and its caller is told so. */
#ifndef KEDGE_BACKEND_AWS_TRANSPORT_H
#define KEDGE_BACKEND_AWS_TRANSPORT_H

#include "http/http.h"

typedef struct kedge_aws_transport kedge_aws_transport;

kedge_status kedge_aws_transport_new(const kedge_environment *environment, uint32_t connections_max,
                                     kedge_aws_transport **transport, kedge_error *error);
void kedge_aws_transport_free(kedge_aws_transport *transport); /* nothing runs; NULL is allowed */

/* The end of a request: as kedge_http_answer. */
typedef struct kedge_aws_reply {
    int status; /* 0: no whole answer; `error` says why */
    bool sent;  /* false: the request cannot have had an effect */
    int64_t retry_after_ms;
    kedge_error error;
} kedge_aws_reply;

/* Sends a request and waits for its end; the functions and the context in `request` are not used.
 * Headers and body go into the two buffers, which are cleared before. */
void kedge_aws_transport_run(kedge_aws_transport *transport, const kedge_http_request *request,
                             kedge_buffer *headers, kedge_buffer *body, kedge_aws_reply *reply);

#endif
