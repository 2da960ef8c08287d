/* kedge-crashpoints-resource: the same as kedge-crashpoints for the writes of resources, in
 * transactions and in order.
 *
 *   kedge-crashpoints-resource                  in memory: every single point, every pair
 *   kedge-crashpoints-resource --engines        on DynamoDB: every single point, and pairs drawn
 *       [--seconds N] [--seed S]                for N seconds
 *   kedge-crashpoints-resource --story K --first I --second J --ending E
 *                                               one run again, in memory
 *   kedge-crashpoints-resource --planted [BUG]  each planted bug, or one, until it is caught
 *   kedge-crashpoints-resource-BUG --find BUG   what the former runs
 *
 * A story's number is twice its place, and one more in order. */
#include "tests/crashpoints/resource_run.h"
#include "tests/planted/find.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE_SECONDS 60

static const char *const bugs[] = {"resource-row-replaced", "resource-uid-ignored"};
#define BUGS (sizeof bugs / sizeof bugs[0])

typedef struct tally {
    resource_checks all;
    uint64_t singles;
    uint64_t pairs;
    uint64_t runs;
    int64_t points_first;
    int64_t points_second;
    bool until_caught;
    bool found;
    run_points points; /* of the run that found the first violation */
} tally;

typedef struct arguments {
    bool engines;
    const char *planted;
    bool find;
    int64_t seconds;
    uint64_t seed;
    int64_t story; /* -1: all */
    run_points points;
} arguments;

static size_t number_count(void)
{
    return resource_story_count * RESOURCE_MODES;
}

static uint64_t sum(const uint64_t *numbers)
{
    uint64_t all = 0;
    for (int i = 0; i < RESOURCE_CHECKS; i++)
        all += numbers[i];
    return all;
}

static run_reached run_story(world *here, const resource_story *told, size_t number,
                             const run_points *points, tally *counts)
{
    run_reached reached = {false, false};
    kedge_error error = {0};
    uint64_t before = sum(counts->all.violated);
    counts->runs++;
    if (resource_run_once(here, told, (resource_mode)(number % RESOURCE_MODES), points, &reached,
                          &counts->all, &error) != KEDGE_OK) {
        fprintf(stderr, "%s (%s)\n", error.message, error.code);
        exit(1);
    }
    if (!counts->found && sum(counts->all.violated) > before) {
        counts->found = true;
        counts->points = *points;
    }
    return reached;
}

static run_reached run_at(world *here, size_t number, const run_points *points, tally *counts)
{
    return run_story(here, &resource_stories[number / RESOURCE_MODES], number, points, counts);
}

/* ---- all points ---- */

/* The first processor alone dies at each of its points; gives how many these are. */
static int64_t run_singles_of(world *here, const resource_story *told, size_t number, tally *counts)
{
    run_points at = {.end = ENDING_FIRST_DIES, .alone = true};
    while (run_story(here, told, number, &at, counts).first)
        at.first++;
    counts->singles += (uint64_t)at.first;
    return at.first;
}

static void run_singles(world *here, size_t number, tally *counts)
{
    resource_story turned = resource_stories[number / RESOURCE_MODES];
    counts->points_first = run_singles_of(here, &turned, number, counts);
    memcpy(turned.second, turned.first, sizeof turned.second);
    memcpy(turned.first, resource_stories[number / RESOURCE_MODES].second, sizeof turned.first);
    counts->points_second = run_singles_of(here, &turned, number, counts);
}

static void run_pairs(world *here, size_t number, tally *counts)
{
    run_reached reached = {true, true};
    for (int64_t first = 0; reached.first; first++) {
        reached.second = true;
        for (int64_t second = 0; reached.second; second++) {
            for (int end = 0; end < ENDINGS; end++) {
                run_points at = {.first = first, .second = second, .end = (ending)end};
                reached = run_at(here, number, &at, counts);
                if (counts->until_caught && counts->found) return;
            }
            if (reached.first && reached.second) counts->pairs++;
        }
    }
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % below;
}

static void run_sample(world *here, size_t number, uint64_t *seed, int64_t end_ms, tally *counts)
{
    while (here->environment.monotonic_ms(here->environment.context) < end_ms) {
        run_points at = {.first = (int64_t)draw(seed, (uint64_t)counts->points_first),
                         .second = (int64_t)draw(seed, (uint64_t)counts->points_second),
                         .end = (ending)draw(seed, ENDINGS)};
        run_reached reached = run_at(here, number, &at, counts);
        if (reached.first && reached.second) counts->pairs++;
    }
}

static void print_story(size_t number, const tally *counts)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", resource_stories[number / RESOURCE_MODES].name,
             number % RESOURCE_MODES == IN_ORDER ? ", in order" : "");
    printf("%-54s %3" PRId64 " %3" PRId64 " %6" PRIu64 " %6" PRIu64 "\n", name,
           counts->points_first, counts->points_second, counts->runs, sum(counts->all.violated));
    if (counts->found) {
        printf("  %s\n  again: kedge-crashpoints-resource --story %zu --first %" PRId64
               " --second %" PRId64 " --ending %d\n",
               counts->all.first, number, counts->points.first, counts->points.second,
               (int)counts->points.end);
    }
    fflush(stdout);
}

static int print_summary(const tally *whole)
{
    bool idle = false;
    printf("\ncheck   evaluated  violated\n");
    for (int i = 0; i < RESOURCE_CHECKS; i++) {
        printf("%-5s %11" PRIu64 " %9" PRIu64 "\n", resource_check_names[i],
               whole->all.evaluated[i], whole->all.violated[i]);
        idle = idle || whole->all.evaluated[i] == 0;
    }
    printf("%" PRIu64 " single points, %" PRIu64 " pairs of points, %" PRIu64 " runs: %" PRIu64
           " violations\n",
           whole->singles, whole->pairs, whole->runs, sum(whole->all.violated));
    if (idle) printf("a check was never evaluated\n");
    return sum(whole->all.violated) == 0 && !idle && whole->pairs > 0 ? 0 : 1;
}

static int run_all(world *here, const arguments *asked)
{
    tally whole = {.runs = 0};
    uint64_t seed = asked->seed;
    int64_t started_ms = here->environment.monotonic_ms(here->environment.context);
    printf("%s\n%-54s %7s %6s %6s\n",
           asked->engines ? "resources on DynamoDB: every single point, pairs drawn by seed"
                          : "resources in memory: every single point, every pair",
           "story", "points", "runs", "wrong");
    for (size_t number = 0; number < number_count(); number++) {
        tally counts = {.runs = 0};
        int64_t now = here->environment.monotonic_ms(here->environment.context);
        int64_t left = started_ms + asked->seconds * 1000 - now;
        run_singles(here, number, &counts);
        if (asked->engines) {
            run_sample(here, number, &seed, now + left / (int64_t)(number_count() - number),
                       &counts);
        } else {
            run_pairs(here, number, &counts);
        }
        print_story(number, &counts);
        for (int i = 0; i < RESOURCE_CHECKS; i++) {
            whole.all.evaluated[i] += counts.all.evaluated[i];
            whole.all.violated[i] += counts.all.violated[i];
        }
        whole.singles += counts.singles;
        whole.pairs += counts.pairs;
        whole.runs += counts.runs;
    }
    return print_summary(&whole);
}

static int run_one(world *here, const arguments *asked)
{
    tally counts = {.runs = 0};
    run_at(here, (size_t)asked->story, &asked->points, &counts);
    print_story((size_t)asked->story, &counts);
    return counts.found ? 1 : 0;
}

/* ---- planted bugs ---- */

/* In the program that has the bug. */
static int find_here(world *here)
{
    for (size_t number = 0; number < number_count(); number++) {
        tally counts = {.until_caught = true};
        run_singles(here, number, &counts);
        if (!counts.found) run_pairs(here, number, &counts);
        if (!counts.found) continue;
        printf("%zu %" PRId64 " %" PRId64 " %d %d %" PRIu64 " %s\n", number, counts.points.first,
               counts.points.second, (int)counts.points.end, (int)counts.points.alone, counts.runs,
               counts.all.first);
        return 0;
    }
    return 1;
}

/* In the sound one: the same run is clean. */
static bool run_bug(world *here, const char *name)
{
    char line[512];
    size_t number = 0;
    int end = 0, alone = 0, text = 0;
    uint64_t runs = 0;
    tally counts = {.runs = 0};
    run_points at = {0};
    if (!planted_find("kedge-crashpoints-resource", name, line, sizeof line) ||
        sscanf(line, "%zu %" SCNd64 " %" SCNd64 " %d %d %" SCNu64 " %n", &number, &at.first,
               &at.second, &end, &alone, &runs, &text) != 6 ||
        number >= number_count()) {
        printf("%-24s NOT caught\n", name);
        return false;
    }
    at.end = (ending)end;
    at.alone = alone != 0;
    run_at(here, number, &at, &counts);
    printf("%-24s caught in \"%s\", run %" PRIu64 "%s\n  %s\n", name,
           resource_stories[number / RESOURCE_MODES].name, runs,
           counts.found ? "; NOT clean without it" : "; clean without it", line + text);
    fflush(stdout);
    return !counts.found;
}

static int run_planted(world *here, const char *name)
{
    size_t caught = 0;
    if (name[0] != '\0') return run_bug(here, name) ? 0 : 1;
    for (size_t i = 0; i < BUGS; i++)
        if (run_bug(here, bugs[i])) caught++;
    printf("%zu of %zu planted bugs caught, their runs clean without them\n", caught, BUGS);
    return caught == BUGS ? 0 : 1;
}

/* ---- the command line ---- */

static bool read_number(const char *name, int64_t value, arguments *read)
{
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
    else
        return false;
    return true;
}

static bool read_arguments(int argc, char **argv, arguments *read)
{
    *read = (arguments){.seconds = ENGINE_SECONDS, .seed = 1, .story = -1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--engines") == 0) {
            read->engines = true;
        } else if (strcmp(argv[i], "--planted") == 0) {
            read->planted = i + 1 < argc ? argv[++i] : "";
        } else if (i + 1 < argc && strcmp(argv[i], "--find") == 0) {
            read->find = true;
            i++;
        } else if (i + 1 >= argc || !read_number(argv[i], strtoll(argv[i + 1], NULL, 10), read)) {
            return false;
        } else {
            i++;
        }
    }
    return read->story < (int64_t)number_count() && read->points.end < ENDINGS;
}

int main(int argc, char **argv)
{
    arguments asked;
    world here;
    kedge_error error = {0};
    if (!read_arguments(argc, argv, &asked)) {
        fprintf(stderr, "usage: kedge-crashpoints-resource [--engines [--seconds N] [--seed S]] | "
                        "--story K --first I --second J --ending E | --planted [BUG]\n");
        return 2;
    }
    if (world_open(&here, asked.engines, &error) != KEDGE_OK) {
        fprintf(stderr, "kedge-crashpoints-resource: %s (%s)\n", error.message, error.code);
        return 1;
    }
    int code = asked.planted      ? run_planted(&here, asked.planted)
               : asked.find       ? find_here(&here)
               : asked.story >= 0 ? run_one(&here, &asked)
                                  : run_all(&here, &asked);
    world_close(&here);
    return code;
}
