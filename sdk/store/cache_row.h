/* Checksums of the cache. A row is sound when its checksum is right, and damaged when it is not.
 * The checksum is over the row's other columns (common/checksum.h). Missing rows are found by a
 * total for each table: the number of its rows and the sum of their checksums. */
#ifndef KEDGE_SDK_STORE_CACHE_ROW_H
#define KEDGE_SDK_STORE_CACHE_ROW_H

#include "common/checksum.h"
#include "sdk/store/database.h"

/* The kinds of rows. `staged_item` becomes `item` by a rename, so the two share a kind. The
 * checksums on disk include the kind, so a number must never get another meaning. For the checksum
 * that a row should have, statements have a piece: {item#} (pieces.c). */
#define KEDGE_ROW_ITEM           101
#define KEDGE_ROW_BASE           102
#define KEDGE_ROW_CACHE_META     103
#define KEDGE_ROW_STAGING        104
#define KEDGE_ROW_STAGED_OUTCOME 105
#define KEDGE_ROW_CHANGE         106

/* The number in the text of an SQL statement. */
#define KEDGE_SQL_NUMBER(number)      KEDGE_SQL_NUMBER_TEXT(number)
#define KEDGE_SQL_NUMBER_TEXT(number) #number

/* How many rows a table has, and the sum of their checksums. */
typedef struct kedge_row_total {
    int64_t rows;
    int64_t sum;
} kedge_row_total;

void kedge_row_total_add(kedge_row_total *total, int64_t checksum);
void kedge_row_total_remove(kedge_row_total *total, int64_t checksum);
bool kedge_row_total_equal(const kedge_row_total *a, const kedge_row_total *b);

/* The part of the checksum that all rows of one collection have in common. */
kedge_checksum kedge_row_begin(int64_t kind, kedge_bytes collection);
/* `value` NULL: a row of `base` without a value. */
int64_t kedge_row_checksum(kedge_checksum begun, kedge_bytes id, const kedge_bytes *value);

/* A row of item, base or staged_item, borrowed until the statement's next step. Each text is
 * NUL-terminated. */
typedef struct kedge_cache_row {
    kedge_bytes id;
    kedge_bytes value;
    bool has_value;
    int64_t checksum;
} kedge_cache_row;

/* Reads id, value and checksum: the columns from `first` on. Returns false when the row is
 * damaged. */
bool kedge_row_read(kedge_checksum begun, sqlite3_stmt *statement, int first, kedge_cache_row *row);

/* Reads a row of any collection: collection, id, value and checksum, the columns from 0 on. It also
 * checks that the first three are TEXT. One wrong bit makes a BLOB of a TEXT, which is read as the
 * same bytes but sorted and compared as something else. */
bool kedge_row_read_any(int64_t kind, sqlite3_stmt *statement, kedge_bytes *collection,
                        kedge_cache_row *row);

/* KEDGE_CORRUPT, naming file, table and key; notes damage. */
kedge_status kedge_row_fail(kedge_store_db *db, const char *table, kedge_bytes collection,
                            kedge_bytes id, kedge_error *error);
/* The same for a table whose rows are not those that were counted, or that has one row only. */
kedge_status kedge_table_fail(kedge_store_db *db, const char *table, kedge_error *error);

/* kedge_sound(collection, id, value, checksum) in SQL: true, or an error, KEDGE_ROW_DAMAGED. */
#define KEDGE_ROW_DAMAGED "this row is not what was written"
void kedge_sound_function(sqlite3_context *context, int count, sqlite3_value **values);

#endif
