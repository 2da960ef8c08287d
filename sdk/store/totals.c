/* `totals`: how many rows `rejected`, `confirmed` and `trimmed` have, and what their checksums add
 * up to. A row that is gone, or an old page that a disk has brought back, shows nowhere else. */
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

/* Of the tail nothing is lost while the backend keeps what it has. Should it be restored, what is
 * missing counts as trimmed. */
static void note_missing(kedge_outbox_healing *heal, kedge_bytes table, int64_t missing)
{
    kedge_outbox_meta *meta = &heal->meta;
    if (!kedge_bytes_equal_text(table, "confirmed"))
        meta->unrecovered += missing > 0 ? missing : 0;
    else if (meta->trimmed_through < heal->decided_through)
        meta->trimmed_through = heal->decided_through;
    heal->changed = true;
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
    sqlite3_stmt *walk;
    kedge_status status = kedge_store_db_take(db, sql, &walk, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, walk, error)) == KEDGE_OK) {
        heal->totals_wrong = true;
        /* A total that is damaged itself says nothing of its table. */
        if (sqlite3_column_int(walk, 2) == 1)
            note_missing(heal, kedge_store_column(walk, 0), sqlite3_column_int64(walk, 1));
    }
    if (status == KEDGE_DONE) status = heal->totals_wrong ? measure_tail(heal, error) : KEDGE_OK;
    return status;
}

kedge_status kedge_totals_write(kedge_store_db *db, kedge_error *error)
{
    static const char sql[] =
        "DELETE FROM totals;"
        "INSERT INTO totals(" KEDGE_TOTALS_COLUMNS ", checksum) SELECT " KEDGE_TOTALS_COLUMNS
        ", " KEDGE_TOTALS_CHECKSUM " FROM (" COUNTED ")";
    return kedge_store_db_execute(db, sql, error);
}
