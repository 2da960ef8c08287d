/* See copy.h. */
#include "backend/embedded/copy.h"
#include "backend/embedded/data_folder.h"
#include "backend/embedded/embedded.h"
#include "backend/sqlite/sqlite_ports.h"
#include "common/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the order in which they are copied and then named. */
static const struct {
    const char *name, *fresh;
} databases[] = {{"queue.db", "queue.db-fresh"},
                 {"snapshots.db", "snapshots.db-fresh"},
                 {"records.db", "records.db-fresh"}};

#define DATABASES (sizeof databases / sizeof databases[0])

/* ---- marks ---- */

static kedge_status sync_folder(const char *folder, kedge_error *error)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return kedge_data_folder_fail("open", folder, error);
    kedge_status status =
        fsync(file) == 0 ? KEDGE_OK : kedge_data_folder_fail("sync", folder, error);
    close(file);
    return status;
}

static kedge_status mark(const char *folder, const char *name, kedge_error *error)
{
    kedge_data_path path;
    kedge_status status = kedge_data_folder_join(folder, name, &path, error);
    if (status != KEDGE_OK) return status;
    int file = open(path.text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return kedge_data_folder_fail("make", path.text, error);
    close(file);
    return sync_folder(folder, error);
}

static kedge_status unmark(const char *folder, const char *name, kedge_error *error)
{
    kedge_data_path path;
    kedge_status status = kedge_data_folder_join(folder, name, &path, error);
    if (status != KEDGE_OK) return status;
    if (unlink(path.text) != 0) return kedge_data_folder_fail("remove", path.text, error);
    return sync_folder(folder, error);
}

/* ---- the folder that is written ---- */

/* Makes the folder. One that is there must be empty, but for a lock, or have the file `name`. */
static kedge_status check_target(const char *folder, const char *name, const char *code,
                                 kedge_error *error)
{
    kedge_data_path above;
    kedge_status status = kedge_data_folder_join(folder, "..", &above, error);
    if (status != KEDGE_OK) return status;
    if (mkdir(folder, 0700) == 0) return sync_folder(above.text, error);
    if (errno != EEXIST) return kedge_data_folder_fail("make the folder", folder, error);
    if (kedge_data_folder_has(folder, name)) return KEDGE_OK;
    DIR *names = opendir(folder);
    if (names == NULL) return kedge_data_folder_fail("open the folder", folder, error);
    struct dirent *entry;
    while (status == KEDGE_OK && (entry = readdir(names)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strcmp(entry->d_name, "server.lock") == 0)
            continue;
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, code,
                            "%.120s holds \"%.64s\"; give an empty or a new folder", folder,
                            entry->d_name);
    }
    closedir(names);
    return status;
}

/* A folder within the other one would be copied into itself. */
static kedge_status check_apart(const char *from, const char *to, kedge_error *error)
{
    char *outer = realpath(from, NULL);
    char *inner = realpath(to, NULL);
    kedge_status status = KEDGE_OK;
    size_t size = outer == NULL ? 0 : strlen(outer);
    if (outer == NULL || inner == NULL)
        status = kedge_data_folder_fail("find", outer == NULL ? from : to, error);
    else if (strncmp(inner, outer, size) == 0 && (inner[size] == '/' || inner[size] == '\0'))
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "folder-inside",
                            "%.150s is inside of %.150s; give a folder elsewhere", to, from);
    free(outer);
    free(inner);
    return status;
}

/* ---- copying ---- */

static kedge_status copy_blobs(const kedge_environment *environment, const char *from,
                               const char *to, kedge_folder_copied *told, kedge_error *error)
{
    kedge_data_path source, target;
    if (!kedge_data_folder_has(from, "blobs")) return KEDGE_OK;
    kedge_status status = kedge_data_folder_join(from, "blobs", &source, error);
    if (status == KEDGE_OK) status = kedge_data_folder_join(to, "blobs", &target, error);
    if (status != KEDGE_OK) return status;
    return kedge_folder_blobs_copy(environment, source.text, target.text, told, error);
}

static kedge_status copy_databases(const char *from, const char *to, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < DATABASES && status == KEDGE_OK; i++) {
        kedge_data_path source, fresh;
        status = kedge_data_folder_join(from, databases[i].name, &source, error);
        if (status == KEDGE_OK)
            status = kedge_data_folder_join(to, databases[i].fresh, &fresh, error);
        if (status != KEDGE_OK) break;
        if (kedge_data_folder_has(from, databases[i].name))
            status = kedge_sqlite_copy(source.text, fresh.text, error);
        else
            unlink(fresh.text); /* of a run that was cut off; a server makes a queue anew */
    }
    return status;
}

static kedge_status name_databases(const char *to, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < DATABASES && status == KEDGE_OK; i++) {
        kedge_data_path path, fresh;
        if (!kedge_data_folder_has(to, databases[i].fresh)) continue;
        status = kedge_data_folder_join(to, databases[i].name, &path, error);
        if (status == KEDGE_OK)
            status = kedge_data_folder_join(to, databases[i].fresh, &fresh, error);
        /* A log of the old file must not be taken for one of the new file. */
        if (status == KEDGE_OK && kedge_data_folder_has(to, databases[i].name))
            status = kedge_sqlite_end_log(path.text, error);
        if (status == KEDGE_OK && rename(fresh.text, path.text) != 0)
            status = kedge_data_folder_fail("name", path.text, error);
        if (status == KEDGE_OK) status = sync_folder(to, error);
    }
    return status;
}

static kedge_status copy(const kedge_environment *environment, const char *from, const char *to,
                         kedge_embedded_copied *copied, kedge_error *error)
{
    kedge_folder_copied told = {0};
    kedge_status status = copy_blobs(environment, from, to, &told, error);
    if (status == KEDGE_OK) status = copy_databases(from, to, error);
    if (status == KEDGE_OK) status = copy_blobs(environment, from, to, &told, error);
    if (status == KEDGE_OK) status = name_databases(to, error);
    *copied = (kedge_embedded_copied){told.blobs, told.bytes, told.linked, told.copied};
    return status;
}

/* ---- backup and restore ---- */

kedge_status kedge_embedded_backup(const kedge_environment *environment, const char *data,
                                   const char *backup, kedge_embedded_copied *copied,
                                   kedge_error *error)
{
    int lock = -1;
    if (!kedge_embedded_exists(data))
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-data-folder",
                          "%.150s is not a data folder of a backend: it has no records.db", data);
    if (kedge_data_folder_has(data, KEDGE_DATA_FOLDER_UNFINISHED))
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "restore-unfinished",
                          "a restore into %.150s was cut off; run it again", data);
    kedge_status status = check_target(backup, KEDGE_DATA_FOLDER_BACKUP, "not-a-backup", error);
    if (status == KEDGE_OK) status = check_apart(data, backup, error);
    if (status == KEDGE_OK) status = kedge_data_folder_lock(backup, &lock, error);
    if (status == KEDGE_OK) status = mark(backup, KEDGE_DATA_FOLDER_BACKUP, error);
    if (status == KEDGE_OK) status = copy(environment, data, backup, copied, error);
    if (lock >= 0) close(lock);
    return status;
}

static kedge_status check_backup(const char *backup, kedge_error *error)
{
    if (!kedge_data_folder_has(backup, KEDGE_DATA_FOLDER_BACKUP))
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-backup",
                          "%.150s is not a backup that kedge-admin has made", backup);
    if (!kedge_embedded_exists(backup))
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "backup-unfinished",
                          "the backup in %.150s was cut off, and is not whole", backup);
    return KEDGE_OK;
}

kedge_status kedge_embedded_restore(const kedge_environment *environment, const char *backup,
                                    const char *data, kedge_embedded_copied *copied,
                                    kedge_error *error)
{
    int lock = -1, backup_lock = -1;
    kedge_status status = check_backup(backup, error);
    if (status == KEDGE_OK)
        status = check_target(data, KEDGE_DATA_FOLDER_UNFINISHED, "folder-not-empty", error);
    if (status == KEDGE_OK) status = check_apart(backup, data, error);
    if (status == KEDGE_OK) status = kedge_data_folder_lock(data, &lock, error);
    if (status == KEDGE_OK) status = kedge_data_folder_lock(backup, &backup_lock, error);
    if (status == KEDGE_OK) status = mark(data, KEDGE_DATA_FOLDER_UNFINISHED, error);
    if (status == KEDGE_OK) status = copy(environment, backup, data, copied, error);
    if (status == KEDGE_OK) status = unmark(data, KEDGE_DATA_FOLDER_UNFINISHED, error);
    if (backup_lock >= 0) close(backup_lock);
    if (lock >= 0) close(lock);
    return status;
}
