/* Opening a data folder: what it may hold, and the ports. */
#include "backend/embedded/embedded.h"
#include "backend/embedded/data_folder.h"
#include "backend/sqlite/sqlite_ports.h"
#include "common/assert.h"
#include "common/error.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct kedge_embedded {
    const kedge_allocator *allocator;
    int lock; /* -1: not held */
    bool lacked_records;
    bool readable_by_others;
    kedge_records records;
    kedge_blobs blobs;
    kedge_queue queue;
    kedge_queue snapshots;
    kedge_stream stream;
};

/* ---- the folder ---- */

static bool is_ours(const char *name)
{
    static const char *const names[] = {".",
                                        "..",
                                        "server.lock",
                                        "records.db",
                                        "queue.db",
                                        "snapshots.db",
                                        KEDGE_DATA_FOLDER_BACKUP,
                                        KEDGE_DATA_FOLDER_UNFINISHED};
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        if (strcmp(name, names[at]) == 0) return true;
    }
    /* With what SQLite and the folder put beside them. */
    return strncmp(name, "records.db-", 11) == 0 || strncmp(name, "queue.db-", 9) == 0 ||
           strncmp(name, "snapshots.db-", 13) == 0 || strncmp(name, "blobs", 5) == 0;
}

bool kedge_embedded_exists(const char *path)
{
    kedge_data_path records;
    struct stat found;
    return kedge_data_folder_join(path, "records.db", &records, NULL) == KEDGE_OK &&
           stat(records.text, &found) == 0 && S_ISREG(found.st_mode);
}

/* A database that an older umask made, in a folder that others may look into. */
static bool is_readable_by_others(const char *path)
{
    static const char *const names[] = {"records.db", "queue.db", "snapshots.db"};
    struct stat found;
    if (stat(path, &found) != 0 || (found.st_mode & (S_IXGRP | S_IXOTH)) == 0) return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        kedge_data_path database;
        if (kedge_data_folder_join(path, names[i], &database, NULL) != KEDGE_OK) return false;
        if (stat(database.text, &found) == 0 && (found.st_mode & (S_IRGRP | S_IROTH)) != 0)
            return true;
    }
    return false;
}

/* Refuses a folder of something else, so that a mistyped path does not get a
 * backend put into it. */
static kedge_status check_folder(const char *path, kedge_error *error)
{
    if (mkdir(path, 0700) == 0) return KEDGE_OK;
    if (errno != EEXIST) return kedge_data_folder_fail("make the data folder", path, error);
    DIR *folder = opendir(path);
    if (folder == NULL) return kedge_data_folder_fail("open the data folder", path, error);
    kedge_status status = KEDGE_OK;
    bool exists = kedge_embedded_exists(path);
    struct dirent *entry;
    while (!exists && status == KEDGE_OK && (entry = readdir(folder)) != NULL) {
        if (is_ours(entry->d_name)) continue;
        status =
            kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-data-folder",
                       "%s holds \"%.64s\" and no data of Kedge; give an empty or a new folder",
                       path, entry->d_name);
    }
    closedir(folder);
    return status;
}

static kedge_status check_marks(const char *path, bool serve, kedge_error *error)
{
    if (kedge_data_folder_has(path, KEDGE_DATA_FOLDER_UNFINISHED))
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "restore-unfinished",
                          "a restore into %s was cut off; run it again", path);
    if (serve && kedge_data_folder_has(path, KEDGE_DATA_FOLDER_BACKUP))
        return kedge_fail(
            error, KEDGE_NOT_A_DATABASE, "data-folder-is-backup",
            "%s is a backup; restore it into a new folder, and start the server there", path);
    return KEDGE_OK;
}

/* ---- opening and closing ---- */

static kedge_status open_ports(const kedge_environment *environment, const char *folder,
                               kedge_embedded *embedded, kedge_error *error)
{
    kedge_data_path path;
    kedge_status status = kedge_data_folder_join(folder, "records.db", &path, error);
    if (status == KEDGE_OK) {
        status = kedge_sqlite_records_open(environment, path.text, &embedded->records, error);
    }
    if (status == KEDGE_OK) status = kedge_data_folder_join(folder, "queue.db", &path, error);
    if (status == KEDGE_OK) {
        status = kedge_sqlite_queue_open(environment, path.text, KEDGE_QUEUE_DELIVERIES,
                                         &embedded->queue, error);
    }
    if (status == KEDGE_OK) status = kedge_data_folder_join(folder, "snapshots.db", &path, error);
    if (status == KEDGE_OK) {
        status = kedge_sqlite_queue_open(environment, path.text, KEDGE_QUEUE_DELIVERIES,
                                         &embedded->snapshots, error);
    }
    if (status == KEDGE_OK) status = kedge_data_folder_join(folder, "blobs", &path, error);
    if (status == KEDGE_OK) {
        status = kedge_folder_blobs_open(environment, path.text, &embedded->blobs, error);
    }
    return status;
}

kedge_status kedge_embedded_open(const kedge_environment *environment, const char *path, bool lock,
                                 kedge_embedded **embedded, kedge_error *error)
{
    kedge_embedded *made = kedge_allocate(environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = environment->allocator;
    made->lock = -1;
    kedge_status status = check_folder(path, error);
    if (status == KEDGE_OK) status = check_marks(path, lock, error);
    if (status == KEDGE_OK && lock) status = kedge_data_folder_lock(path, &made->lock, error);
    made->readable_by_others = is_readable_by_others(path);
    made->lacked_records =
        !kedge_embedded_exists(path) &&
        (kedge_data_folder_has(path, "blobs") || kedge_data_folder_has(path, "queue.db"));
    if (status == KEDGE_OK) status = open_ports(environment, path, made, error);
    if (status != KEDGE_OK) {
        kedge_embedded_close(made);
        return status;
    }
    *embedded = made;
    return KEDGE_OK;
}

void kedge_embedded_close(kedge_embedded *embedded)
{
    if (embedded == NULL) return;
    if (embedded->blobs.vtable != NULL) embedded->blobs.vtable->close(embedded->blobs.self);
    if (embedded->stream.vtable != NULL) embedded->stream.vtable->close(embedded->stream.self);
    if (embedded->snapshots.vtable != NULL)
        embedded->snapshots.vtable->close(embedded->snapshots.self);
    if (embedded->queue.vtable != NULL) embedded->queue.vtable->close(embedded->queue.self);
    if (embedded->records.vtable != NULL) embedded->records.vtable->close(embedded->records.self);
    if (embedded->lock >= 0) close(embedded->lock);
    kedge_release(embedded->allocator, embedded);
}

bool kedge_embedded_is_readable_by_others(const kedge_embedded *embedded)
{
    return embedded->readable_by_others;
}

bool kedge_embedded_lacked_records(const kedge_embedded *embedded)
{
    return embedded->lacked_records;
}

kedge_records kedge_embedded_records(const kedge_embedded *embedded)
{
    return embedded->records;
}

kedge_blobs kedge_embedded_blobs(const kedge_embedded *embedded)
{
    return embedded->blobs;
}

kedge_queue kedge_embedded_queue(const kedge_embedded *embedded)
{
    return embedded->queue;
}

kedge_queue kedge_embedded_snapshots(const kedge_embedded *embedded)
{
    return embedded->snapshots;
}

kedge_status kedge_embedded_stream(kedge_embedded *embedded, const char *prefix,
                                   kedge_stream *stream, kedge_error *error)
{
    const kedge_sqlite_stream_options options = {.partition_prefix = prefix};
    KEDGE_ASSERT(embedded->stream.vtable == NULL);
    kedge_status status =
        kedge_sqlite_stream_open(&embedded->records, &options, &embedded->stream, error);
    if (status == KEDGE_OK) *stream = embedded->stream;
    return status;
}
