/* The transport over HTTP: a project's requests and its event stream.
 *
 * Runs on the thread that polls the kedge_http it was given. Calls the sink from inside
 * kedge_http_poll; the sink may call the transport again. */
#ifndef KEDGE_SDK_NET_H
#define KEDGE_SDK_NET_H

#include "http/http.h"
#include "sdk/net/transport.h"

#define KEDGE_NET_REQUESTS_MAX 16

typedef struct kedge_net kedge_net;

typedef struct kedge_net_sink {
    void *context;
    /* Asked before each request of the transport, which fails when this does. */
    kedge_status (*may_send)(void *context, kedge_error *error);
    /* The transport has sent a request. */
    void (*sent)(void *context, const kedge_driver_request *request);
    /* Bytes of a request or its response moved: its deadline was put off. */
    void (*moved)(void *context, uint64_t number);
    void (*response)(void *context, const kedge_driver_response *response);
    void (*stream_up)(void *context);
    void (*stream_event)(void *context, kedge_bytes event, kedge_bytes data);
    /* The stream that was open, or being opened, has ended; not after close_stream. */
    void (*stream_down)(void *context, const kedge_error *error, int64_t retry_after_ms);
} kedge_net_sink;

/* `environment` and `http` must outlive the net; `url` is checked as kedge_url_base says. */
kedge_status kedge_net_new(const kedge_environment *environment, kedge_http *http, const char *url,
                           const char *organization, const char *project,
                           const kedge_net_sink *sink, kedge_net **net, kedge_error *error);
/* Names the user in each request that has no token: a server in open mode believes it. */
kedge_status kedge_net_name_user(kedge_net *net, const char *user, kedge_error *error);
void kedge_net_free(kedge_net *net); /* cancels what runs */

/* Valid as long as the net. */
kedge_transport kedge_net_transport(kedge_net *net);

/* A request beside the transport's: for what the app itself asks. `path` "": the project itself.
 * `paced`: the deadline is put off by what moves. The caller cancels it before the net is freed. */
kedge_status kedge_net_ask(kedge_net *net, const char *method, const char *path, const char *token,
                           int64_t deadline_ms, bool paced, size_t response_bytes_max,
                           kedge_http_done_function done, void *context, kedge_http_call **call,
                           kedge_error *error);

/* Makes an error from a response that is not 2xx: the code and detail of its problem document (RFC
 * 9457), or its status. Returns whether it has such a document, and so is Kedge's own. */
bool kedge_net_problem(const kedge_allocator *allocator, int status, kedge_bytes content_type,
                       kedge_bytes body, kedge_error *error);

#endif
