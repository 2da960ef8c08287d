/* Two processors, stopped and let go. */
#include "tests/crashpoints/actor.h"

#include <stdlib.h>

static void *run(void *context)
{
    actor *own = context;
    own->act(own->context);
    gate_end(&own->ports);
    return NULL;
}

/* Until its point, or its end. */
static bool start(actor *own, int64_t stop_at)
{
    own->ports.next = 0;
    own->ports.stop_at = stop_at;
    if (pthread_create(&own->thread, NULL, run, own) != 0) abort();
    own->running = true;
    return gate_wait(&own->ports);
}

static void end(actor *own, bool dies)
{
    if (!own->running) return;
    gate_release(&own->ports, dies);
    pthread_join(own->thread, NULL);
    own->running = false;
}

void actors_run(actor *first, actor *second, const run_points *points, run_reached *reached,
                void (*look)(void *context), void (*late)(void *context), void *context)
{
    ending order = points->end;
    reached->first = start(first, points->first);
    reached->second = !points->alone && start(second, points->second);
    actor *one = order == ENDING_SECOND_THEN_FIRST ? second : first;
    actor *other = one == first ? second : first;
    look(context);
    end(one, order == ENDING_FIRST_DIES || order == ENDING_BOTH_DIE);
    late(context);
    end(other, order == ENDING_SECOND_DIES || order == ENDING_BOTH_DIE);
    late(context);
}
