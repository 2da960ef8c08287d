/* What is done with damaged files.
 *
 * A cache holds only what a pull can restore: it is renamed to cache.db.damaged-N, with its WAL,
 * and a new one is filled by a resync; the old file stays until that is complete. An outbox holds
 * what exists nowhere else: it is reported, with the count of what can still be read, and left
 * alone; repair.c saves that into a new folder. */
#include "sdk/store/salvage.h"

#include "common/error.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void damaged_path(const kedge_store *store, int number, const char *suffix,
                         char out[KEDGE_STORE_PATH_BYTES])
{
    (void)snprintf(out, KEDGE_STORE_PATH_BYTES, "%s.damaged-%d%s", store->cache_path, number,
                   suffix);
}

/* The first free number; when all are taken, the last file is given up. */
static int free_number(const kedge_store *store)
{
    char path[KEDGE_STORE_PATH_BYTES];
    for (int number = 1; number < KEDGE_STORE_DAMAGED_MAX; number++) {
        damaged_path(store, number, "", path);
        if (access(path, F_OK) != 0) return number;
    }
    return KEDGE_STORE_DAMAGED_MAX;
}

kedge_status kedge_store_rename_damaged(kedge_store *store, kedge_error *error)
{
    /* The file goes first: without it SQLite throws a WAL away, whereas a file without its WAL
     * would be an older state that looks sound. */
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    int number = free_number(store);
    kedge_store_db_close(&store->cache);
    store->cache.damaged = false;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char from[KEDGE_STORE_PATH_BYTES], to[KEDGE_STORE_PATH_BYTES];
        (void)snprintf(from, sizeof from, "%s%s", store->cache_path, suffixes[i]);
        damaged_path(store, number, suffixes[i], to);
        if (rename(from, to) != 0 && errno != ENOENT)
            return kedge_fail(error, KEDGE_IO, "cache-not-set-aside",
                              "the damaged file %s cannot be renamed: %s", from, strerror(errno));
    }
    if (store->set_aside) store->set_aside(store->set_aside_context);
    return KEDGE_OK;
}

kedge_status kedge_store_set_cache_aside(kedge_store *store, kedge_error *error)
{
    kedge_status status = kedge_store_rename_damaged(store, error);
    if (status == KEDGE_OK) status = kedge_schema_open_cache(store, false, error);
    if (status == KEDGE_OK) status = kedge_prediction_repair(store, true, NULL, error);
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

/* How many rows can be read, by key and not up to the first damaged page, and prove themselves. */
static int64_t count_readable(kedge_store_db *db, const char *table)
{
    int64_t key = 0, readable = 0;
    sqlite3_stmt *row;
    while (kedge_salvage_next(db, table, &key, &row) == KEDGE_OK)
        readable += sqlite3_column_int(row, sqlite3_column_count(row) - 1) == 1;
    return readable;
}

kedge_status kedge_store_report_outbox(kedge_store *store, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    kedge_outbox_meta meta;
    bool known = kedge_outbox_meta_read(db, &meta, NULL) == KEDGE_OK;
    int64_t pending = count_readable(db, kedge_salvage_pending);
    int64_t rejected = count_readable(db, kedge_salvage_rejected);
    char of[32] = "";
    if (known) (void)snprintf(of, sizeof of, " of %lld", (long long)meta.pending_rows);
    return kedge_fail(error, KEDGE_CORRUPT, "outbox-damaged",
                      "%s is damaged; nothing in it was changed; %lld%s pending mutations and %lld"
                      " rejected ones can be read as it is: kedge_repair saves these, and what else"
                      " it finds, into a new folder",
                      store->outbox_path, (long long)pending, of, (long long)rejected);
}
