/* kedge-bench-cost [--json | --targets]: what a workload costs on AWS, in both cadences, from the
 * meter. With --targets only what a target is set for, and what that is compared with.
 *
 * The workload is made by a fixed rule, so that two runs on two machines give the same figures: a
 * project of 300 notes of some 150 bytes; three native clients of three users, who take turns
 * after every twentieth push; an edit merges a new text of some 60 bytes into a note that is drawn
 * at random. Large items are put whole, 20 to 200 KB of text that compresses to about a half. The
 * processor is warm but where it says cold. What follows a commit (index rows, checkpoints) is done
 * at once and counted; each run is a whole number of times as long as the longest of these takes to
 * come again (64 versions). */
#include "bench/bench.h"
#include "bench/stage.h"

#include "backend/memory/memory_ports.h"
#include "backend/ports/prices.h"
#include "common/hash.h"

#include <string.h>

#define ITEMS        300
#define CLIENTS      3
#define TURN         20
#define WARM_UP      64
#define EDIT_PUSHES  1280
#define LARGE_PUSHES 640
#define PULLS        50
#define DELTA_PUSHES 8 /* between two pulls */
#define LAMBDA_MS    25.0
#define LAMBDA_GB    1.0 /* the default of deploy/template.yaml */
#define TARGET_ONE   1.50
#define TARGET_TEN   0.50
#define TARGET_TENTH 0.1
#define TARGET_LARGE 12.0

/* ---- the world ---- */

typedef struct cost_world {
    kedge_environment environment;
    int64_t now_ms;
    uint64_t randomness;
    kedge_records records;
    kedge_blobs blobs;
    kedge_queue queue;
    bench_stage stage;
    bench_client clients[CLIENTS];
    uint64_t dice;
    uint64_t pushes;
    kedge_buffer body;
    kedge_buffer args;
} cost_world;

static int64_t now_ms(void *context)
{
    return ((cost_world *)context)->now_ms += 7;
}

static uint64_t next_number(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void random_bytes(void *context, void *bytes, size_t size)
{
    cost_world *world = context;
    unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(next_number(&world->randomness) >> 32);
}

static void make_items(cost_world *world)
{
    bench_client *client = &world->clients[0];
    for (uint32_t i = 0; i < ITEMS;) {
        bench_push_begin(&world->body, client);
        for (uint32_t end = i + 50; i < end; i++) {
            bench_args_put(&world->args, i);
            bench_push_mutation(&world->body, client, "kedge.put", world->args.data);
        }
        bench_push_end(&world->body, client);
        bench_push(&world->stage, "notes", client, kedge_buffer_bytes(&world->body));
    }
}

static void open_world(cost_world *world, kedge_cadence cadence)
{
    kedge_error error = {0};
    *world = (cost_world){.now_ms = 1795000000000, .randomness = 88172645463325252, .dice = 42};
    world->environment = kedge_environment_system(NULL);
    world->environment.context = world;
    world->environment.now_ms = now_ms;
    world->environment.random = random_bytes;
    bench_check(kedge_memory_records_open(&world->environment, &world->records, &error), &error,
                "records");
    bench_check(kedge_memory_blobs_open(&world->environment, &world->blobs, &error), &error,
                "blobs");
    bench_check(kedge_memory_queue_open(&world->environment, 10, &world->queue, &error), &error,
                "queue");
    bench_stage_open(&world->stage, &world->environment, world->records, world->blobs, world->queue,
                     cadence);
    world->body = kedge_buffer_make(world->environment.allocator);
    world->args = kedge_buffer_make(world->environment.allocator);
    for (uint64_t i = 0; i < CLIENTS; i++)
        bench_client_make(&world->clients[i], i);
    make_items(world);
}

static void close_world(cost_world *world)
{
    bench_stage_close(&world->stage);
    world->records.vtable->close(world->records.self);
    world->blobs.vtable->close(world->blobs.self);
    world->queue.vtable->close(world->queue.self);
    kedge_buffer_free(&world->body);
    kedge_buffer_free(&world->args);
}

/* ---- pushes ---- */

/* Makes the next push of `batch` edits; gives whose it is. */
static bench_client *next_edits(cost_world *world, size_t batch)
{
    bench_client *client = &world->clients[world->pushes++ / TURN % CLIENTS];
    bench_push_begin(&world->body, client);
    for (size_t i = 0; i < batch; i++) {
        uint32_t item = (uint32_t)(next_number(&world->dice) >> 16) % ITEMS;
        bench_args_edit(&world->args, item, next_number(&world->dice) % 1000000);
        bench_push_mutation(&world->body, client, "kedge.merge", world->args.data);
    }
    bench_push_end(&world->body, client);
    return client;
}

/* Text of hexadecimal digits: a byte of it carries half of one. */
static bench_client *next_large(cost_world *world)
{
    bench_client *client = &world->clients[world->pushes++ / TURN % CLIENTS];
    size_t size = 20000 + (size_t)(next_number(&world->dice) >> 16) % 180000;
    bench_push_begin(&world->body, client);
    kedge_buffer_clear(&world->args);
    kedge_buffer_append_format(
        &world->args, "{\"collection\":\"files\",\"id\":\"file-%03u\",\"value\":{\"text\":\"",
        (unsigned)(next_number(&world->dice) >> 16) % ITEMS);
    while (size > 0) {
        kedge_buffer_append_format(&world->args, "%016llx",
                                   (unsigned long long)next_number(&world->dice));
        size -= size < 16 ? size : 16;
    }
    kedge_buffer_append_text(&world->args, "\"}}");
    kedge_buffer_append_byte(&world->args, '\0');
    bench_push_mutation(&world->body, client, "kedge.put", world->args.data);
    bench_push_end(&world->body, client);
    return client;
}

static void push_next(cost_world *world, size_t batch)
{
    bench_client *client = batch > 0 ? next_edits(world, batch) : next_large(world);
    bench_push(&world->stage, "notes", client, kedge_buffer_bytes(&world->body));
}

/* `batch` 0: large items, one a push. The cost of all measured pushes together. */
static kedge_cost run_pushes(kedge_cadence cadence, size_t batch, size_t pushes)
{
    cost_world world;
    open_world(&world, cadence);
    for (size_t i = 0; i < WARM_UP; i++)
        push_next(&world, batch);
    kedge_cost before = kedge_meter_totals(world.stage.meter);
    for (size_t i = 0; i < pushes; i++)
        push_next(&world, batch);
    kedge_cost after = kedge_meter_totals(world.stage.meter);
    close_world(&world);
    return kedge_cost_minus(&after, &before);
}

/* ---- pulls ---- */

static kedge_cost pull(cost_world *world, const bench_client *client, const char *cookie,
                       kedge_buffer *response)
{
    kedge_buffer *body = &world->body;
    kedge_buffer_clear(body);
    kedge_buffer_append_format(
        body,
        "{\"pullVersion\":1,\"clientGroupID\":\"%s\",\"cookie\":%s,\"profileID\":\"kedge\","
        "\"schemaVersion\":\"\",\"kedge\":{\"client\":\"%s\",\"lowest_pending\":0,"
        "\"highest_id\":0}}",
        client->id, cookie, client->id);
    return bench_ask(&world->stage, "POST", "notes", "/pull", kedge_buffer_bytes(body), response);
}

/* What the response says that the next pull starts from. */
static void keep_cookie(kedge_bytes response, char *cookie, size_t size)
{
    kedge_bytes value = {0};
    kedge_error error = {.code = "no-cookie", .message = "a pull's response has no cookie"};
    bool found = kedge_json_member(response, "cookie", &value) && value.size < size;
    bench_check(found ? KEDGE_OK : KEDGE_INTERNAL, &error, "pull");
    memcpy(cookie, value.data, value.size);
    cookie[value.size] = '\0';
}

static kedge_cost run_pulls(kedge_cadence cadence, bool first, bool cold)
{
    cost_world world;
    bench_client reader;
    char cookie[128] = "null";
    kedge_cost sum = {0};
    open_world(&world, cadence);
    bench_client_make(&reader, 99);
    kedge_buffer response = kedge_buffer_make(world.environment.allocator);
    for (size_t i = 0; i < WARM_UP + PULLS; i++) {
        for (size_t j = 0; j < DELTA_PUSHES; j++)
            push_next(&world, 1);
        if (cold) bench_stage_restart(&world.stage);
        kedge_cost one = pull(&world, &reader, first ? "null" : cookie, &response);
        keep_cookie(kedge_buffer_bytes(&response), cookie, sizeof cookie);
        if (i >= WARM_UP) sum = kedge_cost_plus(&sum, &one);
    }
    kedge_buffer_free(&response);
    close_world(&world);
    return sum;
}

/* ---- queue and functions ---- */

static kedge_cost run_queue(size_t batch)
{
    cost_world world;
    kedge_error error = {0};
    open_world(&world, KEDGE_CADENCE_COMPACT);
    kedge_queue queue = kedge_meter_queue(world.stage.meter);
    kedge_cost before = kedge_meter_totals(world.stage.meter);
    for (size_t i = 0; i < WARM_UP; i++) {
        char name[24];
        kedge_queue_batch received = {0};
        next_edits(&world, batch);
        snprintf(name, sizeof name, "%zu", i);
        bench_check(queue.vtable->send(queue.self, KEDGE_BYTES("bench"), KEDGE_BYTES("notes"),
                                       kedge_bytes_of(name), kedge_buffer_bytes(&world.body),
                                       &error),
                    &error, "send");
        bench_check(queue.vtable->receive(queue.self, 10, 30000, 0, NULL, &received, &error),
                    &error, "receive");
        bench_check(queue.vtable->done(queue.self, received.messages[0].receipt, &error), &error,
                    "done");
        kedge_queue_batch_free(&received);
    }
    kedge_cost after = kedge_meter_totals(world.stage.meter);
    close_world(&world);
    return kedge_cost_minus(&after, &before);
}

static double lambda_dollars(void)
{
    return KEDGE_PRICE_LAMBDA_REQUESTS / 1e6 +
           LAMBDA_MS / 1e3 * LAMBDA_GB * KEDGE_PRICE_LAMBDA_GB_SECOND;
}

/* ---- the table ---- */

static double print_cost(const char *name, const char *of, const kedge_cost *cost, double count,
                         bool json)
{
    double records = kedge_cost_records_dollars(cost) / count * 1e6;
    double blobs = kedge_cost_blobs_dollars(cost) / count * 1e6;
    double queue = kedge_cost_queue_dollars(cost) / count * 1e6;
    const char *form =
        json ? "{\"name\":\"%s\",\"of\":\"%s\",\"write_units\":%.4f,\"read_units\":%.4f,"
               "\"blob_puts\":%.4f,\"blob_gets\":%.4f,\"queue_requests\":%.4f,"
               "\"records_dollars\":%.4f,\"blobs_dollars\":%.4f,\"dollars_per_million\":%.4f}\n"
             : "%-46s %-9s %8.3f %8.3f %8.3f %8.3f %8.3f %9.3f %9.3f %9.3f\n";
    printf(form, name, of, (double)cost->of[KEDGE_COST_WRITE_UNITS] / count,
           kedge_cost_read_units(cost) / count, (double)cost->of[KEDGE_COST_BLOB_PUTS] / count,
           (double)cost->of[KEDGE_COST_BLOB_GETS] / count,
           (double)cost->of[KEDGE_COST_QUEUE_REQUESTS] / count, records, blobs,
           records + blobs + queue);
    return records + blobs + queue;
}

static double print_pushes(const char *name, kedge_cadence cadence, size_t batch, size_t pushes,
                           bool json)
{
    kedge_cost cost = run_pushes(cadence, batch, pushes);
    return print_cost(name, "mutation", &cost, (double)(pushes * (batch > 0 ? batch : 1)), json);
}

static void print_pulls(const char *name, kedge_cadence cadence, bool first, bool cold, bool json)
{
    kedge_cost cost = run_pulls(cadence, first, cold);
    print_cost(name, "pull", &cost, PULLS, json);
}

static void print_lambda(const char *name, double invocations, size_t batch, bool json)
{
    double dollars = invocations * lambda_dollars() / (double)batch * 1e6;
    if (json) {
        printf("{\"name\":\"%s\",\"of\":\"mutation\",\"assumed_ms\":%.0f,\"assumed_gb\":%.2f,"
               "\"dollars_per_million\":%.4f}\n",
               name, LAMBDA_MS, LAMBDA_GB, dollars);
        return;
    }
    printf("%-46s %-9s %74.3f\n", name, "mutation", dollars);
}

/* What targets are set for: the edits by the two batches, compact and seed, and large items. */
typedef struct measured {
    double one;
    double ten;
    double ten_seed;
    double large;
} measured;

static measured print_edits(bool all, bool json)
{
    measured dollars;
    const kedge_cadence compact = KEDGE_CADENCE_COMPACT, seed = KEDGE_CADENCE_SEED;
    dollars.one = print_pushes("small edits, 1 a push, compact", compact, 1, EDIT_PUSHES, json);
    if (all) print_pushes("small edits, 1 a push, seed", seed, 1, EDIT_PUSHES, json);
    dollars.ten = print_pushes("small edits, 10 a push, compact", compact, 10, EDIT_PUSHES, json);
    dollars.ten_seed = print_pushes("small edits, 10 a push, seed", seed, 10, EDIT_PUSHES, json);
    dollars.large =
        print_pushes("items of 20 to 200 KB, 1 a push, compact", compact, 0, LARGE_PUSHES, json);
    if (all) print_pushes("items of 20 to 200 KB, 1 a push, seed", seed, 0, LARGE_PUSHES, json);
    return dollars;
}

static void print_the_rest(bool json)
{
    const kedge_cadence compact = KEDGE_CADENCE_COMPACT, seed = KEDGE_CADENCE_SEED;
    print_pulls("first pull, warm, compact", compact, true, false, json);
    print_pulls("first pull, cold, compact", compact, true, true, json);
    print_pulls("first pull, cold, seed", seed, true, true, json);
    print_pulls("pull of 8 versions, warm, compact", compact, false, false, json);
    print_pulls("pull of 8 versions, cold, compact", compact, false, true, json);
    print_pulls("pull of 8 versions, cold, seed", seed, false, true, json);
    kedge_cost queue = run_queue(1);
    print_cost("SQS, queued mode, 1 a push", "mutation", &queue, WARM_UP, json);
    queue = run_queue(10);
    print_cost("SQS, queued mode, 10 a push", "mutation", &queue, WARM_UP * 10, json);
    print_lambda("Lambda, direct mode, 1 a push", 1, 1, json);
    print_lambda("Lambda, direct mode, 10 a push", 1, 10, json);
    print_lambda("Lambda, queued mode, 10 a push", 2, 10, json);
}

int main(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    bool targets = argc == 2 && strcmp(argv[1], "--targets") == 0;
    if (argc > 2 || (argc == 2 && !json && !targets)) {
        fprintf(stderr, "usage: kedge-bench-cost [--json | --targets]\n");
        return 2;
    }
    if (!json) {
        printf("Prices of %s, on demand, us-east-1. Units and requests for one; dollars for a "
               "million.\nLambda: %.0f ms of %.2f GB, arm64, a call are assumed, not measured.\n\n"
               "%-46s %-9s %8s %8s %8s %8s %8s %9s %9s %9s\n",
               KEDGE_PRICE_DATE, LAMBDA_MS, LAMBDA_GB, "", "for one", "writes", "reads", "S3 puts",
               "S3 gets", "SQS", "DynamoDB", "S3", "dollars");
    }
    measured dollars = print_edits(!targets, json);
    if (!targets) print_the_rest(json);
    if (!json) {
        printf("\n%-52s %10s %-8s %10s %7s  %-12s\n", "DynamoDB and S3, a million mutations",
               "value", "unit", "floor", "ratio", "target");
    }
    const bench_row rows[] = {{.name = "compact, 10 a push",
                               .value = dollars.ten,
                               .unit = "dollars",
                               .target = TARGET_TEN,
                               .target_is_ceiling = true},
                              {.name = "compact, 10 a push (floor: seed)",
                               .value = dollars.ten,
                               .unit = "dollars",
                               .floor = dollars.ten_seed,
                               .ratio = dollars.ten / dollars.ten_seed,
                               .target = TARGET_TENTH,
                               .target_is_ratio = true,
                               .target_is_ceiling = true},
                              {.name = "compact, 1 a push",
                               .value = dollars.one,
                               .unit = "dollars",
                               .target = TARGET_ONE,
                               .target_is_ceiling = true},
                              {.name = "items of 20 to 200 KB, compact, 1 a push",
                               .value = dollars.large,
                               .unit = "dollars",
                               .target = TARGET_LARGE,
                               .target_is_ceiling = true}};
    bool met = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        met = bench_print(&rows[i], json) && met;
    return met ? 0 : 1;
}
