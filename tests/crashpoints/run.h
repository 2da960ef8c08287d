/* One run: two processors, each stopped at a point, go on or die in some order; then both
 * operations are repeated, as clients would, and everything is checked. */
#ifndef KEDGE_TESTS_CRASHPOINTS_RUN_H
#define KEDGE_TESTS_CRASHPOINTS_RUN_H

#include "tests/crashpoints/actor.h"
#include "tests/crashpoints/check.h"
#include "tests/crashpoints/world.h"

/* KEDGE_OK: it was run, and `all` has what was found. Anything else: the stores failed. */
kedge_status run_once(world *here, const story *told, const run_points *points,
                      run_reached *reached, checks *all, kedge_error *error);

#endif
