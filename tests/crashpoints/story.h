/* What two processors do to one project, from a state that each story prepares. */
#ifndef KEDGE_TESTS_CRASHPOINTS_STORY_H
#define KEDGE_TESTS_CRASHPOINTS_STORY_H

#include "backend/base/project.h"
#include "backend/versioned/commit/processor.h"

#define STORY_MUTATIONS_MAX 8

typedef enum operation_kind { OPERATION_PUSH, OPERATION_RETIRE, OPERATION_INDEX } operation_kind;

typedef struct operation {
    operation_kind kind;
    const char *client;
    int64_t first; /* a push: ids first to last. Each third has a large body, each fifth an unknown
                      mutator */
    int64_t last;
    int64_t origin; /* the origin of `first`: this id of the client "old"; 0: none */
} operation;

typedef struct story {
    const char *name;
    kedge_cadence cadence;
    int versions; /* that are there before: pushes of one mutation by "w" */
    operation first;
    operation second;
} story;

extern const story stories[];
extern const size_t story_count;

/* The project before the two come: the client "w" has `versions` ids, c1 and c2 have one each. */
kedge_status story_prepare(const story *told, const kedge_project *project, kedge_error *error);
/* One push of "w": the processor that did it has the head in memory. */
kedge_status story_warm(const kedge_project *project, int64_t id, kedge_error *error);
/* Does it, once. KEDGE_OK: it was answered, however. */
kedge_status story_do(const operation *wanted, const kedge_project *project, kedge_error *error);
/* The last id that the operation's client has when it was answered with success; 0: cannot be told
 * (its client may be retired). */
int64_t story_last_id(const story *told, const operation *done);

#endif
