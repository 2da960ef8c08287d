/* kedge-bench-aws [--json]: the backend on the engines that AWS_ENDPOINT_URL_DYNAMODB and
 * AWS_ENDPOINT_URL_S3 name, which are thrown away afterwards: a table and a bucket stay in them.
 *
 * The floor of many projects is a bare loop in the same process: each round pushes once to each of
 * 1,000 projects, by threads, and keeps the requests that the backend made of its records; then the
 * same threads make the same requests again, under other partitions, through the same client. So
 * whatever the machine does beside it falls on both. */
#include "bench/bench.h"
#include "bench/recorder.h"
#include "bench/stage.h"

#include "backend/aws/aws.h"

#include <pthread.h>
#include <string.h>

#define WARM_UP_TIMES 2
#define ONE_WARM_UP   20
#define ONE_PUSHES    100
#define BATCH         10
#define PROJECTS      1000
#define THREADS       16
#define ROUNDS        18 /* more than it takes until index rows are due */
#define ITEMS         100

typedef struct many many;

typedef struct worker {
    many *all;
    size_t number;
    bench_log *log;
    kedge_buffer body;
    kedge_buffer args;
    size_t others;
} worker;

struct many {
    bench_stage *stage;
    kedge_records records; /* behind the recorder */
    bench_client clients[PROJECTS];
    worker workers[THREADS];
    uint64_t round;
    size_t time; /* for the how manyth time, from 0 */
};

static void write_push(kedge_buffer *body, kedge_buffer *args, bench_client *client, uint64_t seed)
{
    bench_push_begin(body, client);
    for (uint64_t i = 0; i < BATCH; i++) {
        bench_args_put(args, (uint32_t)((seed * 31 + i * 7) % ITEMS));
        bench_push_mutation(body, client, "kedge.put", args->data);
    }
    bench_push_end(body, client);
}

/* ---- one project ---- */

static double one_project(bench_stage *stage)
{
    bench_client client;
    kedge_buffer body = kedge_buffer_make(stage->environment.allocator);
    kedge_buffer args = kedge_buffer_make(stage->environment.allocator);
    double start = 0;
    bench_client_make(&client, 7);
    for (uint64_t i = 0; i < ONE_WARM_UP + ONE_PUSHES; i++) {
        if (i == ONE_WARM_UP) start = bench_now_ms();
        write_push(&body, &args, &client, i);
        bench_push(stage, "one", &client, kedge_buffer_bytes(&body));
    }
    double took = bench_now_ms() - start;
    kedge_buffer_free(&body);
    kedge_buffer_free(&args);
    return ONE_PUSHES * BATCH / took * 1e3;
}

/* ---- many projects ---- */

static void *push_round(void *argument)
{
    worker *self = argument;
    many *all = self->all;
    bench_record_to(self->log);
    for (size_t i = self->number; i < PROJECTS; i += THREADS) {
        char name[32];
        snprintf(name, sizeof name, "p%zu-%zu", all->time, i);
        write_push(&self->body, &self->args, &all->clients[i], all->round + i);
        bench_push(all->stage, name, &all->clients[i], kedge_buffer_bytes(&self->body));
    }
    bench_record_to(NULL);
    return NULL;
}

static void *replay_round(void *argument)
{
    worker *self = argument;
    self->others += bench_replay(self->log, self->all->records);
    return NULL;
}

/* The time in milliseconds. */
static double run_threads(many *all, void *(*run)(void *argument))
{
    pthread_t threads[THREADS];
    kedge_error error = {.code = "no-thread", .message = "a thread could not be started"};
    double start = bench_now_ms();
    for (size_t i = 0; i < THREADS; i++) {
        int failed = pthread_create(&threads[i], NULL, run, &all->workers[i]);
        bench_check(failed ? KEDGE_INTERNAL : KEDGE_OK, &error, "threads");
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return bench_now_ms() - start;
}

/* The `time`-th time, on projects of its own. */
static void many_projects(bench_stage *stage, kedge_records records, size_t time, bench_row *row)
{
    static many all;
    const kedge_allocator *allocator = stage->environment.allocator;
    double ours_ms = 0, bare_ms = 0;
    size_t requests = 0, others = 0;
    all = (many){.stage = stage, .records = records, .time = time};
    for (size_t i = 0; i < PROJECTS; i++)
        bench_client_make(&all.clients[i], 1000 + i);
    for (all.round = 0; all.round < ROUNDS; all.round++) {
        for (size_t i = 0; i < THREADS; i++) {
            all.workers[i] = (worker){.all = &all,
                                      .number = i,
                                      .log = bench_log_make(allocator),
                                      .body = kedge_buffer_make(allocator),
                                      .args = kedge_buffer_make(allocator)};
        }
        ours_ms += run_threads(&all, push_round);
        bare_ms += run_threads(&all, replay_round);
        for (size_t i = 0; i < THREADS; i++) {
            worker *one = &all.workers[i];
            requests += bench_log_count(one->log);
            others += one->others;
            bench_log_free(one->log);
            kedge_buffer_free(&one->body);
            kedge_buffer_free(&one->args);
        }
    }
    fprintf(stderr, "%zu requests for %d pushes; %zu answered otherwise in the bare loop\n",
            requests, PROJECTS * ROUNDS, others);
    *row = (bench_row){.name = "1,000 projects at once (floor: bare loop)",
                       .value = (double)PROJECTS * ROUNDS * BATCH / ours_ms * 1e3,
                       .unit = "mut/s",
                       .floor = (double)PROJECTS * ROUNDS * BATCH / bare_ms * 1e3,
                       .ratio = bare_ms / ours_ms,
                       .target = 0.8,
                       .target_is_ratio = true};
}

int main(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 2 || (argc == 2 && !json)) {
        fprintf(stderr, "usage: kedge-bench-aws [--json]\n");
        return 2;
    }
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_error error = {0};
    kedge_aws *aws = NULL;
    char name[40] = "kedge-bench-";
    kedge_random_hex(&environment, 8, name + strlen(name));
    const kedge_aws_options options = {
        .environment = &environment, .table = name, .bucket = name, .create = true};
    bench_check(kedge_aws_open(&options, &aws, &error), &error, "engines");
    kedge_records records = kedge_aws_records(aws);
    bench_stage stage;
    bench_stage_open(&stage, &environment, bench_recorder(records), kedge_aws_blobs(aws),
                     (kedge_queue){0}, KEDGE_CADENCE_COMPACT);
    bench_row rows[2];
    /* The engines of the tests run in Java, which compiles what it has run for a while. */
    for (size_t time = 0; time < WARM_UP_TIMES; time++)
        many_projects(&stage, records, time, &rows[1]);
    rows[0] = (bench_row){.name = "one project, pushes of 10",
                          .value = one_project(&stage),
                          .unit = "mut/s",
                          .target = 200};
    many_projects(&stage, records, WARM_UP_TIMES, &rows[1]);
    bench_stage_close(&stage);
    kedge_aws_close(aws);
    bool met = true;
    for (size_t i = 0; i < 2; i++)
        met = bench_print(&rows[i], json) && met;
    return met ? 0 : 1;
}
