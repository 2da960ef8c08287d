/* The files of a repair: creates, copies, locks and renames them, in the right order. */
#include "sdk/store/repair_files.h"

#include "common/error.h"
#include "sdk/store/wal_damage.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The meta row of a cache stands in its second page, after the schema. */
#define CACHE_BYTES (64 * KEDGE_STORE_PAGE_BYTES)
#define CHUNK_BYTES (16 * KEDGE_STORE_PAGE_BYTES)

static void join(const char *folder, const char *name, char out[KEDGE_STORE_PATH_BYTES])
{
    /* The caller has bounded the folders' paths, so that all of it fits. */
    int length = snprintf(out, KEDGE_STORE_PATH_BYTES, "%s/%s", folder, name);
    if (length < 0 || length >= KEDGE_STORE_PATH_BYTES) out[0] = '\0';
}

void kedge_repair_file(const kedge_repair_files *files, const char *name,
                       char out[KEDGE_STORE_PATH_BYTES])
{
    join(files->scratch, name, out);
}

static kedge_status fail_file(const char *what, const char *path, int code, kedge_error *error)
{
    return kedge_fail(error, code == ENOSPC || code == EDQUOT ? KEDGE_DISK_FULL : KEDGE_IO,
                      "repair-failed", "%s %s: %s", what, path, strerror(code));
}

/* ---- the new folder ---- */

/* What exists before the repair makes anything. */
typedef struct contents {
    bool scratch;
    bool outbox;
    bool opened; /* kedge_open was called there */
    bool other;
} contents;

static kedge_status look(const char *path, contents *found, kedge_error *error)
{
    *found = (contents){0};
    DIR *folder = opendir(path);
    if (!folder)
        return kedge_fail(error, KEDGE_IO, "folder-not-made", "%s cannot be used as a folder: %s",
                          path, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (strcmp(name, KEDGE_STORE_REPAIR_FOLDER) == 0)
            found->scratch = true;
        else if (strcmp(name, "outbox.db") == 0)
            found->outbox = true;
        else if (strcmp(name, "lock") == 0 || strcmp(name, "present") == 0)
            found->opened = true;
        else
            found->other = true;
    }
    closedir(folder);
    return KEDGE_OK;
}

/* An interrupted repair leaves its scratch folder, with or without the finished outbox beside it.
 * kedge_open, which refuses the folder, leaves its lock files; when it did not refuse, the outbox
 * was finished, and may have edits by now. */
static kedge_status check_empty(const kedge_repair_files *files, bool scratch_before,
                                const contents *found, kedge_error *error)
{
    bool ours = scratch_before && !(found->outbox && found->opened);
    if (!found->other && (ours || !(found->outbox || found->opened))) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "folder-not-empty",
                      "%s is not empty; what is saved goes into a folder of its own",
                      files->new_path);
}

static kedge_status make_folder(const char *path, bool *made, kedge_error *error)
{
    *made = mkdir(path, 0700) == 0;
    if (*made || errno == EEXIST) return KEDGE_OK;
    int code = errno;
    return kedge_fail(error, code == ENOSPC ? KEDGE_DISK_FULL : KEDGE_IO, "folder-not-made",
                      "the folder %s cannot be made: %s", path, strerror(code));
}

static kedge_status lock_scratch(kedge_repair_files *files, kedge_error *error)
{
    files->scratch_lock = open(files->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->scratch_lock < 0)
        return fail_file("cannot open the folder", files->scratch, errno, error);
    if (flock(files->scratch_lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return KEDGE_OK;
    return kedge_fail(error, KEDGE_BUSY, "repair-running", "another repair saves into %s",
                      files->new_path);
}

static void clear_scratch(const kedge_repair_files *files)
{
    static const char *const names[] = {"old", "cache", "fresh", "new"};
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char path[KEDGE_STORE_PATH_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t j = 0; j < sizeof suffixes / sizeof suffixes[0]; j++) {
            (void)snprintf(path, sizeof path, "%.4000s/%s.db%s", files->scratch, names[i],
                           suffixes[j]);
            (void)unlink(path);
        }
    }
}

kedge_status kedge_repair_files_begin(kedge_repair_files *files, const char *path,
                                      const char *new_path, kedge_error *error)
{
    contents before, now;
    bool made = false;
    *files = (kedge_repair_files){.path = path, .new_path = new_path, .scratch_lock = -1};
    join(new_path, KEDGE_STORE_REPAIR_FOLDER, files->scratch);
    kedge_status status = make_folder(new_path, &files->folder_made, error);
    if (status == KEDGE_OK) status = look(new_path, &before, error);
    if (status == KEDGE_OK) status = check_empty(files, before.scratch, &before, error);
    if (status == KEDGE_OK) status = make_folder(files->scratch, &made, error);
    if (status == KEDGE_OK) status = lock_scratch(files, error);
    /* Another repair may have ended in between. */
    if (status == KEDGE_OK) status = look(new_path, &now, error);
    if (status == KEDGE_OK) status = check_empty(files, before.scratch && now.scratch, &now, error);
    if (status == KEDGE_OK) {
        clear_scratch(files);
        return KEDGE_OK;
    }
    kedge_store_lock_close(&files->scratch_lock);
    if (made) (void)rmdir(files->scratch);
    if (files->folder_made) (void)rmdir(new_path);
    return status;
}

/* ---- the copy ---- */

/* Fills `bytes` from `offset` on, and skips pages that the disk cannot read. */
static ssize_t read_pages(int from, char *bytes, size_t size, off_t offset)
{
    ssize_t got = pread(from, bytes, size, offset);
    if (got >= 0 || errno != EIO) return got;
    memset(bytes, 0, size);
    for (size_t at = 0; at < size; at += KEDGE_STORE_PAGE_BYTES)
        (void)pread(from, bytes + at, KEDGE_STORE_PAGE_BYTES, offset + (off_t)at);
    return (ssize_t)size;
}

static bool write_all(int to, const char *bytes, size_t size, off_t offset)
{
    while (size > 0) {
        ssize_t done = pwrite(to, bytes, size, offset);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        size -= (size_t)done;
        offset += done;
    }
    return true;
}

/* The first `limit` bytes; the copy is as long as the original all the same. 0, or errno. */
static int copy_open(int from, int to, off_t limit)
{
    char bytes[CHUNK_BYTES];
    struct stat facts;
    if (fstat(from, &facts) != 0) return errno;
    for (off_t at = 0; at < facts.st_size && at < limit; at += CHUNK_BYTES) {
        ssize_t got = read_pages(from, bytes, sizeof bytes, at);
        if (got < 0) return errno;
        if (!write_all(to, bytes, (size_t)got, at)) return errno;
    }
    return ftruncate(to, facts.st_size) == 0 ? 0 : errno;
}

/* What is not there is not copied. */
static kedge_status copy_file(const kedge_repair_files *files, const char *name, const char *as,
                              off_t limit, kedge_error *error)
{
    char source[KEDGE_STORE_PATH_BYTES], target[KEDGE_STORE_PATH_BYTES];
    join(files->path, name, source);
    kedge_repair_file(files, as, target);
    int from = open(source, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return errno == ENOENT ? KEDGE_OK : fail_file("cannot read", source, errno, error);
    int to = open(target, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int code = to < 0 ? errno : copy_open(from, to, limit);
    if (to >= 0) close(to);
    close(from);
    return code == 0 ? KEDGE_OK
                     : fail_file("cannot copy a damaged folder's file to", target, code, error);
}

/* Returns KEDGE_BUSY when the folder is open. Continues without a lock file that does not exist, or
 * that the file system cannot lock. */
static kedge_status lock_old(kedge_store *old, kedge_error *error)
{
    if (kedge_store_locks_borrow(old)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_BUSY, "folder-open",
                      "%s is open in some process; close it first", old->path);
}

static kedge_status mend_wal(const kedge_repair_files *files, kedge_error *error)
{
    char path[KEDGE_STORE_PATH_BYTES];
    kedge_repair_file(files, "old.db-wal", path);
    int code = kedge_wal_mend(path);
    return code == 0 ? KEDGE_OK : fail_file("cannot write", path, code, error);
}

kedge_status kedge_repair_files_copy(const kedge_repair_files *files, kedge_error *error)
{
    static const struct {
        const char *name, *as;
        off_t limit;
    } copies[] = {{"outbox.db", "old.db", INT64_MAX},
                  {"outbox.db-wal", "old.db-wal", INT64_MAX},
                  {"cache.db", "cache.db", CACHE_BYTES},
                  {"cache.db-wal", "cache.db-wal", INT64_MAX}};
    char path[KEDGE_STORE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", files->path);
    kedge_store old = {.path = path, .lock_file = -1, .presence_file = -1};
    kedge_status status = lock_old(&old, error);
    for (size_t i = 0; i < sizeof copies / sizeof copies[0] && status == KEDGE_OK; i++)
        status = copy_file(files, copies[i].name, copies[i].as, copies[i].limit, error);
    kedge_store_locks_close(&old);
    return status == KEDGE_OK ? mend_wal(files, error) : status;
}

/* ---- the end ---- */

static kedge_status sync_folder(const char *path, kedge_error *error)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = folder < 0 || fsync(folder) != 0 ? errno : 0;
    if (folder >= 0) close(folder);
    return code == 0 ? KEDGE_OK : fail_file("cannot make durable", path, code, error);
}

kedge_status kedge_repair_files_publish(const kedge_repair_files *files, kedge_error *error)
{
    char from[KEDGE_STORE_PATH_BYTES], to[KEDGE_STORE_PATH_BYTES];
    kedge_repair_file(files, "new.db", from);
    join(files->new_path, "outbox.db", to);
    if (rename(from, to) != 0) return fail_file("cannot make", to, errno, error);
    kedge_status status = sync_folder(files->new_path, error);
    if (status != KEDGE_OK) (void)unlink(to);
    /* The folder above may belong to somebody else. */
    join(files->new_path, "..", from);
    (void)sync_folder(from, NULL);
    return status;
}

void kedge_repair_files_end(kedge_repair_files *files, bool saved)
{
    clear_scratch(files);
    (void)rmdir(files->scratch);
    kedge_store_lock_close(&files->scratch_lock);
    if (!saved && files->folder_made) (void)rmdir(files->new_path);
}
