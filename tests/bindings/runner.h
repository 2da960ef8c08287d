/* The runner of bindings/conformance/scenarios.json in C, over the public API alone. A step gives
 * a JSON object or fails with a kedge_error; runner.c compares both with what the step says. */
#ifndef KEDGE_TESTS_BINDINGS_RUNNER_H
#define KEDGE_TESTS_BINDINGS_RUNNER_H

#include "tests/bindings/values.h"

#define RUNNER_COPIES     4
#define RUNNER_WATCHES    4
#define RUNNER_MUTATORS   8
#define RUNNER_NAME_BYTES 64
#define RUNNER_PATH_BYTES 512
#define RUNNER_WAIT_MS    120000 /* for anything that must happen by itself */

typedef struct told told; /* what a watch has told so far */

typedef struct copy {
    char name[RUNNER_NAME_BYTES];
    kedge_db *db; /* NULL: closed, or no copy at all when the name is "" */
    kedge_mutator mutators[RUNNER_MUTATORS], client_mutators[RUNNER_MUTATORS];
} copy;

typedef struct watch {
    char name[RUNNER_NAME_BYTES];
    kedge_watch_token *items;
    kedge_sync_watch *sync;
    kedge_query_watch *query;
    told *told;
} watch;

/* One scenario that runs. */
typedef struct runner {
    const char *url;
    const char *organization;
    char folder[RUNNER_PATH_BYTES];  /* that of the scenario's copies */
    char project[RUNNER_NAME_BYTES]; /* of the scenario alone */
    copy copies[RUNNER_COPIES];
    watch watches[RUNNER_WATCHES];
} runner;

/* Does a step. What it gives is added to `given`. */
typedef kedge_status (*step_function)(runner *at, const cJSON *step, cJSON *given,
                                      kedge_error *error);

/* A row for each `do`. Each file steps_*.c has its own rows, which end with a NULL. */
typedef struct step_row {
    const char *name;
    step_function function;
} step_row;

extern const step_row data_steps[], edit_steps[], sync_steps[], watch_steps[];

/* The mutators of the scenarios, by name: see bindings/conformance/README.md. */
kedge_mutator runner_mutator(const char *name);

/* The open copy that the step names. */
kedge_db *step_db(runner *at, const cJSON *step);
copy *runner_find_copy(runner *at, const char *name);
/* The path of a copy's folder. */
void runner_copy_path(const runner *at, const char *name, char path[RUNNER_PATH_BYTES]);
/* Watches. Frees those that are left. */
void runner_free_watches(runner *at);

#endif
