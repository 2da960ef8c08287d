/* What the files of the net share. */
#ifndef KEDGE_SDK_NET_PRIVATE_H
#define KEDGE_SDK_NET_PRIVATE_H

#include "sdk/net/net.h"
#include "sdk/net/sse.h"

#define KEDGE_NET_HEADERS_MAX 2 /* of a request's own */

/* A running request; free when `call` is NULL. */
typedef struct kedge_net_slot {
    kedge_net *net;
    uint64_t number;
    kedge_http_call *call;
    bool undecoded; /* a part was asked for */
    size_t response_bytes_max;
} kedge_net_slot;

struct kedge_net {
    const kedge_environment *environment;
    kedge_http *http;
    kedge_net_sink sink;
    kedge_buffer base;
    kedge_buffer user; /* percent-encoded and NUL-terminated; empty: none is named */
    kedge_net_slot slots[KEDGE_NET_REQUESTS_MAX];
    kedge_http_call *stream;
    uint64_t stream_number; /* tells a reopened stream from the one before */
    bool stream_up;
    kedge_sse sse;
};

/* ---- send.c ---- */
/* Sends, with the token and the headers that every request has after those that `request` brings,
 * KEDGE_NET_HEADERS_MAX at most. `request` comes with the rest filled; `path` is relative to the
 * base. */
kedge_status kedge_net_send(kedge_net *net, kedge_http_request *request, const char *path,
                            const char *accept, const char *token, kedge_http_call **call,
                            kedge_error *error);

/* ---- stream.c ---- */
kedge_status kedge_net_open_stream(void *context, const char *path, const char *token,
                                   kedge_error *error);
void kedge_net_close_stream(void *context);

/* ---- parts.c ---- */
/* Fills `given` from an undecoded response. A part (status 206) stays as it came. Any other body is
 * decoded: one that is gzip into `plain`, where it may have `size_max` bytes. */
kedge_status kedge_net_take_undecoded(const kedge_http_response *response, size_t size_max,
                                      kedge_buffer *plain, kedge_driver_response *given,
                                      kedge_error *error);

#endif
