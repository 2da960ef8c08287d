/* Counts what the outbox has lost.
 *
 * `totals`: how many rows `rejected`, `confirmed` and `trimmed` have, and what their checksums add
 * up to. Only the totals show that a row is lost, or that a disk has brought back an old page. When
 * all three tables and their totals are old ones that fit each other, the outbox's meta row shows
 * how many rejections are lost.
 *
 * Mutations that were trimmed from the tail and that a restored backend lacks: the outbox's meta
 * row has the id up to which the tail of the living client was trimmed, and the table `trimmed` has
 * it for earlier clients. A restored backend tells how far it has decided each client. The ids
 * between that this folder no longer has are lost, and counted. */
#include "sdk/store/outbox_heal.h"

#include "sdk/store/outbox_rows.h"
#include "sdk/store/tail.h"

#include <string.h>

/* ---- the totals ---- */

kedge_status kedge_outbox_count_tail(kedge_store_db *db, int64_t *bytes, kedge_error *error)
{
    static const char *const sql = "SELECT coalesce(sum({bytes}), 0) FROM confirmed";
    return kedge_store_db_number(db, sql, bytes, error);
}

static kedge_status measure_tail(kedge_outbox_healing *heal, kedge_error *error)
{
    heal->changed = true;
    return kedge_outbox_count_tail(&heal->store->outbox, &heal->meta.tail_bytes, error);
}

kedge_status kedge_tail_count_nowhere(kedge_store_db *db, const kedge_tail_mark *mark,
                                      int64_t *count, kedge_error *error)
{
    static const char *const sql = "SELECT count(*) FROM (SELECT id {between confirmed}"
                                   " UNION SELECT id {between rejected}"
                                   " UNION SELECT id {between pending})";
    int64_t known;
    *count = 0;
    if (mark->through <= mark->from) return KEDGE_OK;
    kedge_status status = kedge_store_db_find_number(db, sql, &known, error, "cii", mark->client,
                                                     mark->from, mark->through);
    if (status == KEDGE_OK) *count = mark->through - mark->from - known;
    return status;
}

/* The row gets a wrong checksum on purpose. */
static kedge_status insert_unknown(kedge_store_db *db, int64_t now_ms, kedge_error *error)
{
    static const char *const sql =
        "INSERT INTO confirmed({confirmed}, checksum)"
        " SELECT {confirmed}, ({confirmed#} + 1) & 4294967295 FROM (SELECT NULL AS sequence,"
        " '' AS client, 0 AS id, '' AS name, '' AS args, 0 AS timestamp, {no_origin},"
        " ?1 AS confirmed_ms)";
    return kedge_store_db_change(db, sql, error, "i", now_ms);
}

kedge_status kedge_tail_note_missing(kedge_store_db *db, const kedge_tail_mark *mark,
                                     int64_t missing, int64_t now_ms, kedge_error *error)
{
    int64_t marked = 0;
    if (missing <= 0) return KEDGE_OK;
    kedge_status status = kedge_tail_count_nowhere(db, mark, &marked, error);
    int64_t unknown = missing - marked;
    if (unknown > KEDGE_LIMIT_CONFIRMED_TAIL) unknown = KEDGE_LIMIT_CONFIRMED_TAIL;
    for (int64_t i = 0; i < unknown && status == KEDGE_OK; i++)
        status = insert_unknown(db, now_ms, error);
    return status;
}

/* How many rows a sound total counts that the table does not have. */
typedef struct gone {
    int64_t rejected;
    int64_t claimed; /* by a damaged total of `rejected`, or by a meta that may be old */
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

/* A damaged total of the inbox proves nothing, nor does a meta that may be an old one, which counts
 * what left the inbox since. But each decided id of the living client that was not trimmed stands
 * in a table: of those that do not, no more are rejections than is claimed. */
static kedge_status count_claimed(kedge_outbox_healing *heal, gone *missing, kedge_error *error)
{
    const kedge_outbox_meta *meta = &heal->meta;
    kedge_tail_mark mark = {meta->client, meta->trimmed_through, heal->decided_through};
    int64_t nowhere = 0;
    if (missing->claimed <= 0) return KEDGE_OK;
    kedge_status status = kedge_tail_count_nowhere(&heal->store->outbox, &mark, &nowhere, error);
    if (nowhere > missing->claimed) nowhere = missing->claimed;
    if (nowhere > missing->rejected) missing->rejected = nowhere;
    return status;
}

/* Whether meta is of the same moment as `pending`: both are written by each edit, and by whatever
 * takes rows out of the inbox. */
static kedge_status meta_fits_pending(const kedge_outbox_healing *heal, bool *fits,
                                      kedge_error *error)
{
    kedge_outbox_meta found = heal->meta;
    kedge_status status = kedge_outbox_count_pending(&heal->store->outbox, &found, error);
    *fits = found.pending_rows == heal->meta.pending_rows &&
            found.pending_sum == heal->meta.pending_sum;
    return status;
}

/* The disk, or a user, may have put back all tables but meta and `pending` as they once were. The
 * totals fit then, and what meta counts and the inbox lacks is missing. A meta that is older than
 * the cache or than a decided row, which has changed its counters, claims nothing. */
static kedge_status ask_meta(kedge_outbox_healing *heal, gone *missing, kedge_error *error)
{
    static const char *const sql = "SELECT count(*) FROM rejected";
    int64_t rows = 0;
    bool old = heal->older || heal->changed, fits = false;
    kedge_status status = kedge_store_db_number(&heal->store->outbox, sql, &rows, error);
    int64_t lacking = heal->meta.rejected_rows - rows;
    if (status != KEDGE_OK || lacking == 0) return status;
    heal->totals_wrong = true;
    if (old || lacking < 0) return KEDGE_OK;
    status = meta_fits_pending(heal, &fits, error);
    int64_t *number = fits ? &missing->rejected : &missing->claimed;
    if (lacking > *number) *number = lacking;
    return status;
}

kedge_status kedge_totals_check(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char *const sql =
        "SELECT counted.name, totals.rows - counted.rows,"
        " totals.checksum = kedge_checksum(6, totals.name, totals.rows, totals.sum)"
        " FROM {all_counted} AS counted LEFT JOIN totals USING(name)"
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
    status = ask_meta(heal, &missing, error);
    if (status == KEDGE_OK) status = count_claimed(heal, &missing, error);
    if (status != KEDGE_OK) return status;
    heal->meta.unrecovered += missing.rejected + missing.trimmed;
    if (missing.tail_wrong) status = note_missing_confirmed(heal, &missing, error);
    return status == KEDGE_OK && heal->totals_wrong ? measure_tail(heal, error) : status;
}

/* A damaged total is found at the next opening, and counts nothing until then. */
kedge_status kedge_outbox_count_rejected(kedge_store_db *db, kedge_outbox_meta *meta,
                                         kedge_error *error)
{
    static const char *const sql =
        "SELECT coalesce({total rejected}, (SELECT count(*) FROM rejected))";
    return kedge_store_db_number(db, sql, &meta->rejected_rows, error);
}

kedge_status kedge_totals_write(kedge_store_db *db, kedge_error *error)
{
    static const char *const sql = "DELETE FROM totals;INSERT INTO {sealed totals} {all_counted}";
    return kedge_store_db_execute(db, sql, error);
}

/* ---- what was trimmed ---- */

/* Counts the ids of a client above `lmid`, up to `through`, that this folder still has. */
static kedge_status count_known(kedge_store_db *db, const char *client, int64_t lmid,
                                int64_t through, int64_t *known, kedge_error *error)
{
    static const char *const sql = "SELECT (SELECT count(*) {between confirmed})"
                                   " + (SELECT count(*) {between rejected})";
    return kedge_store_db_find_number(db, sql, known, error, "cii", client, lmid, through);
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
    static const char *const sql =
        "SELECT client, through, {intact trimmed}, ordinal FROM trimmed ORDER BY ordinal";
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

static kedge_status seal(kedge_store_db *db, const char *client, kedge_error *error)
{
    static const char *const sql = "UPDATE trimmed SET checksum = {trimmed#} WHERE client = ?1";
    return kedge_store_db_change(db, sql, error, "c", client);
}

/* Keeps the newest KEDGE_LIMIT_EARLIER_CLIENTS clients. */
kedge_status kedge_trimmed_keep(kedge_store_db *db, const char *client, int64_t through,
                                kedge_error *error)
{
    static const char *const raise =
        "UPDATE trimmed SET through = max(through, ?2) WHERE client = ?1";
    static const char *const insert =
        "INSERT INTO trimmed({trimmed}, checksum) SELECT ?1, ?2,"
        " kedge_checksum(4, ?1, ?2) WHERE ?1 NOT IN (SELECT client FROM trimmed)";
    static const char *const bound =
        "DELETE FROM trimmed WHERE ordinal NOT IN"
        " (SELECT ordinal FROM trimmed ORDER BY ordinal DESC LIMIT ?1)";
    kedge_wire_client_marks marks;
    if (through <= 0) return KEDGE_OK;
    /* a damaged row must not get a new checksum */
    kedge_status status = kedge_trimmed_read(db, &marks, error);
    if (status == KEDGE_OK) status = kedge_store_db_change(db, raise, error, "ci", client, through);
    if (status == KEDGE_OK) status = seal(db, client, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(db, insert, error, "ci", client, through);
    if (status != KEDGE_OK) return status;
    return kedge_store_db_change(db, bound, error, "i", (int64_t)KEDGE_LIMIT_EARLIER_CLIENTS);
}

/* A client that is not in the response is counted at the next lost lineage. */
static bool is_decided(const kedge_wire_client_marks *decided, const char *client, int64_t *lmid)
{
    for (size_t i = 0; i < decided->count; i++) {
        if (strcmp(decided->marks[i].client_id, client) != 0) continue;
        *lmid = decided->marks[i].id;
        return true;
    }
    return false;
}

static kedge_status lower(kedge_store_db *db, const char *client, int64_t through,
                          kedge_error *error)
{
    static const char *const sql = "UPDATE trimmed SET through = ?2 WHERE client = ?1";
    static const char *const none = "DELETE FROM trimmed WHERE client = ?1";
    if (through <= 0) return kedge_store_db_change(db, none, error, "c", client);
    kedge_status status = kedge_store_db_change(db, sql, error, "ci", client, through);
    return status == KEDGE_OK ? seal(db, client, error) : status;
}

kedge_status kedge_trimmed_count_earlier(kedge_store_db *db, const kedge_wire_client_marks *decided,
                                         int64_t *unrecovered, kedge_error *error)
{
    kedge_wire_client_marks marks;
    kedge_status status = kedge_trimmed_read(db, &marks, error);
    for (size_t i = 0; status == KEDGE_OK && i < marks.count; i++) {
        const kedge_wire_client_mark *mark = &marks.marks[i];
        int64_t lmid = 0;
        if (!is_decided(decided, mark->client_id, &lmid) || lmid >= mark->id) continue;
        status = kedge_trimmed_count(db, mark->client_id, lmid, mark->id, unrecovered, error);
        if (status == KEDGE_OK) status = lower(db, mark->client_id, lmid, error);
    }
    return status;
}

/* It is not known how many mutations a damaged row stood for. */
kedge_status kedge_trimmed_heal(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char *const sql = "DELETE FROM trimmed WHERE {unsound trimmed}";
    kedge_store_db *db = &heal->store->outbox;
    kedge_status status = kedge_store_db_change(db, sql, error, "");
    if (status != KEDGE_OK) return status;
    int damaged = sqlite3_changes(db->handle);
    heal->meta.unrecovered += damaged;
    heal->changed = heal->changed || damaged > 0;
    return KEDGE_OK;
}
