/* Each planted bug until a check catches it, and the same run without it. */
#ifndef KEDGE_TESTS_CRASHPOINTS_PLANTED_H
#define KEDGE_TESTS_CRASHPOINTS_PLANTED_H

#include "tests/crashpoints/world.h"

/* Of a bug, or of all when `name` is "". 0: each was caught by the program that has it. */
int planted_run(world *here, const char *name);

/* In the program that has the bug: the first run that violates a check. Prints the story, the
 * points, the number of the run and what the check says. 0: there is one. */
int planted_find_here(world *here);

#endif
