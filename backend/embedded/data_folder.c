/* See data_folder.h. */
#include "backend/embedded/data_folder.h"

#include "common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

kedge_status kedge_data_folder_join(const char *folder, const char *name, kedge_data_path *path,
                                    kedge_error *error)
{
    int size = snprintf(path->text, sizeof path->text, "%s/%s", folder, name);
    if (size > 0 && (size_t)size < sizeof path->text) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "path-too-long",
                      "the path of the data folder is longer than %zu bytes", sizeof path->text);
}

bool kedge_data_folder_has(const char *folder, const char *name)
{
    kedge_data_path path;
    struct stat found;
    return kedge_data_folder_join(folder, name, &path, NULL) == KEDGE_OK &&
           stat(path.text, &found) == 0;
}

kedge_status kedge_data_folder_fail(const char *what, const char *path, kedge_error *error)
{
    char text[128];
    int code = errno;
    kedge_status status = code == ENOSPC ? KEDGE_DISK_FULL : KEDGE_IO;
    return kedge_fail(error, status, kedge_status_name(status), "cannot %s %s: %s", what, path,
                      strerror_r(code, text, sizeof text));
}

static kedge_status fail_locked(int file, const char *folder, kedge_error *error)
{
    char holder[32];
    ssize_t size = pread(file, holder, sizeof holder - 1, 0);
    holder[size > 0 ? size : 0] = '\0';
    long process = strtol(holder, NULL, 10);
    return kedge_fail(error, KEDGE_BUSY, "data-folder-in-use",
                      "another kedge-server, or a backup or restore of kedge-admin (process %ld), "
                      "has %s; stop it, or give another folder",
                      process, folder);
}

/* flock: unlike a POSIX lock it does not vanish when some other descriptor of
 * the file is closed. */
kedge_status kedge_data_folder_lock(const char *folder, int *lock, kedge_error *error)
{
    kedge_data_path path;
    kedge_status status = kedge_data_folder_join(folder, "server.lock", &path, error);
    if (status != KEDGE_OK) return status;
    int file = open(path.text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return kedge_data_folder_fail("open the lock file", path.text, error);
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        status = errno == EWOULDBLOCK ? fail_locked(file, folder, error)
                                      : kedge_data_folder_fail("lock", path.text, error);
        close(file);
        return status;
    }
    /* Only for the message above: a failure to write it changes nothing. */
    char holder[32];
    int size = snprintf(holder, sizeof holder, "%ld\n", (long)getpid());
    if (ftruncate(file, 0) == 0 && pwrite(file, holder, (size_t)size, 0) != size) errno = 0;
    *lock = file;
    return KEDGE_OK;
}
