/* An HTTP client over libcurl's multi interface: non-blocking requests on one thread.
 *
 * A kedge_http belongs to one thread; only kedge_http_wake may come from others. Callbacks are only
 * called from inside kedge_http_poll. A callback may send and cancel, but not free the client.
 *
 * The rules for every request: only http and https; TLS is verified (by the system's authorities,
 * or those of SSL_CERT_FILE or kedge_http_trust); no redirect is followed (to a client of an API a
 * redirect is a captive portal: its status is the response); a deadline (deadline.c); a response of
 * at most `response_bytes_max` decoded bytes; connections are kept and reused, and their number is
 * capped. Environment proxies are honoured, but never for a loopback host or an instance's
 * metadata. */
#ifndef KEDGE_HTTP_H
#define KEDGE_HTTP_H

#include "common/environment.h"

#define KEDGE_HTTP_HEADERS_MAX        32
#define KEDGE_HTTP_HEADER_BYTES_MAX   65536  /* of a response, together */
#define KEDGE_HTTP_STREAM_CHUNK_MAX   262144 /* undelivered bytes of a stream */
#define KEDGE_HTTP_CONNECT_TIMEOUT_MS 10000
#define KEDGE_HTTP_PACE_BYTES_S       4096

typedef struct kedge_http kedge_http;
typedef struct kedge_http_call kedge_http_call;

typedef struct kedge_http_header {
    const char *name;
    const char *value;
} kedge_http_header;

/* `status` 0: there was no complete response, and `error` says why:
 *   KEDGE_NETWORK         "host-not-found", "connection-refused", "connection-failed",
 *                         "response-truncated"
 *   KEDGE_TIMEOUT         "request-timeout"
 *   KEDGE_PROTOCOL        "tls-failed", "response-invalid"
 *   KEDGE_LIMIT_EXCEEDED  "response-too-large"
 *   KEDGE_NO_MEMORY, KEDGE_INTERNAL
 * All bytes are borrowed during the callback. */
typedef struct kedge_http_response {
    int status;
    kedge_bytes content_type; /* empty when there was none */
    int64_t retry_after_ms;   /* from seconds or an HTTP date; 0: none, or past; at most a day */
    kedge_bytes headers;      /* lines "Name: value\r\n" */
    kedge_bytes body;         /* decoded; of a stream only what came with a status other than 2xx */
    bool sent;                /* bytes of the request were sent: it may have had an effect */
    kedge_error error;
} kedge_http_response;

/* The deadline of a paced request was put off by half a second or more. */
typedef void (*kedge_http_moved_function)(void *context);

/* Called once for each request that was sent and not cancelled. The call is gone afterwards. */
typedef void (*kedge_http_done_function)(void *context, const kedge_http_response *response);

/* For a streamed response with a 2xx status: once with no bytes when the headers are there, then
 * with the bytes as they come. */
typedef void (*kedge_http_stream_function)(void *context, const kedge_http_response *head,
                                           kedge_bytes bytes);

/* Borrowed during kedge_http_send. */
typedef struct kedge_http_request {
    const char *method;
    const char *url;
    const kedge_http_header *headers;
    size_t header_count; /* at most KEDGE_HTTP_HEADERS_MAX */
    kedge_bytes body;    /* sent for POST and PUT, also when empty */
    int64_t deadline_ms; /* a duration, to which kedge_http_make_up adds; 0: none (streams) */
    /* Each byte that moves in either direction puts the deadline off by the time that it takes at a
     * pace of KEDGE_HTTP_PACE_BYTES_S, but not farther away than it was at first. So a request may
     * take as long as a slow line needs, and one that hangs or drips ends. */
    bool paced;
    size_t response_bytes_max;
    /* No compression is asked for, and none is undone. */
    bool undecoded;
    /* When a kept connection turns out to be closed, the request is not sent again on another one:
     * it fails, and the caller knows that it may have had an effect. */
    bool send_once;
    kedge_http_done_function done;
    kedge_http_moved_function moved;   /* may be NULL */
    kedge_http_stream_function stream; /* NULL: the response is gathered */
    void *context;
} kedge_http_request;

/* `environment` must outlive the client. At most `connections_max` connections stand at a time,
 * kept ones included; more requests wait for one. */
kedge_status kedge_http_new(const kedge_environment *environment, uint32_t connections_max,
                            kedge_http **http, kedge_error *error);
/* Trusts only servers whose certificate is signed by one of this file (PEM). Before the first
 * request. */
kedge_status kedge_http_trust(kedge_http *http, const char *ca_file, kedge_error *error);
/* Makes one descriptor for all that the client waits for. Before the first request. Errors:
 * KEDGE_IO, KEDGE_UNSUPPORTED "descriptor-unsupported". */
kedge_status kedge_http_use_descriptor(kedge_http *http, kedge_error *error);
void kedge_http_free(kedge_http *http); /* cancels what runs */

/* Starts a request. `call` (may be NULL) is its handle for kedge_http_cancel until `done` was
 * called. */
kedge_status kedge_http_send(kedge_http *http, const kedge_http_request *request,
                             kedge_http_call **call, kedge_error *error);
/* Ends a request at once; its callbacks are not called any more. */
void kedge_http_cancel(kedge_http_call *call);

/* Waits until something happened, `timeout_ms` passed, kedge_http_wake was called or `wake_fd` (-1:
 * none) can be read, which is told in `readable`; then calls back what is due. */
kedge_status kedge_http_poll(kedge_http *http, int64_t timeout_ms, int wake_fd, bool *readable,
                             kedge_error *error);
/* The thread that polls was away for other work. Running requests get that time in addition: what
 * came meanwhile is read before a deadline passes, but may be only a part, and libcurl ends a
 * connection that is late before it looks whether it stands. The time in callbacks is added without
 * this call. Does nothing with kedge_http_use_descriptor. */
void kedge_http_make_up(kedge_http *http);
/* With kedge_http_use_descriptor: can be read when kedge_http_poll has something to do, also the
 * `wake_fd` of the last call. Otherwise -1. */
int kedge_http_descriptor(const kedge_http *http);
/* How soon kedge_http_poll has something to do, although the descriptor is not ready; -1: never. */
int64_t kedge_http_due_ms(const kedge_http *http);
/* Ends a running kedge_http_poll, or the next one, early. Any thread. */
void kedge_http_wake(kedge_http *http);

/* The value of a header among a response's lines (the last one of that name, white space trimmed);
 * false when there is none. */
bool kedge_http_header_value(kedge_bytes headers, const char *name, kedge_bytes *value);

#endif
