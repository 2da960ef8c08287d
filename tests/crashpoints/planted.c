/* The bugs that this must catch. */
#include "tests/crashpoints/planted.h"

#include "tests/crashpoints/enumerate.h"

#include "common/planted.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#ifdef KEDGE_PLANTED

int kedge_planted_bug;

static const struct {
    kedge_planted bug;
    const char *name;
} bugs[] = {
    {KEDGE_PLANTED_NO_VERSION_CONDITION, "a version put without its condition"},
    {KEDGE_PLANTED_DEDUP_BEFORE_HEAD, "dedup before the head is loaded"},
    {KEDGE_PLANTED_BODY_AFTER_COMMIT, "a body written behind the commit"},
    {KEDGE_PLANTED_RECENT_SHORTENED_EARLY, "`recent` dropped before its rows are durable"},
    {KEDGE_PLANTED_LMID_NEWER_THAN_PIN, "lmids newer than the pinned version"},
};

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

static bool is_clean(world *here, size_t number, const run_points *points)
{
    checks all = {.first = ""};
    run_reached reached = {false, false};
    kedge_planted_bug = 0;
    bool done = world_prepare(here, &stories[number], NULL) == KEDGE_OK &&
                run_once(here, &stories[number], points, &reached, &all, NULL) == KEDGE_OK;
    return done && all.first[0] == '\0';
}

static bool run_bug(world *here, size_t at)
{
    for (size_t i = 0; i < story_count; i++) {
        tally counts = {0};
        kedge_planted_bug = (int)bugs[at].bug;
        if (!catch_in(here, i, &counts)) continue;
        bool clean = is_clean(here, i, &counts.points);
        printf("%-48s caught in \"%s\", run %" PRIu64 "%s\n  %s\n", bugs[at].name, stories[i].name,
               counts.runs, clean ? "; clean without it" : "; NOT clean without it",
               counts.all.first);
        return clean;
    }
    printf("%-48s NOT caught\n", bugs[at].name);
    return false;
}

int planted_run(world *here)
{
    size_t count = sizeof bugs / sizeof bugs[0];
    size_t caught = 0;
    for (size_t i = 0; i < count; i++) {
        if (run_bug(here, i)) caught++;
        fflush(stdout);
    }
    printf("%zu of %zu planted bugs caught, their runs clean without them\n", caught, count);
    return caught == count ? 0 : 1;
}

#else

int planted_run(world *here)
{
    (void)here;
    fprintf(stderr, "this build has no planted bugs; run kedge-crashpoints-planted\n");
    return 2;
}

#endif
