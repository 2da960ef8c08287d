/* Sending a request to the project: its URL, the token, and the headers that every request has. */
#include "sdk/net/net_private.h"

#include "common/hash.h"
#include "sdk/net/coding.h"
#include "wire/address.h"

static void append_url(const kedge_net *net, const char *path, kedge_buffer *url)
{
    kedge_buffer_append_bytes(url, kedge_buffer_bytes(&net->base));
    kedge_buffer_append_text(url, path);
    /* The project itself has no slash at its end. */
    if (path[0] == '\0' && url->size > 0) {
        kedge_buffer_truncate(url, url->size - 1);
        kedge_buffer_append_text(url, "");
    }
}

kedge_status kedge_net_send(kedge_net *net, kedge_http_request *request, const char *path,
                            const char *accept, const char *token, kedge_http_call **call,
                            kedge_error *error)
{
    const kedge_allocator *allocator = net->environment->allocator;
    kedge_buffer url = kedge_buffer_make(allocator);
    kedge_buffer bearer = kedge_buffer_make(allocator);
    kedge_buffer compressed = kedge_buffer_make(allocator);
    kedge_http_header headers[KEDGE_NET_HEADERS_MAX + 4];
    const char *coding = NULL;
    kedge_status status = KEDGE_OK;
    size_t count = 0;

    while (count < request->header_count && count < KEDGE_NET_HEADERS_MAX) {
        headers[count] = request->headers[count];
        count++;
    }
    headers[count++] = (kedge_http_header){"Accept", accept};

    append_url(net, path, &url);
    if (token != NULL) {
        kedge_buffer_append_text(&bearer, "Bearer ");
        kedge_buffer_append_text(&bearer, token);
        headers[count++] = (kedge_http_header){"Authorization", bearer.data};
    } else if (net->user.size > 0) {
        headers[count++] = (kedge_http_header){KEDGE_WIRE_USER_HEADER, net->user.data};
    }
    if (request->body.size >= KEDGE_CODING_BYTES_MIN) {
        status = kedge_coding_encode(&request->body, &compressed, &coding, error);
    }
    /* As AWS documents it, API Gateway goes by the type alone: it would take gzip with the type of
     * JSON for text, and hand on other bytes. */
    if (request->body.data != NULL) {
        headers[count++] = (kedge_http_header){
            "Content-Type", coding == NULL ? "application/json" : "application/octet-stream"};
    }
    if (coding != NULL) headers[count++] = (kedge_http_header){"Content-Encoding", coding};
    if (status == KEDGE_OK) status = kedge_buffer_status(&url, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&bearer, error);
    if (status == KEDGE_OK) {
        request->url = url.data;
        request->headers = headers;
        request->header_count = count;
        status = kedge_http_send(net->http, request, call, error);
    }
    kedge_buffer_free(&url);
    kedge_buffer_wipe(&bearer);
    kedge_buffer_free(&compressed);
    return status;
}
