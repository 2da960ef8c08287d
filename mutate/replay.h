/* Replay: deciding the mutations of a log project's entries. Client and server use this one
 * function, so that each copy decides alike.
 *
 * The decision depends on nothing but the entry, the state in front of it and the mutator. */
#ifndef KEDGE_MUTATE_REPLAY_H
#define KEDGE_MUTATE_REPLAY_H

#include "mutate/transaction.h"

#include <kedge/limits.h>

typedef enum kedge_replay_outcome {
    KEDGE_REPLAY_OPEN, /* only in an entry: not decided when it was appended */
    KEDGE_REPLAY_APPLIED,
    KEDGE_REPLAY_REJECTED,
    KEDGE_REPLAY_DUPLICATE,         /* appended before, under its origin */
    KEDGE_REPLAY_DUPLICATE_REJECTED /* the same, and rejected there */
} kedge_replay_outcome;

/* One mutation of an entry. Borrowed. */
typedef struct kedge_replay_mutation {
    kedge_call call;              /* args_are_canonical, and within the limits */
    int64_t mutator;              /* the version of the mutator that the pushing client had */
    kedge_replay_outcome decided; /* in the entry; OPEN: it is decided now */
    kedge_bytes code;             /* of a rejection in the entry */
    kedge_bytes message;
} kedge_replay_mutation;

typedef struct kedge_replay_decision {
    kedge_replay_outcome outcome;                          /* never OPEN */
    char code[KEDGE_LIMIT_REJECTION_CODE_BYTES + 1];       /* of a rejection */
    char message[KEDGE_LIMIT_REJECTION_MESSAGE_BYTES + 1]; /* cut at a character */
} kedge_replay_decision;

/* Decides one mutation; its changes are in the transaction's overlay when it is APPLIED.
 *
 *   KEDGE_OK           decided
 *   KEDGE_UNSUPPORTED  "update-required": the registry has no mutator of this name, or an older
 *                      one; the message names mutator and version. Nothing is decided
 *   others             a transient failure: replay again */
kedge_status kedge_replay_decide(kedge_tx *tx, const kedge_registry *registry,
                                 const kedge_replay_mutation *mutation,
                                 kedge_replay_decision *decision, kedge_error *error);

#endif
