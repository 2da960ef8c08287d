/* The planted run: each bug until its checker catches it. */
#ifndef KEDGE_TESTS_SIM_PLANTED_H
#define KEDGE_TESTS_SIM_PLANTED_H

#include "tests/sim/sim.h"

/* Of a bug, or of all when `name` is "". 0: each was caught by its checker in the simulator that
 * has it, and the same seed is clean in this one. */
int sim_planted(const sim_options *options, const char *name);

/* In the simulator that has the bug: the first seed that catches it. Prints the seed, the checker
 * and what it says. 0: there is one. */
int sim_planted_find(const sim_options *options, const char *name);

#endif
