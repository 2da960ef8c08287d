/* What has left the tail, and what of it a restored backend lacks.
 *
 * Of the living client the outbox's meta row knows how far its tail was trimmed; the table
 * `trimmed` knows it of earlier ones. A restored backend tells what it has decided of each; what
 * lies between and nobody here holds any more is lost, and counted. */
#include "sdk/store/store_internal.h"

#include <string.h>

/* Of a client the ids behind `lmid` up to `through` that this folder still knows of. */
static kedge_status count_known(kedge_store_db *db, const char *client, int64_t lmid,
                                int64_t through, int64_t *known, kedge_error *error)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM confirmed WHERE client = ?1 AND id > ?2 AND id <= ?3)"
        " + (SELECT count(*) FROM rejected WHERE client = ?1 AND id > ?2 AND id <= ?3)";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_take(db, sql, &find, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_chars(db, find, 1, client);
    kedge_store_bind_integer(db, find, 2, lmid);
    kedge_store_bind_integer(db, find, 3, through);
    status = kedge_store_db_step(db, find, error);
    if (status != KEDGE_OK) return status;
    *known = sqlite3_column_int64(find, 0);
    sqlite3_reset(find);
    return KEDGE_OK;
}

kedge_status kedge_trimmed_count(kedge_store_db *db, const char *client, int64_t lmid,
                                 int64_t through, int64_t *unrecovered, kedge_error *error)
{
    int64_t missing = through - lmid, known = 0;
    if (missing <= 0) return KEDGE_OK;
    kedge_status status = count_known(db, client, lmid, through, &known, error);
    if (status == KEDGE_OK && missing > known) *unrecovered += missing - known;
    return status;
}

/* Keeps the newest KEDGE_LIMIT_EARLIER_CLIENTS clients. */
kedge_status kedge_trimmed_keep(kedge_store_db *db, const char *client, int64_t through,
                                kedge_error *error)
{
    static const char put[] = "INSERT INTO trimmed(client, through) VALUES(?1, ?2)"
                              " ON CONFLICT(client) DO UPDATE SET through = max(through, ?2)";
    static const char bound[] = "DELETE FROM trimmed WHERE ordinal <="
                                " (SELECT max(ordinal) FROM trimmed) - ?1";
    sqlite3_stmt *statement;
    if (through <= 0) return KEDGE_OK;
    kedge_status status = kedge_store_db_take(db, put, &statement, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_chars(db, statement, 1, client);
    kedge_store_bind_integer(db, statement, 2, through);
    status = kedge_store_db_run(db, statement, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, bound, &statement, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, statement, 1, KEDGE_LIMIT_EARLIER_CLIENTS);
    return kedge_store_db_run(db, statement, error);
}

static kedge_status read_marks(kedge_store_db *db, kedge_client_marks *marks, kedge_error *error)
{
    static const char sql[] = "SELECT client, through FROM trimmed ORDER BY ordinal";
    sqlite3_stmt *walk;
    marks->count = 0;
    kedge_status status = kedge_store_db_take(db, sql, &walk, error);
    while (status == KEDGE_OK && (status = kedge_store_db_step(db, walk, error)) == KEDGE_OK) {
        kedge_client_mark *mark = &marks->marks[marks->count];
        bool fits = marks->count < KEDGE_LIMIT_EARLIER_CLIENTS &&
                    kedge_store_column_chars(walk, 0, mark->client, sizeof mark->client);
        if (!fits) {
            sqlite3_reset(walk);
            return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading the trimmed clients", error);
        }
        mark->id = sqlite3_column_int64(walk, 1);
        marks->count++;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* Of a client that was not asked for, or not told of, the next loss will tell. */
static bool is_decided(const kedge_client_marks *decided, const char *client, int64_t *lmid)
{
    *lmid = 0;
    for (size_t i = 0; decided != NULL && i < decided->count; i++) {
        if (strcmp(decided->marks[i].client, client) != 0) continue;
        *lmid = decided->marks[i].id;
        return true;
    }
    return decided == NULL;
}

static kedge_status lower(kedge_store_db *db, const char *client, int64_t through,
                          kedge_error *error)
{
    static const char sql[] = "UPDATE trimmed SET through = ?2 WHERE client = ?1";
    static const char none[] = "DELETE FROM trimmed WHERE client = ?1";
    sqlite3_stmt *statement;
    kedge_status status = kedge_store_db_take(db, through > 0 ? sql : none, &statement, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_chars(db, statement, 1, client);
    if (through > 0) kedge_store_bind_integer(db, statement, 2, through);
    return kedge_store_db_run(db, statement, error);
}

kedge_status kedge_trimmed_count_earlier(kedge_store_db *db, const kedge_client_marks *decided,
                                         int64_t *unrecovered, kedge_error *error)
{
    kedge_client_marks marks;
    kedge_status status = read_marks(db, &marks, error);
    for (size_t i = 0; status == KEDGE_OK && i < marks.count; i++) {
        const kedge_client_mark *mark = &marks.marks[i];
        int64_t lmid;
        if (!is_decided(decided, mark->client, &lmid) || lmid >= mark->id) continue;
        status = kedge_trimmed_count(db, mark->client, lmid, mark->id, unrecovered, error);
        if (status == KEDGE_OK) status = lower(db, mark->client, lmid, error);
    }
    return status;
}

static kedge_status read_work(kedge_store *store, void *context, kedge_error *error)
{
    return read_marks(&store->outbox, context, error);
}

kedge_status kedge_store_earlier(kedge_store *store, kedge_client_marks *marks, kedge_error *error)
{
    return kedge_store_take_turn(store, read_work, marks, error);
}
