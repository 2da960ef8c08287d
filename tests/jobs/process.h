/* A process with a backend of its own over the world's stores, which stops in front of a call of a
 * port. */
#ifndef KEDGE_TESTS_JOBS_PROCESS_H
#define KEDGE_TESTS_JOBS_PROCESS_H

#include "tests/backend/world.h"
#include "tests/crashpoints/gate.h"

#include <pthread.h>

typedef struct jobs_process {
    kedge_backend *backend;
    const kedge_buffer *lines; /* of an import; NULL: it does something else */
    kedge_status status;       /* that `work` has returned, once it has ended */
    kedge_status (*work)(const struct jobs_process *own);
    gate ports;
    pthread_t thread;
} jobs_process;

/* Runs `work` until it stands in front of port call `at`, from 1; false: it is over. */
bool process_start(jobs_process *made, test_world *world,
                   kedge_status (*work)(const jobs_process *own), const kedge_buffer *lines,
                   int64_t at);
/* Lets it go on to its end. */
void process_end(jobs_process *running);

#endif
