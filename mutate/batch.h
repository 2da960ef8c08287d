/* The args of kedge.batch: {"mutations":[{"name","args","version"},…]}.
 *
 * A part names a mutator and has its args, null when they are left out. `version` is the version of
 * the mutator in the client that made the batch, 1 when it is left out; the replay of a log project
 * needs it (replay.h). */
#ifndef KEDGE_MUTATE_BATCH_H
#define KEDGE_MUTATE_BATCH_H

#include "common/bytes.h"
#include "common/json.h"

#include <kedge/limits.h>

#define KEDGE_BATCH_MUTATOR "kedge.batch"
/* The args of a part lie in an object in an array in an object. */
#define KEDGE_BATCH_PART_DEPTH (KEDGE_LIMIT_JSON_DEPTH - 3)

typedef struct kedge_batch_part {
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_bytes args; /* canonical; borrowed */
    int64_t version;
} kedge_batch_part;

/* Checks canonical args: everything but whether the mutators exist. KEDGE_INVALID_ARGUMENT, or
 * KEDGE_LIMIT_EXCEEDED, with a code and a message that names the part and what is allowed. */
kedge_status kedge_batch_check(kedge_bytes args, kedge_error *error);

/* Iterates over the parts of args that kedge_batch_check has passed. */
kedge_json_iterator kedge_batch_iterate(kedge_bytes args);
bool kedge_batch_next(kedge_json_iterator *iterator, kedge_batch_part *part);

#endif
