/* The two lock files of the folder.
 *
 * `lock` is held by whoever writes or checkpoints, so that two connections never do so at once: up
 * to 3.51.2 SQLite can corrupt a WAL then. `present` is held shared by every open store, and tells
 * whether another one is there. flock locks belong to the open file, not to the process: they
 * outlive an unrelated close, exclude two stores in one process, and go with a killed process. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"
#include "common/error.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

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
static bool lock_file(int file, int how)
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
    if (store->lock_file >= 0 && !lock_file(store->lock_file, LOCK_EX))
        (void)lock_file(store->lock_file, LOCK_SH);
    return store->presence_file < 0 || lock_file(store->presence_file, LOCK_EX | LOCK_NB) ||
           errno != EWOULDBLOCK;
}

void kedge_store_locks_close(kedge_store *store)
{
    if (store->lock_file >= 0) close(store->lock_file);
    if (store->presence_file >= 0) close(store->presence_file);
    store->lock_file = store->presence_file = -1;
}

kedge_status kedge_store_lock(kedge_store *store, kedge_error *error)
{
    pthread_mutex_lock(&store->mutex);
    KEDGE_ASSERT(!store->locked && store->lock_file >= 0);
    store->locked = lock_file(store->lock_file, LOCK_EX);
    if (store->locked) return KEDGE_OK;
    int code = errno;
    pthread_mutex_unlock(&store->mutex);
    return kedge_fail(error, KEDGE_IO, "lock-file", "the folder %s cannot be locked: %s",
                      store->path, strerror(code));
}

void kedge_store_unlock(kedge_store *store)
{
    KEDGE_ASSERT(store->locked);
    store->locked = false;
    (void)lock_file(store->lock_file, LOCK_UN);
    pthread_mutex_unlock(&store->mutex);
}

kedge_status kedge_store_presence(kedge_store *store, bool *alone, kedge_error *error)
{
    KEDGE_ASSERT(store->locked && store->presence_file >= 0);
    *alone = lock_file(store->presence_file, LOCK_EX | LOCK_NB);
    /* Other stores look only while they hold the lock, so they cannot see the state between the two
     * calls. */
    if (lock_file(store->presence_file, LOCK_SH | (*alone ? 0 : LOCK_NB))) return KEDGE_OK;
    return kedge_fail(error, KEDGE_IO, "lock-file", "the folder %s cannot be marked as open: %s",
                      store->path, strerror(errno));
}
