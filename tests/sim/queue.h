/* Queued mode: the queue behind faults, consumers, and messages that nobody sent. */
#ifndef KEDGE_TESTS_SIM_QUEUE_H
#define KEDGE_TESTS_SIM_QUEUE_H

#include "tests/sim/sim.h"

#define SIM_QUEUE_DELIVERIES 10

/* The queue as one processor sees it. */
kedge_queue sim_ports_queue(sim_instance *instance);
/* Puts a message into the queue that was held back. */
void sim_queue_arrive(sim_world *world, const sim_event *event);
/* A processor takes messages out of the queue, and decides them. */
void sim_queue_consume(sim_world *world);
/* Poison, and dead letters that are put back. */
void sim_queue_trouble(sim_world *world);

/* checks_queue.c: a message leaves the queue. I2: nothing of it may be skipped silently. */
void check_message_is_done(sim_instance *instance, kedge_bytes body);

#endif
