/* The program around stories of two processors. */
#include "tests/crashpoints/suite.h"

#include "tests/planted/find.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE_SECONDS       60
#define DELETE_DERIVED_EVERY 8

typedef struct tally {
    suite_checks all;
    uint64_t singles;
    uint64_t pairs;
    uint64_t runs;
    int64_t points_first;
    int64_t points_second;
    bool until_caught;
    bool found;
    bool turned; /* of the run that found the first violation */
    run_points points;
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

static uint64_t sum(const uint64_t *numbers)
{
    uint64_t all = 0;
    for (size_t i = 0; i < SUITE_CHECKS_MAX; i++)
        all += numbers[i];
    return all;
}

/* The points as they are. */
static run_reached run_again(const suite *what, world *here, size_t place, bool turned,
                             const run_points *points, tally *counts)
{
    run_reached reached = {false, false};
    kedge_error error = {0};
    uint64_t before = sum(counts->all.violated);
    counts->runs++;
    if (what->run(here, place, turned, points, &reached, &counts->all, &error) != KEDGE_OK) {
        fprintf(stderr, "%s (%s)\n", error.message, error.code);
        exit(1);
    }
    if (!counts->found && sum(counts->all.violated) > before) {
        counts->found = true;
        counts->turned = turned;
        counts->points = *points;
    }
    return reached;
}

/* ---- all points ---- */

static run_reached run_at(const suite *what, world *here, size_t place, bool turned,
                          const run_points *points, tally *counts)
{
    run_points at = *points;
    at.delete_derived = counts->runs % DELETE_DERIVED_EVERY == 0;
    return run_again(what, here, place, turned, &at, counts);
}

/* One processor alone dies at each of its points; gives how many these are. */
static int64_t run_alone(const suite *what, world *here, size_t place, bool turned, tally *counts)
{
    run_points at = {.end = ENDING_FIRST_DIES, .alone = true};
    while (run_at(what, here, place, turned, &at, counts).first)
        at.first++;
    counts->singles += (uint64_t)at.first;
    return at.first;
}

static void run_singles(const suite *what, world *here, size_t place, tally *counts)
{
    counts->points_first = run_alone(what, here, place, false, counts);
    counts->points_second = run_alone(what, here, place, true, counts);
}

/* One pair of points, with every ending; true: it is enough. */
static bool run_pair(const suite *what, world *here, size_t place, run_points at,
                     run_reached *reached, tally *counts)
{
    for (int end = 0; end < ENDINGS; end++) {
        at.end = (ending)end;
        *reached = run_at(what, here, place, false, &at, counts);
        if (counts->until_caught && counts->found) return true;
    }
    if (reached->first && reached->second) counts->pairs++;
    return false;
}

static void run_all_pairs(const suite *what, world *here, size_t place, tally *counts)
{
    run_reached reached = {true, true};
    for (int64_t first = 0; reached.first; first++) {
        reached.second = true;
        for (int64_t second = 0; reached.second; second++) {
            run_points at = {.first = first, .second = second};
            if (run_pair(what, here, place, at, &reached, counts)) return;
        }
    }
}

/* Every so many of them, in diagonals; the endings in turn. */
static void run_some_pairs(const suite *what, world *here, size_t place, int64_t step,
                           tally *counts)
{
    int64_t turn = 0;
    for (int64_t first = 0; first < counts->points_first; first++) {
        for (int64_t second = first % step; second < counts->points_second; second += step) {
            run_points at = {.first = first, .second = second, .end = (ending)(turn++ % ENDINGS)};
            run_reached reached = run_at(what, here, place, false, &at, counts);
            if (reached.first && reached.second) counts->pairs++;
            if (counts->until_caught && counts->found) return;
        }
    }
}

static void run_pairs(const suite *what, world *here, size_t place, tally *counts)
{
    int64_t all = counts->points_first * counts->points_second;
    if (what->all_endings_max == 0 || all <= what->all_endings_max)
        run_all_pairs(what, here, place, counts);
    else
        run_some_pairs(what, here, place, what->pairs_max == 0 ? 1 : all / what->pairs_max + 1,
                       counts);
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below == 0 ? 0 : (*seed >> 33) % below;
}

/* Until then, and one pair at least: on a slow machine the single points take all of the time. */
static void run_sample(const suite *what, world *here, size_t place, uint64_t *seed, int64_t end_ms,
                       tally *counts)
{
    do {
        run_points at = {.first = (int64_t)draw(seed, (uint64_t)counts->points_first),
                         .second = (int64_t)draw(seed, (uint64_t)counts->points_second),
                         .end = (ending)draw(seed, ENDINGS)};
        run_reached reached = run_at(what, here, place, false, &at, counts);
        if (reached.first && reached.second) counts->pairs++;
    } while (here->environment.monotonic_ms(here->environment.context) < end_ms);
}

static void print_story(const suite *what, size_t place, const tally *counts)
{
    printf("%-54s %3" PRId64 " %3" PRId64 " %6" PRIu64 " %6" PRIu64 "\n", what->stories[place],
           counts->points_first, counts->points_second, counts->runs, sum(counts->all.violated));
    if (counts->found) {
        printf("  %s%s\n  again: %s --story %zu --first %" PRId64 " --second %" PRId64
               " --ending %d\n",
               counts->all.first, counts->turned ? " (the second processor alone)" : "",
               what->program, place, counts->points.first, counts->points.second,
               (int)counts->points.end);
    }
    fflush(stdout);
}

static int print_summary(const suite *what, const tally *whole)
{
    bool idle = false;
    printf("\ncheck   evaluated  violated\n");
    for (size_t i = 0; i < what->check_count; i++) {
        printf("%-5s %11" PRIu64 " %9" PRIu64 "\n", what->checks[i], whole->all.evaluated[i],
               whole->all.violated[i]);
        idle = idle || whole->all.evaluated[i] == 0;
    }
    printf("%" PRIu64 " single points, %" PRIu64 " pairs of points, %" PRIu64 " runs: %" PRIu64
           " violations\n",
           whole->singles, whole->pairs, whole->runs, sum(whole->all.violated));
    if (idle) printf("a check was never evaluated\n");
    return sum(whole->all.violated) == 0 && !idle && whole->pairs > 0 ? 0 : 1;
}

static void run_story(const suite *what, world *here, const arguments *asked, size_t place,
                      int64_t started_ms, uint64_t *seed, tally *counts)
{
    int64_t now = here->environment.monotonic_ms(here->environment.context);
    int64_t left = started_ms + asked->seconds * 1000 - now;
    run_singles(what, here, place, counts);
    if (asked->engines) {
        run_sample(what, here, place, seed, now + left / (int64_t)(what->story_count - place),
                   counts);
    } else {
        run_pairs(what, here, place, counts);
    }
    print_story(what, place, counts);
}

static int run_all(const suite *what, world *here, const arguments *asked)
{
    tally whole = {.runs = 0};
    uint64_t seed = asked->seed;
    int64_t started_ms = here->environment.monotonic_ms(here->environment.context);
    printf("%s %s\n%-54s %7s %6s %6s\n", what->title,
           asked->engines        ? "on DynamoDB and S3: every single point, pairs drawn by seed"
           : what->pairs_max > 0 ? "in memory: every single point, an even part of the pairs"
                                 : "in memory: every single point, every pair",
           "story", "points", "runs", "wrong");
    for (size_t place = 0; place < what->story_count; place++) {
        tally counts = {.runs = 0};
        run_story(what, here, asked, place, started_ms, &seed, &counts);
        for (size_t i = 0; i < SUITE_CHECKS_MAX; i++) {
            whole.all.evaluated[i] += counts.all.evaluated[i];
            whole.all.violated[i] += counts.all.violated[i];
        }
        whole.singles += counts.singles;
        whole.pairs += counts.pairs;
        whole.runs += counts.runs;
    }
    return print_summary(what, &whole);
}

static int run_one(const suite *what, world *here, const arguments *asked)
{
    tally counts = {.runs = 0};
    run_again(what, here, (size_t)asked->story, false, &asked->points, &counts);
    print_story(what, (size_t)asked->story, &counts);
    return counts.found ? 1 : 0;
}

/* ---- planted bugs ---- */

/* In the program that has the bug. */
static int find_here(const suite *what, world *here)
{
    for (size_t place = 0; place < what->story_count; place++) {
        tally counts = {.until_caught = true};
        run_singles(what, here, place, &counts);
        if (!counts.found) run_pairs(what, here, place, &counts);
        if (!counts.found) continue;
        printf("%zu %d %" PRId64 " %" PRId64 " %d %d %d %" PRIu64 " %s\n", place, counts.turned,
               counts.points.first, counts.points.second, (int)counts.points.end,
               (int)counts.points.alone, (int)counts.points.delete_derived, counts.runs,
               counts.all.first);
        return 0;
    }
    return 1;
}

/* In the sound one: the same run is clean. */
static bool run_bug(const suite *what, world *here, const char *name)
{
    char line[512];
    size_t place = 0;
    int turned = 0, end = 0, alone = 0, derived = 0, text = 0;
    uint64_t runs = 0;
    tally counts = {.runs = 0};
    run_points at = {0};
    if (!planted_find(what->program, name, line, sizeof line) ||
        sscanf(line, "%zu %d %" SCNd64 " %" SCNd64 " %d %d %d %" SCNu64 " %n", &place, &turned,
               &at.first, &at.second, &end, &alone, &derived, &runs, &text) != 8 ||
        place >= what->story_count) {
        printf("%-24s NOT caught\n", name);
        return false;
    }
    at.end = (ending)end;
    at.alone = alone != 0;
    at.delete_derived = derived != 0;
    run_again(what, here, place, turned != 0, &at, &counts);
    printf("%-24s caught in \"%s\", run %" PRIu64 "%s\n  %s\n", name, what->stories[place], runs,
           counts.found ? "; NOT clean without it" : "; clean without it", line + text);
    fflush(stdout);
    return !counts.found;
}

static int run_planted(const suite *what, world *here, const char *name)
{
    size_t caught = 0;
    if (name[0] != '\0') return run_bug(what, here, name) ? 0 : 1;
    for (size_t i = 0; i < what->bug_count; i++)
        if (run_bug(what, here, what->bugs[i])) caught++;
    printf("%zu of %zu planted bugs caught, their runs clean without them\n", caught,
           what->bug_count);
    return caught == what->bug_count ? 0 : 1;
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

static bool read_arguments(const suite *what, int argc, char **argv, arguments *read)
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
    return read->story < (int64_t)what->story_count && read->points.end < ENDINGS;
}

int suite_main(const suite *what, int argc, char **argv)
{
    arguments asked;
    world here;
    kedge_error error = {0};
    if (!read_arguments(what, argc, argv, &asked)) {
        fprintf(stderr,
                "usage: %s [--engines [--seconds N] [--seed S]] | "
                "--story K --first I --second J --ending E | --planted [BUG]\n",
                what->program);
        return 2;
    }
    if (world_open(&here, asked.engines, &error) != KEDGE_OK) {
        fprintf(stderr, "%s: %s (%s)\n", what->program, error.message, error.code);
        return 1;
    }
    int code = asked.planted      ? run_planted(what, &here, asked.planted)
               : asked.find       ? find_here(what, &here)
               : asked.story >= 0 ? run_one(what, &here, &asked)
                                  : run_all(what, &here, &asked);
    world_close(&here);
    return code;
}
