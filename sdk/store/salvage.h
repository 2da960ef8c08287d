/* Reading a damaged outbox row by row. */
#ifndef KEDGE_SDK_STORE_SALVAGE_H
#define KEDGE_SDK_STORE_SALVAGE_H

#include "sdk/store/store_internal.h"

/* Tables of the outbox as they are walked: the first row whose key is above ?1. The columns are the
 * key, those of outbox_rows.h, and whether the row proves itself. */
extern const char kedge_salvage_pending[];
extern const char kedge_salvage_rejected[];
extern const char kedge_salvage_confirmed[];
extern const char kedge_salvage_trimmed[];

/* The next row that can be read, with a key above `*key`, which starts at 0. KEDGE_DONE behind the
 * last; no other failure. `*row` is reset by the next call. */
kedge_status kedge_salvage_next(kedge_store_db *db, const char *table, int64_t *key,
                                sqlite3_stmt **row);

#endif
