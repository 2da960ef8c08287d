/* A backlog: edits made offline, then synced through a kedge-server on loopback, at three sizes.
 * Ten times the edits may take at most twelve times as long. Each size runs in a process of its
 * own, so that its memory and CPU are its own. Half of the edits change an item that an earlier one
 * has made. */
#include "bench/bench.h"
#include "bench/server.h"

#include <kedge/kedge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZES       3
#define SYNC_MS     600000
#define GROWTH_MOST 12.0

static const int sizes[SIZES] = {1000, 10000, 100000};

typedef struct backlog {
    double offline_s;
    double sync_s;
    double client_cpu_s; /* of the sync */
    double server_cpu_s;
    double memory_mb; /* the most that the process took */
    double outbox_mb; /* of its file and WAL, after the sync */
} backlog;

static double megabytes_of(const char *folder, const char *name)
{
    char path[400];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &facts) == 0 ? (double)facts.st_size / 1e6 : 0;
}

static double cpu_s(struct rusage *used)
{
    getrusage(RUSAGE_SELF, used);
    return (double)used->ru_utime.tv_sec + (double)used->ru_stime.tv_sec +
           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6;
}

static kedge_db *open_copy(const char *folder, const char *url)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    kedge_error error = {0};
    kedge_db *db = NULL;
    options.path = folder;
    options.url = url;
    options.organization = "bench";
    options.project = "backlog";
    bench_check(kedge_open(&options, &db, &error), &error, "kedge_open");
    return db;
}

static void edit_offline(kedge_db *db, int edits)
{
    char args[256];
    kedge_error error = {0};
    for (int i = 0; i < edits; i++) {
        int size = snprintf(args, sizeof args,
                            "{\"collection\":\"notes\",\"id\":\"n%d\",\"value\":{\"number\":%d,"
                            "\"text\":\"some words of a note that somebody writes offline\"}}",
                            i % (edits / 2), i);
        bench_check(kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, &error), &error,
                    "kedge_mutate");
    }
}

static backlog measure(const char *folder, const char *url, int edits)
{
    backlog found = {0};
    struct rusage used;
    kedge_error error = {0};
    kedge_db *db = open_copy(folder, NULL);
    double start = bench_now_ms();
    edit_offline(db, edits);
    found.offline_s = (bench_now_ms() - start) / 1e3;
    kedge_close(db);
    start = bench_now_ms();
    double cpu = cpu_s(&used);
    db = open_copy(folder, url);
    bench_check(kedge_sync(db, SYNC_MS, &error), &error, "kedge_sync");
    found.sync_s = (bench_now_ms() - start) / 1e3;
    found.client_cpu_s = cpu_s(&used) - cpu;
    found.memory_mb = (double)used.ru_maxrss / 1e3;
    kedge_close(db);
    found.outbox_mb = megabytes_of(folder, "outbox.db") + megabytes_of(folder, "outbox.db-wal");
    return found;
}

static backlog measure_apart(const char *program, int edits)
{
    char folder[256], server[300], client[300], url[256];
    backlog found = {0};
    int ends[2], status = 0;
    bench_make_folder(folder, sizeof folder);
    snprintf(server, sizeof server, "%s/server", folder);
    snprintf(client, sizeof client, "%s/client", folder);
    pid_t served = bench_start_server(program, server, url, sizeof url);
    if (pipe(ends) != 0) exit(1);
    pid_t child = fork();
    if (child == 0) {
        found = measure(client, url, edits);
        _exit(write(ends[1], &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
    }
    close(ends[1]);
    bool told = read(ends[0], &found, sizeof found) == (ssize_t)sizeof found;
    close(ends[0]);
    waitpid(child, &status, 0);
    found.server_cpu_s = bench_stop_server(served);
    bench_remove_folder(folder);
    if (!told || status != 0) {
        fprintf(stderr, "bench: %d edits: the client failed\n", edits);
        exit(1);
    }
    return found;
}

static void print_sizes(const backlog *found)
{
    printf("%10s %12s %12s %12s %12s %12s %12s\n", "edits", "offline s", "sync s", "client CPU s",
           "server CPU s", "memory MB", "outbox MB");
    for (int i = 0; i < SIZES; i++)
        printf("%10d %12.2f %12.2f %12.2f %12.2f %12.1f %12.1f\n", sizes[i], found[i].offline_s,
               found[i].sync_s, found[i].client_cpu_s, found[i].server_cpu_s, found[i].memory_mb,
               found[i].outbox_mb);
}

bool bench_backlog(const char *server_program, bool json)
{
    static const char *const names[] = {"sync of 10,000 pending, of 1,000",
                                        "sync of 100,000 pending, of 10,000"};
    backlog found[SIZES];
    bool met = true;
    for (int i = 0; i < SIZES; i++)
        found[i] = measure_apart(server_program, sizes[i]);
    if (!json) print_sizes(found);
    for (int i = 1; i < SIZES; i++) {
        bench_row row = {.name = names[i - 1],
                         .value = found[i].sync_s / found[i - 1].sync_s,
                         .unit = "times",
                         .target = GROWTH_MOST,
                         .target_is_ceiling = true};
        met = bench_print(&row, json) && met;
    }
    bench_row ten = {.name = "sync of 10,000 pending",
                     .value = found[1].sync_s,
                     .unit = "s",
                     .target = 1,
                     .target_is_ceiling = true};
    bench_row hundred = {.name = "sync of 100,000 pending",
                         .value = found[2].sync_s,
                         .unit = "s",
                         .target = 10,
                         .target_is_ceiling = true};
    met = bench_print(&ten, json) && met;
    return bench_print(&hundred, json) && met;
}
