/* By when a call must have ended. libcurl keeps the deadline of a call that is not paced. That of a
 * paced one is kept here, so that it can be put off: libcurl does not look again at a handle whose
 * timer has run out.
 *
 * A paced call has credit, at most its whole deadline. Time takes from it, and bytes that move add
 * to it. A byte has moved when the system has taken it, so the system must not take much: it would
 * hold megabytes that a slow line carries for minutes, while nothing seems to move. */
#include "http/call.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define UNSENT_BYTES 65536 /* that the system takes beyond what is on its way */
#define TELL_MS      500

static int hold_little(void *context, curl_socket_t socket, curlsocktype purpose)
{
    (void)context, (void)purpose;
#ifdef TCP_NOTSENT_LOWAT
    int bytes = UNSENT_BYTES;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
#else
    (void)socket;
#endif
    return CURL_SOCKOPT_OK;
}

static int64_t now_of(const kedge_http *http)
{
    return http->environment->monotonic_ms(http->environment->context);
}

void kedge_http_deadline_begin(kedge_http_call *call, const kedge_http_request *request)
{
    call->deadline_ms = request->deadline_ms;
    call->paced = request->paced;
    call->due_ms = call->told_ms = now_of(call->http) + request->deadline_ms;
    curl_easy_setopt(call->easy, CURLOPT_SOCKOPTFUNCTION, hold_little);
    if (!call->paced) curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)call->deadline_ms);
}

void kedge_http_deadline_add(kedge_http_call *call, int64_t away_ms)
{
    call->due_ms += away_ms;
    if (call->paced || call->deadline_ms == 0) return;
    call->deadline_ms += away_ms;
    curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)call->deadline_ms);
}

/* The count begins again when libcurl sends the request once more. */
static int64_t count_moved(kedge_http_call *call)
{
    curl_off_t up = 0;
    curl_off_t down = 0;
    int64_t before = call->moved_bytes;
    curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &up);
    curl_easy_getinfo(call->easy, CURLINFO_SIZE_DOWNLOAD_T, &down);
    call->moved_bytes = up + down;
    return call->moved_bytes - before;
}

static void put_off(kedge_http_call *call, int64_t now_ms)
{
    int64_t moved = count_moved(call);
    if (moved <= 0) return;
    int64_t latest_ms = now_ms + call->deadline_ms;
    call->due_ms += moved * 1000 / KEDGE_HTTP_PACE_BYTES_S;
    if (call->due_ms > latest_ms) call->due_ms = latest_ms;
}

void kedge_http_deadlines_look(kedge_http *http, int64_t now_ms)
{
    kedge_http_call *call = http->calls;
    while (call != NULL) {
        if (call->paced) put_off(call, now_ms);
        bool tells = call->moved != NULL && call->due_ms - call->told_ms >= TELL_MS;
        if (tells) {
            call->told_ms = call->due_ms;
            call->moved(call->context);
        }
        call = tells ? http->calls : call->next; /* it may have been cancelled */
    }
}

kedge_http_call *kedge_http_late_call(const kedge_http *http, int64_t now_ms)
{
    kedge_http_call *call = http->calls;
    while (call != NULL && (!call->paced || now_ms < call->due_ms))
        call = call->next;
    return call;
}

int64_t kedge_http_late_in_ms(const kedge_http *http)
{
    int64_t first_ms = INT64_MAX;
    for (const kedge_http_call *call = http->calls; call != NULL; call = call->next) {
        if (call->paced && call->due_ms < first_ms) first_ms = call->due_ms;
    }
    if (first_ms == INT64_MAX) return -1;
    int64_t now_ms = now_of(http);
    return first_ms > now_ms ? first_ms - now_ms : 0;
}
