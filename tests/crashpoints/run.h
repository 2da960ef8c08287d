/* One run: two processors, each stopped at a point, go on or die in some order; then both
 * operations are repeated, as clients would, and everything is checked. */
#ifndef KEDGE_TESTS_CRASHPOINTS_RUN_H
#define KEDGE_TESTS_CRASHPOINTS_RUN_H

#include "tests/crashpoints/check.h"
#include "tests/crashpoints/world.h"

/* What the two do from their points on. */
typedef enum ending {
    ENDING_FIRST_THEN_SECOND, /* both go on, one behind the other */
    ENDING_SECOND_THEN_FIRST,
    ENDING_FIRST_DIES,
    ENDING_SECOND_DIES,
    ENDING_BOTH_DIE,
    ENDINGS
} ending;

typedef struct run_points {
    int64_t first; /* where the first processor stops */
    int64_t second;
    ending end;
    bool alone;          /* the second does nothing before the repeats */
    bool delete_derived; /* index rows and checkpoints go before the last check */
} run_points;

typedef struct run_reached {
    bool first; /* it stopped there: its operation had not ended before */
    bool second;
} run_reached;

/* KEDGE_OK: it was run, and `all` has what was found. Anything else: the stores failed. */
kedge_status run_once(world *here, const story *told, const run_points *points,
                      run_reached *reached, checks *all, kedge_error *error);

#endif
