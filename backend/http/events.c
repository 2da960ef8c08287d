/* See events.h. One mutex guards the list and what every stream has to say; a connection is resumed
 * only while it is known to be suspended, since only then it cannot go away. */
#include "backend/http/events.h"

#include "wire/log.h"
#include "wire/poke.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 1024

struct kedge_event_stream {
    kedge_events *events;
    kedge_event_stream *next;
    kedge_event_stream *previous;
    struct MHD_Connection *connection;
    kedge_budget_account account;
    int64_t version; /* to tell */
    int64_t told;    /* -1: none yet */
    int64_t expires_ms;
    bool ping;
    bool expired;
    bool suspended;
    bool of_log;             /* what it tells are numbers of entries */
    kedge_event_place scope; /* organization '/' project, and '/' log */
};

struct kedge_events {
    const kedge_environment *environment;
    kedge_metrics *metrics;
    pthread_mutex_t mutex;
    kedge_event_stream *first;
    size_t count;
    size_t count_max;
    bool closed;
};

kedge_events *kedge_events_new(const kedge_environment *environment, kedge_metrics *metrics,
                               size_t streams_max)
{
    kedge_events *events = kedge_allocate(environment->allocator, sizeof *events);
    if (!events) return NULL;
    events->environment = environment;
    events->metrics = metrics;
    events->count_max = streams_max;
    pthread_mutex_init(&events->mutex, NULL);
    return events;
}

void kedge_events_free(kedge_events *events)
{
    if (!events) return;
    pthread_mutex_destroy(&events->mutex);
    kedge_release(events->environment->allocator, events);
}

static void write_scope(char *out, size_t size, const kedge_event_scope *scope)
{
    snprintf(out, size, "%.*s/%.*s%s%.*s", (int)scope->organization.size, scope->organization.data,
             (int)scope->project.size, scope->project.data, scope->log.size > 0 ? "/" : "",
             (int)scope->log.size, scope->log.data);
}

kedge_event_stream *kedge_events_subscribe(kedge_events *events, const kedge_event_scope *scope,
                                           int64_t expires_ms, const kedge_budget_account *account,
                                           struct MHD_Connection *connection,
                                           kedge_budget_refusal *refusal)
{
    *refusal = (kedge_budget_refusal){.retry_after_s = KEDGE_BUDGET_LEVEL_RETRY_MS / 1000};
    if (!kedge_budget_take(account, KEDGE_BUDGET_STREAMS, 1, refusal)) return NULL;
    kedge_event_stream *stream = kedge_allocate(events->environment->allocator, sizeof *stream);
    if (!stream) {
        kedge_budget_give(account, KEDGE_BUDGET_STREAMS, 1);
        return NULL;
    }
    stream->events = events;
    stream->connection = connection;
    stream->expires_ms = expires_ms;
    stream->version = -1;
    stream->told = -1;
    stream->of_log = scope->log.size > 0;
    write_scope(stream->scope, sizeof stream->scope, scope);

    pthread_mutex_lock(&events->mutex);
    bool room = events->count < events->count_max;
    if (room) {
        stream->next = events->first;
        if (events->first) events->first->previous = stream;
        events->first = stream;
        events->count++;
        atomic_store(&events->metrics->streams, (int_fast64_t)events->count);
        stream->account = kedge_budget_account_keep(account);
    }
    pthread_mutex_unlock(&events->mutex);
    if (room) return stream;
    kedge_budget_give(account, KEDGE_BUDGET_STREAMS, 1);
    kedge_release(events->environment->allocator, stream);
    return NULL;
}

void kedge_event_stream_free(kedge_event_stream *stream)
{
    kedge_events *events = stream->events;
    pthread_mutex_lock(&events->mutex);
    if (stream->next) stream->next->previous = stream->previous;
    if (stream->previous) {
        stream->previous->next = stream->next;
    } else {
        events->first = stream->next;
    }
    events->count--;
    atomic_store(&events->metrics->streams, (int_fast64_t)events->count);
    pthread_mutex_unlock(&events->mutex);
    kedge_budget_give(&stream->account, KEDGE_BUDGET_STREAMS, 1);
    kedge_budget_account_release(&stream->account);
    kedge_release(events->environment->allocator, stream);
}

/* With the mutex held. */
static void wake(kedge_event_stream *stream)
{
    if (!stream->suspended) return;
    stream->suspended = false;
    MHD_resume_connection(stream->connection);
}

/* With the mutex held. Versions only go forward: a poke that arrives late says nothing new. */
static void tell(kedge_event_stream *stream, int64_t version)
{
    if (version > stream->version) stream->version = version;
    if (stream->version > stream->told) wake(stream);
}

void kedge_event_stream_tell(kedge_event_stream *stream, int64_t version)
{
    pthread_mutex_lock(&stream->events->mutex);
    tell(stream, version);
    pthread_mutex_unlock(&stream->events->mutex);
}

void kedge_events_committed(kedge_events *events, const kedge_event_scope *where, int64_t version)
{
    kedge_event_place scope;
    write_scope(scope, sizeof scope, where);
    pthread_mutex_lock(&events->mutex);
    for (kedge_event_stream *stream = events->first; stream; stream = stream->next) {
        if (strcmp(stream->scope, scope) == 0) tell(stream, version);
    }
    pthread_mutex_unlock(&events->mutex);
}

static kedge_bytes cut_name(const char **rest)
{
    kedge_bytes name = {*rest, strcspn(*rest, "/")};
    *rest += name.size;
    if (**rest == '/') ++*rest;
    return name;
}

bool kedge_events_next(kedge_events *events, kedge_event_place at, kedge_event_scope *scope)
{
    const char *next = "";
    pthread_mutex_lock(&events->mutex);
    for (kedge_event_stream *stream = events->first; stream; stream = stream->next) {
        bool behind = strcmp(stream->scope, at) > 0;
        if (behind && (next[0] == '\0' || strcmp(stream->scope, next) < 0)) next = stream->scope;
    }
    memmove(at, next, strlen(next) + 1);
    pthread_mutex_unlock(&events->mutex);
    const char *rest = at;
    scope->organization = cut_name(&rest);
    scope->project = cut_name(&rest);
    scope->log = cut_name(&rest);
    return at[0] != '\0';
}

void kedge_events_ping(kedge_events *events)
{
    pthread_mutex_lock(&events->mutex);
    for (kedge_event_stream *stream = events->first; stream; stream = stream->next) {
        stream->ping = true;
        wake(stream);
    }
    pthread_mutex_unlock(&events->mutex);
}

void kedge_events_expire(kedge_events *events, int64_t now_ms)
{
    pthread_mutex_lock(&events->mutex);
    for (kedge_event_stream *stream = events->first; stream; stream = stream->next) {
        if (now_ms < stream->expires_ms) continue;
        stream->expired = true;
        wake(stream);
    }
    pthread_mutex_unlock(&events->mutex);
}

void kedge_events_close(kedge_events *events)
{
    pthread_mutex_lock(&events->mutex);
    events->closed = true;
    for (kedge_event_stream *stream = events->first; stream; stream = stream->next)
        wake(stream);
    pthread_mutex_unlock(&events->mutex);
}

static size_t write_event(const kedge_event_stream *stream, char out[KEDGE_WIRE_EVENT_BYTES_MAX])
{
    if (stream->of_log) return kedge_wire_log_event_write(stream->version, out);
    return kedge_wire_poke_write(&(kedge_wire_poke){stream->version}, out);
}

/* The daemon asks for bytes: one event, or the connection is suspended until there is one. */
static ssize_t read_stream(void *context, uint64_t position, char *out, size_t out_size)
{
    (void)position;
    kedge_event_stream *stream = context;
    if (out_size < KEDGE_WIRE_EVENT_BYTES_MAX) return MHD_CONTENT_READER_END_WITH_ERROR;
    pthread_mutex_lock(&stream->events->mutex);
    ssize_t size = 0;
    if (stream->events->closed || stream->expired) {
        size = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (stream->version > stream->told) {
        stream->told = stream->version;
        size = (ssize_t)write_event(stream, out);
        atomic_fetch_add(&stream->events->metrics->pokes, 1);
    } else if (stream->ping) {
        stream->ping = false;
        size = (ssize_t)kedge_wire_ping_write(out);
    } else {
        stream->suspended = true;
        MHD_suspend_connection(stream->connection);
    }
    pthread_mutex_unlock(&stream->events->mutex);
    return size;
}

static void free_stream(void *context)
{
    kedge_event_stream_free(context);
}

struct MHD_Response *kedge_event_stream_respond(kedge_event_stream *stream)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, stream, free_stream);
    if (!response) return NULL;
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "X-Accel-Buffering", "no");
    return response;
}
