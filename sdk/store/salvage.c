/* Walking a table by its keys. SQLite ends a walk at the first damaged page; a key behind it leads
 * through other pages. */
#include "sdk/store/salvage.h"

#include "sdk/store/outbox_rows.h"

/* Keys that are tried when nobody knows how many there are, and beyond those that are known. */
#define KEYS_UNKNOWN 1000000
#define KEYS_BEYOND  100000

#define TABLE(name, key, columns, checksum)                                                        \
    {                                                                                              \
        "SELECT " key ", " columns ", checksum IS " checksum " FROM " name " WHERE " key           \
        " > ?1 ORDER BY " key " LIMIT 1",                                                          \
            "SELECT " key ", " columns ", checksum IS " checksum " FROM " name " WHERE " key       \
            " = ?1"                                                                                \
    }

const kedge_salvage_table kedge_salvage_pending =
    TABLE("pending", "sequence", KEDGE_PENDING_COLUMNS, KEDGE_PENDING_CHECKSUM);
const kedge_salvage_table kedge_salvage_rejected =
    TABLE("rejected", "sequence", KEDGE_REJECTED_COLUMNS, KEDGE_REJECTED_CHECKSUM);
const kedge_salvage_table kedge_salvage_confirmed =
    TABLE("confirmed", "ordinal", KEDGE_CONFIRMED_COLUMNS, KEDGE_CONFIRMED_CHECKSUM);
const kedge_salvage_table kedge_salvage_trimmed =
    TABLE("trimmed", "ordinal", KEDGE_TRIMMED_COLUMNS, KEDGE_TRIMMED_CHECKSUM);

static kedge_status read_key(kedge_store_db *db, const char *sql, int64_t key, sqlite3_stmt **row)
{
    kedge_status status = kedge_store_db_take(db, sql, row, NULL);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, *row, 1, key);
    return kedge_store_db_step(db, *row, NULL);
}

kedge_status kedge_salvage_next(kedge_store_db *db, const kedge_salvage_table *table, int64_t limit,
                                int64_t *key, sqlite3_stmt **row)
{
    kedge_status status = read_key(db, table->next, *key, row);
    while (status != KEDGE_OK && status != KEDGE_DONE && *key < limit) {
        ++*key;
        status = read_key(db, table->at, *key, row);
        if (status == KEDGE_DONE) status = KEDGE_CORRUPT; /* not there; the next one may be */
    }
    if (status != KEDGE_OK) return KEDGE_DONE;
    *key = sqlite3_column_int64(*row, 0);
    return *key <= limit ? KEDGE_OK : KEDGE_DONE;
}

int64_t kedge_salvage_limit(const kedge_outbox_meta *meta)
{
    return meta ? meta->last_sequence + KEYS_BEYOND : KEYS_UNKNOWN;
}
