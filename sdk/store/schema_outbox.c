/* The tables of outbox.db.
 *
 * The columns carry no constraints: the checksum of a row says more than NOT NULL or CHECK could,
 * and SQLite's integrity check would report a broken constraint as a broken file, which would be
 * refused as a whole, where the row alone is damaged and can be set aside.
 *
 * `meta` is kept twice. `totals` says how many rows the tables below have and what
 * their checksums add up to; triggers keep it. Those of `pending` stand in `meta`,
 * which every edit writes anyway. */
#include "sdk/store/outbox_rows.h"
#include "sdk/store/store_internal.h"

#include "common/error.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION 0x4b646f31 /* "Kdo1" */
#define LAYOUT      KEDGE_OUTBOX_LAYOUT

static const char TABLES[] =
    "CREATE TABLE meta("
    " copy INTEGER PRIMARY KEY, checksum INTEGER, client TEXT, highest_id INTEGER,"
    " last_sequence INTEGER, sent_through INTEGER, revision INTEGER, unrecovered INTEGER,"
    " trimmed_through INTEGER, tail_bytes INTEGER, settled_version INTEGER, settled_lineage TEXT,"
    " ask_settled INTEGER, pending_rows INTEGER, pending_sum INTEGER, organization TEXT,"
    " project TEXT);"
    "CREATE TABLE pending("
    " sequence INTEGER PRIMARY KEY, checksum INTEGER, client TEXT, id INTEGER, uid BLOB,"
    " digest BLOB, name TEXT, args TEXT, timestamp INTEGER, origin_client TEXT, origin_id INTEGER,"
    " covered_version INTEGER, withheld INTEGER);"
    "CREATE INDEX pending_covered ON pending(covered_version) WHERE covered_version IS NOT NULL;"
    "CREATE TABLE rejected("
    " sequence INTEGER PRIMARY KEY, checksum INTEGER, client TEXT, id INTEGER, uid BLOB,"
    " digest BLOB, name TEXT, args TEXT, timestamp INTEGER, origin_client TEXT, origin_id INTEGER,"
    " version INTEGER, code TEXT, message TEXT, state INTEGER, decided_ms INTEGER);"
    "CREATE TABLE confirmed("
    " ordinal INTEGER PRIMARY KEY, checksum INTEGER, sequence INTEGER, client TEXT, id INTEGER,"
    " uid BLOB, digest BLOB, name TEXT, args TEXT, timestamp INTEGER, origin_client TEXT,"
    " origin_id INTEGER, confirmed_ms INTEGER);"
    "CREATE TABLE trimmed("
    " ordinal INTEGER PRIMARY KEY, checksum INTEGER, client TEXT, through INTEGER);"
    "CREATE TABLE totals(name TEXT PRIMARY KEY, checksum INTEGER, rows INTEGER, sum INTEGER)"
    " WITHOUT ROWID;";

#define COUNTED(table, when, event, rows_change, sum_change)                                       \
    "CREATE TRIGGER " table "_" when " AFTER " event " ON " table " BEGIN"                         \
    " UPDATE totals SET rows = rows + " rows_change ", sum = sum + " sum_change ","                \
    " checksum = kedge_checksum(6, name, rows + " rows_change ", sum + " sum_change ")"            \
    " WHERE name = '" table "'; END;"
#define TOTALS_OF(table)                                                                           \
    "INSERT INTO totals(name, rows, sum, checksum) VALUES('" table                                 \
    "', 0, 0, kedge_checksum(6, '" table                                                           \
    "', 0, 0));" COUNTED(table, "in", "INSERT", "1", "new.checksum")                               \
        COUNTED(table, "out", "DELETE", "-1", "-old.checksum")                                     \
            COUNTED(table, "anew", "UPDATE OF checksum", "0", "new.checksum - old.checksum")

static const char TRIGGERS[] = TOTALS_OF("rejected") TOTALS_OF("confirmed") TOTALS_OF("trimmed");

/* What layout 2 has over layout 1. */
static const char LAYOUT_2[] =
    "ALTER TABLE rejected ADD COLUMN uid BLOB;"
    "ALTER TABLE rejected ADD COLUMN digest BLOB;"
    "ALTER TABLE rejected ADD COLUMN origin_client TEXT;"
    "ALTER TABLE rejected ADD COLUMN origin_id INTEGER;"
    "CREATE TABLE trimmed("
    " ordinal INTEGER PRIMARY KEY, client TEXT NOT NULL UNIQUE, through INTEGER NOT NULL);";

/* Layout 3 has checksums, the second copy of meta, totals, and `withheld`. */
static const char SET_ASIDE[] = "DROP INDEX pending_covered;"
                                "ALTER TABLE meta RENAME TO old_meta;"
                                "ALTER TABLE pending RENAME TO old_pending;"
                                "ALTER TABLE rejected RENAME TO old_rejected;"
                                "ALTER TABLE confirmed RENAME TO old_confirmed;"
                                "ALTER TABLE trimmed RENAME TO old_trimmed;";

static const char COPY[] =
    "INSERT INTO pending(" KEDGE_PENDING_COLUMNS ", checksum) SELECT " KEDGE_PENDING_COLUMNS
    ", " KEDGE_PENDING_CHECKSUM " FROM (SELECT *, 0 AS withheld FROM old_pending);"
    "INSERT INTO rejected(" KEDGE_REJECTED_COLUMNS ", checksum) SELECT " KEDGE_REJECTED_COLUMNS
    ", " KEDGE_REJECTED_CHECKSUM " FROM old_rejected;"
    "INSERT INTO confirmed(" KEDGE_CONFIRMED_COLUMNS ", checksum) SELECT " KEDGE_CONFIRMED_COLUMNS
    ", " KEDGE_CONFIRMED_CHECKSUM " FROM old_confirmed ORDER BY ordinal;"
    "INSERT INTO trimmed(" KEDGE_TRIMMED_COLUMNS ", checksum) SELECT " KEDGE_TRIMMED_COLUMNS
    ", " KEDGE_TRIMMED_CHECKSUM " FROM old_trimmed ORDER BY ordinal;"
    "INSERT INTO meta(copy, " KEDGE_OUTBOX_META_COLUMNS ", checksum)"
    " SELECT column1, " KEDGE_OUTBOX_META_COLUMNS ", " KEDGE_OUTBOX_META_CHECKSUM
    " FROM (VALUES(1), (2)), (SELECT *, 0 AS ask_settled,"
    " (SELECT count(*) FROM pending) AS pending_rows,"
    " (SELECT coalesce(sum(checksum), 0) FROM pending) AS pending_sum FROM old_meta);"
    "DROP TABLE old_meta; DROP TABLE old_pending; DROP TABLE old_rejected;"
    "DROP TABLE old_confirmed; DROP TABLE old_trimmed;"
    "PRAGMA user_version=3;";

static kedge_status make_tables(kedge_store_db *db, kedge_error *error)
{
    kedge_status status = kedge_store_db_execute(db, TABLES, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, TRIGGERS, error);
    return status;
}

static kedge_status make_identity(kedge_store_db *db, kedge_error *error)
{
    char identity[96];
    (void)snprintf(identity, sizeof identity, "PRAGMA application_id=%d; PRAGMA user_version=%d",
                   APPLICATION, LAYOUT);
    return kedge_store_db_execute(db, identity, error);
}

static bool is_same_text(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    return kedge_bytes_equal(kedge_store_column(a, column), kedge_store_column(b, column));
}

static bool has_same_schema(kedge_store_db *a, kedge_store_db *b)
{
    static const char sql[] = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name";
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
    bool same = make_tables(&model, NULL) == KEDGE_OK && has_same_schema(&model, db);
    kedge_store_db_close(&model);
    return same;
}

kedge_status kedge_schema_identify_outbox(kedge_store_db *db, const char *path, int64_t *layout,
                                          kedge_error *error)
{
    bool empty = false;
    kedge_status status = kedge_schema_identify(db, path, APPLICATION, LAYOUT, &empty, error);
    if (status == KEDGE_OK) status = kedge_schema_layout(db, layout, error);
    return status;
}

kedge_status kedge_schema_make_outbox(kedge_store_db *db, const kedge_outbox_meta *meta,
                                      kedge_error *error)
{
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = make_tables(db, error);
    if (status == KEDGE_OK) status = make_identity(db, error);
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
    /* Into the file: without its WAL it would look like one that was never made. */
    if (status == KEDGE_OK)
        (void)sqlite3_wal_checkpoint_v2(store->outbox.handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
                                        NULL);
    return status;
}

static kedge_status upgrade(kedge_store_db *db, int64_t layout, kedge_error *error)
{
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK && layout == 1) status = kedge_store_db_execute(db, LAYOUT_2, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, SET_ASIDE, error);
    if (status == KEDGE_OK) status = make_tables(db, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, COPY, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
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
    static const char sql[] = "SELECT organization, project FROM meta";
    char names[2][KEDGE_LIMIT_NAME_BYTES + 1];
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_take(&store->outbox, sql, &find, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(&store->outbox, find, error);
    if (status == KEDGE_OK && (!kedge_store_column_chars(find, 0, names[0], sizeof names[0]) ||
                               !kedge_store_column_chars(find, 1, names[1], sizeof names[1])))
        status = KEDGE_DONE;
    sqlite3_reset(find);
    if (status == KEDGE_DONE)
        return kedge_store_db_fail(&store->outbox, SQLITE_CORRUPT, "reading its meta row", error);
    return status == KEDGE_OK ? check_tenant(store, names[0], names[1], error) : status;
}

/* The file as a whole is checked before: behind an upgrade its rows have sound checksums. What was
 * wrong in one of them by then is taken as it is. */
static kedge_status upgrade_sound(kedge_store *store, kedge_error *error)
{
    int64_t layout = 0;
    kedge_store_db *db = &store->outbox;
    kedge_status status = kedge_schema_layout(db, &layout, error);
    if (status != KEDGE_OK || layout == LAYOUT) return status;
    status = check_old_tenant(store, error);
    if (status == KEDGE_OK) status = kedge_outbox_check_file(db, error);
    if (status == KEDGE_OK) status = upgrade(db, layout, error);
    /* It is not of the layout that it claims to be. */
    if (status == KEDGE_INTERNAL)
        status = kedge_store_db_fail(db, SQLITE_CORRUPT, "bringing it up to date", error);
    return status;
}

/* The header says that the file is another application's or of another layout, and the tables,
 * which are more, say that it is ours and of this one. */
static kedge_status heal_identity(kedge_store_db *db, kedge_error *error)
{
    kedge_outbox_meta meta;
    kedge_status status = kedge_outbox_meta_read(db, &meta, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = make_identity(db, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
    return status;
}

static bool is_one_bit_off(int64_t value, int64_t right)
{
    uint64_t bits = (uint64_t)(value ^ right);
    return bits != 0 && (bits & (bits - 1)) == 0;
}

/* A newer Kedge may use the same tables in another way: only a flipped bit is taken for damage. An
 * older one did not have them. */
static bool is_misnamed(kedge_store_db *db)
{
    int64_t id = 0, layout = 0;
    if (kedge_store_db_number(db, "PRAGMA application_id", &id, NULL) != KEDGE_OK ||
        kedge_schema_layout(db, &layout, NULL) != KEDGE_OK)
        return false;
    if (id == APPLICATION && layout == LAYOUT) return false;
    return (id == APPLICATION || is_one_bit_off(id, APPLICATION)) &&
           (layout <= LAYOUT || is_one_bit_off(layout, LAYOUT)) && kedge_schema_is_outbox(db);
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
        kedge_schema_identify(db, store->outbox_path, APPLICATION, LAYOUT, empty, error);
    if (status == KEDGE_OK && !*empty) status = kedge_schema_layout(db, &layout, error);
    if (status == KEDGE_OK && !*empty && layout < 1)
        return kedge_store_db_fail(db, SQLITE_CORRUPT, "reading its layout", error);
    /* SQLite takes a file as read-only whose header says so. */
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
    if (status == KEDGE_OK && empty) status = kedge_schema_check_outbox_missing(store, error);
    if (status == KEDGE_OK)
        status =
            kedge_store_db_execute(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", error);
    if (status == KEDGE_OK && empty) status = create(store, error);
    *created = status == KEDGE_OK && empty;
    if (status == KEDGE_OK) status = upgrade_sound(store, error);
    if (status == KEDGE_OK) status = check_meta(store, error);
    return status;
}

/* A folder without an outbox is a new one, unless somebody is still saving into it. */
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

/* SQLite throws a WAL away whose file is missing, with all that was pending in it. */
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
    /* Nothing says that this was ever a folder of ours. */
    if (sqlite3_errcode(store->outbox.handle) == SQLITE_NOTADB &&
        !kedge_schema_has_content(store->cache_path))
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-database", "%s is no database",
                          store->outbox_path);
    return kedge_store_report_outbox(store, error);
}
