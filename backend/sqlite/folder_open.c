/* Opening the folder of the blobs: is it ours, which version is it, and what did a crash leave.
 *
 * `@format` names the version; `@temporary` holds files that are being written; `@lock` is locked
 * shared by everybody who has the folder open, so that the first one, alone, can clear
 * `@temporary`. */
#include "backend/sqlite/folder_files.h"
#include "common/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT_NAME     "kedge blobs "
#define FORMAT          FORMAT_NAME "1\n"
#define FORMAT_SIZE_MAX 64

static bool is_own(const char *name)
{
    return name[0] == '@' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Opens a directory below the top for reading its names. */
static DIR *read_names(const kedge_folder *folder, const char *path)
{
    int file = openat(folder->top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = file < 0 ? NULL : fdopendir(file);
    if (names == NULL && file >= 0) close(file);
    return names;
}

/* 0, a system error, or ENOTEMPTY. */
static int check_empty(const kedge_folder *folder)
{
    DIR *names = read_names(folder, ".");
    if (names == NULL) return errno;
    int failure = 0;
    struct dirent *entry;
    while (failure == 0 && (entry = readdir(names)) != NULL) {
        if (!is_own(entry->d_name)) failure = ENOTEMPTY;
    }
    closedir(names);
    return failure;
}

static void clear_temporary(const kedge_folder *folder)
{
    DIR *names = read_names(folder, KEDGE_FOLDER_TEMPORARY);
    if (names == NULL) return;
    struct dirent *entry;
    while ((entry = readdir(names)) != NULL) {
        if (!is_own(entry->d_name)) unlinkat(dirfd(names), entry->d_name, 0);
    }
    closedir(names);
}

static kedge_status make_format(kedge_folder *folder, kedge_error *error)
{
    char temporary[KEDGE_FOLDER_TEMPORARY_SIZE];
    int failure = check_empty(folder);
    if (failure == ENOTEMPTY)
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-database",
                          "%s holds files, but is not one of Kedge's blob folders", folder->path);
    if (failure != 0) return kedge_folder_fail(folder, "cannot read names", failure, error);
    kedge_status status =
        kedge_folder_write_temporary(folder, KEDGE_BYTES(FORMAT), temporary, error);
    if (status != KEDGE_OK) return status;
    if (renameat(folder->top, temporary, folder->top, KEDGE_FOLDER_FORMAT) != 0) failure = errno;
    if (failure == 0) failure = kedge_folder_sync_parent(folder, KEDGE_FOLDER_FORMAT);
    return failure == 0 ? KEDGE_OK
                        : kedge_folder_fail(folder, "cannot name the format", failure, error);
}

static kedge_status check_format(kedge_folder *folder, kedge_error *error)
{
    kedge_buffer format = kedge_buffer_make(folder->environment->allocator);
    kedge_status status =
        kedge_folder_read(folder, KEDGE_FOLDER_FORMAT, FORMAT_SIZE_MAX, &format, error);
    kedge_bytes bytes = kedge_buffer_bytes(&format);
    if (status == KEDGE_NOT_FOUND) {
        status = make_format(folder, error);
    } else if (status == KEDGE_OK && !kedge_bytes_equal_text(bytes, FORMAT)) {
        status = kedge_bytes_start_with(bytes, KEDGE_BYTES(FORMAT_NAME))
                     ? kedge_fail(error, KEDGE_NEWER_DATABASE, "newer-database",
                                  "%s is a blob folder of a newer version of Kedge", folder->path)
                     : kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-database",
                                  "%s is not one of Kedge's blob folders", folder->path);
    }
    kedge_buffer_free(&format);
    return status;
}

static kedge_status take_lock(kedge_folder *folder, kedge_error *error)
{
    folder->lock =
        openat(folder->top, KEDGE_FOLDER_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (folder->lock < 0) return kedge_folder_fail(folder, "cannot make the lock", errno, error);
    if (flock(folder->lock, LOCK_EX | LOCK_NB) == 0) clear_temporary(folder);
    int result;
    do {
        result = flock(folder->lock, LOCK_SH);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? KEDGE_OK : kedge_folder_fail(folder, "cannot lock", errno, error);
}

/* Puts the files of a store into a folder that has them already or is empty, and into no other. */
static kedge_status enter(kedge_folder *folder, kedge_error *error)
{
    bool ours = kedge_folder_has(folder, KEDGE_FOLDER_FORMAT);
    if (!ours && check_empty(folder) == ENOTEMPTY) return check_format(folder, error);
    kedge_status status = take_lock(folder, error);
    if (status != KEDGE_OK) return status;
    if (mkdirat(folder->top, KEDGE_FOLDER_TEMPORARY, 0700) != 0 && errno != EEXIST)
        return kedge_folder_fail(folder, "cannot make a directory", errno, error);
    return check_format(folder, error);
}

static kedge_status open_top(kedge_folder *folder, kedge_error *error)
{
    bool made = mkdir(folder->path, 0700) == 0;
    if (!made && errno != EEXIST) return kedge_folder_fail(folder, "cannot make it", errno, error);
    folder->top = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->top < 0 && errno == ENOTDIR)
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-database", "%s is not a folder",
                          folder->path);
    if (folder->top < 0) return kedge_folder_fail(folder, "cannot open it", errno, error);
    /* The name of the folder itself stands in the directory above. */
    int failure = made ? kedge_folder_sync_parent(folder, "../.") : 0;
    return failure == 0 ? KEDGE_OK : kedge_folder_fail(folder, "cannot sync", failure, error);
}

kedge_status kedge_folder_open(kedge_folder *folder, const kedge_environment *environment,
                               const char *path, kedge_error *error)
{
    *folder = (kedge_folder){.environment = environment, .top = -1, .lock = -1};
    if (path == NULL || path[0] == '\0')
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-path",
                          "the path of the blob folder is empty");
    pthread_mutex_init(&folder->mutex, NULL);
    folder->path = kedge_copy_text(environment->allocator, kedge_bytes_of(path));
    kedge_status status = folder->path == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
    if (status == KEDGE_OK) status = open_top(folder, error);
    if (status == KEDGE_OK) status = enter(folder, error);
    if (status != KEDGE_OK) kedge_folder_close(folder);
    return status;
}

void kedge_folder_close(kedge_folder *folder)
{
    if (folder->lock >= 0) close(folder->lock);
    if (folder->top >= 0) close(folder->top);
    kedge_release(folder->environment->allocator, folder->path);
    pthread_mutex_destroy(&folder->mutex);
}
