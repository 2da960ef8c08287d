/* Opens the outbox: creates it, upgrades it, or refuses it. */
#include "sdk/store/outbox_heal.h"
#include "sdk/store/wal_damage.h"

#include "common/error.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_same_text(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    return kedge_bytes_equal(kedge_store_column(a, column), kedge_store_column(b, column));
}

static bool has_same_schema(kedge_store_db *a, kedge_store_db *b)
{
    static const char *const sql = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name";
    sqlite3_stmt *ours, *theirs;
    kedge_status status = KEDGE_CORRUPT;
    bool same = kedge_store_db_take(a, sql, &ours, NULL) == KEDGE_OK &&
                kedge_store_db_take(b, sql, &theirs, NULL) == KEDGE_OK;
    while (same && (status = kedge_store_db_step(a, ours, NULL)) == KEDGE_OK)
        same = kedge_store_db_step(b, theirs, NULL) == KEDGE_OK && is_same_text(ours, theirs, 0) &&
               is_same_text(ours, theirs, 1) && is_same_text(ours, theirs, 2);
    same = same && status == KEDGE_DONE && kedge_store_db_step(b, theirs, NULL) == KEDGE_DONE;
    kedge_store_db_reset(b);
    return same;
}

bool kedge_schema_is_outbox(kedge_store_db *db)
{
    kedge_store_db model;
    if (kedge_store_db_open(&model, ":memory:", "a model",
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, NULL) != KEDGE_OK)
        return false;
    bool same = kedge_schema_make_tables(&model, &kedge_outbox_schema, NULL) == KEDGE_OK &&
                has_same_schema(&model, db);
    kedge_store_db_close(&model);
    return same;
}

kedge_status kedge_schema_identify_outbox(kedge_store_db *db, const char *path, int64_t *layout,
                                          kedge_error *error)
{
    bool empty = false;
    kedge_status status = kedge_schema_identify(db, path, &kedge_outbox_schema, &empty, error);
    if (status == KEDGE_OK) status = kedge_schema_read_layout(db, layout, error);
    return status;
}

kedge_status kedge_schema_make_outbox(kedge_store_db *db, const kedge_outbox_meta *meta,
                                      kedge_error *error)
{
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = kedge_schema_make_tables(db, &kedge_outbox_schema, error);
    if (status == KEDGE_OK) status = kedge_schema_make_identity(db, &kedge_outbox_schema, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_make(db, meta, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
    return status;
}

static kedge_status create(kedge_store *store, kedge_error *error)
{
    kedge_outbox_meta meta = {0};
    kedge_random_hex(store->environment, 16, meta.client);
    (void)snprintf(meta.organization, sizeof meta.organization, "%s", store->organization);
    (void)snprintf(meta.project, sizeof meta.project, "%s", store->project);
    kedge_status status = kedge_schema_make_outbox(&store->outbox, &meta, error);
    /* The tables are moved from the WAL into the file: without them, a file that lost its WAL would
     * look new. */
    if (status == KEDGE_OK)
        (void)sqlite3_wal_checkpoint_v2(store->outbox.handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
                                        NULL);
    return status;
}

/* Is the file of the organization and the project that were asked for? */
static kedge_status check_tenant(const kedge_store *store, const char *organization,
                                 const char *project, kedge_error *error)
{
    if (strcmp(organization, store->organization) == 0 && strcmp(project, store->project) == 0)
        return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "other-project",
                      "the folder %s belongs to %s/%s, not to %s/%s", store->path, organization,
                      project, store->organization, store->project);
}

static kedge_status check_old_tenant(kedge_store *store, kedge_error *error)
{
    static const char *const sql = "SELECT organization, project FROM meta";
    char names[2][KEDGE_LIMIT_NAME_BYTES + 1];
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(&store->outbox, sql, &find, error, "");
    if (status == KEDGE_OK && (!kedge_store_column_chars(find, 0, names[0], sizeof names[0]) ||
                               !kedge_store_column_chars(find, 1, names[1], sizeof names[1])))
        status = KEDGE_DONE;
    sqlite3_reset(find);
    if (status == KEDGE_DONE)
        return kedge_store_db_fail(&store->outbox, SQLITE_CORRUPT, "reading its meta row", error);
    return status == KEDGE_OK ? check_tenant(store, names[0], names[1], error) : status;
}

/* The whole file is checked before the upgrade, because the upgrade gives all rows checksums.
 * Damage in a row that this check does not find cannot be found later. */
static kedge_status upgrade_sound(kedge_store *store, kedge_error *error)
{
    int64_t layout = 0;
    kedge_store_db *db = &store->outbox;
    kedge_status status = kedge_schema_read_layout(db, &layout, error);
    if (status != KEDGE_OK || layout == kedge_schema_newest(&kedge_outbox_schema)) return status;
    status = check_old_tenant(store, error);
    if (status == KEDGE_OK) status = kedge_outbox_check_file(db, error);
    if (status == KEDGE_OK) status = kedge_schema_bring_up(db, &kedge_outbox_schema, layout, error);
    /* It is not of the layout that it claims to be. */
    if (status == KEDGE_INTERNAL)
        status = kedge_store_db_fail(db, SQLITE_CORRUPT, "bringing it up to date", error);
    return status;
}

/* The header says that the file is another application's or of another layout, but the tables are
 * those of our present layout. The tables count, since they are more evidence. */
static kedge_status heal_identity(kedge_store_db *db, kedge_error *error)
{
    kedge_outbox_meta meta;
    kedge_status status = kedge_outbox_meta_read(db, &meta, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = kedge_schema_make_identity(db, &kedge_outbox_schema, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
    return status;
}

static bool is_one_bit_off(int64_t value, int64_t right)
{
    uint64_t bits = (uint64_t)(value ^ right);
    return bits != 0 && (bits & (bits - 1)) == 0;
}

/* A newer Kedge may use the same tables in another way, so a header counts as damaged only if one
 * bit differs. An older Kedge did not have these tables. */
static bool is_misnamed(kedge_store_db *db)
{
    int64_t id = 0, layout = 0;
    int64_t application = kedge_outbox_schema.application;
    int64_t newest = kedge_schema_newest(&kedge_outbox_schema);
    if (kedge_store_db_number(db, "PRAGMA application_id", &id, NULL) != KEDGE_OK ||
        kedge_schema_read_layout(db, &layout, NULL) != KEDGE_OK)
        return false;
    if (id == application && layout == newest) return false;
    return (id == application || is_one_bit_off(id, application)) &&
           (layout <= newest || is_one_bit_off(layout, newest)) && kedge_schema_is_outbox(db);
}

static kedge_status identify(kedge_store *store, bool *empty, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    int64_t layout = 0;
    if (is_misnamed(db)) {
        *empty = false;
        return heal_identity(db, error);
    }
    kedge_status status =
        kedge_schema_identify(db, store->outbox_path, &kedge_outbox_schema, empty, error);
    if (status == KEDGE_OK && !*empty) status = kedge_schema_read_layout(db, &layout, error);
    if (status == KEDGE_OK && !*empty && layout < 1)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading its layout", error);
    /* SQLite opens a file read-only when its header says so. */
    if (status == KEDGE_OK && sqlite3_db_readonly(db->handle, "main") == 1 &&
        access(store->outbox_path, W_OK) == 0)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading its header", error);
    return status;
}

static kedge_status check_meta(kedge_store *store, kedge_error *error)
{
    kedge_outbox_meta meta;
    kedge_status status = kedge_outbox_meta_read(&store->outbox, &meta, error);
    return status == KEDGE_OK ? check_tenant(store, meta.organization, meta.project, error)
                              : status;
}

static kedge_status open_or_create(kedge_store *store, bool *created, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    bool empty = true;
    kedge_status status =
        kedge_store_db_open(db, store->outbox_path, "outbox.db",
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, store->vfs, error);
    if (status == KEDGE_OK) status = identify(store, &empty, error);
    if (status == KEDGE_OK && kedge_wal_is_damaged(db))
        status = kedge_store_db_fail(db, SQLITE_CORRUPT, "reading its WAL", error);
    if (status == KEDGE_OK && empty) status = kedge_schema_check_outbox_missing(store, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_execute(db,
                                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                                        "PRAGMA secure_delete=FAST;" /* as of the cache */
                                        "PRAGMA fullfsync=1",        /* of macOS and iOS */
                                        error);
    if (status == KEDGE_OK && empty) status = create(store, error);
    *created = status == KEDGE_OK && empty;
    if (status == KEDGE_OK) status = upgrade_sound(store, error);
    if (status == KEDGE_OK) status = check_meta(store, error);
    return status;
}

/* A folder without an outbox is new, unless a repair is still writing into it. */
static kedge_status check_repaired(const kedge_store *store, kedge_error *error)
{
    char folder[KEDGE_STORE_PATH_BYTES + sizeof KEDGE_STORE_REPAIR_FOLDER];
    (void)snprintf(folder, sizeof folder, "%s/%s", store->path, KEDGE_STORE_REPAIR_FOLDER);
    if (access(folder, F_OK) != 0) return KEDGE_OK;
    return kedge_fail(
        error, KEDGE_CORRUPT, "repair-unfinished",
        "kedge_repair has not finished saving into %s; let it end, or run it once more",
        store->path);
}

/* SQLite deletes a WAL whose file is missing, with the pending mutations in it. */
static kedge_status check_missing(kedge_store *store, kedge_error *error)
{
    char wal[KEDGE_STORE_PATH_BYTES + 8];
    (void)snprintf(wal, sizeof wal, "%s-wal", store->outbox_path);
    if (kedge_schema_has_content(wal))
        return kedge_fail(error, KEDGE_CORRUPT, "outbox-missing",
                          "there is %s, but its outbox.db is missing or empty; put it back, or"
                          " save what the -wal has with kedge_repair",
                          wal);
    kedge_status status = check_repaired(store, error);
    if (status != KEDGE_OK) return status;
    return kedge_schema_check_outbox_missing(store, error);
}

kedge_status kedge_schema_open_outbox(kedge_store *store, bool *created, kedge_error *error)
{
    *created = false;
    kedge_status status = KEDGE_OK;
    if (!kedge_schema_has_content(store->outbox_path)) status = check_missing(store, error);
    if (status == KEDGE_OK) status = open_or_create(store, created, error);
    if (status != KEDGE_CORRUPT || !store->outbox.damaged) return status;
    /* There is no sign that this is a folder of Kedge. */
    if (sqlite3_errcode(store->outbox.handle) == SQLITE_NOTADB &&
        !kedge_schema_has_content(store->cache_path))
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-database", "%s is no database",
                          store->outbox_path);
    return kedge_store_report_outbox(store, error);
}
