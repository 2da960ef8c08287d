/* kedge-crashpoints: a processor is stopped before and after every port call, and every pair of
 * such points across two processors, and nothing that must hold is violated.
 *
 *   kedge-crashpoints                   in memory: every single point, every pair
 *   kedge-crashpoints --engines         DynamoDB and S3: every single point, and a sample of pairs
 *       [--seconds N] [--seed S]        for N seconds
 *   kedge-crashpoints --story K --first I --second J --ending E
 *                                       one run again, in memory
 *   kedge-crashpoints --planted [BUG]   each planted bug, or one, until it is caught
 *   kedge-crashpoints-BUG --find BUG    what the former runs: the first run that catches the bug */
#include "tests/crashpoints/enumerate.h"
#include "tests/crashpoints/planted.h"

#include "common/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE_SECONDS  200
#define PAIRS_PER_STORY 100000

typedef struct arguments {
    bool engines;
    const char *planted; /* a bug, "": all; NULL: not asked for */
    bool find;
    int64_t seconds;
    uint64_t seed;
    int64_t story; /* -1: all */
    run_points points;
} arguments;

static bool read_arguments(int argc, char **argv, arguments *read)
{
    *read = (arguments){.seconds = ENGINE_SECONDS, .seed = 1, .story = -1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--engines") == 0) {
            read->engines = true;
        } else if (strcmp(argv[i], "--planted") == 0) {
            read->planted = i + 1 < argc ? argv[++i] : "";
        } else if (i + 1 < argc) {
            const char *name = argv[i];
            int64_t value = strtoll(argv[++i], NULL, 10);
            if (strcmp(name, "--seconds") == 0)
                read->seconds = value;
            else if (strcmp(name, "--seed") == 0)
                read->seed = (uint64_t)value;
            else if (strcmp(name, "--story") == 0)
                read->story = value;
            else if (strcmp(name, "--first") == 0)
                read->points.first = value;
            else if (strcmp(name, "--second") == 0)
                read->points.second = value;
            else if (strcmp(name, "--ending") == 0)
                read->points.end = (ending)value;
            else if (strcmp(name, "--find") == 0)
                read->find = true;
            else
                return false;
        } else {
            return false;
        }
    }
    return read->story < (int64_t)story_count && read->points.end < ENDINGS;
}

static void add(checks *to, const checks *from)
{
    for (int i = 0; i < CHECKS; i++) {
        to->evaluated[i] += from->evaluated[i];
        to->violated[i] += from->violated[i];
    }
}

static uint64_t sum(const uint64_t *numbers)
{
    uint64_t all = 0;
    for (int i = 0; i < CHECKS; i++)
        all += numbers[i];
    return all;
}

static void print_story(size_t number, const tally *counts)
{
    printf("%-42s %4" PRId64 " %4" PRId64 " %7" PRIu64 " %7" PRIu64 " %8" PRIu64 " %6" PRIu64 "\n",
           stories[number].name, counts->points_first, counts->points_second, counts->singles,
           counts->pairs, counts->runs, sum(counts->all.violated));
    if (counts->found) {
        printf("  %s\n  again: kedge-crashpoints --story %zu --first %" PRId64 " --second %" PRId64
               " --ending %d\n",
               counts->all.first, number, counts->points.first, counts->points.second,
               (int)counts->points.end);
    }
    fflush(stdout);
}

static kedge_status run_story(world *here, size_t number, const arguments *asked,
                              int64_t started_ms, uint64_t *seed, tally *counts, kedge_error *error)
{
    const story *told = &stories[number];
    kedge_status status = world_prepare(here, told, error);
    if (status == KEDGE_OK) status = enumerate_singles(here, told, counts, error);
    if (status != KEDGE_OK) return status;
    if (!asked->engines) return enumerate_pairs(here, told, false, counts, error);
    /* Each story may use up to its share of the time that is left. */
    int64_t now = here->environment.monotonic_ms(here->environment.context);
    int64_t left = started_ms + asked->seconds * 1000 - now;
    int64_t share = left / (int64_t)(story_count - number);
    return enumerate_sample(here, told, seed, now + share, PAIRS_PER_STORY, counts, error);
}

static int print_summary(const tally *whole)
{
    bool idle = false;
    printf("\ncheck   evaluated  violated\n");
    for (int i = 0; i < CHECKS; i++) {
        printf("%-5s %11" PRIu64 " %9" PRIu64 "\n", check_names[i], whole->all.evaluated[i],
               whole->all.violated[i]);
        idle = idle || whole->all.evaluated[i] == 0;
    }
    uint64_t violations = sum(whole->all.violated);
    printf("%" PRIu64 " single points, %" PRIu64 " pairs of points, %" PRIu64 " runs: %" PRIu64
           " violations\n",
           whole->singles, whole->pairs, whole->runs, violations);
    if (idle) printf("a check was never evaluated\n");
    if (whole->pairs == 0) printf("no pair was run\n");
    return violations == 0 && !idle && whole->pairs > 0 ? 0 : 1;
}

static int run_all(world *here, const arguments *asked)
{
    tally whole = {0};
    uint64_t seed = asked->seed;
    kedge_error error = {0};
    int64_t started_ms = here->environment.monotonic_ms(here->environment.context);
    printf("%s\n%-42s %9s %7s %7s %8s %6s\n",
           asked->engines ? "on DynamoDB and S3: every single point, pairs drawn by seed"
                          : "in memory: every single point, every pair",
           "story", "points", "singles", "pairs", "runs", "wrong");
    for (size_t i = 0; i < story_count; i++) {
        tally counts = {0};
        kedge_status status = run_story(here, i, asked, started_ms, &seed, &counts, &error);
        if (status != KEDGE_OK) {
            fprintf(stderr, "%s: %s (%s)\n", stories[i].name, error.message, error.code);
            return 1;
        }
        print_story(i, &counts);
        add(&whole.all, &counts.all);
        whole.singles += counts.singles;
        whole.pairs += counts.pairs;
        whole.runs += counts.runs;
    }
    return print_summary(&whole);
}

static int run_one(world *here, const arguments *asked)
{
    checks all = {.first = ""};
    run_reached reached = {false, false};
    kedge_error error = {0};
    const story *told = &stories[asked->story];
    kedge_status status = world_prepare(here, told, &error);
    if (status == KEDGE_OK) status = run_once(here, told, &asked->points, &reached, &all, &error);
    if (status != KEDGE_OK) {
        fprintf(stderr, "%s (%s)\n", error.message, error.code);
        return 1;
    }
    printf("%s: first %s, second %s; %" PRIu64 " checks, %" PRIu64 " violated %s\n", told->name,
           reached.first ? "stopped" : "ended", reached.second ? "stopped" : "ended",
           sum(all.evaluated), sum(all.violated), all.first);
    return sum(all.violated) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    arguments asked;
    world here;
    kedge_error error = {0};
    if (!read_arguments(argc, argv, &asked)) {
        fprintf(stderr, "usage: kedge-crashpoints [--engines [--seconds N] [--seed S]] | --story K "
                        "--first I --second J --ending E | --planted [BUG]\n");
        return 2;
    }
    if (world_open(&here, asked.engines, &error) != KEDGE_OK) {
        fprintf(stderr, "kedge-crashpoints: %s (%s)\n", error.message, error.code);
        return 1;
    }
    int code = asked.planted      ? planted_run(&here, asked.planted)
               : asked.find       ? planted_find_here(&here)
               : asked.story >= 0 ? run_one(&here, &asked)
                                  : run_all(&here, &asked);
    world_close(&here);
    return code;
}
