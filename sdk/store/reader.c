/* Readers: connections that do not wait for writers. A few are kept open between uses.
 *
 * The outbox is read before the cache: a pull that commits in between then shows as newer coverage
 * of older rows, which the rule of coverage handles. */
#include "sdk/store/store_internal.h"

#include "common/error.h"

static const char *const ONLY_READ = "PRAGMA query_only=1; PRAGMA temp_store=MEMORY";

static void close_reader(kedge_store *store, kedge_store_reader *reader)
{
    kedge_store_db_close(&reader->cache);
    kedge_store_db_close(&reader->outbox);
    kedge_release(store->allocator, reader);
}

/* A cache that is made anew has no tables at first, and predicts nothing until its revision is
 * written. */
static bool is_whole(kedge_store_db *cache)
{
    static const char *const sql = "SELECT revision FROM meta";
    int64_t revision = 0;
    return kedge_store_db_number(cache, sql, &revision, NULL) == KEDGE_OK && revision >= 0;
}

/* Under the mutex no thread renames the file before the WAL is open, too. If another process did,
 * the WAL may be that of another file. */
static kedge_status open_cache(kedge_store *store, kedge_store_db *cache, bool *whole,
                               kedge_error *error)
{
    *whole = false;
    pthread_mutex_lock(&store->readers_mutex);
    kedge_status status = kedge_store_db_open_cache(cache, store->cache_path, SQLITE_OPEN_READWRITE,
                                                    store->vfs, error);
    if (status == KEDGE_OK)
        *whole = is_whole(cache) && kedge_store_db_is_at(cache, store->cache_path);
    pthread_mutex_unlock(&store->readers_mutex);
    return status == KEDGE_OK ? kedge_store_db_execute(cache, ONLY_READ, error) : status;
}

kedge_status kedge_reader_renew(kedge_store *store, kedge_store_reader *reader, kedge_error *error)
{
    bool whole;
    if (kedge_store_db_is_at(&reader->cache, store->cache_path)) return KEDGE_OK;
    kedge_store_db_close(&reader->cache);
    reader->shadowed = false;
    return open_cache(store, &reader->cache, &whole, error);
}

static kedge_status open_reader(kedge_store *store, kedge_store_reader **reader, bool *whole,
                                kedge_error *error)
{
    kedge_store_reader *made = kedge_allocate(store->allocator, sizeof *made);
    *whole = false;
    if (!made) return kedge_fail_no_memory(error);
    kedge_status status = open_cache(store, &made->cache, whole, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_open(&made->outbox, store->outbox_path, "outbox.db",
                                     SQLITE_OPEN_READWRITE, store->vfs, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(&made->outbox, ONLY_READ, error);
    if (status == KEDGE_OK) status = kedge_store_check_outbox_there(store, error);
    if (status == KEDGE_OK)
        *reader = made;
    else
        close_reader(store, made);
    return status;
}

/* Returns an idle reader, or NULL when a new one is to be opened; sets `full` when there are too
 * many. */
static kedge_store_reader *take_idle(kedge_store *store, bool *full)
{
    pthread_mutex_lock(&store->readers_mutex);
    kedge_store_reader *reader = store->readers;
    *full = !reader && store->reader_count >= KEDGE_LIMIT_READERS;
    if (reader)
        store->readers = reader->next;
    else if (!*full)
        store->reader_count++;
    pthread_mutex_unlock(&store->readers_mutex);
    return reader;
}

static void discard(kedge_store *store, kedge_store_reader *reader)
{
    if (reader) close_reader(store, reader);
    pthread_mutex_lock(&store->readers_mutex);
    store->reader_count--;
    pthread_mutex_unlock(&store->readers_mutex);
}

static kedge_status no_work(kedge_store *store, void *context, kedge_error *error)
{
    (void)store;
    (void)context;
    (void)error;
    return KEDGE_OK;
}

kedge_status kedge_reader_take(kedge_store *store, kedge_store_reader **reader, kedge_error *error)
{
    bool full, whole, replaced = false;
    kedge_store_reader *idle;
    while ((idle = take_idle(store, &full)) != NULL) {
        if (kedge_store_db_is_at(&idle->cache, store->cache_path)) {
            *reader = idle;
            return KEDGE_OK;
        }
        discard(store, idle);
        replaced = true;
    }
    if (full)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-readers",
                          "%d scans, queries and lists are open; at most so many are allowed",
                          KEDGE_LIMIT_READERS);
    /* The turn asks for a pull, which another process may not have lived to do. */
    if (replaced) (void)kedge_store_take_turn(store, no_work, NULL, NULL);
    kedge_status status = open_reader(store, reader, &whole, error);
    if (!whole && (status == KEDGE_OK || status == KEDGE_IO)) {
        /* Another thread or process may be setting the cache aside, or was killed while it did: a
         * write turn makes sure that there is one, and the next read makes it predict. */
        if (status == KEDGE_OK) close_reader(store, *reader);
        atomic_store(&store->stale, true);
        status = kedge_store_take_turn(store, no_work, NULL, error);
        if (status == KEDGE_OK) status = open_reader(store, reader, &whole, error);
    }
    if (status != KEDGE_OK) discard(store, NULL);
    return status;
}

void kedge_reader_give(kedge_store *store, kedge_store_reader *reader)
{
    uint32_t idle = 0;
    kedge_reader_end(reader);
    pthread_mutex_lock(&store->readers_mutex);
    for (const kedge_store_reader *at = store->readers; at; at = at->next)
        idle++;
    bool keep = idle < KEDGE_STORE_READERS_KEPT && !reader->shadowed && !reader->cache.damaged &&
                !reader->outbox.damaged && !reader->outbox.row_damaged;
    if (keep) {
        reader->next = store->readers;
        store->readers = reader;
    }
    pthread_mutex_unlock(&store->readers_mutex);
    if (!keep) discard(store, reader);
}

void kedge_readers_close(kedge_store *store)
{
    bool full;
    kedge_store_reader *reader;
    while (store->readers && (reader = take_idle(store, &full)) != NULL)
        discard(store, reader);
}

kedge_status kedge_reader_begin_cache(kedge_store_reader *reader, kedge_error *error)
{
    if (reader->shadowed) return KEDGE_OK;
    return kedge_store_db_execute(&reader->cache, "BEGIN", error);
}

kedge_status kedge_reader_begin(kedge_store *store, kedge_store_reader *reader, kedge_error *error)
{
    /* A transaction sees the file as it is at its first read. */
    static const char *const first = "BEGIN; SELECT 1 FROM meta";
    kedge_status status = kedge_store_check_refused(store, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(&reader->outbox, first, error);
    if (status == KEDGE_OK) status = kedge_store_db_execute(&reader->cache, first, error);
    return status;
}

void kedge_reader_end(kedge_store_reader *reader)
{
    kedge_store_db_rollback(&reader->cache);
    kedge_store_db_rollback(&reader->outbox);
}

static kedge_status set_aside_work(kedge_store *store, void *context, kedge_error *error)
{
    const kedge_store_db *damaged = context;
    (void)error;
    /* Another thread or process may have done it in the meantime. */
    if (damaged->device == store->cache.device && damaged->inode == store->cache.inode)
        store->cache.damaged = true;
    return KEDGE_OK;
}

static kedge_status heal_work(kedge_store *store, void *context, kedge_error *error)
{
    (void)context;
    (void)error;
    store->outbox.row_damaged = true; /* the write turn heals it at its end */
    return KEDGE_OK;
}

bool kedge_reader_heal(kedge_store *store, kedge_store_reader *reader, kedge_error *error)
{
    bool again = false;
    if (reader->outbox.damaged)
        (void)kedge_store_refuse(store, NULL);
    else if (reader->outbox.row_damaged)
        again = kedge_store_take_turn(store, heal_work, NULL, NULL) == KEDGE_OK;
    else if (reader->cache.damaged)
        again = kedge_store_take_turn(store, set_aside_work, &reader->cache, NULL) == KEDGE_OK;
    if (!again) (void)kedge_store_check_refused(store, error);
    return again;
}
