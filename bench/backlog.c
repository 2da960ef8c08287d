/* A backlog: edits made offline, then synced through a kedge-server on loopback, at three sizes.
 * Ten times the edits may take at most twelve times as long. To cancel one of the last edits may
 * take no longer than with a tenth of them, but for deeper trees. Each size runs in a process of
 * its own, so that its memory and CPU are its own. Half of the edits change an item that an earlier
 * one has made. */
#include "bench/bench.h"
#include "bench/server.h"

#include <kedge/kedge.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZES          3
#define SYNC_MS        600000
#define GROWTH_MOST    12.0
#define CANCELS        100
#define CANCEL_MOST    2.0
#define MEMORY_MOST_MB 128.0 /* half of it is for footprints at most: client-store.md */
#define OUTBOX_MOST_MB 12.0  /* the tail of 10,000 confirmed edits, and a WAL of 4 MB */
#define REST_MS        10000
#define ROWS           10
#define ROUNDS_MOST    9

static const int sizes[SIZES] = {1000, 10000, 100000};
/* The shorter a run is, the more other work of the machine moves it. */
static const size_t rounds[SIZES] = {9, 5, 3};

typedef struct backlog {
    double offline_s;
    double cancel_cpu_s; /* of one edit of the last ones */
    double sync_s;
    double client_cpu_s; /* of the sync */
    double server_cpu_s;
    double memory_mb; /* the most that the process took */
    double peak_mb;   /* of the outbox's file and WAL, when the sync ends */
    double outbox_mb; /* the same once the worker has moved the WAL and made the file smaller */
} backlog;

static double megabytes_of(const char *folder, const char *name)
{
    char path[400];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &facts) == 0 ? (double)facts.st_size / 1e6 : 0;
}

static double outbox_of(const char *folder)
{
    return megabytes_of(folder, "outbox.db") + megabytes_of(folder, "outbox.db-wal");
}

/* Until the worker has done what it does a second after the last pull. */
static double outbox_at_rest(const char *folder)
{
    double smallest = outbox_of(folder);
    double since = bench_now_ms();
    for (double start = since; bench_now_ms() - start < REST_MS && bench_now_ms() - since < 2500;) {
        const struct timespec pause = {.tv_nsec = 50000000};
        nanosleep(&pause, NULL);
        double now = outbox_of(folder);
        if (now < smallest) since = bench_now_ms();
        if (now < smallest) smallest = now;
    }
    return smallest;
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

/* The last edits are cancelled, from the last one on. */
static double cancel_some(kedge_db *db, int edits)
{
    struct rusage used;
    kedge_error error = {0};
    double cpu = cpu_s(&used);
    for (int i = 0; i < CANCELS; i++)
        bench_check(kedge_cancel(db, edits - i, &error), &error, "kedge_cancel");
    return (cpu_s(&used) - cpu) / CANCELS;
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
    found.cancel_cpu_s = cancel_some(db, edits);
    kedge_close(db);
    start = bench_now_ms();
    double cpu = cpu_s(&used);
    db = open_copy(folder, url);
    bench_check(kedge_sync(db, SYNC_MS, &error), &error, "kedge_sync");
    found.sync_s = (bench_now_ms() - start) / 1e3;
    found.client_cpu_s = cpu_s(&used) - cpu;
    found.memory_mb = (double)used.ru_maxrss / 1e3;
    found.peak_mb = outbox_of(folder);
    found.outbox_mb = outbox_at_rest(folder);
    kedge_close(db);
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
    if (pipe(ends) != 0) exit(2);
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
        exit(2);
    }
    return found;
}

/* The median of each figure by itself. */
static backlog medians(const backlog *all, size_t count)
{
    double values[ROUNDS_MOST];
    backlog middle;
    static const size_t at[] = {offsetof(backlog, offline_s),    offsetof(backlog, cancel_cpu_s),
                                offsetof(backlog, sync_s),       offsetof(backlog, client_cpu_s),
                                offsetof(backlog, server_cpu_s), offsetof(backlog, memory_mb),
                                offsetof(backlog, peak_mb),      offsetof(backlog, outbox_mb)};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        for (size_t j = 0; j < count; j++)
            values[j] = *(const double *)((const char *)&all[j] + at[i]);
        *(double *)((char *)&middle + at[i]) = bench_median(values, count);
    }
    return middle;
}

/* Rounds of all sizes in turn, so that a slow minute of the machine is not one size's alone. */
static void measure_all(const char *server_program, backlog found[SIZES])
{
    backlog all[SIZES][ROUNDS_MOST];
    for (size_t round = 0; round < ROUNDS_MOST; round++)
        for (int i = 0; i < SIZES; i++)
            if (round < rounds[i]) all[i][round] = measure_apart(server_program, sizes[i]);
    for (int i = 0; i < SIZES; i++)
        found[i] = medians(all[i], rounds[i]);
}

static void print_sizes(const backlog *found)
{
    printf("%10s %12s %12s %12s %12s %12s %12s %12s %12s\n", "edits", "offline s", "cancel ms",
           "sync s", "client CPU s", "server CPU s", "memory MB", "outbox MB", "at rest MB");
    for (int i = 0; i < SIZES; i++)
        printf("%10d %12.2f %12.3f %12.2f %12.2f %12.2f %12.1f %12.1f %12.1f\n", sizes[i],
               found[i].offline_s, found[i].cancel_cpu_s * 1e3, found[i].sync_s,
               found[i].client_cpu_s, found[i].server_cpu_s, found[i].memory_mb, found[i].peak_mb,
               found[i].outbox_mb);
}

/* The rows of the table: each size, and how the time grows from one to the next. */
static size_t make_rows(const backlog *found, bench_row *rows)
{
    rows[0] = (bench_row){.name = "sync of 10,000 pending", .value = found[1].sync_s};
    rows[1] = (bench_row){.name = "sync of 100,000 pending", .value = found[2].sync_s};
    rows[2] = (bench_row){.name = "CPU of the client, 10,000 pending (floor: 1,000)",
                          .value = found[1].client_cpu_s,
                          .floor = found[0].client_cpu_s};
    rows[3] = (bench_row){.name = "CPU of the client, 100,000 pending (floor: 10,000)",
                          .value = found[2].client_cpu_s,
                          .floor = found[1].client_cpu_s};
    rows[4] = (bench_row){.name = "the sync of 10,000 pending (floor: 1,000)",
                          .value = found[1].sync_s,
                          .floor = found[0].sync_s};
    rows[5] = (bench_row){.name = "the sync of 100,000 pending (floor: 10,000)",
                          .value = found[2].sync_s,
                          .floor = found[1].sync_s};
    rows[6] = (bench_row){.name = "memory of a client, 100,000 pending",
                          .value = found[2].memory_mb,
                          .unit = "MB",
                          .target = MEMORY_MOST_MB};
    rows[7] = (bench_row){.name = "outbox after 100,000 confirmed edits",
                          .value = found[2].outbox_mb,
                          .unit = "MB",
                          .target = OUTBOX_MOST_MB};
    for (size_t i = 0; i < 2; i++)
        rows[8 + i] =
            (bench_row){.name = i == 0 ? "CPU of a cancel, 10,000 pending (floor: 1,000)"
                                       : "CPU of a cancel, 100,000 pending (floor: 10,000)",
                        .value = found[i + 1].cancel_cpu_s * 1e3,
                        .floor = found[i].cancel_cpu_s * 1e3,
                        .unit = "ms"};
    rows[0].target = 1;
    rows[1].target = 10;
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].floor > 0) {
            rows[i].ratio = rows[i].value / rows[i].floor;
            rows[i].target = i < 6 ? GROWTH_MOST : CANCEL_MOST;
            rows[i].target_is_ratio = true;
        }
        rows[i].target_is_ceiling = true;
        if (!rows[i].unit) rows[i].unit = "s";
        rows[i].see = BENCH_SEE_SPEED;
    }
    return ROWS;
}

bool bench_backlog(const char *server_program, bool json)
{
    backlog found[SIZES];
    bench_row rows[ROWS];
    bool met = true;
    measure_all(server_program, found);
    if (!json) {
        print_sizes(found);
        printf("\n");
        bench_print_head();
    }
    size_t count = make_rows(found, rows);
    for (size_t i = 0; i < count; i++)
        met = bench_print(&rows[i], json) && met;
    return met;
}
