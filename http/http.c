/* The client: its calls, waiting, and calling back. libcurl's own callbacks (call.c) only gather
 * bytes; everything is called back from here, outside of libcurl, so that a callback may send and
 * cancel. */
#include "http/call.h"

#include "common/error.h"

#include <limits.h>
#include <pthread.h>

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_ready = CURLE_FAILED_INIT;

static void init_curl(void)
{
    curl_ready = curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* While libcurl ends a multi handle it changes what the process does on SIGPIPE, unless the handle
 * that the multi handle was given last has CURLOPT_NOSIGNAL. So also one that never sends gets such
 * a handle. */
static CURLM *make_multi(void)
{
    CURLM *multi = curl_multi_init();
    CURL *easy = curl_easy_init();
    bool given = multi != NULL && easy != NULL &&
                 curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                 curl_multi_add_handle(multi, easy) == CURLM_OK;
    if (given) curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    if (given) return multi;
    curl_multi_cleanup(multi);
    return NULL;
}

kedge_status kedge_http_new(const kedge_environment *environment, uint32_t connections_max,
                            kedge_http **http, kedge_error *error)
{
    pthread_once(&curl_once, init_curl);
    if (curl_ready != CURLE_OK) {
        return kedge_fail(error, KEDGE_INTERNAL, "http-client-failed",
                          "libcurl could not be initialized: %s", curl_easy_strerror(curl_ready));
    }
    kedge_http *made = kedge_allocate(environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->environment = environment;
    made->left_ms = environment->monotonic_ms(environment->context);
    made->multi = make_multi();
    if (made->multi == NULL) {
        kedge_release(environment->allocator, made);
        return kedge_fail_no_memory(error);
    }
    made->set = (kedge_http_descriptor_set){
        .environment = environment, .multi = made->multi, .epoll = -1, .wake = -1};
    curl_multi_setopt(made->multi, CURLMOPT_MAXCONNECTS, (long)connections_max);
    curl_multi_setopt(made->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)connections_max);
    *http = made;
    return KEDGE_OK;
}

kedge_status kedge_http_trust(kedge_http *http, const char *ca_file, kedge_error *error)
{
    http->ca_file = kedge_copy_text(http->environment->allocator, kedge_bytes_of(ca_file));
    return http->ca_file == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}

kedge_status kedge_http_use_descriptor(kedge_http *http, kedge_error *error)
{
    return kedge_http_descriptor_open(&http->set, error);
}

int kedge_http_descriptor(const kedge_http *http)
{
    return http->set.epoll;
}

int64_t kedge_http_due_ms(const kedge_http *http)
{
    int64_t due_ms = kedge_http_descriptor_due_ms(&http->set);
    int64_t late_in_ms = kedge_http_late_in_ms(http);
    return due_ms < 0 || (late_in_ms >= 0 && late_in_ms < due_ms) ? late_in_ms : due_ms;
}

/* Takes the call out of the client; nothing of libcurl or of the list refers to it any more. */
static void detach(kedge_http_call *call)
{
    kedge_http *http = call->http;
    curl_multi_remove_handle(http->multi, call->easy);
    if (call->previous != NULL) call->previous->next = call->next;
    if (call->next != NULL) call->next->previous = call->previous;
    if (http->calls == call) http->calls = call->next;
}

void kedge_http_cancel(kedge_http_call *call)
{
    detach(call);
    kedge_http_call_free(call);
}

void kedge_http_free(kedge_http *http)
{
    if (http == NULL) return;
    while (http->calls != NULL) {
        kedge_http_cancel(http->calls);
    }
    curl_multi_cleanup(http->multi);
    kedge_http_descriptor_close(&http->set);
    kedge_release(http->environment->allocator, http->ca_file);
    kedge_release(http->environment->allocator, http);
}

kedge_status kedge_http_send(kedge_http *http, const kedge_http_request *request,
                             kedge_http_call **call, kedge_error *error)
{
    kedge_http_call *made = NULL;
    kedge_status status = kedge_http_call_new(http, request, &made, error);
    if (status != KEDGE_OK) return status;
    if (curl_multi_add_handle(http->multi, made->easy) != CURLM_OK) {
        kedge_http_call_free(made);
        return kedge_fail_no_memory(error);
    }
    made->next = http->calls;
    if (http->calls != NULL) http->calls->previous = made;
    http->calls = made;
    if (call != NULL) *call = made;
    return KEDGE_OK;
}

/* The first stream with something to tell: its headers, or bytes. */
static kedge_http_call *ready_stream(const kedge_http *http)
{
    for (kedge_http_call *call = http->calls; call != NULL; call = call->next) {
        if (!kedge_http_call_streams(call)) continue;
        if (!call->announced || call->response_body.size > 0) return call;
    }
    return NULL;
}

/* Gives one stream its bytes. They are moved out of the call first, since the callback may cancel
 * it. */
static void deliver_stream(kedge_http_call *call)
{
    kedge_http_response head;
    kedge_http_call_response(call, &head);
    head.body = (kedge_bytes){NULL, 0};
    if (!call->announced) {
        call->announced = true;
        call->stream(call->context, &head, (kedge_bytes){NULL, 0});
        return;
    }
    kedge_buffer bytes = call->response_body;
    call->response_body = kedge_buffer_make(call->http->environment->allocator);
    call->stream(call->context, &head, kedge_buffer_bytes(&bytes));
    kedge_buffer_free(&bytes);
}

static bool deliver_streams(kedge_http *http)
{
    kedge_http_call *call;
    bool delivered = false;
    while ((call = ready_stream(http)) != NULL) {
        deliver_stream(call);
        delivered = true;
    }
    return delivered;
}

static void finish(kedge_http_call *call, CURLcode code)
{
    kedge_http_response response;
    detach(call);
    kedge_http_call_response(call, &response);
    kedge_http_classify(call, code, &response);
    call->done(call->context, &response);
    kedge_http_call_free(call);
}

/* Ends the calls that libcurl has finished. A finished call stays in the list until here, so that a
 * callback of an earlier one may still cancel it: then libcurl drops its message. */
static bool deliver_finished(kedge_http *http)
{
    int left = 0;
    bool delivered = false;
    CURLMsg *message;
    while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        CURLcode code = message->data.result;
        kedge_http_call *call = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        finish(call, code);
        delivered = true;
    }
    return delivered;
}

/* How long the thread may be away before it counts, and how much of it counts: a machine may sleep
 * for hours meanwhile. */
#define AWAY_MS     100
#define AWAY_MAX_MS 600000

void kedge_http_make_up(kedge_http *http)
{
    int64_t now_ms = http->environment->monotonic_ms(http->environment->context);
    int64_t away_ms = now_ms - http->left_ms;
    if (away_ms > AWAY_MAX_MS) away_ms = AWAY_MAX_MS;
    http->left_ms = now_ms;
    /* A handle whose timer is put off has none, and with a descriptor nobody looks at it again. */
    if (away_ms < AWAY_MS || kedge_http_descriptor(http) >= 0) return;
    for (kedge_http_call *call = http->calls; call != NULL; call = call->next) {
        kedge_http_deadline_add(call, away_ms);
        call->connect_ms += away_ms;
        curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms);
    }
}

/* Ends the calls whose deadline has passed. What came before it was read and delivered. */
static bool deliver_late(kedge_http *http, int64_t now_ms)
{
    kedge_http_call *call;
    bool delivered = false;
    while ((call = kedge_http_late_call(http, now_ms)) != NULL) {
        finish(call, CURLE_OPERATION_TIMEDOUT);
        delivered = true;
    }
    return delivered;
}

static bool deliver(kedge_http *http)
{
    int64_t now_ms = http->environment->monotonic_ms(http->environment->context);
    http->left_ms = now_ms;
    kedge_http_deadlines_look(http, now_ms);
    bool streams = deliver_streams(http);
    bool finished = deliver_finished(http);
    bool late = deliver_late(http, now_ms);
    kedge_http_make_up(http);
    return streams || finished || late;
}

/* Lets libcurl do what it can without waiting, and calls back. */
static CURLMcode advance(kedge_http *http, bool *delivered)
{
    int running = 0;
    CURLMcode code = curl_multi_perform(http->multi, &running);
    if (code == CURLM_OK) *delivered = deliver(http);
    return code;
}

/* Data that has arrived must be handled before waiting: libcurl would sleep although it has already
 * read a response. */
static CURLMcode wait_in_libcurl(kedge_http *http, int64_t timeout_ms, int wake_fd, bool *readable)
{
    struct curl_waitfd extra = {.fd = (curl_socket_t)wake_fd, .events = CURL_WAIT_POLLIN};
    bool delivered = false;
    if (timeout_ms > INT_MAX) timeout_ms = INT_MAX;
    CURLMcode code = advance(http, &delivered);
    if (delivered) timeout_ms = 0;
    if (code == CURLM_OK) {
        code = curl_multi_poll(http->multi, &extra, wake_fd < 0 ? 0 : 1, (int)timeout_ms, NULL);
    }
    if (code == CURLM_OK) code = advance(http, &delivered);
    *readable = wake_fd >= 0 && (extra.revents & CURL_WAIT_POLLIN) != 0;
    return code;
}

static CURLMcode wait_with_descriptor(kedge_http *http, int64_t timeout_ms, int wake_fd,
                                      bool *readable)
{
    CURLMcode code = kedge_http_descriptor_wait(&http->set, timeout_ms, wake_fd, readable);
    if (code == CURLM_OK) (void)deliver(http);
    return code;
}

kedge_status kedge_http_poll(kedge_http *http, int64_t timeout_ms, int wake_fd, bool *readable,
                             kedge_error *error)
{
    bool extra_readable = false;
    int64_t late_in_ms = kedge_http_late_in_ms(http);
    if (late_in_ms >= 0 && late_in_ms < timeout_ms) timeout_ms = late_in_ms;
    if (timeout_ms < 0) timeout_ms = 0;
    CURLMcode code = kedge_http_descriptor(http) < 0
                         ? wait_in_libcurl(http, timeout_ms, wake_fd, &extra_readable)
                         : wait_with_descriptor(http, timeout_ms, wake_fd, &extra_readable);
    if (readable != NULL) *readable = code == CURLM_OK && extra_readable;
    if (code == CURLM_OUT_OF_MEMORY) return kedge_fail_no_memory(error);
    if (code != CURLM_OK) {
        return kedge_fail(error, KEDGE_INTERNAL, "http-client-failed", "libcurl failed: %s",
                          curl_multi_strerror(code));
    }
    return KEDGE_OK;
}

void kedge_http_wake(kedge_http *http)
{
    if (kedge_http_descriptor(http) < 0)
        curl_multi_wakeup(http->multi);
    else
        kedge_http_descriptor_wake(&http->set);
}
