/* What the files of every_call_test share: the folder that calls are made in, the app's mutators,
 * and the list of calls. */
#ifndef KEDGE_TESTS_RUNTIME_EVERY_CALL_H
#define KEDGE_TESTS_RUNTIME_EVERY_CALL_H

#include "tests/runtime/client.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/files.h"
#include "tests/support/server_process.h"

#define CONFIRMED       3
#define PENDING         3
#define CALL_TIMEOUT_MS 3000 /* with a full disk a sync takes all of it */

/* A folder with confirmed, pending and rejected edits, and a copy of it that a call is made in. */
typedef struct world {
    char root[CLIENT_PATH_SIZE];
    char seed[FILES_PATH_BYTES];
    char folder[FILES_PATH_BYTES];
    char data[FILES_PATH_BYTES];
    server_process server;
    fault_vfs *disk;
    failing_allocator memory;
    kedge_db *db;
    int64_t pending;  /* edits that must be pending */
    int64_t rejected; /* edits that must be in the inbox */
    int64_t made;     /* edits that the call has made so far, when it makes several */
    /* The last call failed, and nothing was written since: what it did may be there when the
     * folder is opened again, as documented for kedge_mutate. */
    int64_t may_be_added;
    int64_t may_be_dismissed;
    uint64_t strikes; /* of the disk, before the call */
} world;

typedef struct call {
    const char *name;
    kedge_status (*run)(world *w, kedge_error *error);
    int64_t adds;      /* edits that are pending when it returns KEDGE_OK */
    int64_t dismisses; /* edits that leave the inbox then */
    bool afresh;       /* each run needs a folder that no run has changed */
    bool syncs; /* on the worker thread; a failure there may cost a wait before it tries again */
} call;

extern const call every_call[];
extern const size_t every_call_count;

/* Options for a database of the world, offline; every_call_test.c. */
kedge_options every_call_options(world *w, const char *folder);
/* every_call_mutators.c */
void every_call_add_mutators(kedge_options *options);
/* Counts the rows of a list that was opened with `status`, and closes it; every_call_calls.c. */
kedge_status every_call_count_rows(kedge_status status, kedge_mutation_list *list, int64_t *count,
                                   kedge_error *error);

#endif
