/* `totals`: how many rows `rejected`, `confirmed` and `trimmed` have, and what their checksums add
 * up to. Only the totals show that a row is lost, or that a disk has brought back an old page. */
#include "sdk/store/outbox_heal.h"
#include "sdk/store/outbox_rows.h"

#include <string.h>

#define COUNT(table)                                                                               \
    "SELECT '" table "' AS name, count(*) AS rows,"                                                \
    " coalesce(sum(checksum & 4294967295), 0) AS sum FROM " table

#define COUNTED COUNT("rejected") " UNION ALL " COUNT("confirmed") " UNION ALL " COUNT("trimmed")

static kedge_status measure_tail(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char sql[] = "SELECT coalesce(sum(length(CAST(args AS BLOB))), 0) FROM confirmed";
    heal->changed = true;
    return kedge_store_db_number(&heal->store->outbox, sql, &heal->meta.tail_bytes, error);
}

/* Counts the ids of the client that `mark` counts as trimmed and no table has. */
static kedge_status count_marked(kedge_store_db *db, const kedge_tail_mark *mark, int64_t *count,
                                 kedge_error *error)
{
    static const char sql[] =
        "SELECT count(*) FROM (SELECT id FROM confirmed WHERE client = ?1 AND id > ?2 AND id <= ?3"
        " UNION SELECT id FROM rejected WHERE client = ?1 AND id > ?2 AND id <= ?3"
        " UNION SELECT id FROM pending WHERE client = ?1 AND id > ?2 AND id <= ?3)";
    sqlite3_stmt *find;
    *count = 0;
    if (mark->through <= mark->from) return KEDGE_OK;
    kedge_status status = kedge_store_db_take(db, sql, &find, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_chars(db, find, 1, mark->client);
    kedge_store_bind_integer(db, find, 2, mark->from);
    kedge_store_bind_integer(db, find, 3, mark->through);
    status = kedge_store_db_step(db, find, error);
    if (status != KEDGE_OK) return status;
    *count = mark->through - mark->from - sqlite3_column_int64(find, 0);
    sqlite3_reset(find);
    return KEDGE_OK;
}

/* The row gets a wrong checksum on purpose. */
static kedge_status insert_unknown(kedge_store_db *db, int64_t now_ms, kedge_error *error)
{
    static const char sql[] =
        "INSERT INTO confirmed(" KEDGE_CONFIRMED_COLUMNS ", checksum) SELECT"
        " " KEDGE_CONFIRMED_COLUMNS ", (" KEDGE_CONFIRMED_CHECKSUM " + 1) & 4294967295"
        " FROM (SELECT NULL AS sequence, '' AS client, 0 AS id, NULL AS uid, NULL AS digest,"
        " '' AS name, '' AS args, 0 AS timestamp, NULL AS origin_client, NULL AS origin_id,"
        " ?1 AS confirmed_ms)";
    sqlite3_stmt *insert;
    kedge_status status = kedge_store_db_take(db, sql, &insert, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, insert, 1, now_ms);
    return kedge_store_db_run(db, insert, error);
}

kedge_status kedge_tail_note_missing(kedge_store_db *db, const kedge_tail_mark *mark,
                                     int64_t missing, int64_t now_ms, kedge_error *error)
{
    int64_t marked = 0;
    if (missing <= 0) return KEDGE_OK;
    kedge_status status = count_marked(db, mark, &marked, error);
    int64_t unknown = missing - marked;
    if (unknown > KEDGE_LIMIT_CONFIRMED_TAIL) unknown = KEDGE_LIMIT_CONFIRMED_TAIL;
    for (int64_t i = 0; i < unknown && status == KEDGE_OK; i++)
        status = insert_unknown(db, now_ms, error);
    return status;
}

/* How many rows a sound total counts that the table does not have. */
typedef struct gone {
    int64_t rejected;
    int64_t claimed; /* by a total of `rejected` that is damaged itself */
    int64_t trimmed;
    int64_t confirmed;
    bool tail_wrong; /* the number is right, but the rows are others */
} gone;

static void note_missing(gone *missing, kedge_bytes table, int64_t rows)
{
    bool tail = kedge_bytes_equal_text(table, "confirmed");
    missing->tail_wrong = missing->tail_wrong || tail;
    if (rows <= 0) return;
    if (tail)
        missing->confirmed = rows;
    else if (kedge_bytes_equal_text(table, "rejected"))
        missing->rejected = rows;
    else
        missing->trimmed = rows;
}

/* Missing rows of the tail matter only when the backend is restored. Those of the living client
 * count as trimmed then. */
static kedge_status note_missing_confirmed(kedge_outbox_healing *heal, const gone *missing,
                                           kedge_error *error)
{
    kedge_outbox_meta *meta = &heal->meta;
    kedge_tail_mark mark = {meta->client, meta->trimmed_through, heal->decided_through};
    if (meta->trimmed_through < heal->decided_through)
        meta->trimmed_through = heal->decided_through;
    /* The mark also counts missing rejected edits. */
    int64_t rows = missing->confirmed > 0 ? missing->confirmed + missing->rejected : 0;
    return kedge_tail_note_missing(&heal->store->outbox, &mark, rows, heal->now_ms, error);
}

/* A damaged total of the inbox proves nothing. But each decided id of the living client that was
 * not trimmed stands in a table: of those that do not, no more are rejections than it counts. */
static kedge_status count_claimed(kedge_outbox_healing *heal, gone *missing, kedge_error *error)
{
    const kedge_outbox_meta *meta = &heal->meta;
    kedge_tail_mark mark = {meta->client, meta->trimmed_through, heal->decided_through};
    int64_t nowhere = 0;
    if (missing->claimed <= 0) return KEDGE_OK;
    kedge_status status = count_marked(&heal->store->outbox, &mark, &nowhere, error);
    missing->rejected = nowhere < missing->claimed ? nowhere : missing->claimed;
    return status;
}

kedge_status kedge_totals_check(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char sql[] =
        "SELECT counted.name, totals.rows - counted.rows,"
        " totals.checksum = kedge_checksum(6, totals.name, totals.rows, totals.sum)"
        " FROM (" COUNTED ") AS counted LEFT JOIN totals USING(name)"
        " WHERE totals.rows IS NOT counted.rows OR totals.sum IS NOT counted.sum"
        " OR totals.checksum IS NOT kedge_checksum(6, totals.name, totals.rows, totals.sum)";
    kedge_store_db *db = &heal->store->outbox;
    sqlite3_stmt *cursor;
    gone missing = {0};
    kedge_status status = kedge_store_db_take(db, sql, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, cursor, error)) == KEDGE_OK) {
        heal->totals_wrong = true;
        /* A damaged total tells nothing about its table. */
        if (sqlite3_column_int(cursor, 2) == 1)
            note_missing(&missing, kedge_store_column(cursor, 0), sqlite3_column_int64(cursor, 1));
        else if (kedge_bytes_equal_text(kedge_store_column(cursor, 0), "rejected"))
            missing.claimed = sqlite3_column_int64(cursor, 1);
    }
    if (status != KEDGE_DONE) return status;
    status = count_claimed(heal, &missing, error);
    if (status != KEDGE_OK) return status;
    heal->meta.unrecovered += missing.rejected + missing.trimmed;
    if (missing.tail_wrong) status = note_missing_confirmed(heal, &missing, error);
    return status == KEDGE_OK && heal->totals_wrong ? measure_tail(heal, error) : status;
}

kedge_status kedge_totals_write(kedge_store_db *db, kedge_error *error)
{
    static const char sql[] =
        "DELETE FROM totals;"
        "INSERT INTO totals(" KEDGE_TOTALS_COLUMNS ", checksum) SELECT " KEDGE_TOTALS_COLUMNS
        ", " KEDGE_TOTALS_CHECKSUM " FROM (" COUNTED ")";
    return kedge_store_db_execute(db, sql, error);
}
