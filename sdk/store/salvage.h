/* Reading a damaged outbox row by row. */
#ifndef KEDGE_SDK_STORE_SALVAGE_H
#define KEDGE_SDK_STORE_SALVAGE_H

#include "sdk/store/store_internal.h"

/* A table of the outbox as it is walked: `next` gives the first row whose key is above ?1, `at` the
 * one whose key is ?1. Both have the key in the first column. */
typedef struct kedge_salvage_table {
    const char *next;
    const char *at;
} kedge_salvage_table;

/* Their columns are those of outbox_rows.h behind the key, and then whether the row proves itself.
 */
extern const kedge_salvage_table kedge_salvage_pending;
extern const kedge_salvage_table kedge_salvage_rejected;
extern const kedge_salvage_table kedge_salvage_confirmed;
extern const kedge_salvage_table kedge_salvage_trimmed;

/* The next row that can be read, with a key above `*key` and at most `limit`: where a page is
 * damaged, each key behind it is tried. KEDGE_DONE behind the last; no other failure. `*row` is
 * reset by the next call. */
kedge_status kedge_salvage_next(kedge_store_db *db, const kedge_salvage_table *table, int64_t limit,
                                int64_t *key, sqlite3_stmt **row);
/* Up to which key it is worth trying. `meta` NULL: it cannot be read. */
int64_t kedge_salvage_limit(const kedge_outbox_meta *meta);

#endif
