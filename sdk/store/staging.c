/* The tables in which the pages of a snapshot wait until all are there. They survive a restart. */
#include "sdk/store/index.h"

#include "common/error.h"
#include <stdio.h>
#include <string.h>

static int64_t outcome_checksum(const kedge_wire_outcome *outcome)
{
    kedge_checksum checksum = kedge_checksum_begin(KEDGE_ROW_STAGED_OUTCOME);
    kedge_checksum_integer(&checksum, outcome->id);
    kedge_checksum_integer(&checksum, outcome->version);
    kedge_checksum_bytes(&checksum,
                         (kedge_bytes){(const char *)outcome->digest, sizeof outcome->digest});
    kedge_checksum_integer(&checksum, outcome->decision);
    kedge_checksum_bytes(&checksum, kedge_bytes_of(outcome->code));
    kedge_checksum_bytes(&checksum, kedge_bytes_of(outcome->message));
    return kedge_checksum_end(&checksum);
}

static kedge_status insert_outcome(kedge_store_db *db, const kedge_wire_outcome *outcome,
                                   kedge_row_total *total, kedge_error *error)
{
    static const char *const sql = "INSERT INTO staged_outcome VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    int64_t checksum = outcome_checksum(outcome);
    kedge_status status = kedge_store_db_change(
        db, sql, error, "iibicci", outcome->id, outcome->version,
        ((kedge_bytes){(const char *)outcome->digest, sizeof outcome->digest}),
        (int64_t)outcome->decision, outcome->code, outcome->message, checksum);
    if (status == KEDGE_OK) kedge_row_total_add(total, checksum);
    return status;
}

static kedge_status insert_staging(kedge_store_db *db, const kedge_staging *staging,
                                   kedge_error *error)
{
    static const char *const sql =
        "INSERT INTO staging VALUES(1, ?1, ?2, ?3, ?4, ?5, 0, '', 0, 0, ?6, ?7, "
        "kedge_checksum(" KEDGE_SQL_NUMBER(
            KEDGE_ROW_STAGING) ", 1, ?1, ?2, ?3, ?4, ?5, 0, '', 0, 0, ?6, ?7))";
    return kedge_store_db_change(db, sql, error, "iciciii", staging->version, staging->lineage,
                                 staging->lmid, staging->client, (int64_t)staging->lost,
                                 staging->outcomes.rows, staging->outcomes.sum);
}

kedge_status kedge_staging_begin(kedge_store *store, kedge_staging *staging,
                                 const kedge_wire_outcomes *outcomes, kedge_error *error)
{
    kedge_status status = kedge_staging_drop(store, error);
    staging->items = staging->outcomes = (kedge_row_total){0};
    for (size_t i = 0; i < outcomes->count && status == KEDGE_OK; i++)
        status = insert_outcome(&store->cache, &outcomes->rows[i], &staging->outcomes, error);
    if (status == KEDGE_OK) status = insert_staging(&store->cache, staging, error);
    return status;
}

kedge_status kedge_staging_put(kedge_store *store, kedge_staging *staging,
                               const kedge_wire_patch *patch, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < patch->count && status == KEDGE_OK; i++) {
        const kedge_wire_patch_operation *operation = &patch->operations[i];
        if (operation->kind == KEDGE_WIRE_PATCH_CLEAR || operation->kind == KEDGE_WIRE_PATCH_DELETE)
            continue;
        status = kedge_cache_put_staged(&store->cache, &staging->items, operation->collection,
                                        operation->id, operation->value, error);
    }
    return status;
}

kedge_status kedge_staging_after(kedge_store *store, const kedge_staging *staging,
                                 kedge_bytes after, bool complete, kedge_error *error)
{
    static const char *const sql =
        "UPDATE staging SET after = ?1, complete = ?2, item_rows = ?3, item_sum = ?4,"
        " checksum = kedge_checksum(" KEDGE_SQL_NUMBER(
            KEDGE_ROW_STAGING) ", only, version, lineage, lmid, client, lost, ?2, ?1, ?3, ?4,"
                               " outcome_rows, outcome_sum)";
    kedge_store_db *db = &store->cache;
    return kedge_store_db_change(db, sql, error, "tiii", after, (int64_t)complete,
                                 staging->items.rows, staging->items.sum);
}

static kedge_status read_outcome(kedge_store_db *db, sqlite3_stmt *cursor, kedge_wire_outcome *row,
                                 kedge_row_total *seen, kedge_error *error)
{
    int64_t checksum = sqlite3_column_int64(cursor, 6);
    kedge_bytes digest = kedge_store_column(cursor, 2);
    *row = (kedge_wire_outcome){.id = sqlite3_column_int64(cursor, 0),
                                .version = sqlite3_column_int64(cursor, 1),
                                .decision = (kedge_wire_decision)sqlite3_column_int(cursor, 3)};
    if (digest.size != sizeof row->digest ||
        !kedge_store_column_chars(cursor, 4, row->code, sizeof row->code) ||
        !kedge_store_column_chars(cursor, 5, row->message, sizeof row->message))
        return kedge_table_fail(db, "staged_outcome", error);
    memcpy(row->digest, digest.data, sizeof row->digest);
    if (checksum != outcome_checksum(row)) return kedge_table_fail(db, "staged_outcome", error);
    kedge_row_total_add(seen, checksum);
    return KEDGE_OK;
}

kedge_status kedge_staging_outcomes(kedge_store *store, const kedge_staging *staging,
                                    kedge_wire_outcomes *outcomes, kedge_error *error)
{
    static const char *const sql = "SELECT id, version, digest, decision, code, message, checksum,"
                                   " (SELECT count(*) FROM staged_outcome) FROM staged_outcome"
                                   " ORDER BY id";
    kedge_store_db *db = &store->cache;
    sqlite3_stmt *cursor;
    kedge_row_total seen = {0};
    kedge_status status = kedge_store_db_take(db, sql, &cursor, error);
    *outcomes = (kedge_wire_outcomes){.allocator = store->allocator};
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, cursor, error)) == KEDGE_OK) {
        if (!outcomes->rows) {
            outcomes->capacity = (size_t)sqlite3_column_int64(cursor, 7);
            outcomes->rows =
                kedge_allocate(store->allocator, outcomes->capacity * sizeof *outcomes->rows);
            if (!outcomes->rows) {
                status = kedge_fail_no_memory(error);
                break;
            }
        }
        status = read_outcome(db, cursor, &outcomes->rows[outcomes->count], &seen, error);
        if (status != KEDGE_OK) break;
        outcomes->count++;
    }
    sqlite3_reset(cursor);
    if (status != KEDGE_DONE) return status;
    if (kedge_row_total_equal(&seen, &staging->outcomes)) return KEDGE_OK;
    return kedge_table_fail(db, "staged_outcome", error);
}

kedge_status kedge_staging_swap(kedge_store *store, const kedge_staging *staging,
                                kedge_cache_meta *next, kedge_error *error)
{
    /* A rename copies nothing. An open reader keeps its snapshot. */
    static const char *const sql = "DROP TABLE item; ALTER TABLE staged_item RENAME TO item";
    next->items = staging->items;
    next->bases = (kedge_row_total){0};
    atomic_store(&store->check_due, true);
    kedge_store_db_reset(&store->cache);
    kedge_status status = kedge_store_db_execute(&store->cache, sql, error);
    if (status == KEDGE_OK)
        status = kedge_schema_make_table(&store->cache, &kedge_cache_schema, "staged_item", error);
    if (status == KEDGE_OK)
        status = kedge_store_db_execute(&store->cache, "DELETE FROM base", error);
    /* They went with the table. */
    return status == KEDGE_OK ? kedge_index_fit(store, error) : status;
}

kedge_status kedge_staging_drop(kedge_store *store, kedge_error *error)
{
    return kedge_store_db_execute(&store->cache, "{drop_staged}", error);
}
