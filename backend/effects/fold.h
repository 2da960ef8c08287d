/* The snapshot of an event log, made by mutators: what its entries give, one behind the other.
 *
 * An entry whose type is the name of a mutator is a call of it: the body is the arguments, the
 * version the mutator's. The calls run on an empty state, in the order of the entries, without a
 * user; one that the mutator refuses changes nothing. The snapshot is a blob
 * (backend/log/snapshot.h):
 *
 *   {"collections": {collection: {id: value, …}, …}, "log": name, "number": of the entry,
 *    "project"?: {…}}
 *
 * A log with an event of any other type is the app's alone, which makes the snapshots itself. */
#ifndef KEDGE_BACKEND_EFFECTS_FOLD_H
#define KEDGE_BACKEND_EFFECTS_FOLD_H

#include "backend/effects/snapshots.h"

#define KEDGE_FOLD_BYTES_MAX 67108864 /* of a state, in memory: 64 MiB */

/* Makes the snapshot at an entry, from the last one in front of it. The entry does not get it yet.
 * KEDGE_UNSUPPORTED: it cannot be made here ("snapshot-type-unknown", "update-required",
 * "snapshot-too-large", "snapshot-base-missing"), or there is nothing in it ("snapshot-empty"). */
kedge_status kedge_effects_fold(const kedge_log *log, const kedge_log_place *at,
                                char id[KEDGE_SHA256_HEX], kedge_error *error);

#endif
