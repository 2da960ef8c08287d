/* Files below one folder. A file appears under its name only when its bytes are on the disk, and a
 * name counts only when its directory is. */
#include "backend/sqlite/folder_files.h"

#include "backend/ports/blobs.h"
#include "common/error.h"
#include "common/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

kedge_status kedge_folder_fail(const kedge_folder *folder, const char *doing, int system_error,
                               kedge_error *error)
{
    char reason[64];
    const char *text = strerror_r(system_error, reason, sizeof reason);
    if (system_error == ENOMEM) return kedge_fail_no_memory(error);
    bool full = system_error == ENOSPC || system_error == EDQUOT;
    kedge_status status = full ? KEDGE_DISK_FULL : KEDGE_IO;
    return kedge_fail(error, status, kedge_status_name(status), "%s in the blob folder %s: %s",
                      doing, folder->path, text);
}

/* ---- whole files ---- */

/* 0 or a system error. */
static int write_whole(int file, kedge_bytes bytes)
{
    size_t written = 0;
    while (written < bytes.size) {
        ssize_t count = write(file, bytes.data + written, bytes.size - written);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count == 0 ? EIO : errno;
        written += (size_t)count;
    }
    return 0;
}

static int stamp_and_sync(int file, int64_t now_ms)
{
    int64_t second = now_ms / 1000, millisecond = now_ms % 1000;
    struct timespec time = {.tv_sec = (time_t)second, .tv_nsec = (long)millisecond * 1000000};
    struct timespec times[2] = {time, time};
    if (now_ms >= 0 && futimens(file, times) != 0) return errno;
    return fsync(file) == 0 ? 0 : errno;
}

kedge_status kedge_folder_write_temporary(kedge_folder *folder, kedge_bytes bytes,
                                          char name[KEDGE_FOLDER_TEMPORARY_SIZE],
                                          kedge_error *error)
{
    const kedge_environment *environment = folder->environment;
    char random[2 * KEDGE_FOLDER_DIGEST_BYTES + 1];
    kedge_random_hex(environment, KEDGE_FOLDER_DIGEST_BYTES, random);
    snprintf(name, KEDGE_FOLDER_TEMPORARY_SIZE, KEDGE_FOLDER_TEMPORARY "/%s", random);
    int file = openat(folder->top, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return kedge_folder_fail(folder, "cannot make a file", errno, error);
    int failure = write_whole(file, bytes);
    if (failure == 0) failure = stamp_and_sync(file, environment->now_ms(environment->context));
    close(file);
    if (failure == 0) return KEDGE_OK;
    unlinkat(folder->top, name, 0);
    return kedge_folder_fail(folder, "cannot write a file", failure, error);
}

static bool is_absence(int system_error)
{
    return system_error == ENOENT || system_error == ENOTDIR;
}

bool kedge_folder_has(const kedge_folder *folder, const char *path)
{
    return faccessat(folder->top, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int read_whole(int file, size_t size, char *into)
{
    size_t done = 0;
    while (done < size) {
        ssize_t count = read(file, into + done, size - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count == 0 ? EIO : errno;
        done += (size_t)count;
    }
    return 0;
}

kedge_status kedge_folder_read(const kedge_folder *folder, const char *path, size_t size_max,
                               kedge_buffer *out, kedge_error *error)
{
    int file = openat(folder->top, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 && is_absence(errno)) return KEDGE_NOT_FOUND;
    if (file < 0) return kedge_folder_fail(folder, "cannot open a file", errno, error);
    struct stat about;
    kedge_status status = KEDGE_OK;
    if (fstat(file, &about) != 0)
        status = kedge_folder_fail(folder, "cannot look at a file", errno, error);
    else if (!S_ISREG(about.st_mode) || (uint64_t)about.st_size > size_max)
        status = kedge_fail(error, KEDGE_CORRUPT, "corrupt",
                            "a file in the blob folder %s is too large or no file", folder->path);
    if (status == KEDGE_OK) {
        size_t size = (size_t)about.st_size;
        char *into = kedge_buffer_reserve(out, size + 1);
        int failure = into == NULL ? ENOMEM : read_whole(file, size, into);
        if (failure == 0) {
            into[size] = '\0';
            out->size += size;
        } else {
            status = kedge_folder_fail(folder, "cannot read a file", failure, error);
        }
    }
    close(file);
    return status;
}

/* ---- directories ---- */

static int sync_directory(const kedge_folder *folder, const char *path)
{
    int directory = openat(folder->top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return errno;
    int failure = fsync(directory) == 0 ? 0 : errno;
    close(directory);
    return failure;
}

int kedge_folder_sync_parent(const kedge_folder *folder, const char *path)
{
    char parent[KEDGE_FOLDER_PATH_SIZE];
    kedge_bytes bytes = kedge_folder_parent(path);
    if (bytes.size == 0) return sync_directory(folder, ".");
    memcpy(parent, bytes.data, bytes.size);
    parent[bytes.size] = '\0';
    return sync_directory(folder, parent);
}

/* Directories are never removed, so that what was durable once stays so. */
static bool is_durable(kedge_folder *folder, const uint8_t hash[KEDGE_SHA256_SIZE])
{
    uint8_t *slot = folder->durable[hash[KEDGE_FOLDER_DIGEST_BYTES] % KEDGE_FOLDER_DURABLE_MAX];
    pthread_mutex_lock(&folder->mutex);
    bool known = memcmp(slot, hash, KEDGE_FOLDER_DIGEST_BYTES) == 0;
    pthread_mutex_unlock(&folder->mutex);
    return known;
}

static void note_durable(kedge_folder *folder, const uint8_t hash[KEDGE_SHA256_SIZE])
{
    uint8_t *slot = folder->durable[hash[KEDGE_FOLDER_DIGEST_BYTES] % KEDGE_FOLDER_DURABLE_MAX];
    pthread_mutex_lock(&folder->mutex);
    memcpy(slot, hash, KEDGE_FOLDER_DIGEST_BYTES);
    pthread_mutex_unlock(&folder->mutex);
}

/* A directory that is there may have been made a moment ago by another thread or process, which has
 * not synced it yet: so every name on the way is synced, not only those made here. */
static int make_directories(const kedge_folder *folder, char *path)
{
    for (char *slash = strchr(path, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL) *slash = '\0';
        int failure = mkdirat(folder->top, path, 0700) != 0 && errno != EEXIST ? errno : 0;
        if (failure == 0) failure = kedge_folder_sync_parent(folder, path);
        if (slash == NULL || failure != 0) return failure;
        *slash = '/';
    }
}

kedge_status kedge_folder_make_parents(kedge_folder *folder, const char *path, kedge_error *error)
{
    char parent[KEDGE_FOLDER_PATH_SIZE];
    kedge_bytes bytes = kedge_folder_parent(path);
    uint8_t hash[KEDGE_SHA256_SIZE];
    if (bytes.size == 0) return KEDGE_OK;
    kedge_sha256(bytes, hash);
    if (is_durable(folder, hash)) return KEDGE_OK;
    memcpy(parent, bytes.data, bytes.size);
    parent[bytes.size] = '\0';
    int failure = make_directories(folder, parent);
    if (failure != 0) return kedge_folder_fail(folder, "cannot make a directory", failure, error);
    note_durable(folder, hash);
    return KEDGE_OK;
}
