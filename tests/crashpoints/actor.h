/* A processor with its gate and its thread, and what two of them do from their points on. */
#ifndef KEDGE_TESTS_CRASHPOINTS_ACTOR_H
#define KEDGE_TESTS_CRASHPOINTS_ACTOR_H

#include "tests/crashpoints/gate.h"

/* What the two do from their points on. */
typedef enum ending {
    ENDING_FIRST_THEN_SECOND, /* both go on, one after the other */
    ENDING_SECOND_THEN_FIRST,
    ENDING_FIRST_DIES,
    ENDING_SECOND_DIES,
    ENDING_BOTH_DIE,
    ENDINGS
} ending;

typedef struct run_points {
    int64_t first; /* where the first processor stops */
    int64_t second;
    ending end;
    bool alone;          /* the second does nothing before the repeats */
    bool delete_derived; /* index rows and checkpoints go before the last check */
} run_points;

typedef struct run_reached {
    bool first; /* it stopped there: its operation had not ended before */
    bool second;
} run_reached;

typedef struct actor {
    gate ports;
    void (*act)(void *context); /* over the ports of the gate */
    void *context;
    pthread_t thread;
    bool running;
} actor;

/* Both begin, one after the other, and come to their points or their ends. Then they go on or die.
 * `look` is called in front of that, and `late` after each of the two. */
void actors_run(actor *first, actor *second, const run_points *points, run_reached *reached,
                void (*look)(void *context), void (*late)(void *context), void *context);

#endif
