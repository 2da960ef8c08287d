/* The blobs port in a folder: one file a blob, and one beside it for its tags. */
#include "backend/ports/blobs_support.h"
#include "backend/sqlite/folder_list.h"
#include "backend/sqlite/sqlite_ports.h"
#include "common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define TAGS_BYTES_MAX 8192

/* ---- put ---- */

/* Links the finished file to its name unless the name is taken; 0 or a system error. Tags without a
 * blob are what a crash left; those of this blob come first, so that it is never there without.
 * `tags` is the name of a finished file, or empty. The mutex keeps threads apart and not processes:
 * the key of a blob with a tag is random, so no other process puts one under it. */
static int link_if_absent(kedge_folder *folder, const char *temporary, const char *tags,
                          const char *path)
{
    char tags_path[KEDGE_FOLDER_PATH_SIZE];
    int failure = 0;
    kedge_folder_tags_path(path, tags_path);
    pthread_mutex_lock(&folder->mutex);
    if (kedge_folder_has(folder, path))
        failure = EEXIST;
    else if (tags[0] == '\0')
        unlinkat(folder->top, tags_path, 0);
    else if (renameat(folder->top, tags, folder->top, tags_path) != 0)
        failure = errno;
    if (failure == 0 && linkat(folder->top, temporary, folder->top, path, 0) != 0) failure = errno;
    pthread_mutex_unlock(&folder->mutex);
    return failure;
}

/* Makes the name of the file durable. Called also for a blob that was there before: its writer may
 * not have done so yet, and the caller will rely on the blob. */
static kedge_status sync_name(kedge_folder *folder, const char *path, kedge_error *error)
{
    int failure = kedge_folder_sync_parent(folder, path);
    if (failure == 0) return KEDGE_OK;
    kedge_error cause = {0};
    kedge_folder_fail(folder, "cannot sync a directory", failure, &cause);
    return kedge_fail(error, KEDGE_UNAVAILABLE, cause.code, "unknown whether it was written: %s",
                      cause.message);
}

/* Writes the file of the tag; no tag: no file, and the name is empty. */
static kedge_status write_tag(kedge_folder *folder, const kedge_blob_tag *tag,
                              char temporary[KEDGE_FOLDER_TEMPORARY_SIZE], kedge_error *error)
{
    temporary[0] = '\0';
    if (tag == NULL) return KEDGE_OK;
    kedge_buffer tags = kedge_buffer_make(folder->environment->allocator);
    kedge_status status =
        kedge_blob_tags_set((kedge_bytes){NULL, 0}, tag->name, tag->value, &tags, error);
    if (status == KEDGE_OK)
        status = kedge_folder_write_temporary(folder, kedge_buffer_bytes(&tags), temporary, error);
    if (status != KEDGE_OK) temporary[0] = '\0';
    kedge_buffer_free(&tags);
    return status;
}

/* `*failure` gets 0 or a system error, EEXIST among them. */
static kedge_status write_blob(kedge_folder *folder, const char *path, kedge_bytes bytes,
                               const kedge_blob_tag *tag, int *failure, kedge_error *error)
{
    char temporary[KEDGE_FOLDER_TEMPORARY_SIZE], tags[KEDGE_FOLDER_TEMPORARY_SIZE];
    kedge_status status = write_tag(folder, tag, tags, error);
    if (status != KEDGE_OK) return status;
    status = kedge_folder_write_temporary(folder, bytes, temporary, error);
    if (status == KEDGE_OK) {
        *failure = link_if_absent(folder, temporary, tags, path);
        unlinkat(folder->top, temporary, 0);
    }
    if (tags[0] != '\0') unlinkat(folder->top, tags, 0);
    return status;
}

static kedge_status blobs_put_tagged(void *context, kedge_bytes key, kedge_bytes bytes,
                                     const kedge_blob_tag *tag, kedge_error *error)
{
    kedge_folder *folder = context;
    char path[KEDGE_FOLDER_PATH_SIZE];
    kedge_status status = kedge_blob_put_tagged_check(key, bytes, tag, error);
    if (status != KEDGE_OK) return status;
    kedge_folder_path(key, path);
    status = kedge_folder_make_parents(folder, path, error);
    if (status != KEDGE_OK) return status;
    int failure = EEXIST;
    if (!kedge_folder_has(folder, path)) {
        status = write_blob(folder, path, bytes, tag, &failure, error);
        if (status != KEDGE_OK) return status;
    }
    if (failure != 0 && failure != EEXIST)
        return kedge_folder_fail(folder, "cannot name a file", failure, error);
    status = sync_name(folder, path, error);
    if (status != KEDGE_OK) return status;
    return failure == 0 ? KEDGE_OK : kedge_blob_exists(key, error);
}

static kedge_status blobs_put_if_absent(void *context, kedge_bytes key, kedge_bytes bytes,
                                        kedge_error *error)
{
    return blobs_put_tagged(context, key, bytes, NULL, error);
}

/* ---- get, list, remove ---- */

static kedge_status blobs_get(void *context, kedge_bytes key, kedge_buffer *out, kedge_error *error)
{
    char path[KEDGE_FOLDER_PATH_SIZE];
    kedge_status status = kedge_blob_key_check(key, error);
    if (status != KEDGE_OK) return status;
    kedge_folder_path(key, path);
    status = kedge_folder_read(context, path, KEDGE_BLOB_BYTES_MAX, out, error);
    return status == KEDGE_NOT_FOUND ? kedge_blob_not_found(key, error) : status;
}

static kedge_status blobs_list(void *context, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                               kedge_blob_list *list, kedge_error *error)
{
    kedge_blob_list found = {0};
    kedge_status status = kedge_blob_list_check(prefix, after, limit, error);
    if (status != KEDGE_OK) return status;
    status = kedge_folder_list(context, prefix, after, limit, &found, error);
    if (status == KEDGE_OK)
        *list = found;
    else
        kedge_blob_list_free(&found);
    return status;
}

static kedge_status blobs_remove(void *context, kedge_bytes key, kedge_error *error)
{
    kedge_folder *folder = context;
    char path[KEDGE_FOLDER_PATH_SIZE], tags_path[KEDGE_FOLDER_PATH_SIZE];
    kedge_status status = kedge_blob_key_check(key, error);
    if (status != KEDGE_OK) return status;
    kedge_folder_path(key, path);
    kedge_folder_tags_path(path, tags_path);
    pthread_mutex_lock(&folder->mutex);
    int failure = unlinkat(folder->top, path, 0) == 0 ? 0 : errno;
    if (failure == 0) unlinkat(folder->top, tags_path, 0);
    pthread_mutex_unlock(&folder->mutex);
    if (failure == ENOENT || failure == ENOTDIR) return KEDGE_OK;
    if (failure != 0) return kedge_folder_fail(folder, "cannot remove a file", failure, error);
    return sync_name(folder, path, error);
}

/* ---- tags ---- */

/* With the mutex held. KEDGE_NOT_FOUND, without `error`: there is no blob. */
static kedge_status read_tags(kedge_folder *folder, const char *path, kedge_buffer *tags,
                              kedge_error *error)
{
    char tags_path[KEDGE_FOLDER_PATH_SIZE];
    if (!kedge_folder_has(folder, path)) return KEDGE_NOT_FOUND;
    kedge_folder_tags_path(path, tags_path);
    kedge_status status = kedge_folder_read(folder, tags_path, TAGS_BYTES_MAX, tags, error);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_status write_tags(kedge_folder *folder, const char *path, kedge_bytes tags,
                               kedge_error *error)
{
    char tags_path[KEDGE_FOLDER_PATH_SIZE], temporary[KEDGE_FOLDER_TEMPORARY_SIZE];
    kedge_folder_tags_path(path, tags_path);
    if (tags.size == 0) {
        if (unlinkat(folder->top, tags_path, 0) == 0 || errno == ENOENT) return KEDGE_OK;
        return kedge_folder_fail(folder, "cannot remove tags", errno, error);
    }
    kedge_status status = kedge_folder_write_temporary(folder, tags, temporary, error);
    if (status != KEDGE_OK) return status;
    if (renameat(folder->top, temporary, folder->top, tags_path) == 0) return KEDGE_OK;
    status = kedge_folder_fail(folder, "cannot name tags", errno, error);
    unlinkat(folder->top, temporary, 0);
    return status;
}

static kedge_status change_tags(kedge_folder *folder, const char *path, kedge_bytes name,
                                kedge_bytes value, kedge_error *error)
{
    kedge_buffer before = kedge_buffer_make(folder->environment->allocator);
    kedge_buffer after = kedge_buffer_make(folder->environment->allocator);
    pthread_mutex_lock(&folder->mutex);
    kedge_status status = read_tags(folder, path, &before, error);
    if (status == KEDGE_OK)
        status = kedge_blob_tags_set(kedge_buffer_bytes(&before), name, value, &after, error);
    if (status == KEDGE_OK) status = write_tags(folder, path, kedge_buffer_bytes(&after), error);
    pthread_mutex_unlock(&folder->mutex);
    kedge_buffer_free(&before);
    kedge_buffer_free(&after);
    return status == KEDGE_OK ? sync_name(folder, path, error) : status;
}

static kedge_status blobs_tag(void *context, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                              kedge_error *error)
{
    char path[KEDGE_FOLDER_PATH_SIZE];
    kedge_status status = kedge_blob_tag_check(key, name, value, error);
    if (status != KEDGE_OK) return status;
    kedge_folder_path(key, path);
    status = change_tags(context, path, name, value, error);
    return status == KEDGE_NOT_FOUND ? kedge_blob_not_found(key, error) : status;
}

static kedge_status blobs_get_tag(void *context, kedge_bytes key, kedge_bytes name,
                                  kedge_buffer *value, kedge_error *error)
{
    kedge_folder *folder = context;
    char path[KEDGE_FOLDER_PATH_SIZE];
    kedge_status status = kedge_blob_tag_check(key, name, (kedge_bytes){0}, error);
    if (status != KEDGE_OK) return status;
    kedge_folder_path(key, path);
    kedge_buffer tags = kedge_buffer_make(folder->environment->allocator);
    kedge_bytes found;
    pthread_mutex_lock(&folder->mutex);
    status = read_tags(folder, path, &tags, error);
    pthread_mutex_unlock(&folder->mutex);
    if (status == KEDGE_NOT_FOUND) {
        kedge_blob_not_found(key, error);
    } else if (status == KEDGE_OK) {
        if (kedge_blob_tags_get(kedge_buffer_bytes(&tags), name, &found)) {
            kedge_buffer_append_bytes(value, found);
            status = kedge_buffer_status(value, error);
        } else {
            status = kedge_blob_tag_not_found(key, name, error);
        }
    }
    kedge_buffer_free(&tags);
    return status;
}

/* ---- opening ---- */

static void blobs_close(void *context)
{
    kedge_folder *folder = context;
    const kedge_allocator *allocator = folder->environment->allocator;
    kedge_folder_close(folder);
    kedge_release(allocator, folder);
}

static const kedge_blobs_vtable vtable = {.put_if_absent = blobs_put_if_absent,
                                          .put_tagged = blobs_put_tagged,
                                          .get = blobs_get,
                                          .tag = blobs_tag,
                                          .get_tag = blobs_get_tag,
                                          .remove = blobs_remove,
                                          .list = blobs_list,
                                          .close = blobs_close};

kedge_status kedge_folder_blobs_open(const kedge_environment *environment, const char *path,
                                     kedge_blobs *blobs, kedge_error *error)
{
    kedge_folder *folder = kedge_allocate(environment->allocator, sizeof *folder);
    if (folder == NULL) return kedge_fail_no_memory(error);
    kedge_status status = kedge_folder_open(folder, environment, path, error);
    if (status != KEDGE_OK) {
        kedge_release(environment->allocator, folder);
        return status;
    }
    *blobs = (kedge_blobs){&vtable, folder};
    return KEDGE_OK;
}
