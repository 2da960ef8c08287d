/* All points of a story, one by one and in pairs. */
#ifndef KEDGE_TESTS_CRASHPOINTS_ENUMERATE_H
#define KEDGE_TESTS_CRASHPOINTS_ENUMERATE_H

#include "tests/crashpoints/run.h"

typedef struct tally {
    checks all;
    uint64_t singles;
    uint64_t pairs; /* points times points, each with one ending or all */
    uint64_t runs;
    int64_t points_first; /* of the processors alone */
    int64_t points_second;
    /* The run that found the first violation. */
    bool found;
    run_points points;
} tally;

/* Every single point of both operations: there the processor dies. */
kedge_status enumerate_singles(world *here, const story *told, tally *counts, kedge_error *error);
/* Every pair. With `until_caught` it ends at the first violation. */
kedge_status enumerate_pairs(world *here, const story *told, bool until_caught, tally *counts,
                             kedge_error *error);
/* Pairs drawn by `seed`, until the monotonic time `end_ms`. */
kedge_status enumerate_sample(world *here, const story *told, uint64_t *seed, int64_t end_ms,
                              uint64_t pairs_max, tally *counts, kedge_error *error);

#endif
