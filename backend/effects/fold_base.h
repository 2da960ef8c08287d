/* The snapshot from which a fold goes on, read chunk by chunk: a state for mutators, and its items
 * in order. It may have any number of chunks; the chunks that were used last are kept in memory. */
#ifndef KEDGE_BACKEND_EFFECTS_FOLD_BASE_H
#define KEDGE_BACKEND_EFFECTS_FOLD_BASE_H

#include "backend/log/snapshot.h"
#include "mutate/overlay.h"

#define KEDGE_FOLD_CACHE_BYTES_MAX 33554432 /* of chunks as they are in memory; one at least */

typedef struct kedge_fold_chunk kedge_fold_chunk;

/* Start from kedge_fold_base_make. It must not move while a reader of it is in use. */
typedef struct kedge_fold_base {
    const kedge_log *log;
    char id[KEDGE_SHA256_HEX]; /* of the snapshot whose parts the chunks are */
    kedge_arena arena;         /* of the chunks' rows */
    kedge_fold_chunk *chunks;  /* at least one, unless it is the empty state */
    size_t count;
    size_t bytes;   /* of the chunks in memory */
    uint64_t clock; /* counts uses of chunks */
} kedge_fold_base;

kedge_fold_base kedge_fold_base_make(const kedge_log *log);
void kedge_fold_base_free(kedge_fold_base *base);

/* Opens the snapshot `id` at the entry `number`; with `part` the one of an earlier entry that is a
 * part of it. After a failure the base is the empty state. KEDGE_NOT_FOUND; KEDGE_CORRUPT: it is
 * damaged, or it is the snapshot of another log. */
kedge_status kedge_fold_base_open(kedge_fold_base *base, const char *id, const char *part,
                                  int64_t number, kedge_error *error);

/* The project record is the item of the collection "" and the id "". */
kedge_state_reader kedge_fold_base_reader(kedge_fold_base *base);

/* The item at a place, and the place after it; starts from {0}. Valid until another chunk is read.
 * KEDGE_DONE after the last. */
typedef struct kedge_fold_place {
    size_t chunk;
    size_t item;
} kedge_fold_place;
kedge_status kedge_fold_base_next(kedge_fold_base *base, kedge_fold_place *place,
                                  kedge_overlay_entry *item, kedge_error *error);

/* The order of items. */
int kedge_fold_compare(const kedge_overlay_entry *a, const kedge_overlay_entry *b);

#endif
