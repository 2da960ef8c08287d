/* Threads that send to groups, and threads that receive from them. */
#ifndef KEDGE_TESTS_PORTS_QUEUE_RACE_H
#define KEDGE_TESTS_PORTS_QUEUE_RACE_H

#include "tests/ports/world.h"

/* Asserts that each group came in order, one message at a time, and that all came. */
void queue_race_run(const kedge_queue *queue);

#endif
