/* The faults of a world's ports. */
#ifndef KEDGE_TESTS_BACKEND_WORLD_PORTS_H
#define KEDGE_TESTS_BACKEND_WORLD_PORTS_H

#include "tests/backend/world.h"

/* Fills world->records and world->blobs: the stores with the faults in front. */
void world_wrap_ports(test_world *world);

#endif
