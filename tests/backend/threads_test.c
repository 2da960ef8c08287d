/* Two backends over the same ports, several threads each: every mutation once, in order. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "tests/support/project.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 6
#define PUSHES  25

typedef struct pusher {
    kedge_backend *backend;
    char client[8];
    int failures;
} pusher;

/* Each push a few times over, as an impatient client. */
static void *push_all(void *context)
{
    pusher *self = context;
    push_builder *builder = malloc(sizeof *builder);
    if (builder == NULL) return NULL;
    for (int i = 1; i <= PUSHES; i++) {
        for (int again = 0; again < 2; again++) {
            kedge_push_result result = {0};
            kedge_status status;
            int tries = 0;
            do {
                char item[16];
                snprintf(item, sizeof item, "i%d", i % 5);
                push_begin(builder);
                push_add(builder, self->client, i, item, i);
                status = kedge_processor_push(HANDLE(self->backend, &notes), &builder->push,
                                              &result, NULL);
            } while (status == KEDGE_UNAVAILABLE && ++tries < 100);
            if (status != KEDGE_OK || result.problem != KEDGE_PUSH_FINE) self->failures++;
        }
    }
    free(builder);
    return NULL;
}

static void test_threads_of_two_backends_apply_each_mutation_once(void **state)
{
    test_world *world = *state;
    kedge_backend *other = world_new_backend(world);
    pthread_t threads[THREADS];
    pusher pushers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pushers[i] = (pusher){.backend = i % 2 == 0 ? world->backend : other};
        snprintf(pushers[i].client, sizeof pushers[i].client, "c%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, push_all, &pushers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pushers[i].failures, 0);
        assert_int_equal(world_lmid(world, pushers[i].client), PUSHES);
    }
    assert_int_equal(world_head(world), THREADS * PUSHES);
    world_check(world);
    kedge_backend_free(other);
}

/* ---- readers beside writers ---- */

typedef struct reader {
    test_world *world;
    atomic_bool *stop;
    int failures;
    int reads;
} reader;

static void *read_all(void *context)
{
    reader *self = context;
    while (!atomic_load(self->stop)) {
        const kedge_version *version = NULL;
        kedge_state *state = NULL;
        kedge_entry entry;
        if (kedge_version_load(HANDLE(self->world->backend, &notes), 0, &version, NULL) !=
                KEDGE_OK ||
            kedge_state_open(HANDLE(self->world->backend, &notes), version, &state, NULL) !=
                KEDGE_OK) {
            kedge_version_release(version);
            self->failures++;
            return NULL;
        }
        kedge_status status = kedge_state_next(state, KEDGE_BYTES("items"), true,
                                               (kedge_bytes){NULL, 0}, &entry, NULL);
        if (status != KEDGE_OK && status != KEDGE_DONE) self->failures++;
        self->reads++;
        kedge_state_close(state);
        kedge_version_release(version);
    }
    return NULL;
}

static void test_readers_see_whole_versions_while_others_push(void **state)
{
    test_world *world = *state;
    atomic_bool stop = false;
    pthread_t threads[3];
    reader readers[3];
    for (int i = 0; i < 3; i++) {
        readers[i] = (reader){.world = world, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (int i = 1; i <= 150; i++)
        world_put(world, "c1", i, i % 2 == 0 ? "a" : "b", i);
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].failures, 0);
    }
    world_check(world);
}

/* ---- checkpoints beside pushes ---- */

#define LATER_MAX 64

typedef struct later_threads {
    pthread_t threads[LATER_MAX];
    size_t count;
} later_threads;

typedef struct later_job {
    void (*run)(void *argument);
    void *argument;
} later_job;

static later_threads started;

static void *run_later(void *context)
{
    later_job job = *(later_job *)context;
    free(context);
    job.run(job.argument);
    return NULL;
}

static bool start_later(void *context, void (*run)(void *argument), void *argument)
{
    later_threads *threads = context;
    later_job *job = malloc(sizeof *job);
    if (job == NULL || threads->count == LATER_MAX) {
        free(job);
        return false;
    }
    *job = (later_job){run, argument};
    assert_int_equal(pthread_create(&threads->threads[threads->count], NULL, run_later, job), 0);
    threads->count++;
    return true;
}

static void tune_later(test_world *world, kedge_backend_options *options)
{
    (void)world;
    options->later = start_later;
    options->later_context = &started;
}

static void test_checkpoints_are_written_while_others_push(void **state)
{
    test_world *world = *state;
    started.count = 0;
    world->tune = tune_later;
    world_restart(world);
    for (int i = 1; i <= 300; i++) {
        char item[16];
        snprintf(item, sizeof item, "i%d", i % 50);
        world_put(world, "c1", i, item, i);
    }
    for (size_t i = 0; i < started.count; i++)
        pthread_join(started.threads[i], NULL);
    assert_true(started.count > 0);
    assert_true(world_count_records(world, "Collection#items#") > 0);
    world_check(world);
    world->tune = NULL;
    world_restart(world);
    world_put(world, "c1", 301, "i1", 301);
    world_check(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_threads_of_two_backends_apply_each_mutation_once),
        OVER_SEED(test_threads_of_two_backends_apply_each_mutation_once),
        OVER_BOTH(test_readers_see_whole_versions_while_others_push),
        OVER_BOTH(test_checkpoints_are_written_while_others_push),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
