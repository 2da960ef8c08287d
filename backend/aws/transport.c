/* The thread and its list of exchanges.
 *
 * An exchange lives on its caller's stack. It is waiting (in the list, not yet sent), running
 * (known to the HTTP client, only the thread touches it) or ended (the caller's again). All changes
 * of state happen under the mutex. */
#include "backend/aws/transport.h"

#include "common/error.h"

#include <pthread.h>
#include <time.h>

#define IDLE_POLL_MS 60000

typedef enum exchange_state { EXCHANGE_WAITING, EXCHANGE_RUNNING, EXCHANGE_ENDED } exchange_state;

typedef struct exchange {
    kedge_aws_transport *transport;
    struct exchange *next;
    struct exchange *previous;
    exchange_state state;
    int64_t deadline_ms; /* monotonic */
    const kedge_http_request *request;
    kedge_buffer *headers;
    kedge_buffer *body;
    kedge_aws_reply *reply;
    pthread_cond_t ended;
} exchange;

typedef struct exchange_list {
    exchange *first;
    exchange *last;
} exchange_list;

struct kedge_aws_transport {
    const kedge_environment *environment;
    uint32_t connections_max;
    pthread_mutex_t mutex;
    pthread_t thread;
    kedge_http *http; /* NULL only after the HTTP client broke and could not be made again */
    bool stopping;
    exchange_list waiting;
    exchange_list running;
    uint32_t running_count;
};

static int64_t monotonic_ms(const kedge_aws_transport *transport)
{
    return transport->environment->monotonic_ms(transport->environment->context);
}

static void append(exchange_list *list, exchange *added)
{
    added->next = NULL;
    added->previous = list->last;
    if (list->last != NULL) {
        list->last->next = added;
    } else {
        list->first = added;
    }
    list->last = added;
}

static void take_out(exchange_list *list, exchange *taken)
{
    if (taken->previous != NULL) {
        taken->previous->next = taken->next;
    } else {
        list->first = taken->next;
    }
    if (taken->next != NULL) {
        taken->next->previous = taken->previous;
    } else {
        list->last = taken->previous;
    }
}

/* ---- on the thread ---- */

/* Gives a running exchange back to its caller, with the mutex held. */
static void end(exchange *ended)
{
    take_out(&ended->transport->running, ended);
    ended->transport->running_count--;
    ended->state = EXCHANGE_ENDED;
    pthread_cond_signal(&ended->ended);
}

static void take_answer(void *context, const kedge_http_answer *answer)
{
    exchange *ended = context;
    kedge_aws_transport *transport = ended->transport;
    kedge_aws_reply *reply = ended->reply;
    reply->status = answer->status;
    reply->sent = answer->sent;
    reply->retry_after_ms = answer->retry_after_ms;
    reply->error = answer->error;
    kedge_buffer_append_bytes(ended->headers, answer->headers);
    kedge_buffer_append_bytes(ended->body, answer->body);
    if (answer->status != 0 && (ended->headers->no_memory || ended->body->no_memory)) {
        reply->status = 0;
        kedge_fail_no_memory(&reply->error);
    }
    pthread_mutex_lock(&transport->mutex);
    end(ended);
    pthread_mutex_unlock(&transport->mutex);
}

/* Starts what waits, as far as there is room. With the mutex held; the HTTP client calls nobody
 * back here. */
static void start_waiting(kedge_aws_transport *transport)
{
    while (transport->waiting.first != NULL &&
           transport->running_count < transport->connections_max) {
        exchange *started = transport->waiting.first;
        kedge_http_request request = *started->request;
        int64_t left_ms = started->deadline_ms - monotonic_ms(transport);
        request.deadline_ms = left_ms < 1 ? 1 : left_ms;
        request.done = take_answer;
        request.stream = NULL;
        request.context = started;
        take_out(&transport->waiting, started);
        append(&transport->running, started);
        transport->running_count++;
        started->state = EXCHANGE_RUNNING;
        if (kedge_http_send(transport->http, &request, NULL, &started->reply->error) != KEDGE_OK) {
            end(started);
        }
    }
}

/* The HTTP client itself failed: what ran has an unknown end, and a new client is made. With the
 * mutex held. */
static void start_anew(kedge_aws_transport *transport, const kedge_error *failure)
{
    kedge_http_free(transport->http);
    transport->http = NULL;
    while (transport->running.first != NULL) {
        exchange *lost = transport->running.first;
        lost->reply->sent = true;
        lost->reply->error = *failure;
        end(lost);
    }
    kedge_error error = {0};
    if (kedge_http_new(transport->environment, transport->connections_max, &transport->http,
                       &error) == KEDGE_OK) {
        return;
    }
    while (transport->waiting.first != NULL) {
        exchange *refused = transport->waiting.first;
        take_out(&transport->waiting, refused);
        append(&transport->running, refused);
        transport->running_count++;
        refused->reply->error = error;
        end(refused);
    }
}

static void *run(void *context)
{
    kedge_aws_transport *transport = context;
    pthread_mutex_lock(&transport->mutex);
    while (!transport->stopping && transport->http != NULL) {
        kedge_error error = {0};
        start_waiting(transport);
        kedge_http *http = transport->http;
        pthread_mutex_unlock(&transport->mutex);
        kedge_status status = kedge_http_poll(http, IDLE_POLL_MS, -1, NULL, &error);
        pthread_mutex_lock(&transport->mutex);
        if (status != KEDGE_OK) start_anew(transport, &error);
    }
    pthread_mutex_unlock(&transport->mutex);
    return NULL;
}

/* ---- on the callers' threads ---- */

kedge_status kedge_aws_transport_new(const kedge_environment *environment, uint32_t connections_max,
                                     kedge_aws_transport **transport, kedge_error *error)
{
    kedge_aws_transport *made = kedge_allocate(environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->environment = environment;
    made->connections_max = connections_max;
    kedge_status status = kedge_http_new(environment, connections_max, &made->http, error);
    if (status != KEDGE_OK) {
        kedge_release(environment->allocator, made);
        return status;
    }
    pthread_mutex_init(&made->mutex, NULL);
    if (pthread_create(&made->thread, NULL, run, made) != 0) {
        pthread_mutex_destroy(&made->mutex);
        kedge_http_free(made->http);
        kedge_release(environment->allocator, made);
        return kedge_fail(error, KEDGE_NO_MEMORY, "no-threads",
                          "the system refused to start the thread for requests to AWS");
    }
    *transport = made;
    return KEDGE_OK;
}

void kedge_aws_transport_free(kedge_aws_transport *transport)
{
    if (transport == NULL) return;
    pthread_mutex_lock(&transport->mutex);
    transport->stopping = true;
    if (transport->http != NULL) kedge_http_wake(transport->http);
    pthread_mutex_unlock(&transport->mutex);
    pthread_join(transport->thread, NULL);
    pthread_mutex_destroy(&transport->mutex);
    kedge_http_free(transport->http);
    kedge_release(transport->environment->allocator, transport);
}

static struct timespec after(int64_t duration_ms)
{
    struct timespec at = {0};
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t nanoseconds = at.tv_nsec + (duration_ms % 1000) * 1000000;
    at.tv_sec += (time_t)(duration_ms / 1000 + nanoseconds / 1000000000);
    at.tv_nsec = (long)(nanoseconds % 1000000000);
    return at;
}

/* With the mutex held. Only a waiting exchange may be given up here; the HTTP client keeps the
 * deadline of a running one. */
static void wait_for_end(kedge_aws_transport *transport, exchange *started)
{
    struct timespec until = after(started->request->deadline_ms);
    int result = 0;
    while (started->state == EXCHANGE_WAITING && result == 0) {
        result = pthread_cond_timedwait(&started->ended, &transport->mutex, &until);
    }
    if (started->state == EXCHANGE_WAITING) {
        take_out(&transport->waiting, started);
        kedge_fail(&started->reply->error, KEDGE_TIMEOUT, "request-timeout",
                   "no connection became free in time");
        return;
    }
    while (started->state != EXCHANGE_ENDED) {
        pthread_cond_wait(&started->ended, &transport->mutex);
    }
}

void kedge_aws_transport_run(kedge_aws_transport *transport, const kedge_http_request *request,
                             kedge_buffer *headers, kedge_buffer *body, kedge_aws_reply *reply)
{
    exchange started = {.transport = transport,
                        .deadline_ms = monotonic_ms(transport) + request->deadline_ms,
                        .request = request,
                        .headers = headers,
                        .body = body,
                        .reply = reply};
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&started.ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    kedge_buffer_clear(headers);
    kedge_buffer_clear(body);
    *reply = (kedge_aws_reply){0};

    pthread_mutex_lock(&transport->mutex);
    if (transport->http == NULL) {
        kedge_fail(&reply->error, KEDGE_INTERNAL, "http-client-failed",
                   "the HTTP client broke down and could not be made again");
    } else {
        append(&transport->waiting, &started);
        kedge_http_wake(transport->http);
        wait_for_end(transport, &started);
    }
    pthread_mutex_unlock(&transport->mutex);
    pthread_cond_destroy(&started.ended);
}
