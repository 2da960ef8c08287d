/* The faults of a world's ports. */
#ifndef KEDGE_TESTS_BACKEND_WORLD_PORTS_H
#define KEDGE_TESTS_BACKEND_WORLD_PORTS_H

#include "tests/backend/world.h"

/* Fills world->records and world->blobs: the stores with the faults in front. */
void world_wrap_ports(test_world *world);
/* Counts a port call, runs what meddles in front of it, and says whether and how it fails. */
world_fault world_next_call(test_world *world, bool is_write);

#endif
