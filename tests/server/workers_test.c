/* The threads of kedge-server's pool: a job that may run runs at once, whatever the others wait
 * for, and none is forgotten. Which one is next is fair_queue_test's. */
#include "backend/http/workers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <cmocka.h>

#define THREADS   8
#define SUBMITTED 3000 /* by each thread that submits */
#define NAME_SIZE 16

static kedge_environment environment;

/* What the jobs of a test share. */
typedef struct scene {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    kedge_workers *workers;
    int started;
    int ended;
    bool open; /* a job that waits at the gate goes on */
} scene;

static void open_scene(scene *at)
{
    kedge_error error = {0};
    *at = (scene){.started = 0};
    pthread_mutex_init(&at->mutex, NULL);
    pthread_cond_init(&at->changed, NULL);
    assert_int_equal(kedge_workers_start(&environment, THREADS, &at->workers, &error), KEDGE_OK);
}

static void close_scene(scene *at)
{
    kedge_workers_stop(at->workers);
    kedge_workers_free(at->workers);
    pthread_cond_destroy(&at->changed);
    pthread_mutex_destroy(&at->mutex);
}

static void count(scene *at, int *what)
{
    pthread_mutex_lock(&at->mutex);
    (*what)++;
    pthread_cond_broadcast(&at->changed);
    pthread_mutex_unlock(&at->mutex);
}

static void wait_for(scene *at, const int *what, int wanted)
{
    pthread_mutex_lock(&at->mutex);
    while (*what < wanted)
        pthread_cond_wait(&at->changed, &at->mutex);
    pthread_mutex_unlock(&at->mutex);
}

static void open_gate(scene *at)
{
    pthread_mutex_lock(&at->mutex);
    at->open = true;
    pthread_cond_broadcast(&at->changed);
    pthread_mutex_unlock(&at->mutex);
}

static void end_at_once(void *argument)
{
    scene *at = argument;
    count(at, &at->ended);
}

static void wait_at_the_gate(void *argument)
{
    scene *at = argument;
    count(at, &at->started);
    pthread_mutex_lock(&at->mutex);
    while (!at->open)
        pthread_cond_wait(&at->changed, &at->mutex);
    pthread_mutex_unlock(&at->mutex);
    count(at, &at->ended);
}

static kedge_workers_admission submit(scene *at, const char *organization,
                                      void (*work)(void *argument))
{
    const kedge_tenant_name name = {KEDGE_TENANT_ORGANIZATION, kedge_bytes_of(organization),
                                    KEDGE_BYTES("p")};
    return kedge_workers_submit(at->workers, &name, work, at);
}

static void test_a_job_runs_while_another_tenant_keeps_all_it_may_have(void **state)
{
    (void)state;
    scene at;
    open_scene(&at);
    for (int i = 0; i < THREADS * 2; i++)
        assert_int_equal(submit(&at, "greedy", wait_at_the_gate), KEDGE_WORKERS_TAKEN);
    wait_for(&at, &at.started, THREADS - THREADS / KEDGE_WORKERS_ALONE_SHARE);
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(submit(&at, "other", end_at_once), KEDGE_WORKERS_TAKEN);
        wait_for(&at, &at.ended, i);
    }
    open_gate(&at);
    wait_for(&at, &at.ended, 10 + THREADS * 2);
    close_scene(&at);
}

/* Two tenants that have come up to their bounds: what waits then runs as soon as one job has ended,
 * and is not forgotten when no more come. */
static void test_what_waits_for_a_share_runs_when_the_share_is_free(void **state)
{
    (void)state;
    scene at;
    open_scene(&at);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(submit(&at, "one", wait_at_the_gate), KEDGE_WORKERS_TAKEN);
        assert_int_equal(submit(&at, "two", wait_at_the_gate), KEDGE_WORKERS_TAKEN);
    }
    wait_for(&at, &at.started, THREADS / 2);
    open_gate(&at);
    wait_for(&at, &at.ended, THREADS * 2);
    assert_int_equal(kedge_workers_waiting(at.workers), 0);
    close_scene(&at);
}

static void *submit_many(void *argument)
{
    scene *at = argument;
    char name[NAME_SIZE];
    for (int i = 0; i < SUBMITTED; i++) {
        (void)snprintf(name, sizeof name, "org%d", i % 5);
        while (submit(at, name, end_at_once) != KEDGE_WORKERS_TAKEN)
            wait_for(at, &at->ended, i / 2); /* too many wait: until some have ended */
    }
    return NULL;
}

static void test_each_job_that_was_taken_runs_once(void **state)
{
    (void)state;
    scene at;
    pthread_t threads[3];
    open_scene(&at);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &at), 0);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        pthread_join(threads[i], NULL);
    wait_for(&at, &at.ended, SUBMITTED * 3);
    kedge_workers_stop(at.workers);
    assert_int_equal(at.ended, SUBMITTED * 3);
    close_scene(&at);
}

static void *stop(void *argument)
{
    scene *at = argument;
    kedge_workers_stop(at->workers);
    return NULL;
}

/* Also with a thread that finds no job that may run when the end begins. */
static void test_a_pool_that_stops_runs_what_was_taken_and_takes_nothing_more(void **state)
{
    (void)state;
    scene at;
    pthread_t stopping;
    int others = 0;
    open_scene(&at);
    for (int i = 0; i < THREADS * 2; i++)
        assert_int_equal(submit(&at, "one", wait_at_the_gate), KEDGE_WORKERS_TAKEN);
    wait_for(&at, &at.started, THREADS - THREADS / KEDGE_WORKERS_ALONE_SHARE);
    assert_int_equal(pthread_create(&stopping, NULL, stop, &at), 0);
    while (submit(&at, "two", end_at_once) == KEDGE_WORKERS_TAKEN) /* until the end has begun */
        wait_for(&at, &at.ended, ++others);
    open_gate(&at);
    pthread_join(stopping, NULL);
    assert_int_equal(at.ended, THREADS * 2 + others);
    assert_int_equal(submit(&at, "one", end_at_once), KEDGE_WORKERS_FULL);
    close_scene(&at);
}

int main(void)
{
    environment = kedge_environment_system(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_runs_while_another_tenant_keeps_all_it_may_have),
        cmocka_unit_test(test_what_waits_for_a_share_runs_when_the_share_is_free),
        cmocka_unit_test(test_each_job_that_was_taken_runs_once),
        cmocka_unit_test(test_a_pool_that_stops_runs_what_was_taken_and_takes_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
