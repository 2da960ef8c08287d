/* The bugs that this must catch. For each there is a program that has it, which tells the run that
 * violates a check; the same run, without the bug, must violate none. */
#include "tests/crashpoints/planted.h"

#include "tests/crashpoints/enumerate.h"
#include "tests/planted/find.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const bugs[] = {"no-version-condition", "dedup-before-head", "body-after-commit",
                                   "recent-shortened-early", "lmid-newer-than-pin"};
#define BUGS (sizeof bugs / sizeof bugs[0])

/* ---- in the program that has the bug ---- */

static bool catch_in(world *here, size_t number, tally *counts)
{
    kedge_error error = {0};
    const story *told = &stories[number];
    kedge_status status = world_prepare(here, told, &error);
    if (status == KEDGE_OK) status = enumerate_singles(here, told, counts, &error);
    if (status == KEDGE_OK && !counts->found)
        status = enumerate_pairs(here, told, true, counts, &error);
    /* A bug may also show as a push that never succeeds; that alone is not told from a fault. */
    if (status != KEDGE_OK) printf("  %s: %s\n", told->name, error.message);
    return counts->found;
}

int planted_find_here(world *here)
{
    for (size_t i = 0; i < story_count; i++) {
        tally counts = {0};
        if (!catch_in(here, i, &counts)) continue;
        const run_points *at = &counts.points;
        printf("%zu %" PRId64 " %" PRId64 " %d %d %d %" PRIu64 " %s\n", i, at->first, at->second,
               (int)at->end, (int)at->alone, (int)at->delete_derived, counts.runs,
               counts.all.first);
        return 0;
    }
    return 1;
}

/* ---- in the sound one ---- */

static bool is_clean(world *here, size_t number, const run_points *points)
{
    checks all = {.first = ""};
    run_reached reached = {false, false};
    bool done = world_prepare(here, &stories[number], NULL) == KEDGE_OK &&
                run_once(here, &stories[number], points, &reached, &all, NULL) == KEDGE_OK;
    return done && all.first[0] == '\0';
}

static bool run_bug(world *here, const char *name)
{
    char line[512];
    size_t number = 0;
    int end = 0, alone = 0, derived = 0, text = 0;
    uint64_t runs = 0;
    run_points at = {0};
    if (!planted_find("kedge-crashpoints", name, line, sizeof line) ||
        sscanf(line, "%zu %" SCNd64 " %" SCNd64 " %d %d %d %" SCNu64 " %n", &number, &at.first,
               &at.second, &end, &alone, &derived, &runs, &text) != 7 ||
        number >= story_count) {
        printf("%-24s NOT caught\n", name);
        return false;
    }
    at.end = (ending)end;
    at.alone = alone != 0;
    at.delete_derived = derived != 0;
    bool clean = is_clean(here, number, &at);
    printf("%-24s caught in \"%s\", run %" PRIu64 "%s\n  %s\n", name, stories[number].name, runs,
           clean ? "; clean without it" : "; NOT clean without it", line + text);
    (void)fflush(stdout);
    return clean;
}

int planted_run(world *here, const char *name)
{
    size_t caught = 0;
    if (name[0] != '\0') return run_bug(here, name) ? 0 : 1;
    for (size_t i = 0; i < BUGS; i++)
        if (run_bug(here, bugs[i])) caught++;
    printf("%zu of %zu planted bugs caught, their runs clean without them\n", caught, BUGS);
    return caught == BUGS ? 0 : 1;
}
