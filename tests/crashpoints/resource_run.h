/* One run: two processors, each stopped at a point, go on or die in some order; then both repeat
 * what they did, as callers would, and everything is checked. */
#ifndef KEDGE_TESTS_CRASHPOINTS_RESOURCE_RUN_H
#define KEDGE_TESTS_CRASHPOINTS_RESOURCE_RUN_H

#include "tests/crashpoints/resource_story.h"
#include "tests/crashpoints/suite.h"

typedef enum resource_check {
    RESOURCE_I1,  /* a write takes effect once, and stands when it was answered */
    RESOURCE_I3,  /* versions are 1, 2, 3…, and one that was seen never changes */
    RESOURCE_I5,  /* the latest version, the single reads and the list agree */
    RESOURCE_I17, /* who was stopped and goes on has not written over what came meanwhile */
    RESOURCE_CHECKS
} resource_check;

extern const char *const resource_check_names[RESOURCE_CHECKS];

/* How resources are written. A story has a place for each of these. */
typedef enum resource_mode { IN_TRANSACTIONS, IN_ORDER, RESOURCE_MODES } resource_mode;

kedge_status resource_run_once(world *here, size_t place, bool turned, const run_points *points,
                               run_reached *reached, suite_checks *all, kedge_error *error);

#endif
