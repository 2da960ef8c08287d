/* Creates a file by its schema, finds out the layout of a file, and upgrades an older one. A file
 * is empty when its creation was interrupted. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"
#include "common/error.h"
#include <stdio.h>
#include <string.h>

int kedge_schema_newest(const kedge_schema *schema)
{
    KEDGE_ASSERT(schema->layout_count > 0);
    return schema->layouts[schema->layout_count - 1].number;
}

kedge_status kedge_schema_read_layout(kedge_store_db *db, int64_t *layout, kedge_error *error)
{
    return kedge_store_db_number(db, "PRAGMA user_version", layout, error);
}

kedge_status kedge_schema_identify(kedge_store_db *db, const char *path, const kedge_schema *schema,
                                   bool *empty, kedge_error *error)
{
    int64_t id = 0, version = 0, tables = 0;
    kedge_status status = kedge_store_db_number(db, "PRAGMA application_id", &id, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_number(db, "PRAGMA user_version", &version, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_number(db, "SELECT count(*) FROM sqlite_master", &tables, error);
    if (status != KEDGE_OK) return status;
    *empty = id == 0 && version == 0 && tables == 0;
    if (*empty) return KEDGE_OK;
    if (id != schema->application)
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-database",
                          "%s belongs to another application (application_id %lld)", path,
                          (long long)id);
    if (version > kedge_schema_newest(schema))
        return kedge_fail(error, KEDGE_NEWER_DATABASE, "newer-database",
                          "%s was written by a newer Kedge (layout %lld; this one knows up to %d)",
                          path, (long long)version, kedge_schema_newest(schema));
    return KEDGE_OK;
}

kedge_status kedge_schema_make_table(kedge_store_db *db, const kedge_schema *schema,
                                     const char *name, kedge_error *error)
{
    size_t at = 0;
    while (at < schema->table_count && strcmp(schema->tables[at].name, name) != 0)
        at++;
    KEDGE_ASSERT(at < schema->table_count);
    return kedge_store_db_execute(db, schema->tables[at].sql, error);
}

kedge_status kedge_schema_make_tables(kedge_store_db *db, const kedge_schema *schema,
                                      kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < schema->table_count && status == KEDGE_OK; i++)
        status = kedge_store_db_execute(db, schema->tables[i].sql, error);
    return status;
}

kedge_status kedge_schema_make_identity(kedge_store_db *db, const kedge_schema *schema,
                                        kedge_error *error)
{
    char identity[96];
    (void)snprintf(identity, sizeof identity, "PRAGMA application_id=%d; PRAGMA user_version=%d",
                   schema->application, kedge_schema_newest(schema));
    return kedge_store_db_execute(db, identity, error);
}

/* From each layout to the next. */
static kedge_status take_steps(kedge_store_db *db, const kedge_schema *schema, int64_t layout,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 1; i < schema->layout_count; i++) {
        if (schema->layouts[i].number <= layout) continue;
        const char *const *step = schema->layouts[i].steps;
        KEDGE_ASSERT(step != NULL);
        while (status == KEDGE_OK && *step != NULL)
            status = kedge_store_db_execute(db, *step++, error);
    }
    return status;
}

kedge_status kedge_schema_bring_up(kedge_store_db *db, const kedge_schema *schema, int64_t layout,
                                   kedge_error *error)
{
    KEDGE_ASSERT(layout < kedge_schema_newest(schema));
    if (layout < schema->layouts[0].number)
        return kedge_fail(error, KEDGE_INTERNAL, "layout-unknown",
                          "%s has layout %lld, which this Kedge cannot upgrade", db->name,
                          (long long)layout);
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = take_steps(db, schema, layout, error);
    if (status == KEDGE_OK) status = kedge_schema_make_identity(db, schema, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
    if (status == KEDGE_DISK_FULL) kedge_wal_cut(db);
    return status;
}
