/* What a restored backend has taken away: see lost.c. */
#include "sdk/store/inspect_internal.h"

#include "common/error.h"
#include "sdk/store/cache_row.h"

#include <stdio.h>
#include <unistd.h>

/* A deletion has neither value nor checksum. */
static bool read_row(sqlite3_stmt *rows, kedge_bytes *collection, kedge_cache_row *row)
{
    if (sqlite3_column_type(rows, 3) != SQLITE_NULL)
        return kedge_row_read_any(KEDGE_ROW_ITEM, rows, collection, row);
    *collection = kedge_store_column(rows, 0);
    *row =
        (kedge_cache_row){.id = kedge_store_column(rows, 1), .value = kedge_store_column(rows, 2)};
    return row->value.size == 0;
}

/* `*shown`: reads show it as it was. Without a cache they show nothing. */
static kedge_status is_shown(kedge_inspect *inspect, kedge_bytes collection,
                             const kedge_cache_row *row, bool *shown, kedge_error *error)
{
    static const char *const sql = "SELECT value FROM item WHERE collection = ?1 AND id = ?2";
    sqlite3_stmt *found;
    *shown = row->value.size == 0;
    if (!inspect->cache.handle) return KEDGE_OK;
    kedge_status status =
        kedge_store_db_find(&inspect->cache, sql, &found, error, "tt", collection, row->id);
    if (status == KEDGE_DONE) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    *shown = kedge_bytes_equal(kedge_store_column(found, 0), row->value);
    sqlite3_reset(found);
    return KEDGE_OK;
}

/* `*damage` tells of the first row that is not sound. */
static kedge_status put_rows(kedge_inspect *inspect, kedge_store_db *lost, kedge_inspect_sink sink,
                             kedge_error *damage, kedge_error *error)
{
    static const char *const sql =
        "SELECT collection, id, value, checksum FROM lost ORDER BY collection, id, value";
    sqlite3_stmt *rows;
    kedge_status status = kedge_store_db_take(lost, sql, &rows, error);
    while (status == KEDGE_OK && (status = kedge_store_db_step(lost, rows, error)) == KEDGE_OK) {
        kedge_bytes collection;
        kedge_cache_row row;
        bool shown = false;
        if (!read_row(rows, &collection, &row)) {
            if (damage->status == KEDGE_OK)
                (void)kedge_row_fail(lost, "lost", collection, row.id, damage);
            continue;
        }
        status = is_shown(inspect, collection, &row, &shown, error);
        if (status == KEDGE_OK && !shown)
            status = kedge_inspect_put_item(inspect, sink, collection, &row, error);
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* A crash may have left a file without the table; SQLite takes back what was not committed. */
static kedge_status look(kedge_inspect *inspect, kedge_store_db *lost, kedge_inspect_sink sink,
                         kedge_error *damage, kedge_error *error)
{
    kedge_inspect_position position;
    int64_t tables = 0;
    kedge_status status =
        kedge_store_db_number(lost, "SELECT count(*) FROM sqlite_master", &tables, error);
    if (status != KEDGE_OK || tables == 0) return status;
    status = kedge_inspect_begin(inspect, &position, error);
    if (status != KEDGE_OK) return status;
    status = put_rows(inspect, lost, sink, damage, error);
    kedge_inspect_end(inspect);
    return status;
}

kedge_status kedge_inspect_lost(kedge_inspect *inspect, kedge_inspect_sink sink, kedge_error *error)
{
    char path[KEDGE_STORE_PATH_BYTES];
    kedge_store_db lost;
    kedge_error damage = {0};
    (void)snprintf(path, sizeof path, "%s/lost.db", inspect->path);
    if (access(path, F_OK) != 0) return KEDGE_OK;
    kedge_status status =
        kedge_store_db_open(&lost, path, "lost.db", SQLITE_OPEN_READWRITE, NULL, error);
    if (status == KEDGE_OK) status = look(inspect, &lost, sink, &damage, error);
    kedge_store_db_close(&lost);
    if (status != KEDGE_OK || damage.status == KEDGE_OK) return status;
    return kedge_fail(error, damage.status, damage.code, "%s", damage.message);
}
