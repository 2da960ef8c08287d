/* One run over a log and what follows its writes: two of the reader of the stream, the worker that
 * makes snapshots and the run over the logs, each stopped at a point, go on or die in some order.
 * Then others do what is left, and everything must be as after a run without faults; at last a run
 * over the logs changes nothing. */
#ifndef KEDGE_TESTS_CRASHPOINTS_EFFECTS_RUN_H
#define KEDGE_TESTS_CRASHPOINTS_EFFECTS_RUN_H

#include "tests/crashpoints/suite.h"

typedef enum effects_check {
    EFFECTS_I5,  /* a snapshot is what the entries up to it give */
    EFFECTS_I14, /* every body is there, and none is to be discarded */
    EFFECTS_I15, /* each entry that asks for a snapshot has its one, and no other blob is there */
    EFFECTS_I16, /* nothing is left to be done, with and without a run over the logs */
    EFFECTS_I17, /* who was stopped and goes on has not changed a snapshot that was set */
    EFFECTS_CHECKS
} effects_check;

extern const char *const effects_check_names[EFFECTS_CHECKS];
extern const char *const effects_story_names[];
extern const size_t effects_story_count;

/* In memory alone: the stores of each run are its own, and so is its stream. */
kedge_status effects_run_once(world *here, size_t place, bool turned, const run_points *points,
                              run_reached *reached, suite_checks *all, kedge_error *error);

#endif
