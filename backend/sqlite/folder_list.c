/* Listing the keys of a folder in byte order.
 *
 * Names are escaped and segments are cut, so that no walk over directories meets the keys in their
 * order. The walk visits every directory that can hold a key of the page, and keeps the smallest
 * keys. One directory is open at a time; those still to be read wait on a stack. */
#include "backend/sqlite/folder_list.h"

#include "backend/ports/blobs_support.h"
#include "common/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct waiting {
    struct waiting *next;
    char *path; /* "" or a path that ends with a slash */
    char *key;  /* what all keys below start with */
} waiting;

typedef struct listing {
    const kedge_folder *folder;
    const kedge_allocator *allocator;
    kedge_bytes prefix, after;
    size_t limit;
    kedge_blob_list *list;
    waiting *stack;
    kedge_buffer path, key; /* of the entry at hand */
} listing;

static void forget(listing *self, waiting *entry)
{
    kedge_release(self->allocator, entry->path);
    kedge_release(self->allocator, entry->key);
    kedge_release(self->allocator, entry);
}

static kedge_status push(listing *self, kedge_error *error)
{
    waiting *entry = kedge_allocate(self->allocator, sizeof *entry);
    if (entry == NULL) return kedge_fail_no_memory(error);
    entry->path = kedge_copy_text(self->allocator, kedge_buffer_bytes(&self->path));
    entry->key = kedge_copy_text(self->allocator, kedge_buffer_bytes(&self->key));
    if (entry->path == NULL || entry->key == NULL) {
        forget(self, entry);
        return kedge_fail_no_memory(error);
    }
    entry->next = self->stack;
    self->stack = entry;
    return KEDGE_OK;
}

static bool may_hold_keys(const listing *self, kedge_bytes start)
{
    if (!kedge_bytes_start_with(start, self->prefix) &&
        !kedge_bytes_start_with(self->prefix, start))
        return false;
    return kedge_bytes_compare(start, self->after) >= 0 ||
           kedge_bytes_start_with(self->after, start);
}

/* Others may have put a file here whose name is nearly one of ours. */
static bool is_path_of(kedge_bytes key, const char *path)
{
    char expected[KEDGE_FOLDER_PATH_SIZE];
    if (key.size == 0 || key.size > KEDGE_BLOB_KEY_BYTES_MAX) return false;
    kedge_folder_path(key, expected);
    return strcmp(expected, path) == 0;
}

static kedge_status offer(listing *self, kedge_error *error)
{
    kedge_bytes key = kedge_buffer_bytes(&self->key);
    struct stat about;
    if (!kedge_bytes_start_with(key, self->prefix)) return KEDGE_OK;
    if (kedge_bytes_compare(key, self->after) <= 0 || !is_path_of(key, self->path.data))
        return KEDGE_OK;
    if (fstatat(self->folder->top, self->path.data, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT
                   ? KEDGE_OK
                   : kedge_folder_fail(self->folder, "cannot look at a file", errno, error);
    if (!S_ISREG(about.st_mode)) return KEDGE_OK;
    int64_t modified_ms =
        (int64_t)about.st_mtim.tv_sec * 1000 + (int64_t)about.st_mtim.tv_nsec / 1000000;
    return kedge_blob_list_offer(self->list, self->limit, key, (int64_t)about.st_size, modified_ms,
                                 error);
}

static kedge_status visit(listing *self, const waiting *directory, const char *name,
                          kedge_error *error)
{
    kedge_buffer_clear(&self->path);
    kedge_buffer_clear(&self->key);
    kedge_buffer_append_text(&self->path, directory->path);
    kedge_buffer_append_text(&self->path, name);
    kedge_buffer_append_text(&self->key, directory->key);
    kedge_folder_entry entry = kedge_folder_decode(name, &self->key);
    if (entry == KEDGE_FOLDER_DIRECTORY) kedge_buffer_append_byte(&self->path, '/');
    kedge_status status = kedge_buffer_status(&self->path, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&self->key, error);
    if (status != KEDGE_OK || entry == KEDGE_FOLDER_FOREIGN) return status;
    if (entry == KEDGE_FOLDER_BLOB) return offer(self, error);
    return may_hold_keys(self, kedge_buffer_bytes(&self->key)) ? push(self, error) : KEDGE_OK;
}

static kedge_status read_directory(listing *self, const waiting *directory, kedge_error *error)
{
    const char *path = directory->path[0] == '\0' ? "." : directory->path;
    int file = openat(self->folder->top, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 && (errno == ENOTDIR || errno == ENOENT || errno == ELOOP)) return KEDGE_OK;
    DIR *names = file < 0 ? NULL : fdopendir(file);
    if (names == NULL) {
        int failure = errno;
        if (file >= 0) close(file);
        return kedge_folder_fail(self->folder, "cannot read a directory", failure, error);
    }
    kedge_status status = KEDGE_OK;
    struct dirent *entry;
    errno = 0;
    while (status == KEDGE_OK && (entry = readdir(names)) != NULL) {
        status = visit(self, directory, entry->d_name, error);
        errno = 0;
    }
    if (status == KEDGE_OK && errno != 0)
        status = kedge_folder_fail(self->folder, "cannot read a directory", errno, error);
    closedir(names);
    return status;
}

kedge_status kedge_folder_list(const kedge_folder *folder, kedge_bytes prefix, kedge_bytes after,
                               size_t limit, kedge_blob_list *list, kedge_error *error)
{
    const kedge_allocator *allocator = folder->environment->allocator;
    listing self = {.folder = folder,
                    .allocator = allocator,
                    .prefix = prefix,
                    .after = after,
                    .limit = limit,
                    .list = list,
                    .path = kedge_buffer_make(allocator),
                    .key = kedge_buffer_make(allocator)};
    list->allocator = allocator;
    kedge_status status = push(&self, error);
    while (self.stack != NULL) {
        waiting *directory = self.stack;
        self.stack = directory->next;
        if (status == KEDGE_OK) status = read_directory(&self, directory, error);
        forget(&self, directory);
    }
    kedge_buffer_free(&self.path);
    kedge_buffer_free(&self.key);
    return status;
}
