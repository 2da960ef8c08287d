/* Reads a table by its keys. SQLite ends a scan at the first page that it cannot read; a lookup of
 * a key after that page still works. Such a key is searched for in doubling steps and then by
 * halving, so the number of lookups is that of the bits of a key, however many rows the page
 * had. */
#include "sdk/store/salvage.h"

#define KEY_MAX (INT64_C(1) << 61)

const char kedge_salvage_pending[] = "{by_sequence pending}";
const char kedge_salvage_rejected[] = "{by_sequence rejected}";
const char kedge_salvage_confirmed[] = "{by_ordinal confirmed}";
const char kedge_salvage_trimmed[] = "{by_ordinal trimmed}";
const char kedge_salvage_declared[] = "{by_ordinal declared}";

static kedge_status read_behind(kedge_store_db *db, const char *table, int64_t key,
                                sqlite3_stmt **row)
{
    kedge_status status = kedge_store_db_find(db, table, row, NULL, "i", key);
    /* Keys must rise: a page that is out of order could make the scan endless. */
    if (status == KEDGE_OK && sqlite3_column_int64(*row, 0) <= key) return KEDGE_CORRUPT;
    return status;
}

static bool leads_on(kedge_status status)
{
    return status == KEDGE_OK || status == KEDGE_DONE;
}

/* The row after `bad` cannot be read: finds the lowest key after which a row can be read, or none
 * is left. */
static kedge_status read_past(kedge_store_db *db, const char *table, int64_t bad,
                              sqlite3_stmt **row)
{
    int64_t step = 1;
    while (step < KEY_MAX && !leads_on(read_behind(db, table, bad + step, row)))
        step *= 2;
    if (step >= KEY_MAX) return KEDGE_DONE;
    int64_t good = bad + step;
    while (good - bad > 1) {
        int64_t middle = bad + (good - bad) / 2;
        if (leads_on(read_behind(db, table, middle, row)))
            good = middle;
        else
            bad = middle;
    }
    return read_behind(db, table, good, row);
}

kedge_status kedge_salvage_next(kedge_store_db *db, const char *table, int64_t *key,
                                sqlite3_stmt **row)
{
    /* Without its schema the table cannot be read. */
    if (*key >= KEY_MAX || kedge_store_db_take(db, table, row, NULL) != KEDGE_OK) return KEDGE_DONE;
    kedge_status status = read_behind(db, table, *key, row);
    if (!leads_on(status)) status = read_past(db, table, *key, row);
    if (status != KEDGE_OK) return KEDGE_DONE;
    *key = sqlite3_column_int64(*row, 0);
    return KEDGE_OK;
}
