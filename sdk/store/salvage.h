/* Reads a damaged outbox row by row. */
#ifndef KEDGE_SDK_STORE_SALVAGE_H
#define KEDGE_SDK_STORE_SALVAGE_H

#include "sdk/store/store_internal.h"

/* The SQL to read each table of the outbox: the first row whose key is above ?1. The columns are
 * the key, those of outbox_rows.h, and whether the row is sound. */
extern const char kedge_salvage_pending[];
extern const char kedge_salvage_rejected[];
extern const char kedge_salvage_confirmed[];
extern const char kedge_salvage_trimmed[];
extern const char kedge_salvage_declared[];

/* Reads the next readable row, with a key above `*key`, which starts at 0. Returns KEDGE_OK, or
 * KEDGE_DONE when there are no more. `*row` is reset by the next call. */
kedge_status kedge_salvage_next(kedge_store_db *db, const char *table, int64_t *key,
                                sqlite3_stmt **row);

/* Which parts of an outbox are sound. */
typedef struct kedge_salvage_count {
    bool whole;   /* SQLite finds no damage, and a copy of meta is sound */
    int copies;   /* of meta */
    int64_t rows; /* of the four tables */
} kedge_salvage_count;

/* Opens `file`, a copy of a damaged outbox that nobody else has open, and which may be changed.
 * When SQLite cannot make sense of its header or its schema, those of an empty outbox, which is
 * made in `fresh`, take their place: `grafted`. KEDGE_OK also when nothing in it is sound. */
kedge_status kedge_salvage_open(kedge_store_db *db, const char *file, const char *fresh,
                                kedge_salvage_count *count, bool *grafted, kedge_error *error);

#endif
