/* Opens the cache: creates it, upgrades it, or sets it aside when it is damaged or of another
 * project. Then its contents are pulled again; pending mutations are in the outbox and are not
 * affected.
 *
 * A damaged cache is renamed to cache.db.damaged-N, with its WAL, and a resync fills a new one; the
 * old file is kept until the resync is complete. An outbox holds data that exists nowhere else. A
 * damaged outbox is not changed: refusal.c reports it with the number of edits that can still be
 * read, and repair.c saves these into a new folder. */
#include "sdk/store/store_internal.h"

#include "common/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a damaged cache ---- */

static void damaged_path(const kedge_store *store, int number, const char *suffix,
                         char out[KEDGE_STORE_PATH_BYTES])
{
    (void)snprintf(out, KEDGE_STORE_PATH_BYTES, "%s.damaged-%d%s", store->cache_path, number,
                   suffix);
}

/* Takes the first free number. When all are taken, the last file is overwritten. */
static int free_number(const kedge_store *store)
{
    char path[KEDGE_STORE_PATH_BYTES];
    for (int number = 1; number < KEDGE_STORE_DAMAGED_MAX; number++) {
        damaged_path(store, number, "", path);
        if (access(path, F_OK) != 0) return number;
    }
    return KEDGE_STORE_DAMAGED_MAX;
}

/* The file is renamed before its WAL. SQLite deletes a WAL without its file, but a file without its
 * WAL would be an older state that looks sound. */
static kedge_status rename_files(const kedge_store *store, kedge_error *error)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    int number = free_number(store);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char from[KEDGE_STORE_PATH_BYTES], to[KEDGE_STORE_PATH_BYTES];
        (void)snprintf(from, sizeof from, "%s%s", store->cache_path, suffixes[i]);
        damaged_path(store, number, suffixes[i], to);
        if (rename(from, to) != 0 && errno != ENOENT)
            return kedge_fail(error, KEDGE_IO, "cache-not-set-aside",
                              "the damaged file %s cannot be renamed: %s", from, strerror(errno));
    }
    return KEDGE_OK;
}

kedge_status kedge_store_rename_damaged(kedge_store *store, kedge_error *error)
{
    kedge_store_db_close(&store->cache);
    store->cache.damaged = false;
    pthread_mutex_lock(&store->readers_mutex);
    kedge_status status = rename_files(store, error);
    pthread_mutex_unlock(&store->readers_mutex);
    if (status == KEDGE_OK && store->set_aside) store->set_aside(store->set_aside_context);
    return status;
}

void kedge_store_forget_damaged(kedge_store *store)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (int number = 1; number <= KEDGE_STORE_DAMAGED_MAX; number++) {
        for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
            char path[KEDGE_STORE_PATH_BYTES];
            damaged_path(store, number, suffixes[i], path);
            (void)unlink(path);
        }
    }
}

/* ---- opening ---- */

static kedge_status create_cache(kedge_store *store, bool resyncing, kedge_error *error)
{
    static const char *const insert =
        "INSERT INTO meta VALUES(1, '', '', 0, 0, -1, 0, ?1, ?2, ?3, 0, 0, 0, 0, 0)";
    static const char *const seal = "UPDATE meta SET checksum = {cache_meta#}";
    static const char *const registry = "INSERT INTO registry VALUES(1, ?1)";
    kedge_store_db *db = &store->cache;
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = kedge_schema_make_tables(db, &kedge_cache_schema, error);
    if (status == KEDGE_OK) status = kedge_schema_make_identity(db, &kedge_cache_schema, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(db, insert, error, "icc", (int64_t)resyncing,
                                       store->organization, store->project);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, seal, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(db, registry, error, "t",
                                       kedge_buffer_bytes(&store->registry_text));
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
    return status;
}

/* A layout that differs from the one in the header, or that cannot be upgraded, counts as damage.
 * While the disk has no room for it, the older layout is used as it is: all statements serve both,
 * and the next opening tries again. */
static kedge_status upgrade_cache(kedge_store_db *db, kedge_error *error)
{
    int64_t layout = 0;
    kedge_status status = kedge_schema_read_layout(db, &layout, error);
    if (status != KEDGE_OK || layout == kedge_schema_newest(&kedge_cache_schema)) return status;
    status = kedge_schema_bring_up(db, &kedge_cache_schema, layout, error);
    if (status == KEDGE_DISK_FULL) return KEDGE_OK;
    return status == KEDGE_INTERNAL ? kedge_table_fail(db, "sqlite_schema", error) : status;
}

/* Is the file of the organization and the project that were asked for? */
static kedge_status check_tenant(kedge_store *store, kedge_store_db *db, kedge_error *error)
{
    static const char *const sql = "SELECT organization, project FROM meta";
    sqlite3_stmt *statement;
    kedge_status status = kedge_store_db_find(db, sql, &statement, error, "");
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

/* The cache has a client id but the outbox is empty: pending mutations were lost, which must be
 * reported. */
kedge_status kedge_schema_check_outbox_missing(kedge_store *store, kedge_error *error)
{
    kedge_store_db cache;
    kedge_cache_meta meta;
    bool empty = false;
    if (!kedge_schema_has_content(store->cache_path)) return KEDGE_OK;
    kedge_status status = kedge_store_db_open_cache(&cache, store->cache_path,
                                                    SQLITE_OPEN_READWRITE, store->vfs, error);
    if (status != KEDGE_OK) return status;
    status = kedge_schema_identify(&cache, store->cache_path, &kedge_cache_schema, &empty, error);
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

/* Some builds of SQLite, such as Debian's, write zeros into each page that becomes unused. The turn
 * in which a snapshot replaces `item` would then write as many pages as `item` had. */
static const char *const SETTINGS =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-8192;"
    " PRAGMA secure_delete=FAST";

static kedge_status open_cache_once(kedge_store *store, bool fresh, kedge_error *error)
{
    kedge_store_db *db = &store->cache;
    bool empty = true;
    kedge_status status = kedge_store_db_open_cache(
        db, store->cache_path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, store->vfs, error);
    if (status == KEDGE_OK)
        status = kedge_schema_identify(db, store->cache_path, &kedge_cache_schema, &empty, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(db, SETTINGS, error);
    if (status == KEDGE_OK && empty) status = create_cache(store, !fresh, error);
    if (status == KEDGE_OK && !empty) status = upgrade_cache(db, error);
    if (status == KEDGE_OK) status = check_tenant(store, db, error);
    if (status == KEDGE_OK) status = kedge_change_log_begin(store, error);
    /* The outbox is of this project, so this cache was copied here from another folder. */
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
