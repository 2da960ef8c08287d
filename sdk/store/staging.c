/* The tables in which the pages of a snapshot wait until all are there. They survive a restart. */
#include "sdk/store/store_internal.h"

#include "common/error.h"
#include <stdio.h>
#include <string.h>

kedge_status kedge_staging_read(kedge_store_db *db, kedge_staging *staging, kedge_error *error)
{
    static const char sql[] = "SELECT version, lineage, lmid, client, lost, complete FROM staging";
    sqlite3_stmt *row;
    kedge_status status = kedge_store_db_take(db, sql, &row, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, row, error);
    *staging = (kedge_staging){.version = -1};
    if (status == KEDGE_DONE) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    if (!kedge_store_column_chars(row, 1, staging->lineage, sizeof staging->lineage) ||
        !kedge_store_column_chars(row, 3, staging->client, sizeof staging->client)) {
        sqlite3_reset(row);
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading what is staged", error);
    }
    staging->version = sqlite3_column_int64(row, 0);
    staging->lmid = sqlite3_column_int64(row, 2);
    staging->lost = sqlite3_column_int(row, 4) != 0;
    staging->complete = sqlite3_column_int(row, 5) != 0;
    sqlite3_reset(row);
    return KEDGE_OK;
}

static kedge_status insert_outcome(kedge_store_db *db, const kedge_outcome_row *outcome,
                                   kedge_error *error)
{
    static const char sql[] = "INSERT INTO staged_outcome VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
    sqlite3_stmt *insert;
    kedge_status status = kedge_store_db_take(db, sql, &insert, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, insert, 1, outcome->id);
    kedge_store_bind_integer(db, insert, 2, outcome->version);
    kedge_store_bind_blob(db, insert, 3, outcome->digest, sizeof outcome->digest);
    kedge_store_bind_integer(db, insert, 4, outcome->decision);
    kedge_store_bind_chars(db, insert, 5, outcome->code);
    kedge_store_bind_chars(db, insert, 6, outcome->message);
    return kedge_store_db_run(db, insert, error);
}

kedge_status kedge_staging_begin(kedge_store *store, const kedge_staging *staging,
                                 const kedge_outcome_list *outcomes, kedge_error *error)
{
    static const char sql[] = "INSERT INTO staging VALUES(1, ?1, ?2, ?3, ?4, ?5, 0, '')";
    kedge_store_db *db = &store->cache;
    sqlite3_stmt *insert;
    kedge_status status = kedge_staging_drop(store, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, sql, &insert, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_integer(db, insert, 1, staging->version);
    kedge_store_bind_chars(db, insert, 2, staging->lineage);
    kedge_store_bind_integer(db, insert, 3, staging->lmid);
    kedge_store_bind_chars(db, insert, 4, staging->client);
    kedge_store_bind_integer(db, insert, 5, staging->lost);
    status = kedge_store_db_run(db, insert, error);
    for (size_t i = 0; i < outcomes->count && status == KEDGE_OK; i++)
        status = insert_outcome(db, &outcomes->rows[i], error);
    return status;
}

kedge_status kedge_staging_put(kedge_store *store, const kedge_patch *patch, kedge_error *error)
{
    static const char sql[] = "INSERT INTO staged_item VALUES(?1, ?2, ?3)"
                              " ON CONFLICT DO UPDATE SET value = excluded.value";
    kedge_store_db *db = &store->cache;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < patch->count && status == KEDGE_OK; i++) {
        const kedge_patch_operation *operation = &patch->operations[i];
        sqlite3_stmt *insert;
        if (operation->kind == KEDGE_PATCH_CLEAR || operation->kind == KEDGE_PATCH_DELETE) continue;
        status = kedge_store_db_take(db, sql, &insert, error);
        if (status != KEDGE_OK) break;
        kedge_store_bind_text(db, insert, 1, operation->collection);
        kedge_store_bind_text(db, insert, 2, operation->id);
        kedge_store_bind_text(db, insert, 3, operation->value);
        status = kedge_store_db_run(db, insert, error);
    }
    return status;
}

kedge_status kedge_staging_after(kedge_store *store, kedge_bytes after, bool complete,
                                 kedge_error *error)
{
    static const char sql[] = "UPDATE staging SET after = ?1, complete = ?2";
    sqlite3_stmt *update;
    kedge_status status = kedge_store_db_take(&store->cache, sql, &update, error);
    if (status != KEDGE_OK) return status;
    kedge_store_bind_text(&store->cache, update, 1, after);
    kedge_store_bind_integer(&store->cache, update, 2, complete);
    return kedge_store_db_run(&store->cache, update, error);
}

static kedge_status read_outcome(kedge_store_db *db, sqlite3_stmt *walk, kedge_outcome_row *row,
                                 kedge_error *error)
{
    kedge_bytes digest = kedge_store_column(walk, 2);
    *row = (kedge_outcome_row){.id = sqlite3_column_int64(walk, 0),
                               .version = sqlite3_column_int64(walk, 1),
                               .decision = (kedge_decision)sqlite3_column_int(walk, 3)};
    if (digest.size != sizeof row->digest ||
        !kedge_store_column_chars(walk, 4, row->code, sizeof row->code) ||
        !kedge_store_column_chars(walk, 5, row->message, sizeof row->message))
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading a staged outcome", error);
    memcpy(row->digest, digest.data, sizeof row->digest);
    return KEDGE_OK;
}

kedge_status kedge_staging_outcomes(kedge_store *store, kedge_outcome_list *outcomes,
                                    kedge_error *error)
{
    static const char sql[] = "SELECT id, version, digest, decision, code, message,"
                              " (SELECT count(*) FROM staged_outcome) FROM staged_outcome"
                              " ORDER BY id";
    kedge_store_db *db = &store->cache;
    sqlite3_stmt *walk;
    kedge_status status = kedge_store_db_take(db, sql, &walk, error);
    *outcomes = (kedge_outcome_list){.allocator = store->allocator};
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, walk, error)) == KEDGE_OK) {
        if (!outcomes->rows) {
            outcomes->capacity = (size_t)sqlite3_column_int64(walk, 6);
            outcomes->rows =
                kedge_allocate(store->allocator, outcomes->capacity * sizeof *outcomes->rows);
            if (!outcomes->rows) {
                status = kedge_fail_no_memory(error);
                break;
            }
        }
        status = read_outcome(db, walk, &outcomes->rows[outcomes->count], error);
        if (status != KEDGE_OK) break;
        outcomes->count++;
    }
    sqlite3_reset(walk);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_staging_swap(kedge_store *store, kedge_error *error)
{
    /* A rename copies nothing. An open reader keeps its snapshot. */
    static const char sql[] = "DROP TABLE item;"
                              "ALTER TABLE staged_item RENAME TO item;"
                              "CREATE TABLE staged_item(collection TEXT NOT NULL, id TEXT NOT NULL,"
                              " value TEXT NOT NULL, PRIMARY KEY(collection, id)) WITHOUT ROWID;"
                              "DELETE FROM base";
    kedge_store_db_reset(&store->cache);
    return kedge_store_db_execute(&store->cache, sql, error);
}

kedge_status kedge_staging_drop(kedge_store *store, kedge_error *error)
{
    return kedge_store_db_execute(
        &store->cache, "DELETE FROM staging; DELETE FROM staged_item; DELETE FROM staged_outcome",
        error);
}
