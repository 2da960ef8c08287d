/* One descriptor for all that the client waits for: see descriptor.h. */
#include "http/descriptor.h"

#include "common/error.h"

#ifdef __linux__

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 32 /* handled by one call; what is left is ready at the next */

static int64_t now_ms(const kedge_http_descriptor_set *set)
{
    return set->environment->monotonic_ms(set->environment->context);
}

static int follow(const kedge_http_descriptor_set *set, int descriptor, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = descriptor};
    if (epoll_ctl(set->epoll, EPOLL_CTL_MOD, descriptor, &event) == 0) return 0;
    return errno == ENOENT ? epoll_ctl(set->epoll, EPOLL_CTL_ADD, descriptor, &event) : -1;
}

static void leave(const kedge_http_descriptor_set *set, int descriptor)
{
    (void)epoll_ctl(set->epoll, EPOLL_CTL_DEL, descriptor, NULL);
}

/* ---- what libcurl asks for ---- */

static int socket_changed(CURL *easy, curl_socket_t socket, int what, void *context, void *own)
{
    kedge_http_descriptor_set *set = context;
    (void)easy;
    (void)own;
    if (what == CURL_POLL_REMOVE) {
        leave(set, socket);
        return 0;
    }
    uint32_t events = (what & CURL_POLL_IN) != 0 ? EPOLLIN : 0;
    if ((what & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
    return follow(set, socket, events);
}

static int timer_changed(CURLM *multi, long timeout_ms, void *context)
{
    kedge_http_descriptor_set *set = context;
    (void)multi;
    set->due_at_ms = timeout_ms < 0 ? -1 : now_ms(set) + timeout_ms;
    return 0;
}

kedge_status kedge_http_descriptor_open(kedge_http_descriptor_set *set, kedge_error *error)
{
    set->extra = -1;
    set->due_at_ms = -1;
    set->epoll = epoll_create1(EPOLL_CLOEXEC);
    set->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (set->epoll < 0 || set->wake < 0 || follow(set, set->wake, EPOLLIN) != 0) {
        int code = errno;
        kedge_http_descriptor_close(set);
        return kedge_fail(error, KEDGE_IO, "descriptor-failed",
                          "a descriptor to wait with could not be made: %s", strerror(code));
    }
    curl_multi_setopt(set->multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(set->multi, CURLMOPT_SOCKETDATA, set);
    curl_multi_setopt(set->multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(set->multi, CURLMOPT_TIMERDATA, set);
    return KEDGE_OK;
}

void kedge_http_descriptor_close(kedge_http_descriptor_set *set)
{
    if (set->epoll >= 0) close(set->epoll);
    if (set->wake >= 0) close(set->wake);
    set->epoll = set->wake = -1;
}

/* ---- waiting ---- */

static void set_extra(kedge_http_descriptor_set *set, int extra)
{
    if (set->extra == extra) return;
    if (set->extra >= 0) leave(set, set->extra);
    set->extra = extra >= 0 && follow(set, extra, EPOLLIN) != 0 ? -1 : extra;
}

static CURLMcode handle(kedge_http_descriptor_set *set, const struct epoll_event *event,
                        bool *readable)
{
    int descriptor = event->data.fd;
    int running = 0;
    if (descriptor == set->wake) {
        uint64_t count;
        (void)!read(set->wake, &count, sizeof count);
        return CURLM_OK;
    }
    if (descriptor == set->extra) {
        *readable = true;
        return CURLM_OK;
    }
    int ready = (event->events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0;
    if ((event->events & EPOLLOUT) != 0) ready |= CURL_CSELECT_OUT;
    if ((event->events & (EPOLLERR | EPOLLHUP)) != 0) ready |= CURL_CSELECT_ERR;
    return curl_multi_socket_action(set->multi, descriptor, ready, &running);
}

int64_t kedge_http_descriptor_due_ms(const kedge_http_descriptor_set *set)
{
    if (set->due_at_ms < 0) return -1;
    int64_t now = now_ms(set);
    return set->due_at_ms <= now ? 0 : set->due_at_ms - now;
}

CURLMcode kedge_http_descriptor_wait(kedge_http_descriptor_set *set, int64_t timeout_ms, int extra,
                                     bool *readable)
{
    struct epoll_event events[EVENTS_MAX];
    int64_t due_ms = kedge_http_descriptor_due_ms(set);
    int running = 0;
    set_extra(set, extra);
    if (due_ms >= 0 && due_ms < timeout_ms) timeout_ms = due_ms;
    if (timeout_ms > INT_MAX) timeout_ms = INT_MAX;
    int count = epoll_wait(set->epoll, events, EVENTS_MAX, (int)timeout_ms);
    CURLMcode code = CURLM_OK;
    for (int i = 0; i < count && code == CURLM_OK; i++)
        code = handle(set, &events[i], readable);
    if (code == CURLM_OK && kedge_http_descriptor_due_ms(set) == 0) {
        set->due_at_ms = -1; /* libcurl sets it again */
        code = curl_multi_socket_action(set->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    return code;
}

void kedge_http_descriptor_wake(kedge_http_descriptor_set *set)
{
    uint64_t one = 1;
    (void)!write(set->wake, &one, sizeof one);
}

#else

kedge_status kedge_http_descriptor_open(kedge_http_descriptor_set *set, kedge_error *error)
{
    (void)set;
    return kedge_fail(error, KEDGE_UNSUPPORTED, "descriptor-unsupported",
                      "this system has no epoll: open the database without `caller_driven`");
}

void kedge_http_descriptor_close(kedge_http_descriptor_set *set)
{
    (void)set;
}

CURLMcode kedge_http_descriptor_wait(kedge_http_descriptor_set *set, int64_t timeout_ms, int extra,
                                     bool *readable)
{
    (void)set, (void)timeout_ms, (void)extra, (void)readable;
    return CURLM_INTERNAL_ERROR;
}

int64_t kedge_http_descriptor_due_ms(const kedge_http_descriptor_set *set)
{
    (void)set;
    return -1;
}

void kedge_http_descriptor_wake(kedge_http_descriptor_set *set)
{
    (void)set;
}

#endif
