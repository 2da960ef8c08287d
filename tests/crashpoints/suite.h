/* The program around stories of two processors: all single points, all pairs, samples on engines,
 * one run again, planted bugs. */
#ifndef KEDGE_TESTS_CRASHPOINTS_SUITE_H
#define KEDGE_TESTS_CRASHPOINTS_SUITE_H

#include "tests/crashpoints/actor.h"
#include "tests/crashpoints/world.h"

#define SUITE_CHECKS_MAX 8

typedef struct suite_checks {
    uint64_t evaluated[SUITE_CHECKS_MAX];
    uint64_t violated[SUITE_CHECKS_MAX];
    char first[256]; /* the first violation */
} suite_checks;

typedef struct suite {
    const char *program; /* its name; that of a planted bug ends with -BUG */
    const char *title;
    const char *const *stories; /* their names */
    size_t story_count;
    const char *const *checks; /* theirs */
    size_t check_count;
    const char *const *bugs;
    size_t bug_count;
    /* Of a story with more pairs, each has one ending, in turn; else each has all. 0: no limit. */
    int64_t all_endings_max;
    int64_t pairs_max; /* of a story, about: an even part of more; 0: all */
    /* One run of the story at that place; `turned`: its two processors change places. KEDGE_OK: it
     * was run, and `all` has what was found. */
    kedge_status (*run)(world *here, size_t place, bool turned, const run_points *points,
                        run_reached *reached, suite_checks *all, kedge_error *error);
} suite;

/* What main does. */
int suite_main(const suite *what, int argc, char **argv);

#endif
