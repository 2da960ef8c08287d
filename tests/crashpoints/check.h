/* What must hold of a project whatever happened to its processors, counted by invariant. */
#ifndef KEDGE_TESTS_CRASHPOINTS_CHECK_H
#define KEDGE_TESTS_CRASHPOINTS_CHECK_H

#include "backend/versioned/commit/processor.h"
#include "tests/crashpoints/known_versions.h"
#include "tests/crashpoints/suite.h"

typedef enum check_name {
    CHECK_I1,  /* each (client, id), and each origin, is decided once */
    CHECK_I2,  /* ids of a client are 1, 2, 3… in the order of versions */
    CHECK_I3,  /* versions are 1, 2, 3…, and one that was seen never changes */
    CHECK_I4,  /* a rejection counts, and holds nothing up */
    CHECK_I5,  /* the state is the fold of all deltas, from checkpoints as well as without them */
    CHECK_I13, /* the last ids at a version are those of the versions up to it */
    CHECK_I14, /* every body is there with its hash; what is derived can be made again */
    CHECK_I17, /* who was stopped and goes on has not written over what came meanwhile */
    CHECKS
} check_name;

extern const char *const check_names[CHECKS];

bool check_holds(suite_checks *all, check_name name, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The versions that were there at some moment, after those that the story prepared. */
typedef struct witness {
    known_versions *known;
    int64_t from;
    int64_t count; /* versions `from` to `count` */
    char lineages[KNOWN_VERSIONS_MAX][KEDGE_LINEAGE_HEX];
} witness;

/* Looks at the versions after those that it knows, and holds those that it knows to be as they
 * were. `name`: I3, or I17 after a processor that went on. */
void witness_look(witness *seen, kedge_backend *reader, const kedge_project_ref *ref,
                  suite_checks *all, check_name name);

/* All of a project, by a backend that has nothing in memory. */
void check_project(known_versions *known, kedge_backend *reader, const kedge_project_ref *ref,
                   suite_checks *all);

/* What the client's last id is now, by the versions; -1: unknown. */
int64_t check_last_id(kedge_backend *reader, const kedge_project_ref *ref, const char *client);

#endif
