/* One run: two processors, each stopped at a point, go on or die in some order; then both
 * operations are repeated, as clients would, and everything is checked. */
#ifndef KEDGE_TESTS_CRASHPOINTS_RUN_H
#define KEDGE_TESTS_CRASHPOINTS_RUN_H

#include "tests/crashpoints/check.h"
#include "tests/crashpoints/suite.h"

/* The `run` of a suite, whose places are those of `stories`. */
kedge_status run_once(world *here, size_t place, bool turned, const run_points *points,
                      run_reached *reached, suite_checks *all, kedge_error *error);

#endif
