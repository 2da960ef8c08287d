/* What happens to a decided mutation: it goes to the inbox or to the tail of confirmed ones, and is
 * deleted from `pending`.
 *
 * The tail keeps confirmed mutations, which are sent again when a restored backend lacks them.
 * Their number, age and bytes are limited. A mutation that is trimmed from the tail raises
 * trimmed_through, so that lost mutations can be counted after a restore. */
#include "sdk/store/client_only.h"
#include "sdk/store/outbox_rows.h"

#include <string.h>

kedge_status kedge_outbox_forget_rejection(kedge_store_db *db, int64_t sequence, kedge_error *error)
{
    static const char *const sql = "DELETE FROM rejected WHERE sequence = ?1 AND state IN (0, 4)";
    return kedge_store_db_change(db, sql, error, "i", sequence);
}

/* Whether the row had another (client, id) before this lineage: then another copy of the folder may
 * have it, too. What comes back from a lineage that is lost is KEDGE_WITHHELD_PASSED. */
static kedge_status is_shared(kedge_store_db *db, int64_t sequence, bool *shared,
                              kedge_error *error)
{
    static const char *const sql = "SELECT origin_client IS NOT NULL AND withheld <> 2 FROM pending"
                                   " WHERE sequence = ?1";
    int64_t found;
    kedge_status status = kedge_store_db_find_number(db, sql, &found, error, "i", sequence);
    *shared = found != 0;
    return status;
}

/* A client-only edit that conflicts does not stay in the inbox: it is made again. Where two copies
 * of a folder have it, each would do so; then the app decides. */
static kedge_status state_of(kedge_store *store, int64_t sequence,
                             const kedge_wire_outcome *outcome, int *state, kedge_error *error)
{
    kedge_pending row;
    bool shared = false;
    *state = KEDGE_INBOX_SHOWN;
    if (strcmp(outcome->code, KEDGE_APPLY_CONFLICT) != 0) return KEDGE_OK;
    kedge_status status = is_shared(&store->outbox, sequence, &shared, error);
    if (status != KEDGE_OK || shared) return status;
    status = kedge_outbox_find(&store->outbox, sequence, &row, error);
    if (status != KEDGE_OK) return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
    if (!kedge_client_only_again(store->registry, row.name, row.args)) return KEDGE_OK;
    *state = KEDGE_INBOX_CONFLICT;
    store->conflicts_due = true;
    return KEDGE_OK;
}

/* The inbox has an entry of this sequence already, which the app has answered. A damaged one may be
 * that of another edit. */
static kedge_status check_entry(kedge_store_db *db, int64_t sequence, kedge_error *error)
{
    static const char *const sql = "SELECT {unsound rejected} FROM rejected WHERE sequence = ?1";
    int64_t damaged;
    kedge_status status = kedge_store_db_find_number(db, sql, &damaged, error, "i", sequence);
    return damaged ? kedge_outbox_fail_row(db, "rejected", sequence, error) : status;
}

kedge_status kedge_outbox_reject(kedge_store *store, int64_t sequence,
                                 const kedge_wire_outcome *outcome, bool again, kedge_error *error)
{
    static const char *const sql =
        "{set_aside} (SELECT {edit}, ?2 AS version, ?3 AS code,"
        " ?4 AS message, ?6 AS state, ?5 AS decided_ms FROM pending WHERE sequence = ?1)";
    kedge_store_db *db = &store->outbox;
    int state = KEDGE_INBOX_SHOWN;
    kedge_status status = kedge_outbox_forget_rejection(db, sequence, error);
    if (status == KEDGE_OK && again) status = state_of(store, sequence, outcome, &state, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(
            db, sql, error, "iiccii", sequence, outcome->version, outcome->code, outcome->message,
            store->environment->now_ms(store->environment->context), (int64_t)state);
    if (status != KEDGE_OK || sqlite3_changes(db->handle) > 0) return status;
    return check_entry(db, sequence, error);
}

typedef struct tail_row {
    int64_t ordinal;
    int64_t rows; /* of the tail */
    int64_t id;
    int64_t confirmed_ms;
    int64_t bytes;
    bool sound;
    char client[KEDGE_CLIENT_ID_SIZE];
} tail_row;

/* Reads the oldest row of the tail. Returns KEDGE_DONE when the tail is empty. */
static kedge_status oldest(kedge_store_db *db, tail_row *row, kedge_error *error)
{
    static const char *const sql =
        "SELECT ordinal, {total confirmed}, id, confirmed_ms, {bytes},"
        " client, {intact confirmed} FROM confirmed ORDER BY ordinal LIMIT 1";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "");
    if (status != KEDGE_OK) return status;
    bool fits = kedge_store_columns(find, "iiiiicn", &row->ordinal, &row->rows, &row->id,
                                    &row->confirmed_ms, &row->bytes, row->client,
                                    sizeof row->client, &row->sound);
    row->sound = row->sound && fits;
    sqlite3_reset(find);
    return KEDGE_OK;
}

static kedge_status trim_tail(kedge_store_db *db, kedge_outbox_meta *meta, int64_t now_ms,
                              kedge_error *error)
{
    static const char *const sql = "DELETE FROM confirmed WHERE ordinal = ?1";
    tail_row row;
    kedge_status status;
    while ((status = oldest(db, &row, error)) == KEDGE_OK) {
        bool old = row.confirmed_ms < now_ms - KEDGE_LIMIT_CONFIRMED_TAIL_MS;
        bool many = row.rows > KEDGE_LIMIT_CONFIRMED_TAIL;
        if (!old && !many && meta->tail_bytes <= KEDGE_STORE_TAIL_BYTES) return KEDGE_OK;
        status = kedge_store_db_change(db, sql, error, "i", row.ordinal);
        if (status != KEDGE_OK) return status;
        meta->tail_bytes -= row.bytes;
        if (!row.sound) continue; /* its client and id are not known */
        if (strcmp(row.client, meta->client) != 0) {
            status = kedge_trimmed_keep(db, row.client, row.id, error);
            if (status != KEDGE_OK) return status;
        } else if (row.id > meta->trimmed_through) {
            meta->trimmed_through = row.id;
        }
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* Dismissed and resubmitted rows of the inbox are kept as long as rows of the tail, for
 * kedge_wait. The row of a first attempt stays as long as the newest one is pending or listed: the
 * app knows that one by the sequence of the first. */
static kedge_status trim_tombstones(kedge_store_db *db, const kedge_outbox_meta *meta,
                                    int64_t now_ms, kedge_error *error)
{
    static const char *const sql =
        "DELETE FROM rejected WHERE state IN (1, 2, 5) AND (decided_ms < ?1 OR sequence <= ?2)"
        " AND {not_pending}"
        " AND NOT (state = 5 AND ({remade_pending}"
        " OR EXISTS(SELECT 1 FROM rejected AS newest WHERE newest.sequence ="
        " CAST(rejected.args AS INTEGER) AND newest.state IN (0, 3, 4))))";
    return kedge_store_db_change(db, sql, error, "ii", now_ms - KEDGE_LIMIT_CONFIRMED_TAIL_MS,
                                 meta->last_sequence - KEDGE_LIMIT_CONFIRMED_TAIL);
}

/* Subtracts the covered rows from the totals of `pending`, and adds the rows that go to the tail to
 * its bytes. All these rows are checked here, so that no row is deleted because a damaged column
 * says that it is covered. */
static kedge_status count_covered(kedge_store_db *db, const kedge_cache_meta *cache,
                                  kedge_outbox_meta *meta, kedge_error *error)
{
    static const char *const sql = "SELECT count(*), {sum}, coalesce(sum(CASE WHEN sequence "
                                   "IN"
                                   " (SELECT sequence FROM rejected) THEN 0 ELSE {bytes} END), 0),"
                                   " min(CASE WHEN {intact pending} THEN NULL ELSE sequence END)"
                                   " FROM pending WHERE {covered_rows}";
    sqlite3_stmt *sum;
    kedge_status status = kedge_store_db_find(db, sql, &sum, error, "cii", cache->client,
                                              cache->lmid, cache->version);
    if (status != KEDGE_OK) return status;
    bool damaged = sqlite3_column_type(sum, 3) != SQLITE_NULL;
    int64_t sequence = sqlite3_column_int64(sum, 3);
    meta->pending_rows -= sqlite3_column_int64(sum, 0);
    meta->pending_sum -= sqlite3_column_int64(sum, 1);
    meta->tail_bytes += sqlite3_column_int64(sum, 2);
    sqlite3_reset(sum);
    return damaged ? kedge_outbox_fail_row(db, "pending", sequence, error) : KEDGE_OK;
}

kedge_status kedge_outbox_settle(kedge_store_db *db, const kedge_cache_meta *cache,
                                 kedge_outbox_meta *meta, int64_t now_ms, bool trim,
                                 kedge_error *error)
{
    static const char *const keep =
        "INSERT INTO {sealed confirmed} (SELECT *, ?4 AS confirmed_ms FROM pending WHERE"
        " {covered_rows} AND sequence NOT IN (SELECT sequence FROM rejected)) ORDER BY sequence";
    static const char *const delete_covered = "DELETE FROM pending WHERE {covered_rows}";
    kedge_status status = count_covered(db, cache, meta, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(db, keep, error, "ciii", cache->client, cache->lmid,
                                       cache->version, now_ms);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(db, delete_covered, error, "cii", cache->client, cache->lmid,
                                       cache->version);
    /* A rotation may know outcomes of a later version; those must not be forgotten on the way. */
    if (status == KEDGE_OK && sqlite3_changes(db->handle) > 0 &&
        cache->version >= meta->settled_version && meta->ask_settled == 0) {
        meta->settled_version = cache->version;
        memcpy(meta->settled_lineage, cache->lineage, sizeof meta->settled_lineage);
    }
    if (status == KEDGE_OK && trim) status = trim_tail(db, meta, now_ms, error);
    if (status == KEDGE_OK && trim) status = trim_tombstones(db, meta, now_ms, error);
    if (status == KEDGE_OK && trim) status = kedge_outbox_count_rejected(db, meta, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(db, meta, error);
    return status;
}
