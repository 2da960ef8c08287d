/* Copying the blobs of one folder into another one, beside their writers.
 *
 * A blob never changes under its name, and a file appears under its name only when it is whole: so
 * a copy is another link to the same file where the file system allows it. Tags do change, by a new
 * file in the place of the old one. */
#include "backend/sqlite/folder_files.h"
#include "backend/sqlite/sqlite_ports.h"

#include "backend/ports/blobs.h"
#include "common/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder that is still to be read; its path is "" or ends with a slash. */
typedef struct waiting {
    struct waiting *next;
    char path[];
} waiting;

typedef struct copying {
    kedge_folder from, to;
    const kedge_allocator *allocator;
    kedge_folder_copied *told;
    waiting *stack;
    kedge_buffer key; /* of the name at hand; nothing needs it */
    bool changed;     /* the folder at hand has got or lost a name */
} copying;

/* ---- one file ---- */

/* KEDGE_NOT_FOUND, without `error`: it has gone meanwhile. `temporary` gets the new file's name. */
static kedge_status read_and_write(copying *self, const char *path, const struct stat *about,
                                   char temporary[KEDGE_FOLDER_TEMPORARY_SIZE], kedge_error *error)
{
    kedge_buffer bytes = kedge_buffer_make(self->allocator);
    kedge_status status = kedge_folder_read(&self->from, path, KEDGE_BLOB_BYTES_MAX, &bytes, error);
    if (status == KEDGE_OK)
        status =
            kedge_folder_write_temporary(&self->to, kedge_buffer_bytes(&bytes), temporary, error);
    kedge_buffer_free(&bytes);
    if (status != KEDGE_OK) return status;
    /* Garbage collection judges a blob by its age. */
    const struct timespec times[2] = {about->st_mtim, about->st_mtim};
    if (utimensat(self->to.top, temporary, times, AT_SYMLINK_NOFOLLOW) == 0) return KEDGE_OK;
    status = kedge_folder_fail(&self->to, "cannot set the time of a file", errno, error);
    unlinkat(self->to.top, temporary, 0);
    return status;
}

/* Likewise. */
static kedge_status link_or_copy(copying *self, const char *path, const struct stat *about,
                                 char temporary[KEDGE_FOLDER_TEMPORARY_SIZE], bool *linked,
                                 kedge_error *error)
{
    char random[2 * KEDGE_FOLDER_DIGEST_BYTES + 1];
    kedge_random_hex(self->to.environment, KEDGE_FOLDER_DIGEST_BYTES, random);
    snprintf(temporary, KEDGE_FOLDER_TEMPORARY_SIZE, KEDGE_FOLDER_TEMPORARY "/%s", random);
    *linked = linkat(self->from.top, path, self->to.top, temporary, 0) == 0;
    if (*linked) return KEDGE_OK;
    if (errno == ENOENT || errno == ENOTDIR) return KEDGE_NOT_FOUND;
    return read_and_write(self, path, about, temporary, error);
}

/* The same file, or one that was copied from it. */
static bool is_same(const struct stat *from, const struct stat *to, bool by_time)
{
    if (from->st_dev == to->st_dev && from->st_ino == to->st_ino) return true;
    return by_time && from->st_size == to->st_size && from->st_mtim.tv_sec == to->st_mtim.tv_sec &&
           from->st_mtim.tv_nsec == to->st_mtim.tv_nsec;
}

/* `by_time`: a file of the same size and time is the same. KEDGE_NOT_FOUND, without `error`: it has
 * gone meanwhile. */
static kedge_status copy_file(copying *self, const char *path, bool by_time, struct stat *about,
                              kedge_error *error)
{
    struct stat there;
    char temporary[KEDGE_FOLDER_TEMPORARY_SIZE];
    bool linked = false;
    if (fstatat(self->from.top, path, about, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return KEDGE_NOT_FOUND;
        return kedge_folder_fail(&self->from, "cannot look at a file", errno, error);
    }
    if (!S_ISREG(about->st_mode)) return KEDGE_NOT_FOUND;
    if (fstatat(self->to.top, path, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_same(about, &there, by_time))
        return KEDGE_OK;
    kedge_status status = link_or_copy(self, path, about, temporary, &linked, error);
    if (status != KEDGE_OK) return status;
    if (renameat(self->to.top, temporary, self->to.top, path) != 0) {
        status = kedge_folder_fail(&self->to, "cannot name a file", errno, error);
        unlinkat(self->to.top, temporary, 0);
        return status;
    }
    self->changed = true;
    if (by_time) *(linked ? &self->told->linked : &self->told->copied) += 1;
    return KEDGE_OK;
}

/* The tags come first, so that the blob is never there without them. */
static kedge_status copy_blob(copying *self, const char *path, kedge_error *error)
{
    char tags[KEDGE_FOLDER_PATH_SIZE];
    struct stat about;
    kedge_folder_tags_path(path, tags);
    kedge_status status = copy_file(self, tags, false, &about, error);
    if (status == KEDGE_NOT_FOUND) {
        self->changed = unlinkat(self->to.top, tags, 0) == 0 || self->changed;
        status = KEDGE_OK;
    }
    if (status == KEDGE_OK) status = copy_file(self, path, true, &about, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    self->told->blobs++;
    self->told->bytes += (int64_t)about.st_size;
    return KEDGE_OK;
}

/* ---- one folder ---- */

static kedge_status push(copying *self, kedge_bytes path, kedge_error *error)
{
    waiting *entry = kedge_allocate(self->allocator, sizeof *entry + path.size + 1);
    if (entry == NULL) return kedge_fail_no_memory(error);
    if (path.size > 0) memcpy(entry->path, path.data, path.size);
    entry->path[path.size] = '\0';
    entry->next = self->stack;
    self->stack = entry;
    return KEDGE_OK;
}

static kedge_status enter(copying *self, kedge_buffer *path, kedge_error *error)
{
    if (mkdirat(self->to.top, path->data, 0700) == 0)
        self->changed = true;
    else if (errno != EEXIST)
        return kedge_folder_fail(&self->to, "cannot make a directory", errno, error);
    kedge_buffer_append_byte(path, '/');
    kedge_status status = kedge_buffer_status(path, error);
    return status == KEDGE_OK ? push(self, kedge_buffer_bytes(path), error) : status;
}

static kedge_status visit(copying *self, const waiting *folder, const char *name,
                          kedge_error *error)
{
    kedge_buffer path = kedge_buffer_make(self->allocator);
    kedge_buffer_append_text(&path, folder->path);
    kedge_buffer_append_text(&path, name);
    kedge_buffer_clear(&self->key);
    kedge_folder_entry entry = kedge_folder_decode(name, &self->key);
    kedge_status status = kedge_buffer_status(&path, error);
    if (status == KEDGE_OK && path.size + 2 > KEDGE_FOLDER_PATH_SIZE) entry = KEDGE_FOLDER_FOREIGN;
    if (status == KEDGE_OK && entry == KEDGE_FOLDER_DIRECTORY) status = enter(self, &path, error);
    if (status == KEDGE_OK && entry == KEDGE_FOLDER_BLOB)
        status = copy_blob(self, path.data, error);
    kedge_buffer_free(&path);
    return status;
}

static kedge_status copy_folder(copying *self, const waiting *folder, kedge_error *error)
{
    const char *path = folder->path[0] == '\0' ? "." : folder->path;
    int file = openat(self->from.top, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *names = file < 0 ? NULL : fdopendir(file);
    if (names == NULL) {
        int failure = errno;
        if (file >= 0) close(file);
        /* A name like that of a directory is not one of ours when it is something else. */
        if (file < 0 && (failure == ENOTDIR || failure == ELOOP)) return KEDGE_OK;
        return kedge_folder_fail(&self->from, "cannot read a directory", failure, error);
    }
    kedge_status status = KEDGE_OK;
    struct dirent *entry;
    self->changed = false;
    errno = 0;
    while (status == KEDGE_OK && (entry = readdir(names)) != NULL) {
        status = visit(self, folder, entry->d_name, error);
        errno = 0;
    }
    int failure = errno;
    closedir(names);
    if (status == KEDGE_OK && failure != 0)
        return kedge_folder_fail(&self->from, "cannot read a directory", failure, error);
    if (status != KEDGE_OK || !self->changed) return status;
    failure = kedge_folder_sync_parent(&self->to, folder->path);
    return failure == 0 ? KEDGE_OK
                        : kedge_folder_fail(&self->to, "cannot sync a directory", failure, error);
}

/* ---- all of it ---- */

static kedge_status copy_all(copying *self, kedge_error *error)
{
    kedge_status status = push(self, (kedge_bytes){NULL, 0}, error);
    while (self->stack != NULL) {
        waiting *folder = self->stack;
        self->stack = folder->next;
        if (status == KEDGE_OK) status = copy_folder(self, folder, error);
        kedge_release(self->allocator, folder);
    }
    return status;
}

kedge_status kedge_folder_blobs_copy(const kedge_environment *environment, const char *from,
                                     const char *to, kedge_folder_copied *told, kedge_error *error)
{
    copying self = {.allocator = environment->allocator,
                    .told = told,
                    .key = kedge_buffer_make(environment->allocator)};
    kedge_status status = kedge_folder_open(&self.from, environment, from, error);
    if (status != KEDGE_OK) return status;
    status = kedge_folder_open(&self.to, environment, to, error);
    if (status == KEDGE_OK) {
        told->blobs = told->bytes = 0;
        status = copy_all(&self, error);
        kedge_folder_close(&self.to);
    }
    kedge_folder_close(&self.from);
    kedge_buffer_free(&self.key);
    return status;
}
