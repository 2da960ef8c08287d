/* What is done with a damaged cache.
 *
 * A pull can restore everything that the cache holds. So a damaged cache is renamed to
 * cache.db.damaged-N, with its WAL, and a resync fills a new one; the old file is kept until the
 * resync is complete. An outbox holds data that exists nowhere else. A damaged outbox is not
 * changed: refusal.c reports it with the number of edits that can still be read, and repair.c saves
 * these into a new folder. */
#include "sdk/store/store_internal.h"

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

kedge_status kedge_store_rename_damaged(kedge_store *store, kedge_error *error)
{
    /* The file is renamed before its WAL. SQLite deletes a WAL without its file, but a file without
     * its WAL would be an older state that looks sound. */
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
