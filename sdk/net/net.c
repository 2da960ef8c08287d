/* Sends the requests of a project, and gives their responses to the sink. */
#include "sdk/net/net_private.h"

#include "common/error.h"
#include "common/percent.h"
#include "sdk/net/url.h"

#include <strings.h>

kedge_status kedge_net_ask(kedge_net *net, const char *method, const char *path, const char *token,
                           int64_t deadline_ms, bool paced, size_t response_bytes_max,
                           kedge_http_done_function done, void *context, kedge_http_call **call,
                           kedge_error *error)
{
    kedge_http_request request = {.method = method,
                                  .deadline_ms = deadline_ms,
                                  .paced = paced,
                                  .response_bytes_max = response_bytes_max,
                                  .done = done,
                                  .context = context};
    return kedge_net_send(net, &request, path, "application/json", token, call, error);
}

/* When the server is https, an upload must be, too. */
static kedge_status check_elsewhere(const kedge_net *net, const char *url, kedge_error *error)
{
    bool secure = net->base.size > 8 && strncasecmp(net->base.data, "https://", 8) == 0;
    if (!secure || strncasecmp(url, "https://", 8) == 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_PROTOCOL, "upload-insecure",
                      "the server wants an upload to a URL that is not https");
}

static kedge_status send_elsewhere(kedge_net *net, const kedge_driver_request *request,
                                   kedge_http_request *sent, kedge_http_call **call,
                                   kedge_error *error)
{
    kedge_status status = check_elsewhere(net, request->url, error);
    if (status != KEDGE_OK) return status;
    sent->url = request->url;
    sent->headers = request->headers;
    sent->header_count = request->header_count;
    return kedge_http_send(net->http, sent, call, error);
}

static void request_moved(void *context)
{
    const kedge_net_slot *slot = context;
    slot->net->sink.moved(slot->net->sink.context, slot->number);
}

static void request_done(void *context, const kedge_http_response *response)
{
    kedge_net_slot *slot = context;
    kedge_driver_response given = {.number = slot->number,
                                   .status = response->status,
                                   .content_type = response->content_type,
                                   .body = response->body,
                                   .retry_after_ms = response->retry_after_ms,
                                   .error = response->error};
    kedge_buffer plain = kedge_buffer_make(slot->net->environment->allocator);
    slot->call = NULL;
    if (slot->undecoded && response->status != 0 &&
        kedge_net_take_undecoded(response, slot->response_bytes_max, &plain, &given,
                                 &given.error) != KEDGE_OK) {
        given.status = 0;
    }
    slot->net->sink.response(slot->net->sink.context, &given);
    kedge_buffer_free(&plain);
}

static kedge_status send_request(void *context, const kedge_driver_request *request,
                                 kedge_error *error)
{
    kedge_net *net = context;
    kedge_net_slot *slot = net->slots;
    kedge_status status = net->sink.may_send(net->sink.context, error);
    if (status != KEDGE_OK) return status;
    while (slot < net->slots + KEDGE_NET_REQUESTS_MAX && slot->call != NULL) {
        slot++;
    }
    if (slot == net->slots + KEDGE_NET_REQUESTS_MAX) {
        return kedge_fail(error, KEDGE_BUSY, "too-many-requests", "%d requests run already",
                          KEDGE_NET_REQUESTS_MAX);
    }
    slot->net = net;
    slot->number = request->number;
    slot->undecoded = request->range != NULL;
    slot->response_bytes_max = request->response_bytes_max;
    const kedge_http_header part[] = {{"Range", request->range}, {"Accept-Encoding", "gzip"}};
    kedge_http_request http_request = {.method = request->method,
                                       .headers = part,
                                       .header_count = slot->undecoded ? 2 : 0,
                                       .undecoded = slot->undecoded,
                                       .body = request->body,
                                       .deadline_ms = request->deadline_ms,
                                       .paced = true,
                                       .response_bytes_max = request->response_bytes_max,
                                       .done = request_done,
                                       .moved = request_moved,
                                       .context = slot};
    status = request->url != NULL
                 ? send_elsewhere(net, request, &http_request, &slot->call, error)
                 : kedge_net_send(net, &http_request, request->path, request->accept,
                                  request->token, &slot->call, error);
    if (status == KEDGE_OK) net->sink.sent(net->sink.context, request);
    return status;
}

static void cancel_request(void *context, uint64_t number)
{
    kedge_net *net = context;
    for (size_t i = 0; i < KEDGE_NET_REQUESTS_MAX; i++) {
        kedge_net_slot *slot = &net->slots[i];
        if (slot->call == NULL || slot->number != number) continue;
        kedge_http_cancel(slot->call);
        slot->call = NULL;
    }
}

kedge_transport kedge_net_transport(kedge_net *net)
{
    return (kedge_transport){.context = net,
                             .send = send_request,
                             .cancel = cancel_request,
                             .open_stream = kedge_net_open_stream,
                             .close_stream = kedge_net_close_stream};
}

kedge_status kedge_net_new(const kedge_environment *environment, kedge_http *http, const char *url,
                           const char *organization, const char *project,
                           const kedge_net_sink *sink, kedge_net **net, kedge_error *error)
{
    kedge_net *made = kedge_allocate(environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->environment = environment;
    made->http = http;
    made->sink = *sink;
    made->base = kedge_buffer_make(environment->allocator);
    made->user = kedge_buffer_make(environment->allocator);
    kedge_status status = kedge_url_base(url, organization, project, &made->base, error);
    if (status != KEDGE_OK) {
        kedge_net_free(made);
        return status;
    }
    *net = made;
    return KEDGE_OK;
}

kedge_status kedge_net_name_user(kedge_net *net, const char *user, kedge_error *error)
{
    kedge_percent_encode(kedge_bytes_of(user), KEDGE_PERCENT_UNRESERVED, &net->user);
    kedge_buffer_append_byte(&net->user, '\0');
    return kedge_buffer_status(&net->user, error);
}

void kedge_net_free(kedge_net *net)
{
    if (net == NULL) return;
    for (size_t i = 0; i < KEDGE_NET_REQUESTS_MAX; i++) {
        if (net->slots[i].call != NULL) kedge_http_cancel(net->slots[i].call);
    }
    kedge_net_close_stream(net);
    kedge_buffer_free(&net->base);
    kedge_buffer_free(&net->user);
    kedge_release(net->environment->allocator, net);
}
