/* Edit to confirmed: kedge_mutate until kedge_wait tells that the server's version with it was
 * pulled, through a kedge-server on loopback with everything durable on both sides. */
#include "bench/bench.h"
#include "bench/server.h"

#include <kedge/kedge.h>

#include <stdio.h>

#define WARM_UP 20
#define EDITS   400

static double edit(kedge_db *db, int number)
{
    char args[128];
    kedge_error error = {0};
    int64_t sequence = 0;
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    int size = snprintf(args, sizeof args,
                        "{\"collection\":\"notes\",\"id\":\"n%d\",\"value\":{\"number\":%d}}",
                        number % 50, number);
    double start = bench_now_ms();
    bench_check(kedge_mutate(db, "kedge.put", args, (size_t)size, &sequence, &error), &error,
                "kedge_mutate");
    bench_check(kedge_wait(db, sequence, 10000, &outcome, &error), &error, "kedge_wait");
    return bench_now_ms() - start;
}

size_t bench_confirmations(bench_row *rows, const char *server_program)
{
    static double times[EDITS];
    char folder[256];
    char server[300];
    char client[300];
    char url[256];
    bench_make_folder(folder, sizeof folder);
    snprintf(server, sizeof server, "%s/server", folder);
    snprintf(client, sizeof client, "%s/client", folder);
    pid_t child = bench_start_server(server_program, server, url, sizeof url);

    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = client;
    options.url = url;
    options.organization = "bench";
    options.project = "confirmations";
    kedge_db *db = NULL;
    kedge_error error = {0};
    bench_check(kedge_open(&options, &db, &error), &error, "kedge_open");
    bench_check(kedge_sync(db, 10000, &error), &error, "kedge_sync");
    for (int i = 0; i < WARM_UP; i++)
        edit(db, i);
    for (int i = 0; i < EDITS; i++)
        times[i] = edit(db, i);
    kedge_close(db);
    (void)bench_stop_server(child);
    bench_remove_folder(folder);
    rows[0] = (bench_row){.name = "edit to confirmed through a loopback server, p50",
                          .value = bench_percentile(times, EDITS, 0.5),
                          .unit = "ms",
                          .target = 5,
                          .target_is_ceiling = true};
    rows[1] = (bench_row){.name = "edit to confirmed, p99",
                          .value = bench_percentile(times, EDITS, 0.99),
                          .unit = "ms"};
    return 2;
}
