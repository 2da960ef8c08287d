/* Writes the state that a fold has as a snapshot: the items of its base with the changes laid over
 * them, chunk by chunk. */
#ifndef KEDGE_BACKEND_EFFECTS_FOLD_WRITE_H
#define KEDGE_BACKEND_EFFECTS_FOLD_WRITE_H

#include "backend/effects/fold_base.h"

#define KEDGE_FOLD_CHUNK_BYTES 262144 /* a chunk ends after so many; a long item can be longer */

/* Writes the chunks as parts of the snapshot `id`, and gives its text, which nothing has yet. The
 * same state gives the same chunks and text. KEDGE_UNSUPPORTED "snapshot-too-large". */
kedge_status kedge_fold_write(kedge_fold_base *base, const kedge_overlay *changes, const char *id,
                              int64_t number, kedge_buffer *text, kedge_error *error);

#endif
