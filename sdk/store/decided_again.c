/* Mutations of a log project that are decided a second time.
 *
 * A client decides the entries of a log project itself, on its cache. A cache that was damaged and
 * not yet found out may have led it to another decision than every other copy. The cache is then
 * set aside, and the entries are replayed from the start. What was decided before is no longer
 * pending: an applied mutation is in the tail, a rejected one in the inbox. Each goes to where the
 * later decision belongs. */
#include "sdk/store/outbox_rows.h"
#include "sdk/store/tail.h"

static kedge_status run_for(kedge_store *store, const char *sql, const char *client,
                            const kedge_wire_outcome *outcome, int *changed, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    sqlite3_stmt *statement;
    kedge_status status =
        kedge_store_db_bind(db, sql, &statement, error, "cib", client, outcome->id,
                            ((kedge_bytes){(const char *)outcome->digest, sizeof outcome->digest}));
    if (status != KEDGE_OK) return status;
    if (sqlite3_bind_parameter_count(statement) > 3)
        kedge_store_bind_integer(db, statement, 4,
                                 store->environment->now_ms(store->environment->context));
    if (sqlite3_bind_parameter_count(statement) > 4) {
        kedge_store_bind_integer(db, statement, 5, outcome->version);
        kedge_store_bind_chars(db, statement, 6, outcome->code);
        kedge_store_bind_chars(db, statement, 7, outcome->message);
    }
    status = kedge_store_db_run(db, statement, error);
    *changed = status == KEDGE_OK ? sqlite3_changes(db->handle) : 0;
    return status;
}

/* Where the app has answered an entry of this sequence already, the row stays in the tail. */
static kedge_status from_tail_to_inbox(kedge_store *store, const char *client,
                                       const kedge_wire_outcome *outcome, int *moved,
                                       kedge_error *error)
{
    static const char *const show = "{set_aside} (SELECT {edit}, ?5 AS version, ?6 AS code,"
                                    " ?7 AS message, 0 AS state, ?4 AS decided_ms"
                                    " FROM confirmed WHERE {same}"
                                    " AND {intact confirmed})";
    static const char *const forget = "DELETE FROM confirmed WHERE {same}";
    kedge_status status = run_for(store, show, client, outcome, moved, error);
    if (status != KEDGE_OK || *moved == 0) return status;
    return run_for(store, forget, client, outcome, moved, error);
}

static kedge_status from_inbox_to_tail(kedge_store *store, const char *client,
                                       const kedge_wire_outcome *outcome, int *moved,
                                       kedge_error *error)
{
    static const char *const keep =
        "INSERT INTO {sealed confirmed} (SELECT *, ?4 AS confirmed_ms FROM rejected"
        " WHERE {same} AND state IN (0, 4)"
        " AND {intact rejected} AND {not_pending})";
    static const char *const forget = "DELETE FROM rejected WHERE {same} AND state IN (0, 4)"
                                      " AND {not_pending}";
    kedge_status status = run_for(store, keep, client, outcome, moved, error);
    if (status != KEDGE_OK || *moved == 0) return status;
    return run_for(store, forget, client, outcome, moved, error);
}

kedge_status kedge_outbox_decide_again(kedge_store *store, kedge_outbox_meta *meta,
                                       const kedge_wire_outcomes *outcomes, int64_t lowest,
                                       kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    int all = 0;
    for (size_t i = 0; i < outcomes->count && status == KEDGE_OK; i++) {
        const kedge_wire_outcome *outcome = &outcomes->rows[i];
        int moved = 0;
        if (outcome->id >= lowest) break;
        if (kedge_wire_is_rejection(outcome->decision))
            status = from_tail_to_inbox(store, meta->client, outcome, &moved, error);
        else if (outcome->decision == KEDGE_WIRE_APPLIED)
            status = from_inbox_to_tail(store, meta->client, outcome, &moved, error);
        all += moved;
    }
    if (status != KEDGE_OK || all == 0) return status;
    return kedge_outbox_count_tail(&store->outbox, &meta->tail_bytes, error);
}
