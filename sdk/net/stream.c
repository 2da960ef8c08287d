/* The event stream: one long GET, whose bytes go through the parser to the sink. */
#include "sdk/net/net_private.h"

#include "common/error.h"

#define RESPONSE_BYTES_MAX 65536 /* of a refusal */

static bool tell_event(void *context, kedge_bytes event, kedge_bytes data)
{
    kedge_net *net = context;
    uint64_t number = net->stream_number;
    net->sink.stream_event(net->sink.context, event, data);
    return net->stream != NULL && net->stream_number == number;
}

/* Closes the stream and reports why. */
static void break_off(kedge_net *net, const kedge_error *error)
{
    kedge_net_close_stream(net);
    net->sink.stream_down(net->sink.context, error, 0);
}

static void take_bytes(void *context, const kedge_http_response *head, kedge_bytes bytes)
{
    kedge_net *net = context;
    kedge_error error = {0};
    if (!net->stream_up) {
        if (!kedge_bytes_start_with(head->content_type, KEDGE_BYTES("text/event-stream"))) {
            kedge_fail(&error, KEDGE_PROTOCOL, "not-an-event-stream",
                       "the server's event stream has the type \"%.*s\"",
                       (int)head->content_type.size, head->content_type.data);
            break_off(net, &error);
            return;
        }
        net->stream_up = true;
        net->sink.stream_up(net->sink.context);
        return;
    }
    kedge_status status = kedge_sse_feed(&net->sse, bytes, &error);
    if (status != KEDGE_OK && status != KEDGE_CANCELLED) break_off(net, &error);
}

static void stream_done(void *context, const kedge_http_response *response)
{
    kedge_net *net = context;
    kedge_error error = response->error;
    if (response->status >= 200 && response->status < 300) {
        kedge_fail(&error, KEDGE_NETWORK, "stream-ended", "the server ended the event stream");
    } else if (response->status != 0) {
        kedge_net_problem(net->environment->allocator, response->status, response->content_type,
                          response->body, &error);
    }
    net->stream = NULL;
    kedge_sse_free(&net->sse);
    net->sink.stream_down(net->sink.context, &error, response->retry_after_ms);
}

kedge_status kedge_net_open_stream(void *context, const char *path, const char *token,
                                   kedge_error *error)
{
    kedge_net *net = context;
    kedge_net_close_stream(net);
    kedge_http_request request = {.method = "GET",
                                  .response_bytes_max = RESPONSE_BYTES_MAX,
                                  .done = stream_done,
                                  .stream = take_bytes,
                                  .context = net};
    net->stream_up = false;
    net->stream_number++;
    net->sse = kedge_sse_make(net->environment->allocator, tell_event, net);
    return kedge_net_send(net, &request, path, "text/event-stream", token, &net->stream, error);
}

void kedge_net_close_stream(void *context)
{
    kedge_net *net = context;
    if (net->stream == NULL) return;
    kedge_http_cancel(net->stream);
    net->stream = NULL;
    kedge_sse_free(&net->sse);
}
