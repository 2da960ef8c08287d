/* Reading a response: its headers, Retry-After (RFC 9110, 10.2.3), and what
 * libcurl's result means. */
#include "http/call.h"

#include "common/error.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#define RETRY_AFTER_MAX_S 86400

static kedge_bytes trim(kedge_bytes text)
{
    while (text.size > 0 && strchr(" \t\r\n", text.data[text.size - 1]) != NULL) {
        text.size--;
    }
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.size--;
    }
    return text;
}

bool kedge_http_header_value(kedge_bytes headers, const char *name, kedge_bytes *value)
{
    kedge_bytes rest = headers;
    size_t name_size = strlen(name);
    bool found = false;
    while (rest.size > 0) {
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end == NULL ? rest.size : (size_t)(end - rest.data) + 1;
        if (size > name_size && rest.data[name_size] == ':' &&
            strncasecmp(rest.data, name, name_size) == 0) {
            *value = trim((kedge_bytes){rest.data + name_size + 1, size - name_size - 1});
            found = true;
        }
        rest.data += size;
        rest.size -= size;
    }
    return found;
}

int64_t kedge_http_retry_after(kedge_bytes value, int64_t now_ms)
{
    int64_t seconds = 0;
    char date[64];
    if (value.size == 0 || value.size >= sizeof date) return 0;
    if (strspn(value.data, "0123456789") >= value.size) {
        for (size_t i = 0; i < value.size && seconds <= RETRY_AFTER_MAX_S; i++) {
            seconds = seconds * 10 + (value.data[i] - '0');
        }
    } else {
        memcpy(date, value.data, value.size);
        date[value.size] = '\0';
        time_t at = curl_getdate(date, NULL);
        if (at == -1) return 0;
        seconds = (int64_t)at - now_ms / 1000;
    }
    if (seconds <= 0) return 0;
    return (seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds) * 1000;
}

void kedge_http_call_response(const kedge_http_call *call, kedge_http_response *response)
{
    long status = 0;
    long sent_bytes = 0;
    kedge_bytes retry_after = {NULL, 0};
    const kedge_environment *environment = call->http->environment;
    *response = (kedge_http_response){0};
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &sent_bytes);
    response->status = (int)status;
    response->sent = sent_bytes > 0;
    response->headers = kedge_buffer_bytes(&call->response_headers);
    response->body = kedge_buffer_bytes(&call->response_body);
    kedge_http_header_value(response->headers, "Content-Type", &response->content_type);
    if (kedge_http_header_value(response->headers, "Retry-After", &retry_after)) {
        response->retry_after_ms =
            kedge_http_retry_after(retry_after, environment->now_ms(environment->context));
    }
}

typedef struct meaning {
    CURLcode result;
    kedge_status status;
    char code[20];
    char message[56];
} meaning;

static const meaning meanings[] = {
    {CURLE_COULDNT_RESOLVE_HOST, KEDGE_NETWORK, "host-not-found", "the server's name is not known"},
    {CURLE_COULDNT_RESOLVE_PROXY, KEDGE_NETWORK, "host-not-found", "the proxy's name is not known"},
    {CURLE_COULDNT_CONNECT, KEDGE_NETWORK, "connection-refused",
     "the server did not accept a connection"},
    {CURLE_OPERATION_TIMEDOUT, KEDGE_TIMEOUT, "request-timeout",
     "the server did not respond in time"},
    {CURLE_PEER_FAILED_VERIFICATION, KEDGE_PROTOCOL, "tls-failed",
     "the server's certificate is not accepted"},
    {CURLE_SSL_CONNECT_ERROR, KEDGE_PROTOCOL, "tls-failed", "the TLS handshake failed"},
    {CURLE_SSL_CACERT_BADFILE, KEDGE_PROTOCOL, "tls-failed",
     "the trusted certificates could not be read"},
    {CURLE_PARTIAL_FILE, KEDGE_NETWORK, "response-truncated",
     "the response ended before its length"},
    {CURLE_GOT_NOTHING, KEDGE_NETWORK, "response-truncated",
     "the server closed the connection without a response"},
    {CURLE_RECV_ERROR, KEDGE_NETWORK, "connection-failed", "the connection broke"},
    {CURLE_SEND_ERROR, KEDGE_NETWORK, "connection-failed", "the connection broke"},
    {CURLE_ABORTED_BY_CALLBACK, KEDGE_NETWORK, "connection-failed",
     "the connection was closed before a response came"},
    {CURLE_WEIRD_SERVER_REPLY, KEDGE_PROTOCOL, "response-invalid", "the response is not HTTP"},
    {CURLE_UNSUPPORTED_PROTOCOL, KEDGE_PROTOCOL, "response-invalid", "the response is not HTTP"},
    {CURLE_BAD_CONTENT_ENCODING, KEDGE_PROTOCOL, "response-invalid",
     "the response's compression is damaged"},
    {CURLE_URL_MALFORMAT, KEDGE_INVALID_ARGUMENT, "url-invalid", "the URL is malformed"},
    {CURLE_OUT_OF_MEMORY, KEDGE_NO_MEMORY, "out-of-memory", "memory ran out"},
};

static const meaning other = {CURLE_OK, KEDGE_NETWORK, "connection-failed", "the request failed"};

void kedge_http_classify(const kedge_http_call *call, CURLcode code, kedge_http_response *response)
{
    const meaning *found = &other;
    /* libcurl takes the end of the connection for the end of the headers. */
    if (code == CURLE_OK && !call->headers_complete) code = CURLE_PARTIAL_FILE;
    if (code == CURLE_OK) return;
    response->status = 0;
    if (call->too_large) {
        kedge_fail(&response->error, KEDGE_LIMIT_EXCEEDED, "response-too-large",
                   "the response is larger than the %zu bytes that were asked for",
                   call->response_bytes_max);
        return;
    }
    if (call->response_body.no_memory || call->response_headers.no_memory) {
        kedge_fail_no_memory(&response->error);
        return;
    }
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (meanings[i].result == code) found = &meanings[i];
    }
    kedge_fail(&response->error, found->status, found->code, "%s (%s)", found->message,
               call->curl_error[0] == '\0' ? curl_easy_strerror(code) : call->curl_error);
}
