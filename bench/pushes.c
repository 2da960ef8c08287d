/* kedge-bench-pushes [--json] SERVER: what a mutation costs a kedge-server over a folder, in CPU of
 * its process, user and system together.
 *
 * Pushes of 1, 10 and 500 mutations from 1 and from 16 clients, into one project and into 16. A
 * mutation is a kedge.put of some 150 bytes of an item that is drawn at random: one of 1,000, which
 * are soon all there; or one of 100,000, so that most are new and the state grows. Each case has a
 * server of its own; what the server does after the pushes until it has ended counts, its start
 * and the first pushes do not. A body is compressed as libkedge does it.
 *
 * The floor runs in the same program over the bodies that were pushed: see pushes_floor.c. */
#include "bench/bench.h"
#include "bench/pushes_floor.h"
#include "bench/server.h"
#include "bench/stage.h"

#include "common/gzip.h"
#include "http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define CLIENTS_MAX    16
#define PROJECTS       16
#define FEW_ITEMS      1000
#define MANY_ITEMS     100000
#define GZIP_BYTES_MIN 4096 /* as libkedge has it */
#define DEADLINE_MS    60000
#define RESPONSE_MAX   65536
#define TARGET_US      40.0
#define CASES          14

typedef struct push_case {
    const char *name;
    size_t batch;
    size_t pushes; /* that are measured */
    size_t clients;
    size_t projects;
    uint32_t items; /* a project has at most */
    double target_us;
} push_case;

static const push_case cases[CASES] = {
    {"pushes of 1, 1 client, 1 project", 1, 480, 1, 1, FEW_ITEMS, 0},
    {"pushes of 1, 1 client, 16 projects", 1, 480, 1, PROJECTS, FEW_ITEMS, 0},
    {"pushes of 1, 16 clients, 1 project", 1, 480, CLIENTS_MAX, 1, FEW_ITEMS, 0},
    {"pushes of 1, 16 clients, 16 projects", 1, 480, CLIENTS_MAX, PROJECTS, FEW_ITEMS, 0},
    {"pushes of 10, 1 client, 1 project", 10, 320, 1, 1, FEW_ITEMS, 0},
    {"pushes of 10, 1 client, 16 projects", 10, 320, 1, PROJECTS, FEW_ITEMS, 0},
    {"pushes of 10, 16 clients, 1 project", 10, 320, CLIENTS_MAX, 1, FEW_ITEMS, 0},
    {"pushes of 10, 16 clients, 16 projects", 10, 320, CLIENTS_MAX, PROJECTS, FEW_ITEMS, 0},
    {"pushes of 500, 1 client, 1 project", 500, 64, 1, 1, FEW_ITEMS, TARGET_US},
    {"pushes of 500, 1 client, 16 projects", 500, 64, 1, PROJECTS, FEW_ITEMS, TARGET_US},
    {"pushes of 500, 16 clients, 1 project", 500, 64, CLIENTS_MAX, 1, FEW_ITEMS, TARGET_US},
    {"pushes of 500, 16 clients, 16 projects", 500, 64, CLIENTS_MAX, PROJECTS, FEW_ITEMS,
     TARGET_US},
    {"pushes of 500, 1 client, 1 project, new items", 500, 64, 1, 1, MANY_ITEMS, TARGET_US},
    {"pushes of 500, 16 clients, 1 project, new items", 500, 64, CLIENTS_MAX, 1, MANY_ITEMS,
     TARGET_US}};

typedef struct pushing pushing;

/* A copy of an app. With one copy alone it has a client id in each project; of sixteen each has one
 * project. */
typedef struct pusher {
    pushing *all;
    bench_client ids[PROJECTS];
    size_t number;
    size_t sent;
    kedge_buffer body;
    kedge_buffer packed;
} pusher;

struct pushing {
    const push_case *of;
    const char *url;
    kedge_http *http;
    bench_floor *floor;
    bool measured; /* the floor pushes, too */
    pusher pushers[CLIENTS_MAX];
    size_t limit; /* of pushes, by all clients */
    size_t started;
    size_t done;
    uint64_t dice;
    kedge_buffer args;
};

static size_t project_of(const pusher *self)
{
    const push_case *of = self->all->of;
    return (of->clients == 1 ? self->sent : self->number) % of->projects;
}

static bench_client *id_of(pusher *self)
{
    return &self->ids[self->all->of->clients == 1 ? project_of(self) : 0];
}

/* ---- one push ---- */

/* Every put has a text of its own: one that is there already would change nothing. */
static void write_body(pusher *self)
{
    pushing *all = self->all;
    bench_client *client = id_of(self);
    bench_push_begin(&self->body, client);
    for (size_t i = 0; i < all->of->batch; i++) {
        all->dice = all->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bench_args_write(&all->args, (uint32_t)(all->dice >> 33) % all->of->items, all->dice >> 20);
        bench_push_mutation(&self->body, client, "kedge.put", all->args.data);
    }
    bench_push_end(&self->body, client);
}

static void push_next(pusher *self);

static void pushed(void *context, const kedge_http_response *response)
{
    pusher *self = context;
    if (response->status != 200) {
        fprintf(stderr, "bench: a push was answered %d: %.*s %s\n", response->status,
                (int)response->body.size, response->body.data, response->error.message);
        exit(2);
    }
    self->all->done++;
    push_next(self);
}

static void push_next(pusher *self)
{
    pushing *all = self->all;
    kedge_error error = {0};
    char url[400];
    if (all->started == all->limit) return;
    all->started++;
    write_body(self);
    snprintf(url, sizeof url, "%s/v1/orgs/bench/projects/p%zu/push", all->url, project_of(self));
    self->sent++;
    bool gzip = self->body.size >= GZIP_BYTES_MIN;
    if (gzip) {
        kedge_buffer_clear(&self->packed);
        bench_check(kedge_gzip(kedge_buffer_bytes(&self->body), &self->packed, &error), &error,
                    "gzip");
    }
    const kedge_http_header headers[] = {{"Content-Type", "application/json"},
                                         {"Content-Encoding", "gzip"}};
    const kedge_http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .header_count = gzip ? 2 : 1,
        .body = kedge_buffer_bytes(gzip ? &self->packed : &self->body),
        .deadline_ms = DEADLINE_MS,
        .response_bytes_max = RESPONSE_MAX,
        .done = pushed,
        .context = self,
    };
    bench_check(kedge_http_send(all->http, &request, NULL, &error), &error, "send");
    if (all->measured) bench_floor_push(all->floor, request.body, gzip);
}

/* ---- one case ---- */

/* All clients push, one push of each at a time, until there were `count` more. */
static void push_many(pushing *all, size_t count, bool measured)
{
    kedge_error error = {0};
    all->limit = all->started + count;
    all->measured = measured;
    for (size_t i = 0; i < all->of->clients; i++)
        push_next(&all->pushers[i]);
    while (all->done < all->limit)
        bench_check(kedge_http_poll(all->http, DEADLINE_MS, -1, NULL, &error), &error, "poll");
}

static void prepare(pushing *all, const kedge_environment *environment)
{
    kedge_error error = {0};
    bench_check(kedge_http_new(environment, CLIENTS_MAX, &all->http, &error), &error, "http");
    all->args = kedge_buffer_make(environment->allocator);
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        pusher *one = &all->pushers[i];
        *one = (pusher){.all = all,
                        .number = i,
                        .body = kedge_buffer_make(environment->allocator),
                        .packed = kedge_buffer_make(environment->allocator)};
        for (size_t k = 0; k < PROJECTS; k++)
            bench_client_make(&one->ids[k], i * PROJECTS + k);
    }
}

static void release(pushing *all)
{
    kedge_http_free(all->http);
    kedge_buffer_free(&all->args);
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        kedge_buffer_free(&all->pushers[i].body);
        kedge_buffer_free(&all->pushers[i].packed);
    }
}

static double server_cpu_ms(pid_t server)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(server, &clock) != 0 || clock_gettime(clock, &used) != 0) exit(2);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

static bench_row measure(const push_case *of, const kedge_environment *environment,
                         const char *program)
{
    static pushing all;
    char folder[256], data[300], url[256];
    bench_make_folder(folder, sizeof folder);
    snprintf(data, sizeof data, "%s/server", folder);
    pid_t server = bench_start_server(program, data, url, sizeof url);
    all = (pushing){.of = of, .url = url, .floor = bench_floor_open(folder), .dice = 42};
    prepare(&all, environment);
    push_many(&all, of->clients > of->projects ? of->clients : of->projects, false);
    double before_ms = server_cpu_ms(server);
    push_many(&all, of->pushes, true);
    release(&all);
    double count = (double)(of->pushes * of->batch);
    double server_us = (bench_stop_server(server) * 1e6 - before_ms * 1e3) / count;
    double floor_us = bench_floor_close(all.floor) * 1e3 / count;
    bench_remove_folder(folder);
    return (bench_row){.name = of->name,
                       .value = server_us,
                       .unit = "us CPU",
                       .floor = floor_us,
                       .ratio = floor_us / server_us,
                       .target = of->target_us,
                       .target_is_ceiling = true,
                       .see = "docs/explanation/cost.md"};
}

int main(int argc, char **argv)
{
    bool json = argc == 3 && strcmp(argv[1], "--json") == 0;
    if (argc != 2 && !json) {
        fprintf(stderr, "usage: kedge-bench-pushes [--json] SERVER\n");
        return 2;
    }
    kedge_environment environment = kedge_environment_system(NULL);
    bool met = true;
    if (!json) {
        printf("%-52s %10s %-8s %10s %7s  %-12s\n", "kedge-server, a mutation", "value", "unit",
               "floor", "ratio", "target");
    }
    for (size_t i = 0; i < CASES; i++) {
        bench_row row = measure(&cases[i], &environment, argv[argc - 1]);
        met = bench_print(&row, json) && met;
    }
    return met ? 0 : 1;
}
