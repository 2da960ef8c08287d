/* Each planted bug until a check catches it, and the same stories without it. */
#ifndef KEDGE_TESTS_CRASHPOINTS_PLANTED_H
#define KEDGE_TESTS_CRASHPOINTS_PLANTED_H

#include "tests/crashpoints/world.h"

/* 0: every bug was caught. */
int planted_run(world *here);

#endif
