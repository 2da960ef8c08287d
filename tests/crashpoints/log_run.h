/* One run over a log: two processors, each stopped at a point, go on or die in some order; then
 * both repeat what they did, as callers would, and everything is checked. */
#ifndef KEDGE_TESTS_CRASHPOINTS_LOG_RUN_H
#define KEDGE_TESTS_CRASHPOINTS_LOG_RUN_H

#include "tests/crashpoints/suite.h"

typedef enum log_check {
    LOG_I1,  /* an append takes effect once, where it was answered */
    LOG_I3,  /* numbers have no gap, and an entry that was seen never changes */
    LOG_I5,  /* a load is the end of the whole log, from the last snapshot on */
    LOG_I14, /* every body that an entry refers to is there, and no longer to be discarded */
    LOG_I15, /* the last snapshot only moves forward, and was set when that was answered */
    LOG_I17, /* who was stopped and goes on has not written over what came meanwhile */
    LOG_CHECKS
} log_check;

extern const char *const log_check_names[LOG_CHECKS];
extern const char *const *const log_story_names;
extern const size_t log_story_count;

kedge_status log_run_once(world *here, size_t place, bool turned, const run_points *points,
                          run_reached *reached, suite_checks *all, kedge_error *error);

#endif
