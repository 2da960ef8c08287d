/* One request: its libcurl handle and options, and the gathering of its response. */
#include "http/call.h"

#include "common/error.h"
#include "common/hash.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Headers come line by line. A status line starts anew: what came before was an interim
 * response. */
static size_t take_header(char *line, size_t size, size_t count, void *context)
{
    kedge_http_call *call = context;
    size_t bytes = size * count;
    kedge_bytes text = {line, bytes};
    if (kedge_bytes_start_with(text, KEDGE_BYTES("HTTP/"))) {
        kedge_buffer_clear(&call->response_headers);
        call->headers_complete = false;
        return bytes;
    }
    if (bytes <= 2) {
        call->headers_complete = true;
        return bytes;
    }
    if (call->response_headers.size + bytes > KEDGE_HTTP_HEADER_BYTES_MAX) {
        call->too_large = true;
        return 0;
    }
    kedge_buffer_append(&call->response_headers, line, bytes);
    return call->response_headers.no_memory ? 0 : bytes;
}

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    kedge_http_call *call = context;
    size_t bytes = size * count;
    size_t bytes_max =
        kedge_http_call_streams(call) ? KEDGE_HTTP_STREAM_CHUNK_MAX : call->response_bytes_max;
    if (bytes > bytes_max - call->response_body.size) {
        call->too_large = true;
        return 0;
    }
    kedge_buffer_append(&call->response_body, data, bytes);
    return call->response_body.no_memory ? 0 : bytes;
}

bool kedge_http_call_streams(const kedge_http_call *call)
{
    long status = 0;
    if (call->stream == NULL || !call->headers_complete) return false;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status < 300;
}

static kedge_status add_header(kedge_http_call *call, const char *name, const char *value,
                               kedge_error *error)
{
    kedge_buffer line = kedge_buffer_make(call->http->environment->allocator);
    struct curl_slist *longer = NULL;
    if (strpbrk(name, "\r\n:") != NULL || strpbrk(value, "\r\n") != NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "header-invalid",
                          "a header's name or value holds a line break");
    }
    kedge_buffer_append_format(&line, "%s: %s", name, value);
    if (!line.no_memory) longer = curl_slist_append(call->headers, line.data);
    kedge_buffer_wipe(&line);
    if (longer == NULL) return kedge_fail_no_memory(error);
    call->headers = longer;
    return KEDGE_OK;
}

static kedge_status add_headers(kedge_http_call *call, const kedge_http_request *request,
                                kedge_error *error)
{
    if (request->header_count > KEDGE_HTTP_HEADERS_MAX) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-headers",
                          "a request has %zu headers, at most %d are allowed",
                          request->header_count, KEDGE_HTTP_HEADERS_MAX);
    }
    for (size_t i = 0; i < request->header_count; i++) {
        kedge_status status =
            add_header(call, request->headers[i].name, request->headers[i].value, error);
        if (status != KEDGE_OK) return status;
    }
    /* Headers of libcurl's own that are not wanted. With Expect it waits for a "100 Continue"
     * before a large body; Content-Type would be that of a form where the request has none. */
    static const char *const unwanted[] = {"Expect:", "Content-Type:"};
    for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; i++) {
        struct curl_slist *longer = curl_slist_append(call->headers, unwanted[i]);
        if (longer == NULL) return kedge_fail_no_memory(error);
        call->headers = longer;
    }
    return KEDGE_OK;
}

/* This machine, and the link-local addresses at which clouds put an instance's metadata, which no
 * proxy can reach in its place. */
static bool goes_direct(const char *url)
{
    const char *host = strstr(url, "://");
    if (host == NULL) return false;
    host += 3;
    size_t size = strcspn(host, "/?#");
    return (size >= 4 && strncmp(host, "127.", 4) == 0) ||
           (size >= 5 && strncmp(host, "[::1]", 5) == 0) ||
           (size >= 8 && strncmp(host, "169.254.", 8) == 0) ||
           (size >= 10 && strncasecmp(host, "[fd00:ec2:", 10) == 0) ||
           (size >= 9 && strncasecmp(host, "localhost", 9) == 0 && (size == 9 || host[9] == ':'));
}

/* Called before a request goes out on a connection: also when libcurl sends it once more, because a
 * kept connection turned out to be closed. */
static int allow_once(void *context, char *remote_address, char *local_address, int remote_port,
                      int local_port)
{
    kedge_http_call *call = context;
    (void)remote_address;
    (void)local_address;
    (void)remote_port;
    (void)local_port;
    if (call->sent_before) return CURL_PREREQFUNC_ABORT;
    call->sent_before = true;
    return CURL_PREREQFUNC_OK;
}

/* Method and body. GET and HEAD have no body; the others send one, be it empty. */
static void set_method(kedge_http_call *call, const char *method)
{
    CURL *easy = call->easy;
    if (strcmp(method, "GET") == 0) {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
        return;
    }
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->request_body.size);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                     call->request_body.size == 0 ? "" : call->request_body.data);
    if (strcmp(method, "POST") != 0) curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

static void set_safety(kedge_http_call *call, const kedge_http_request *request)
{
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    /* "/a/../b" is a path of its own where it names an object. */
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    const char *authorities = call->http->ca_file;
    if (authorities != NULL) curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    /* OpenSSL's own variable, which libcurl's default would override. */
    if (authorities == NULL) authorities = getenv("SSL_CERT_FILE");
    if (authorities != NULL && authorities[0] != '\0')
        curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    /* A cancelled request does not wait for a hung name look-up. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    /* A dead connection of HTTP/1.1 is closed with the request that timed out on it. One of HTTP/2
     * stays, and the next request would wait on it, too. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    call->connect_ms = KEDGE_HTTP_CONNECT_TIMEOUT_MS;
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms);
    kedge_http_deadline_begin(call, request);
    if (goes_direct(request->url)) curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
}

static kedge_status set_options(kedge_http_call *call, const kedge_http_request *request,
                                kedge_error *error)
{
    CURL *easy = call->easy;
    /* A stream is read as it comes: a compressed one would sit in the decoder. */
    bool decoded = request->stream == NULL && !request->undecoded;
    const char *encodings = decoded ? "gzip, deflate" : NULL;
    if (curl_easy_setopt(easy, CURLOPT_URL, request->url) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, encodings) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_USERAGENT, "kedge/" KEDGE_VERSION_STRING) != CURLE_OK) {
        return kedge_fail_no_memory(error);
    }
    set_method(call, request->method);
    if (request->send_once) {
        curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, allow_once);
        curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    }
    set_safety(call, request);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    return KEDGE_OK;
}

kedge_status kedge_http_call_new(kedge_http *http, const kedge_http_request *request,
                                 kedge_http_call **call, kedge_error *error)
{
    const kedge_allocator *allocator = http->environment->allocator;
    kedge_http_call *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->http = http;
    made->done = request->done;
    made->moved = request->moved;
    made->stream = request->stream;
    made->context = request->context;
    made->response_bytes_max = request->response_bytes_max;
    made->request_body = kedge_buffer_make(allocator);
    made->response_headers = kedge_buffer_make(allocator);
    made->response_body = kedge_buffer_make(allocator);
    made->easy = curl_easy_init();
    /* Before anything can fail: without it, the end of a handle changes what SIGPIPE does. */
    curl_easy_setopt(made->easy, CURLOPT_NOSIGNAL, 1L);
    kedge_buffer_append_bytes(&made->request_body, request->body);

    kedge_status status = kedge_buffer_status(&made->request_body, error);
    if (status == KEDGE_OK && made->easy == NULL) status = kedge_fail_no_memory(error);
    if (status == KEDGE_OK) status = add_headers(made, request, error);
    if (status == KEDGE_OK) status = set_options(made, request, error);
    if (status != KEDGE_OK) {
        kedge_http_call_free(made);
        return status;
    }
    *call = made;
    return KEDGE_OK;
}

void kedge_http_call_free(kedge_http_call *call)
{
    curl_easy_cleanup(call->easy);
    for (struct curl_slist *at = call->headers; at != NULL; at = at->next)
        kedge_cleanse(at->data, strlen(at->data));
    curl_slist_free_all(call->headers);
    kedge_buffer_free(&call->request_body);
    kedge_buffer_free(&call->response_headers);
    kedge_buffer_free(&call->response_body);
    kedge_release(call->http->environment->allocator, call);
}
