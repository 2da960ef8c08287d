/* The planted run: each bug until its checker catches it. */
#ifndef KEDGE_TESTS_SIM_PLANTED_H
#define KEDGE_TESTS_SIM_PLANTED_H

#include "tests/sim/sim.h"

/* 0: every bug was caught by its checker, and the same seeds are clean without it. */
int sim_planted(const sim_options *options);

#endif
