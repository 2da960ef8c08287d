/* Threads that send to groups, and threads that receive from them. */
#include "tests/ports/queue_race.h"

#include <stdio.h>

#define VISIBILITY_MS 60000
#define WAIT_MS       1000
#define THREADS       8
#define ROUNDS        20

typedef struct race {
    const kedge_queue *queue;
    atomic_int next;
    atomic_int received;
    atomic_int wrong;
    atomic_int in_flight[THREADS]; /* of each group */
    atomic_int newest[THREADS];    /* number received of each group */
} race;

static void *send_in_rounds(void *argument)
{
    race *self = argument;
    const kedge_queue *queue = self->queue;
    int me = atomic_fetch_add(&self->next, 1);
    for (int i = 1; i <= ROUNDS; i++) {
        char group[8], body[32];
        int group_size = snprintf(group, sizeof group, "%d", me);
        int size = snprintf(body, sizeof body, "%d %d", me, i);
        kedge_bytes bytes = {body, (size_t)size};
        if (queue->vtable->send(queue->self, KEDGE_BYTES("o"),
                                (kedge_bytes){group, (size_t)group_size}, bytes, bytes,
                                NULL) != KEDGE_OK)
            atomic_fetch_add(&self->wrong, 1);
    }
    return NULL;
}

static void *receive_in_rounds(void *argument)
{
    race *self = argument;
    const kedge_queue *queue = self->queue;
    for (int tries = 0; tries < 100000; tries++) {
        if (atomic_load(&self->received) == THREADS * ROUNDS) break;
        if (atomic_load(&self->wrong) > 0) break;
        kedge_queue_batch batch = {0};
        int group, number;
        if (queue->vtable->receive(queue->self, 1, VISIBILITY_MS, WAIT_MS, NULL, &batch, NULL) !=
            KEDGE_OK)
            atomic_fetch_add(&self->wrong, 1);
        if (batch.count == 0) continue;
        if (sscanf(batch.messages[0].body.data, "%d %d", &group, &number) != 2 ||
            atomic_fetch_add(&self->in_flight[group], 1) != 0 ||
            atomic_exchange(&self->newest[group], number) != number - 1)
            atomic_fetch_add(&self->wrong, 1);
        atomic_fetch_sub(&self->in_flight[group], 1);
        if (queue->vtable->done(queue->self, batch.messages[0].receipt, NULL) != KEDGE_OK)
            atomic_fetch_add(&self->wrong, 1);
        atomic_fetch_add(&self->received, 1);
        kedge_queue_batch_free(&batch);
    }
    return NULL;
}

void queue_race_run(const kedge_queue *queue)
{
    race self = {.queue = queue};
    world_run_threads(send_in_rounds, &self, THREADS);
    world_run_threads(receive_in_rounds, &self, THREADS);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(atomic_load(&self.received), THREADS * ROUNDS);
}
