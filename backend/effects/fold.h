/* The snapshot of an event log, made by mutators: what its entries give, one behind the other.
 *
 * An entry whose type is the name of a mutator is a call of it: the body is the arguments, the
 * version the mutator's. The calls run on an empty state, in the order of the entries, without a
 * user; one that the mutator refuses changes nothing. backend/log/snapshot.h has the form.
 *
 * It is made in pieces. Each piece runs so many entries on the state of the one before, which it
 * reads chunk by chunk, and writes all of the state as chunks. Those that are the same as before
 * are there already. In between the state is a part of the snapshot that is made.
 *
 * A log with an event of any other type is the app's alone, which makes the snapshots itself. */
#ifndef KEDGE_BACKEND_EFFECTS_FOLD_H
#define KEDGE_BACKEND_EFFECTS_FOLD_H

#include "backend/effects/snapshots.h"

#define KEDGE_FOLD_BYTES_MAX 16777216 /* of changes, in memory: a piece ends behind so many */

/* How far it is. Start from {.number = -1}. */
typedef struct kedge_fold_piece {
    int64_t number;            /* the last entry that is in the state */
    char id[KEDGE_SHA256_HEX]; /* of the snapshot when that is its entry, else of the part */
} kedge_fold_piece;

/* Makes a piece of the snapshot at an entry, over at most `entries_max` entries: from the piece
 * before, which may be gone, or else from the last snapshot in front of the entry. The entry does
 * not get it yet. KEDGE_UNSUPPORTED: it cannot be made here ("snapshot-type-unknown",
 * "update-required", "snapshot-too-large", "snapshot-base-missing"), or there is nothing in it
 * ("snapshot-empty"). */
kedge_status kedge_effects_fold(const kedge_log *log, const kedge_log_place *at,
                                int64_t entries_max, kedge_fold_piece *piece, kedge_error *error);

#endif
