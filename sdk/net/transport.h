/* The transport: how requests leave and responses come back, as the driver sees it.
 *
 * A vtable, so that the driver runs unchanged over libcurl (sdk/net/net.h) and over the simulator's
 * network. Everything happens on the one thread that calls the driver. */
#ifndef KEDGE_SDK_NET_TRANSPORT_H
#define KEDGE_SDK_NET_TRANSPORT_H

#include "http/http.h"

/* A request to the server. `path` is relative to the project's base
 * (/v1/orgs/{org}/projects/{project}/), with its query. `body` NULL data for GET. Borrowed during
 * `send`. */
typedef struct kedge_driver_request {
    uint64_t number; /* the number of the request: 1, 2, 3… */
    const char *method;
    const char *path;
    kedge_bytes body;
    const char *accept;  /* media type */
    const char *range;   /* "bytes=A-B" of what is asked for as gzip; NULL: all of it */
    const char *token;   /* bearer token; NULL: none */
    int64_t deadline_ms; /* a duration, which bytes that move put off */
    size_t response_bytes_max;
    /* NULL, or the whole URL of a server that is not Kedge's (an upload). `body` then goes there as
     * it is, with `headers` and no others, and `path` is only for the log. */
    const char *url;
    const kedge_http_header *headers;
    size_t header_count;
} kedge_driver_request;

/* A response. `status` 0: there was no complete response, and `error` says why. */
typedef struct kedge_driver_response {
    uint64_t number;
    int status;
    kedge_bytes content_type;
    kedge_bytes body;          /* decoded from any content encoding, unless it is a part (206) */
    kedge_bytes content_range; /* of a part; empty: it says none */
    bool gzip;                 /* a part is one of the gzip, and not of what is packed in it */
    int64_t retry_after_ms;
    kedge_error error;
} kedge_driver_response;

/* All functions are non-blocking. Each request that was sent and not cancelled gets one response,
 * never from inside `send`. The owner of the transport passes responses to
 * kedge_driver_response_arrived, what puts a deadline off to kedge_driver_request_moved, and stream
 * events to kedge_driver_stream_*. */
typedef struct kedge_transport {
    void *context;
    kedge_status (*send)(void *context, const kedge_driver_request *request, kedge_error *error);
    void (*cancel)(void *context, uint64_t number);
    kedge_status (*open_stream)(void *context, const char *path, const char *token,
                                kedge_error *error);
    void (*close_stream)(void *context);
} kedge_transport;

#endif
