/* Finding out whether a file is ours, and the tables of cache.db.
 *
 * A file is known by its application_id, and its layout by its user_version. An empty file is one
 * whose making was cut short. */
#include "sdk/store/store_internal.h"

#include "common/error.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_APPLICATION 0x4b646331 /* "Kdc1" */
#define CACHE_LAYOUT      2

static const char CACHE_TABLES[] =
    "CREATE TABLE meta("
    " only INTEGER PRIMARY KEY CHECK(only = 1), client TEXT NOT NULL, lineage TEXT NOT NULL,"
    " version INTEGER NOT NULL, lmid INTEGER NOT NULL, revision INTEGER NOT NULL,"
    " reflected_sequence INTEGER NOT NULL, resyncing INTEGER NOT NULL,"
    " organization TEXT NOT NULL, project TEXT NOT NULL, item_rows INTEGER NOT NULL,"
    " item_sum INTEGER NOT NULL, base_rows INTEGER NOT NULL, base_sum INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL);"
    "CREATE TABLE registry(only INTEGER PRIMARY KEY CHECK(only = 1), description TEXT NOT NULL);"
    "CREATE TABLE item("
    " collection TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(collection, id)) WITHOUT ROWID;"
    "CREATE TABLE base("
    " collection TEXT NOT NULL, id TEXT NOT NULL, value TEXT, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(collection, id)) WITHOUT ROWID;"
    "CREATE TABLE staging("
    " only INTEGER PRIMARY KEY CHECK(only = 1), version INTEGER NOT NULL, lineage TEXT NOT NULL,"
    " lmid INTEGER NOT NULL, client TEXT NOT NULL, lost INTEGER NOT NULL,"
    " complete INTEGER NOT NULL, after TEXT NOT NULL, item_rows INTEGER NOT NULL,"
    " item_sum INTEGER NOT NULL, outcome_rows INTEGER NOT NULL, outcome_sum INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL);"
    "CREATE TABLE staged_item("
    " collection TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(collection, id)) WITHOUT ROWID;"
    "CREATE TABLE staged_outcome("
    " id INTEGER PRIMARY KEY, version INTEGER NOT NULL, digest BLOB NOT NULL,"
    " decision INTEGER NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,"
    " checksum INTEGER NOT NULL);";

#define ADD_NUMBER(table, column)                                                                  \
    "ALTER TABLE " #table " ADD COLUMN " #column " INTEGER NOT NULL DEFAULT 0;"

/* From layout 1 to layout 2 of the cache: what stands there is taken as it is. Pages of a snapshot
 * that was being fetched are fetched again. */
static const char CACHE_LAYOUT_2[] =
    "DELETE FROM staging; DELETE FROM staged_item; DELETE FROM staged_outcome;" ADD_NUMBER(
        item, checksum) ADD_NUMBER(base, checksum) ADD_NUMBER(staged_item, checksum)
        ADD_NUMBER(staged_outcome, checksum) ADD_NUMBER(staging, item_rows)
            ADD_NUMBER(staging, item_sum) ADD_NUMBER(staging, outcome_rows)
                ADD_NUMBER(staging, outcome_sum) ADD_NUMBER(staging, checksum)
                    ADD_NUMBER(meta, item_rows) ADD_NUMBER(meta, item_sum)
                        ADD_NUMBER(meta, base_rows) ADD_NUMBER(meta, base_sum) ADD_NUMBER(
                            meta, checksum) "UPDATE item SET checksum = " KEDGE_ITEM_CHECKSUM ";"
                                            "UPDATE base SET checksum = " KEDGE_BASE_CHECKSUM ";"
                                            "UPDATE meta SET (item_rows, item_sum) = (SELECT "
                                            "count(*), ifnull(sum(checksum), 0) FROM item),"
                                            " (base_rows, base_sum) = (SELECT count(*), "
                                            "ifnull(sum(checksum), 0) FROM base);"
                                            "UPDATE meta SET checksum = " KEDGE_CACHE_META_CHECKSUM
                                            ";"
                                            "PRAGMA user_version=2;";

kedge_status kedge_schema_layout(kedge_store_db *db, int64_t *layout, kedge_error *error)
{
    return kedge_store_db_number(db, "PRAGMA user_version", layout, error);
}

kedge_status kedge_schema_identify(kedge_store_db *db, const char *path, int64_t application,
                                   int layout, bool *empty, kedge_error *error)
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
    if (id != application)
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-database",
                          "%s belongs to another application (application_id %lld)", path,
                          (long long)id);
    if (version > layout)
        return kedge_fail(error, KEDGE_NEWER_DATABASE, "newer-database",
                          "%s was written by a newer Kedge (layout %lld; this one knows up to %d)",
                          path, (long long)version, layout);
    return KEDGE_OK;
}

static kedge_status create_tables(kedge_store_db *db, const char *tables, int64_t application,
                                  kedge_error *error)
{
    char identity[96];
    (void)snprintf(identity, sizeof identity, "PRAGMA application_id=%lld; PRAGMA user_version=1;",
                   (long long)application);
    kedge_status status = kedge_store_db_execute(db, tables, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, identity, error);
    return status;
}

static kedge_status create_cache(kedge_store *store, bool resyncing, kedge_error *error)
{
    static const char insert[] =
        "INSERT INTO meta VALUES(1, '', '', 0, 0, -1, 0, ?1, ?2, ?3, 0, 0, 0, 0, 0)";
    static const char seal[] =
        "UPDATE meta SET checksum = " KEDGE_CACHE_META_CHECKSUM "; PRAGMA user_version=2;";
    static const char registry[] = "INSERT INTO registry VALUES(1, ?1)";
    kedge_store_db *db = &store->cache;
    sqlite3_stmt *statement;
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = create_tables(db, CACHE_TABLES, CACHE_APPLICATION, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, insert, &statement, error);
    if (status == KEDGE_OK) {
        kedge_store_bind_integer(db, statement, 1, resyncing);
        kedge_store_bind_chars(db, statement, 2, store->organization);
        kedge_store_bind_chars(db, statement, 3, store->project);
        status = kedge_store_db_run(db, statement, error);
    }
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, seal, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, registry, &statement, error);
    if (status == KEDGE_OK) {
        kedge_store_bind_text(db, statement, 1, kedge_buffer_bytes(&store->registry_text));
        status = kedge_store_db_run(db, statement, error);
    }
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
    return status;
}

/* A layout that is not the one that it claims to be is damage. */
static kedge_status upgrade_cache(kedge_store_db *db, kedge_error *error)
{
    int64_t layout = 0;
    kedge_status status = kedge_store_db_number(db, "PRAGMA user_version", &layout, error);
    if (status != KEDGE_OK || layout == CACHE_LAYOUT) return status;
    status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, CACHE_LAYOUT_2, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status == KEDGE_OK) return KEDGE_OK;
    kedge_store_db_rollback(db);
    return status == KEDGE_INTERNAL ? kedge_table_fail(db, "sqlite_schema", error) : status;
}

/* Is the file of the organization and the project that were asked for? */
static kedge_status check_tenant(kedge_store *store, kedge_store_db *db, kedge_error *error)
{
    static const char sql[] = "SELECT organization, project FROM meta";
    sqlite3_stmt *statement;
    kedge_status status = kedge_store_db_take(db, sql, &statement, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(db, statement, error);
    if (status == KEDGE_DONE) {
        db->damaged = true;
        return kedge_fail(error, KEDGE_CORRUPT, "file-damaged", "%s lacks its meta row", db->name);
    }
    if (status != KEDGE_OK) return status;
    kedge_bytes organization = kedge_store_column(statement, 0);
    kedge_bytes project = kedge_store_column(statement, 1);
    if (!kedge_bytes_equal_text(organization, store->organization) ||
        !kedge_bytes_equal_text(project, store->project))
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "other-project",
                            "the folder %s belongs to %.*s/%.*s, not to %s/%s", store->path,
                            (int)organization.size, organization.data, (int)project.size,
                            project.data, store->organization, store->project);
    sqlite3_reset(statement);
    return status;
}

bool kedge_schema_has_content(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && facts.st_size > 0;
}

/* A cache with a client id beside an empty outbox: what was pending is gone, and nobody may go on
 * as if it had never been. */
kedge_status kedge_schema_check_outbox_missing(kedge_store *store, kedge_error *error)
{
    kedge_store_db cache;
    kedge_cache_meta meta;
    bool empty = false;
    if (!kedge_schema_has_content(store->cache_path)) return KEDGE_OK;
    kedge_status status = kedge_store_db_open(&cache, store->cache_path, "cache.db",
                                              SQLITE_OPEN_READWRITE, store->vfs, error);
    if (status != KEDGE_OK) return status;
    status = kedge_schema_identify(&cache, store->cache_path, CACHE_APPLICATION, CACHE_LAYOUT,
                                   &empty, error);
    if (status == KEDGE_OK && !empty) status = kedge_cache_meta_read(&cache, &meta, error);
    bool missing =
        status == KEDGE_CORRUPT || (status == KEDGE_OK && !empty && meta.client[0] != '\0');
    kedge_store_db_close(&cache);
    if (!missing) return status;
    if (access(store->outbox_path, F_OK) == 0)
        return kedge_fail(
            error, KEDGE_CORRUPT, "outbox-missing",
            "%s is there, but empty, beside a cache: what was pending stood in it or in its -wal"
            " file; put both back, or open another folder",
            store->outbox_path);
    return kedge_fail(
        error, KEDGE_CORRUPT, "outbox-missing",
        "the folder %s has a cache but no outbox.db: what was pending in it is missing;"
        " put outbox.db back, or open another folder",
        store->path);
}

static kedge_status open_cache_once(kedge_store *store, bool fresh, kedge_error *error)
{
    kedge_store_db *db = &store->cache;
    bool empty = true;
    kedge_status status =
        kedge_store_db_open(db, store->cache_path, "cache.db",
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, store->vfs, error);
    if (status == KEDGE_OK)
        status = kedge_schema_identify(db, store->cache_path, CACHE_APPLICATION, CACHE_LAYOUT,
                                       &empty, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_execute(
            db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-8192",
            error);
    if (status == KEDGE_OK && empty) status = create_cache(store, !fresh, error);
    if (status == KEDGE_OK && !empty) status = upgrade_cache(db, error);
    if (status == KEDGE_OK) status = check_tenant(store, db, error);
    /* The outbox fits, so this cache was brought here from elsewhere. */
    if (status == KEDGE_INVALID_ARGUMENT) db->damaged = true;
    return status;
}

kedge_status kedge_schema_open_cache(kedge_store *store, bool fresh, kedge_error *error)
{
    kedge_status status = open_cache_once(store, fresh, error);
    if (status != KEDGE_OK && store->cache.damaged) {
        status = kedge_store_rename_damaged(store, error);
        if (status == KEDGE_OK) status = open_cache_once(store, false, error);
    }
    if (status != KEDGE_OK) kedge_store_db_close(&store->cache);
    return status;
}
