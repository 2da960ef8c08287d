/* The stack of HTTP clients. */
#include "backend/aws/transport.h"

#include "common/error.h"

#include <pthread.h>

struct kedge_aws_transport {
    const kedge_environment *environment;
    uint32_t requests_max;
    uint32_t hosts;
    pthread_mutex_t mutex;
    pthread_cond_t given_back;
    kedge_http **idle; /* room for `requests_max` */
    uint32_t idle_count;
    uint32_t made_count; /* idle and taken ones */
};

kedge_status kedge_aws_transport_new(const kedge_environment *environment, uint32_t requests_max,
                                     uint32_t hosts, kedge_aws_transport **transport,
                                     kedge_error *error)
{
    const kedge_allocator *allocator = environment->allocator;
    pthread_condattr_t monotonic;
    kedge_aws_transport *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->idle = kedge_allocate(allocator, requests_max * sizeof *made->idle);
    if (made->idle == NULL) {
        kedge_release(allocator, made);
        return kedge_fail_no_memory(error);
    }
    made->environment = environment;
    made->requests_max = requests_max;
    made->hosts = hosts;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&made->given_back, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *transport = made;
    return KEDGE_OK;
}

void kedge_aws_transport_free(kedge_aws_transport *transport)
{
    if (transport == NULL) return;
    const kedge_allocator *allocator = transport->environment->allocator;
    for (uint32_t i = 0; i < transport->idle_count; i++) {
        kedge_http_free(transport->idle[i]);
    }
    pthread_cond_destroy(&transport->given_back);
    pthread_mutex_destroy(&transport->mutex);
    kedge_release(allocator, transport->idle);
    kedge_release(allocator, transport);
}

/* ---- taking a client and giving it back ---- */

struct timespec kedge_aws_after(int64_t duration_ms)
{
    struct timespec at = {0};
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t nanoseconds = at.tv_nsec + (duration_ms % 1000) * 1000000;
    at.tv_sec += (time_t)(duration_ms / 1000 + nanoseconds / 1000000000);
    at.tv_nsec = (long)(nanoseconds % 1000000000);
    return at;
}

/* An idle client, or the right to make one (`http` stays NULL). */
static kedge_status wait_for_turn(kedge_aws_transport *transport, int64_t deadline_ms,
                                  kedge_http **http, kedge_error *error)
{
    struct timespec until = kedge_aws_after(deadline_ms);
    int result = 0;
    pthread_mutex_lock(&transport->mutex);
    while (transport->idle_count == 0 && transport->made_count == transport->requests_max &&
           result == 0) {
        result = pthread_cond_timedwait(&transport->given_back, &transport->mutex, &until);
    }
    bool taken = true;
    if (transport->idle_count > 0) {
        *http = transport->idle[--transport->idle_count];
    } else if (transport->made_count < transport->requests_max) {
        transport->made_count++;
    } else {
        taken = false;
    }
    pthread_mutex_unlock(&transport->mutex);
    if (taken) return KEDGE_OK;
    return kedge_fail(error, KEDGE_TIMEOUT, KEDGE_AWS_CONNECTIONS_TAKEN,
                      "all %u connections to AWS stayed taken by other requests",
                      transport->requests_max);
}

/* `http` NULL: it is gone. */
static void give_back(kedge_aws_transport *transport, kedge_http *http)
{
    pthread_mutex_lock(&transport->mutex);
    if (http != NULL) {
        transport->idle[transport->idle_count++] = http;
    } else {
        transport->made_count--;
    }
    pthread_cond_signal(&transport->given_back);
    pthread_mutex_unlock(&transport->mutex);
}

static kedge_status take(kedge_aws_transport *transport, int64_t deadline_ms, kedge_http **http,
                         kedge_error *error)
{
    kedge_http *taken = NULL;
    kedge_status status = wait_for_turn(transport, deadline_ms, &taken, error);
    if (status != KEDGE_OK) return status;
    if (taken == NULL) {
        status = kedge_http_new(transport->environment, transport->hosts, &taken, error);
        if (status != KEDGE_OK) {
            give_back(transport, NULL);
            return status;
        }
    }
    *http = taken;
    return KEDGE_OK;
}

/* ---- a request ---- */

typedef struct exchange {
    kedge_buffer *headers;
    kedge_buffer *body;
    kedge_aws_reply *reply;
    bool ended;
} exchange;

static void take_response(void *context, const kedge_http_response *response)
{
    exchange *ended = context;
    kedge_aws_reply *reply = ended->reply;
    ended->ended = true;
    reply->status = response->status;
    reply->sent = response->sent;
    reply->retry_after_ms = response->retry_after_ms;
    reply->error = response->error;
    kedge_buffer_append_bytes(ended->headers, response->headers);
    kedge_buffer_append_bytes(ended->body, response->body);
    if (response->status != 0 && (ended->headers->no_memory || ended->body->no_memory)) {
        reply->status = 0;
        kedge_fail_no_memory(&reply->error);
    }
}

/* Until the request ended, which it does by its deadline. False: the client is of no more use. */
static bool poll_until_ended(kedge_http *http, int64_t deadline_ms, exchange *running)
{
    while (!running->ended) {
        if (kedge_http_poll(http, deadline_ms, -1, NULL, &running->reply->error) == KEDGE_OK) {
            continue;
        }
        running->reply->status = 0;
        running->reply->sent = true;
        return false;
    }
    return true;
}

void kedge_aws_transport_run(kedge_aws_transport *transport, const kedge_http_request *request,
                             kedge_buffer *headers, kedge_buffer *body, kedge_aws_reply *reply)
{
    const kedge_environment *environment = transport->environment;
    int64_t end_ms = environment->monotonic_ms(environment->context) + request->deadline_ms;
    kedge_http *http = NULL;
    exchange running = {.headers = headers, .body = body, .reply = reply};
    kedge_buffer_clear(headers);
    kedge_buffer_clear(body);
    *reply = (kedge_aws_reply){0};
    if (take(transport, request->deadline_ms, &http, &reply->error) != KEDGE_OK) return;

    kedge_http_request sent = *request;
    int64_t left_ms = end_ms - environment->monotonic_ms(environment->context);
    sent.deadline_ms = left_ms < 1 ? 1 : left_ms;
    sent.done = take_response;
    sent.stream = NULL;
    sent.context = &running;
    if (kedge_http_send(http, &sent, NULL, &reply->error) == KEDGE_OK &&
        !poll_until_ended(http, sent.deadline_ms, &running)) {
        kedge_http_free(http);
        http = NULL;
    }
    give_back(transport, http);
}
