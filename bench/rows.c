/* What the benchmark programs share: clocks, medians, folders, and rows of a table. */
#include "bench/bench.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double bench_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

double bench_cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

double bench_process_cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_percentile(double *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, compare);
    return values[(size_t)((double)(count - 1) * part)];
}

double bench_median(double *values, size_t count)
{
    return bench_percentile(values, count, 0.5);
}

void bench_make_folder(char *path, size_t size)
{
    const char *base = getenv("TMPDIR");
    snprintf(path, size, "%s/kedge-bench.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(path)) {
        perror(path);
        exit(2);
    }
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void bench_remove_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void bench_check(kedge_status status, const kedge_error *error, const char *what)
{
    if (status == KEDGE_OK) return;
    fprintf(stderr, "bench: %s: %s (%s)\n", what, error->message, error->code);
    exit(2);
}

static bool is_met(const bench_row *row)
{
    double measured = row->target_is_ratio ? row->ratio : row->value;
    if (row->target <= 0) return true;
    return row->target_is_ceiling ? measured <= row->target : measured >= row->target;
}

void bench_print_head(void)
{
    printf("%-56s %10s %-8s %10s %7s  %-12s\n", "median", "value", "unit", "floor", "ratio",
           "target");
}

bool bench_print(const bench_row *row, bool json)
{
    bool met = is_met(row);
    if (json) {
        printf("{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"floor\":%.4g,\"ratio\":%.3f,"
               "\"target\":%.4g,\"met\":%s",
               row->name, row->value, row->unit, row->floor, row->ratio, row->target,
               met ? "true" : "false");
        if (!met && row->see) printf(",\"see\":\"%s\"", row->see);
        printf("}\n");
        return met;
    }
    char target[32] = "-", floor[32] = "-", ratio[32] = "-";
    if (row->floor > 0) {
        snprintf(floor, sizeof floor, "%.4g", row->floor);
        snprintf(ratio, sizeof ratio, "%.2f", row->ratio);
    }
    if (row->target > 0) {
        snprintf(target, sizeof target, "%s %.3g%s",
                 row->target_is_ceiling ? "<=" : ">=", row->target,
                 row->target_is_ratio ? " of it" : "");
    }
    printf("%-56s %10.4g %-8s %10s %7s  %-12s %s%s%s\n", row->name, row->value, row->unit, floor,
           ratio, target,
           row->target <= 0 ? ""
           : met            ? "met"
                            : "missed",
           met || !row->see ? "" : ", see ", met || !row->see ? "" : row->see);
    return met;
}
