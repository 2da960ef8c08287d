/* The queue of events: a heap by time, and by order of scheduling at one time. */
#include "tests/sim/files.h"
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

static bool before(const sim_event *a, const sim_event *b)
{
    if (a->at_ms != b->at_ms) return a->at_ms < b->at_ms;
    return a->order < b->order;
}

static void swap(sim_event *a, sim_event *b)
{
    sim_event kept = *a;
    *a = *b;
    *b = kept;
}

void sim_schedule(sim_world *world, const sim_event *event)
{
    sim_events *events = &world->events;
    if (events->count == events->capacity) {
        events->capacity = events->capacity == 0 ? 256 : events->capacity * 2;
        events->heap = sim_must_reallocate(events->heap, events->capacity * sizeof *events->heap);
    }
    size_t at = events->count++;
    events->heap[at] = *event;
    events->heap[at].order = events->order++;
    if (events->heap[at].at_ms < world->now_ms) events->heap[at].at_ms = world->now_ms;
    while (at > 0 && before(&events->heap[at], &events->heap[(at - 1) / 2])) {
        swap(&events->heap[at], &events->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

bool sim_next_event(sim_world *world, sim_event *event)
{
    sim_events *events = &world->events;
    if (events->count == 0) return false;
    *event = events->heap[0];
    events->heap[0] = events->heap[--events->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= events->count) break;
        if (child + 1 < events->count && before(&events->heap[child + 1], &events->heap[child]))
            child++;
        if (!before(&events->heap[child], &events->heap[at])) break;
        swap(&events->heap[child], &events->heap[at]);
        at = child;
    }
    return true;
}

void sim_events_free(sim_world *world)
{
    for (size_t i = 0; i < world->events.count; i++)
        sim_message_free(world->events.heap[i].message);
    free(world->events.heap);
}

/* ---- messages ---- */

sim_message *sim_message_copy(const sim_message *message)
{
    sim_message *copy = sim_must_allocate(sizeof *copy);
    *copy = *message;
    copy->method = sim_must_copy(message->method, strlen(message->method));
    copy->path = sim_must_copy(message->path, strlen(message->path));
    copy->body = sim_must_copy(message->body, message->body_size);
    copy->response = NULL;
    copy->response_size = 0;
    return copy;
}

void sim_message_free(sim_message *message)
{
    if (message == NULL) return;
    free(message->method);
    free(message->path);
    free(message->body);
    free(message->response);
    free(message);
}
