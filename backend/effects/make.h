/* Which function makes the snapshot of a log: for the log of mutations of a log project that of
 * backend/logged, for every other log that of fold.h. */
#ifndef KEDGE_BACKEND_EFFECTS_MAKE_H
#define KEDGE_BACKEND_EFFECTS_MAKE_H

#include "backend/effects/snapshots.h"

/* Entries that one piece replays. */
#define KEDGE_EFFECTS_PIECE_ENTRIES 2000

/* The `make` of a worker; it needs no context. The progress is a snapshot of an earlier entry, or a
 * part that has the form of one: {"id": hash, "number": of the entry}. */
kedge_status kedge_effects_make(void *context, const kedge_log *log, const kedge_log_place *at,
                                kedge_buffer *progress, bool *complete, kedge_error *error);

#endif
