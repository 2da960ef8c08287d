/* kedge-bench-fairness [--json]: what it costs that kedge-server's workers share their time fairly
 * among organizations, when nobody asks for more than a share.
 *
 * The floor is a ring of jobs under one mutex, with the same threads. A job hashes as many bytes as
 * take the processor time of a small push. Jobs of 1, 16 and 256 organizations are handed in by one
 * thread; 10, 100 or 1,000 of them wait. What is compared is the CPU of the process for the same
 * jobs, in alternating blocks. */
#include "backend/http/workers.h"
#include "bench/bench.h"
#include "common/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS    4
#define JOBS       4000
#define BLOCKS     7
#define RING       1024
#define JOB_MS     0.2 /* of a push of one mutation, at least */
#define TARGET     1.05
#define NAME_BYTES 16

static char bytes[65536];
static size_t job_rounds = 1;
static atomic_int done;

/* ---- a job ---- */

static void hash_once(void)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256((kedge_bytes){bytes, sizeof bytes}, hash);
}

static void job(void *argument)
{
    (void)argument;
    for (size_t i = 0; i < job_rounds; i++)
        hash_once();
    atomic_fetch_add(&done, 1);
}

static void calibrate(void)
{
    double started = bench_cpu_ms();
    for (int i = 0; i < 200; i++)
        hash_once();
    double each = (bench_cpu_ms() - started) / 200;
    while ((double)job_rounds * each < JOB_MS)
        job_rounds++;
}

/* ---- the floor ---- */

typedef struct ring {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    void (*jobs[RING])(void *argument);
    size_t first;
    size_t count;
    bool stopping;
    pthread_t threads[THREADS];
} ring;

static void *run_ring(void *argument)
{
    ring *self = argument;
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        while (self->count == 0 && !self->stopping)
            pthread_cond_wait(&self->filled, &self->mutex);
        if (self->count == 0) break;
        void (*work)(void *argument) = self->jobs[self->first];
        self->first = (self->first + 1) % RING;
        self->count--;
        pthread_mutex_unlock(&self->mutex);
        work(NULL);
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

static void submit_ring(ring *self)
{
    pthread_mutex_lock(&self->mutex);
    self->jobs[(self->first + self->count++) % RING] = job;
    pthread_cond_signal(&self->filled);
    pthread_mutex_unlock(&self->mutex);
}

/* ---- a block ---- */

/* Waits until few enough jobs wait. */
static void make_room(int handed_in, int most)
{
    while (handed_in - atomic_load(&done) >= most)
        sched_yield();
}

static double block_of_ring(int waiting)
{
    static ring self;
    self = (ring){.count = 0};
    pthread_mutex_init(&self.mutex, NULL);
    pthread_cond_init(&self.filled, NULL);
    atomic_store(&done, 0);
    double started = bench_process_cpu_ms() - bench_cpu_ms();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&self.threads[i], NULL, run_ring, &self);
    for (int i = 0; i < JOBS; i++) {
        make_room(i, waiting);
        submit_ring(&self);
    }
    pthread_mutex_lock(&self.mutex);
    self.stopping = true;
    pthread_cond_broadcast(&self.filled);
    pthread_mutex_unlock(&self.mutex);
    for (int i = 0; i < THREADS; i++)
        pthread_join(self.threads[i], NULL);
    pthread_cond_destroy(&self.filled);
    pthread_mutex_destroy(&self.mutex);
    return bench_process_cpu_ms() - bench_cpu_ms() - started;
}

static double block_of_workers(const kedge_environment *environment, int organizations, int waiting)
{
    kedge_workers *workers = NULL;
    kedge_error error = {0};
    char name[NAME_BYTES];
    atomic_store(&done, 0);
    double started = bench_process_cpu_ms() - bench_cpu_ms();
    bench_check(kedge_workers_start(environment, THREADS, &workers, &error), &error, "workers");
    for (int i = 0; i < JOBS; i++) {
        (void)snprintf(name, sizeof name, "org%d", i % organizations);
        const kedge_tenant_name tenant = {KEDGE_TENANT_ORGANIZATION, kedge_bytes_of(name),
                                          KEDGE_BYTES("project")};
        make_room(i, waiting);
        while (kedge_workers_submit(workers, &tenant, job, NULL) != KEDGE_WORKERS_TAKEN)
            sched_yield();
    }
    kedge_workers_stop(workers);
    kedge_workers_free(workers);
    return bench_process_cpu_ms() - bench_cpu_ms() - started;
}

static bool measure(const kedge_environment *environment, int organizations, int waiting, bool json)
{
    double ring_ms[BLOCKS];
    double workers_ms[BLOCKS];
    char name[80];
    for (int i = 0; i < BLOCKS; i++) {
        ring_ms[i] = block_of_ring(waiting);
        workers_ms[i] = block_of_workers(environment, organizations, waiting);
    }
    double floor_us = bench_median(ring_ms, BLOCKS) * 1000 / JOBS;
    double value_us = bench_median(workers_ms, BLOCKS) * 1000 / JOBS;
    (void)snprintf(name, sizeof name, "a job of %d organizations, %d wait", organizations, waiting);
    const bench_row row = {.name = name,
                           .value = value_us,
                           .unit = "us of CPU",
                           .floor = floor_us,
                           .ratio = value_us / floor_us,
                           .target = TARGET,
                           .target_is_ratio = true,
                           .target_is_ceiling = true};
    return bench_print(&row, json);
}

int main(int argc, char **argv)
{
    static const struct {
        int organizations;
        int waiting;
    } cases[] = {{1, 10}, {1, 100}, {16, 10}, {16, 100}, {16, 1000}, {256, 100}, {256, 1000}};
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    bool met = true;
    kedge_environment environment = kedge_environment_system(NULL);
    calibrate();
    if (!json) bench_print_head();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        met = measure(&environment, cases[i].organizations, cases[i].waiting, json) && met;
    return met ? 0 : 1;
}
