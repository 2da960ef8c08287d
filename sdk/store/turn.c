/* A write turn: takes the lock, opens the right files, runs the work, and does what must follow
 * it.
 *
 * The folder has two lock files. `lock` is held by whoever writes or checkpoints, so that two
 * connections never do so at once: up to 3.51.2 SQLite can corrupt a WAL then. `present` is held
 * shared by every open store, and tells whether another one is there. flock locks belong to the
 * open file, not to the process: they outlive an unrelated close, exclude two stores in one
 * process, and go with a killed process. */
#include "sdk/store/index.h"
#include "sdk/store/outbox_heal.h"
#include "sdk/store/prediction.h"

#include "common/assert.h"
#include "common/error.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define GIVE_WAY_MS 1

/* ---- the lock files ---- */

static kedge_status open_file(const kedge_store *store, const char *name, int *file,
                              kedge_error *error)
{
    char path[KEDGE_STORE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", store->path, name);
    *file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*file >= 0) return KEDGE_OK;
    return kedge_fail(error, errno == ENOSPC ? KEDGE_DISK_FULL : KEDGE_IO, "lock-file",
                      "the lock file %s cannot be opened: %s", path, strerror(errno));
}

/* Returns false when it failed, or when it would have to wait and `how` says not to. */
static bool flock_file(int file, int how)
{
    int response;
    do
        response = flock(file, how);
    while (response != 0 && errno == EINTR);
    return response == 0;
}

kedge_status kedge_store_locks_open(kedge_store *store, kedge_error *error)
{
    kedge_status status = open_file(store, "lock", &store->lock_file, error);
    if (status == KEDGE_OK) status = open_file(store, "present", &store->presence_file, error);
    return status;
}

static int find_file(const kedge_store *store, const char *name)
{
    char path[KEDGE_STORE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", store->path, name);
    int file = open(path, O_RDWR | O_CLOEXEC);
    return file >= 0 ? file : open(path, O_RDONLY | O_CLOEXEC);
}

bool kedge_store_locks_borrow(kedge_store *store)
{
    store->lock_file = find_file(store, "lock");
    store->presence_file = find_file(store, "present");
    /* Some file systems lock a file exclusively only when it is open for writing. */
    if (store->lock_file >= 0 && !flock_file(store->lock_file, LOCK_EX))
        (void)flock_file(store->lock_file, LOCK_SH);
    return store->presence_file < 0 || flock_file(store->presence_file, LOCK_EX | LOCK_NB) ||
           errno != EWOULDBLOCK;
}

void kedge_store_lock_close(int *file)
{
    if (*file < 0) return;
    (void)flock_file(*file, LOCK_UN);
    close(*file);
    *file = -1;
}

void kedge_store_locks_close(kedge_store *store)
{
    kedge_store_lock_close(&store->lock_file);
    kedge_store_lock_close(&store->presence_file);
}

/* A mutex goes to any thread that asks when it is free. So a thread that takes turn after turn
 * could keep out one that waits, which must be woken first. A thread that waits holds `queue`,
 * for which a thread that gives way waits, too. Another one that finds the mutex free may still
 * come first. */
static void wait_for_mutex(kedge_store *store)
{
    pthread_mutex_lock(&store->queue);
    pthread_mutex_lock(&store->mutex);
    pthread_mutex_unlock(&store->queue);
}

/* Nothing tells whether another process waits for the lock file. One that does is woken when the
 * file is unlocked, and must then be the first to lock it. */
void kedge_store_give_way(kedge_store *store)
{
    wait_for_mutex(store);
    bool in_company = store->in_company;
    pthread_mutex_unlock(&store->mutex);
    if (in_company) poll(NULL, 0, GIVE_WAY_MS);
}

kedge_status kedge_store_check_outside(const kedge_store *store, kedge_error *error)
{
    if (atomic_load(&store->holder) != (uintptr_t)pthread_self()) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "called-back",
                      "a mutator may only use its transaction");
}

kedge_status kedge_store_hold(kedge_store *store, kedge_error *error)
{
    kedge_status status = kedge_store_check_outside(store, error);
    if (status != KEDGE_OK) return status;
    if (pthread_mutex_trylock(&store->mutex) != 0) wait_for_mutex(store);
    atomic_store(&store->holder, (uintptr_t)pthread_self());
    return KEDGE_OK;
}

void kedge_store_release(kedge_store *store)
{
    atomic_store(&store->holder, 0);
    pthread_mutex_unlock(&store->mutex);
}

kedge_status kedge_store_lock(kedge_store *store, kedge_error *error)
{
    kedge_status status = kedge_store_hold(store, error);
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(!store->locked && store->lock_file >= 0);
    store->locked = flock_file(store->lock_file, LOCK_EX);
    if (store->locked) return KEDGE_OK;
    int code = errno;
    kedge_store_release(store);
    return kedge_fail(error, KEDGE_IO, "lock-file", "the folder %s cannot be locked: %s",
                      store->path, strerror(code));
}

void kedge_store_unlock(kedge_store *store)
{
    KEDGE_ASSERT(store->locked);
    store->locked = false;
    (void)flock_file(store->lock_file, LOCK_UN);
    kedge_store_release(store);
}

kedge_status kedge_store_presence(kedge_store *store, bool *alone, kedge_error *error)
{
    KEDGE_ASSERT(store->locked && store->presence_file >= 0);
    *alone = flock_file(store->presence_file, LOCK_EX | LOCK_NB);
    /* Other stores look only while they hold the lock, so they cannot see the state between the two
     * calls. */
    if (flock_file(store->presence_file, LOCK_SH | (*alone ? 0 : LOCK_NB))) return KEDGE_OK;
    return kedge_fail(error, KEDGE_IO, "lock-file", "the folder %s cannot be marked as open: %s",
                      store->path, strerror(errno));
}

/* ---- before and after the work ---- */

/* Another process may have set our cache aside, and may have been killed before it asked for the
 * pull. Or this one has, and could not make a new one then. */
static kedge_status open_current_cache(kedge_store *store, kedge_error *error)
{
    if (store->cache.handle && kedge_store_db_is_at(&store->cache, store->cache_path))
        return KEDGE_OK;
    kedge_store_db_close(&store->cache);
    kedge_status status = kedge_schema_open_cache(store, false, error);
    if (status == KEDGE_DISK_FULL) {
        kedge_wal_make_room(store);
        status = kedge_schema_open_cache(store, false, error);
    }
    if (status != KEDGE_OK) return status;
    if (store->set_aside) store->set_aside(store->set_aside_context);
    (void)kedge_index_fit(store, NULL);
    kedge_change_log_tell_all(store);
    return KEDGE_OK;
}

kedge_status kedge_store_check_outbox_there(const kedge_store *store, kedge_error *error)
{
    if (kedge_store_db_is_at(&store->outbox, store->outbox_path)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_IO, "outbox-replaced",
                      "%s was removed or replaced while it was open; close the database and open it"
                      " again",
                      store->outbox_path);
}

static void checkpoint_large(kedge_store_db *db)
{
    KEDGE_ASSERT(!kedge_store_db_in_transaction(db));
    if (!db->handle || !kedge_wal_is_large(db)) return;
    (void)kedge_wal_move(db, db->wal_pages > KEDGE_STORE_WAL_PAGES_CUT);
}

/* The WAL files are not truncated: later commits overwrite them and need no new blocks, which makes
 * their fsync cheaper. */
static kedge_status checkpoint_one(kedge_store_db *db, kedge_error *error)
{
    int code = kedge_wal_move(db, false);
    /* An open scan still needs a part of the WAL; the rest was moved. */
    if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
        return KEDGE_OK;
    return kedge_store_db_fail(db, code, "moving the WAL into the file", error);
}

/* Behind the commit, still in the turn: whoever commits next tells it later. */
static void tell(kedge_store *store, kedge_change_set *changes)
{
    const kedge_store_observer *observer = &store->observer;
    if (!changes) return;
    if (store->untold) kedge_changes_all(changes);
    store->untold = false;
    if (observer->changed && (changes->all || changes->count > 0))
        observer->changed(observer->context, changes);
}

static kedge_status refuse(kedge_store *store, kedge_error *error)
{
    store->outbox.damaged = false;
    store->outbox.row_damaged = false;
    return kedge_store_refuse(store, error);
}

/* A new cache replaces the damaged one, and predicts the pending mutations of the outbox. */
static kedge_status set_cache_aside(kedge_store *store, kedge_error *error)
{
    kedge_status status = kedge_store_rename_damaged(store, error);
    if (status == KEDGE_OK) status = kedge_schema_open_cache(store, false, error);
    if (status == KEDGE_OK) status = kedge_prediction_repair(store, true, NULL, error);
    /* An index that cannot be made now is made with the last page of the resync. */
    if (status == KEDGE_OK) (void)kedge_index_fit(store, NULL);
    return status;
}

/* After the work: handles damage that it found. Sets `*again` when the work must be repeated. */
static kedge_status heal(kedge_store *store, kedge_status status, bool *again, kedge_error *error)
{
    kedge_error *why = status == KEDGE_OK ? NULL : error;
    KEDGE_ASSERT(!kedge_store_db_in_transaction(&store->outbox));
    KEDGE_ASSERT(!kedge_store_db_in_transaction(&store->cache));
    bool rows = store->outbox.row_damaged;
    if (rows && !store->outbox.damaged) {
        kedge_status healed = kedge_outbox_heal(store, why);
        store->outbox.row_damaged = false;
        *again = healed == KEDGE_OK && status == KEDGE_CORRUPT;
    }
    if (store->outbox.damaged) {
        kedge_status refused = refuse(store, why);
        return status == KEDGE_OK ? status : refused;
    }
    if (rows) return status;
    if (store->cache.damaged) {
        kedge_status aside = set_cache_aside(store, why);
        *again = aside == KEDGE_OK && status == KEDGE_CORRUPT;
        /* When the cache cannot be set aside, the error says why, for example a full disk. */
        return status == KEDGE_CORRUPT && aside != KEDGE_OK ? aside : status;
    }
    if (status == KEDGE_DISK_FULL) {
        kedge_wal_cut(&store->cache);
        kedge_wal_cut(&store->outbox);
    }
    checkpoint_large(&store->cache);
    checkpoint_large(&store->outbox);
    return status;
}

static kedge_status make_room(kedge_store *store, void *context, kedge_error *error)
{
    (void)context;
    (void)error;
    kedge_wal_make_room(store);
    return KEDGE_OK;
}

/* ---- the turn ---- */

/* Who wants to know of this turn's commits. */
static void look_around(kedge_store *store, kedge_change_set *changes)
{
    const kedge_store_observer *observer = &store->observer;
    store->in_company = observer->company && observer->company(observer->context);
    bool watched = observer->watched && observer->watched(observer->context);
    if (changes) changes->values = watched || store->in_company;
}

static kedge_status one_turn(kedge_store *store, kedge_store_work work, void *context,
                             kedge_change_set *changes, bool *again, kedge_error *error)
{
    *again = false;
    kedge_status status = kedge_store_lock(store, error);
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(!kedge_store_db_in_transaction(&store->outbox));
    KEDGE_ASSERT(!kedge_store_db_in_transaction(&store->cache));
    status = kedge_store_check_outbox_there(store, error);
    if (status == KEDGE_OK) status = kedge_store_check_refused(store, error);
    if (status == KEDGE_OK) status = open_current_cache(store, error);
    look_around(store, changes);
    if (status == KEDGE_OK) status = work(store, context, error);
    if (status == KEDGE_OK) tell(store, changes);
    kedge_store_db_rollback(&store->outbox);
    kedge_store_db_rollback(&store->cache);
    status = heal(store, status, again, error);
    kedge_change_log_end_turn(store);
    kedge_store_unlock(store);
    return status;
}

/* Both files may be damaged, and the outbox twice. */
static kedge_status repeat(kedge_store *store, kedge_store_work work, void *context,
                           kedge_change_set *changes, kedge_error *error)
{
    bool again = true;
    kedge_status status = KEDGE_OK;
    for (int attempt = 0; again && attempt < KEDGE_STORE_HEALS_MAX; attempt++)
        status = one_turn(store, work, context, changes, &again, error);
    return status;
}

kedge_status kedge_store_take_telling_turn(kedge_store *store, kedge_store_work work, void *context,
                                           kedge_change_set *changes, kedge_error *error)
{
    bool again;
    kedge_status status = repeat(store, work, context, changes, error);
    if (status == KEDGE_DISK_FULL &&
        one_turn(store, make_room, NULL, NULL, &again, NULL) == KEDGE_OK)
        status = repeat(store, work, context, changes, error);
    return status;
}

kedge_status kedge_store_take_turn(kedge_store *store, kedge_store_work work, void *context,
                                   kedge_error *error)
{
    return kedge_store_take_telling_turn(store, work, context, NULL, error);
}

/* ---- a turn that moves the WALs ---- */

static kedge_status checkpoint_work(kedge_store *store, void *context, kedge_error *error)
{
    (void)context;
    kedge_status status = checkpoint_one(&store->outbox, error);
    if (status == KEDGE_OK) kedge_outbox_shrink(store);
    if (status == KEDGE_OK) status = checkpoint_one(&store->cache, error);
    return status;
}

kedge_status kedge_store_checkpoint(kedge_store *store, kedge_error *error)
{
    return kedge_store_take_turn(store, checkpoint_work, NULL, error);
}
