/* Counts the mutations that were trimmed from the tail and that a restored backend lacks.
 *
 * The outbox's meta row has the id up to which the tail of the living client was trimmed, and the
 * table `trimmed` has it for earlier clients. A restored backend tells how far it has decided each
 * client. The ids between that this folder no longer has are lost, and counted. */
#include "sdk/store/outbox_heal.h"
#include "sdk/store/outbox_rows.h"

#include <string.h>

/* Counts the ids of a client above `lmid`, up to `through`, that this folder still has. */
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

kedge_status kedge_trimmed_read(kedge_store_db *db, kedge_wire_client_marks *marks,
                                kedge_error *error)
{
    static const char sql[] = "SELECT client, through, checksum = " KEDGE_TRIMMED_CHECKSUM
                              ", ordinal FROM trimmed ORDER BY ordinal";
    sqlite3_stmt *cursor;
    marks->count = 0;
    kedge_status status = kedge_store_db_take(db, sql, &cursor, error);
    while (status == KEDGE_OK && (status = kedge_store_db_step(db, cursor, error)) == KEDGE_OK) {
        kedge_wire_client_mark *mark = &marks->marks[marks->count];
        if (sqlite3_column_int(cursor, 2) != 1) {
            int64_t ordinal = sqlite3_column_int64(cursor, 3);
            sqlite3_reset(cursor);
            return kedge_outbox_fail_row(db, "trimmed", ordinal, error);
        }
        bool fits = marks->count < KEDGE_LIMIT_EARLIER_CLIENTS &&
                    kedge_store_column_chars(cursor, 0, mark->client_id, sizeof mark->client_id);
        if (!fits) {
            sqlite3_reset(cursor);
            return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading the trimmed clients", error);
        }
        mark->id = sqlite3_column_int64(cursor, 1);
        marks->count++;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status run_mark(kedge_store_db *db, const char *sql, const char *client,
                             int64_t through, kedge_error *error)
{
    sqlite3_stmt *statement;
    kedge_status status = kedge_store_db_take(db, sql, &statement, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_chars(db, statement, 1, client);
    if (sqlite3_bind_parameter_count(statement) > 1)
        kedge_store_bind_integer(db, statement, 2, through);
    return kedge_store_db_run(db, statement, error);
}

static kedge_status seal(kedge_store_db *db, const char *client, kedge_error *error)
{
    static const char sql[] =
        "UPDATE trimmed SET checksum = " KEDGE_TRIMMED_CHECKSUM " WHERE client = ?1";
    return run_mark(db, sql, client, 0, error);
}

/* Keeps the newest KEDGE_LIMIT_EARLIER_CLIENTS clients. */
kedge_status kedge_trimmed_keep(kedge_store_db *db, const char *client, int64_t through,
                                kedge_error *error)
{
    static const char raise[] = "UPDATE trimmed SET through = max(through, ?2) WHERE client = ?1";
    static const char insert[] =
        "INSERT INTO trimmed(" KEDGE_TRIMMED_COLUMNS ", checksum) SELECT ?1, ?2,"
        " kedge_checksum(4, ?1, ?2) WHERE ?1 NOT IN (SELECT client FROM trimmed)";
    static const char bound[] = "DELETE FROM trimmed WHERE ordinal NOT IN"
                                " (SELECT ordinal FROM trimmed ORDER BY ordinal DESC LIMIT ?1)";
    sqlite3_stmt *statement;
    kedge_wire_client_marks marks;
    if (through <= 0) return KEDGE_OK;
    /* a damaged row must not get a new checksum */
    kedge_status status = kedge_trimmed_read(db, &marks, error);
    if (status == KEDGE_OK) status = run_mark(db, raise, client, through, error);
    if (status == KEDGE_OK) status = seal(db, client, error);
    if (status == KEDGE_OK) status = run_mark(db, insert, client, through, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, bound, &statement, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, statement, 1, KEDGE_LIMIT_EARLIER_CLIENTS);
    return kedge_store_db_run(db, statement, error);
}

/* A client that is not in the response is counted at the next lost lineage. */
static bool is_decided(const kedge_wire_client_marks *decided, const char *client, int64_t *lmid)
{
    *lmid = 0;
    for (size_t i = 0; decided != NULL && i < decided->count; i++) {
        if (strcmp(decided->marks[i].client_id, client) != 0) continue;
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
    kedge_status status = run_mark(db, through > 0 ? sql : none, client, through, error);
    if (status == KEDGE_OK && through > 0) status = seal(db, client, error);
    return status;
}

kedge_status kedge_trimmed_count_earlier(kedge_store_db *db, const kedge_wire_client_marks *decided,
                                         int64_t *unrecovered, kedge_error *error)
{
    kedge_wire_client_marks marks;
    kedge_status status = kedge_trimmed_read(db, &marks, error);
    for (size_t i = 0; status == KEDGE_OK && i < marks.count; i++) {
        const kedge_wire_client_mark *mark = &marks.marks[i];
        int64_t lmid;
        if (!is_decided(decided, mark->client_id, &lmid) || lmid >= mark->id) continue;
        status = kedge_trimmed_count(db, mark->client_id, lmid, mark->id, unrecovered, error);
        if (status == KEDGE_OK) status = lower(db, mark->client_id, lmid, error);
    }
    return status;
}

/* It is not known how many mutations a damaged row stood for. */
kedge_status kedge_trimmed_heal(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char sql[] = "DELETE FROM trimmed WHERE checksum IS NOT " KEDGE_TRIMMED_CHECKSUM;
    kedge_store_db *db = &heal->store->outbox;
    sqlite3_stmt *statement;
    kedge_status status = kedge_store_db_take(db, sql, &statement, error);
    if (status == KEDGE_OK) status = kedge_store_db_run(db, statement, error);
    if (status != KEDGE_OK) return status;
    int damaged = sqlite3_changes(db->handle);
    heal->meta.unrecovered += damaged;
    heal->changed = heal->changed || damaged > 0;
    return KEDGE_OK;
}
