/* The snapshot of an event log, made by running its entries as calls of mutators, in their order.
 *
 * An entry whose type is the name of a mutator is a call of it: the body has the args, and the
 * entry's version is that of the mutator. The calls run on an empty state, in the order of the
 * entries, without a user. A call that the mutator refuses changes nothing. backend/log/snapshot.h
 * has the form of a snapshot.
 *
 * A snapshot is made in pieces. A piece runs some entries on the state that the piece before has
 * left, and writes the new state. States are read and written chunk by chunk; a chunk that did not
 * change is not written again. Until the last piece the state is stored as a part of the snapshot.
 *
 * When a log has an event of another type, only the app can make its snapshots. */
#ifndef KEDGE_BACKEND_EFFECTS_FOLD_H
#define KEDGE_BACKEND_EFFECTS_FOLD_H

#include "backend/effects/snapshots.h"

#define KEDGE_FOLD_BYTES_MAX 16777216 /* of changes, in memory: a piece ends after so many */

/* How far the snapshot has come. Start from {.number = -1}. */
typedef struct kedge_fold_piece {
    int64_t number;            /* the last entry that is in the state */
    char id[KEDGE_SHA256_HEX]; /* of the snapshot when that is its entry, else of the part */
} kedge_fold_piece;

/* Makes a piece of the snapshot at an entry, over at most `entries_max` entries. It begins from the
 * piece before; when that is gone, from the last snapshot before the entry. When one of these is
 * damaged, it begins from the snapshot before that one, and in the end from the first entry. It
 * does not set the snapshot at the entry. KEDGE_UNSUPPORTED: it cannot be made here
 * ("snapshot-type-unknown", "update-required", "snapshot-too-large", "snapshot-base-missing"), or
 * there is nothing in it ("snapshot-empty"). */
kedge_status kedge_effects_fold(const kedge_log *log, const kedge_log_place *at,
                                int64_t entries_max, kedge_fold_piece *piece, kedge_error *error);

#endif
