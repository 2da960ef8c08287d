/* See process.h. */
#include "tests/jobs/process.h"

#include "backend/api/api.h"

#include <string.h>

static void *run(void *context)
{
    jobs_process *own = context;
    own->status = own->work(own);
    gate_end(&own->ports);
    return NULL;
}

bool process_start(jobs_process *made, test_world *world,
                   kedge_status (*work)(const jobs_process *own), const kedge_buffer *lines,
                   int64_t at)
{
    memset(made, 0, sizeof *made);
    gate_make(&made->ports, &world->store_records, &world->store_blobs);
    kedge_records records = world->records;
    kedge_blobs blobs = world->blobs;
    world->records = made->ports.records;
    world->blobs = made->ports.blobs;
    made->backend = world_new_backend(world);
    world->records = records;
    world->blobs = blobs;
    made->work = work;
    made->lines = lines;
    made->ports.stop_at = 2 * (at - 1);
    assert_int_equal(pthread_create(&made->thread, NULL, run, made), 0);
    return gate_wait(&made->ports);
}

void process_end(jobs_process *running)
{
    gate_release(&running->ports, false);
    pthread_join(running->thread, NULL);
    kedge_backend_free(running->backend);
    gate_free(&running->ports);
}
