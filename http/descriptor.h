/* Waiting through one descriptor, for a thread that waits for other things, too: an epoll of
 * libcurl's sockets, of kedge_http_wake, and of one descriptor more. Private to the client.
 *
 * libcurl says which sockets it waits for and how long (its socket and timer functions), and is
 * told which of them are ready (curl_multi_socket_action). */
#ifndef KEDGE_HTTP_DESCRIPTOR_H
#define KEDGE_HTTP_DESCRIPTOR_H

#include "common/environment.h"

#include <curl/curl.h>

typedef struct kedge_http_descriptor_set {
    const kedge_environment *environment;
    CURLM *multi;
    int epoll; /* -1: not used */
    int wake;
    int extra;         /* as given to the last wait; -1: none */
    int64_t due_at_ms; /* libcurl's timer, monotonic; -1: none */
} kedge_http_descriptor_set;

/* `set` must not move. KEDGE_UNSUPPORTED "descriptor-unsupported" on a system without epoll. */
kedge_status kedge_http_descriptor_open(kedge_http_descriptor_set *set, kedge_error *error);
void kedge_http_descriptor_close(kedge_http_descriptor_set *set);

/* Waits at most `timeout_ms` until something is ready, and lets libcurl handle what is. `extra`
 * (-1: none) is told in `*readable`. */
CURLMcode kedge_http_descriptor_wait(kedge_http_descriptor_set *set, int64_t timeout_ms, int extra,
                                     bool *readable);
/* How long libcurl may be left alone; -1: for ever. */
int64_t kedge_http_descriptor_due_ms(const kedge_http_descriptor_set *set);
/* Any thread. */
void kedge_http_descriptor_wake(kedge_http_descriptor_set *set);

#endif
