/* The VFS that records the writes of one folder: see powercut.h. It stands on the system's, so that
 * locks and shared memory are real.
 *
 * The system's VFS syncs the folder with the first sync of a WAL or journal that it made, and with
 * a deletion where SQLite asks for it; so does the record. */
#include "tests/powercut/powercut.h"
#include "tests/support/vfs_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define VFS_NAME "kedge-powercut"

typedef struct recorded_file {
    vfs_file base;
    int file; /* -1: not recorded */
    bool sync_folder;
} recorded_file;

const char *const powercut_files[POWERCUT_FILES] = {"outbox.db",         "outbox.db-wal",
                                                    "outbox.db-journal", "cache.db",
                                                    "cache.db-wal",      "cache.db-journal"};

static sqlite3_vfs *system_vfs;
static sqlite3_io_methods methods;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char recorded_folder[FILES_PATH_BYTES];
static powercut_record *record;

static int file_of(const char *path)
{
    size_t size = strlen(recorded_folder);
    if (!record || !path || strncmp(path, recorded_folder, size) != 0 || path[size] != '/')
        return -1;
    for (int i = 0; i < POWERCUT_FILES; i++)
        if (strcmp(path + size + 1, powercut_files[i]) == 0) return i;
    return -1;
}

/* With the mutex held. */
static void note(powercut_operation operation, const void *bytes)
{
    if (!record) return;
    if (record->count == record->capacity) {
        record->capacity = record->capacity ? record->capacity * 2 : 1024;
        record->operations =
            powercut_allocate(record->operations, record->capacity * sizeof *record->operations);
    }
    if (bytes) {
        operation.bytes = powercut_allocate(NULL, operation.size + 1);
        memcpy(operation.bytes, bytes, operation.size);
    }
    record->operations[record->count++] = operation;
}

/* ---- a file ---- */

static int file_write(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 offset)
{
    recorded_file *file = (recorded_file *)base;
    pthread_mutex_lock(&mutex);
    int code = vfs_file_methods.xWrite(base, bytes, size, offset);
    if (code == SQLITE_OK && file->file >= 0)
        note((powercut_operation){.call = POWERCUT_WRITE,
                                  .file = file->file,
                                  .offset = (size_t)offset,
                                  .size = (size_t)size},
             bytes);
    pthread_mutex_unlock(&mutex);
    return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    recorded_file *file = (recorded_file *)base;
    pthread_mutex_lock(&mutex);
    int code = vfs_file_methods.xTruncate(base, size);
    if (code == SQLITE_OK && file->file >= 0)
        note((powercut_operation){.call = POWERCUT_TRUNCATE,
                                  .file = file->file,
                                  .offset = (size_t)size},
             NULL);
    pthread_mutex_unlock(&mutex);
    return code;
}

static int file_sync(sqlite3_file *base, int flags)
{
    recorded_file *file = (recorded_file *)base;
    (void)flags;
    pthread_mutex_lock(&mutex);
    if (file->file >= 0)
        note((powercut_operation){.call = POWERCUT_SYNC,
                                  .file = file->file,
                                  .folder_synced = file->sync_folder},
             NULL);
    file->sync_folder = false;
    pthread_mutex_unlock(&mutex);
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int what, void *argument)
{
    /* A hint to make the file larger; writes then do it. */
    if (what == SQLITE_FCNTL_SIZE_HINT) return SQLITE_OK;
    return vfs_file_methods.xFileControl(base, what, argument);
}

/* ---- the file system ---- */

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out)
{
    recorded_file *file = (recorded_file *)base;
    int exists = 1;
    (void)vfs;
    memset(file, 0, sizeof *file);
    file->base.real = (sqlite3_file *)(file + 1);
    pthread_mutex_lock(&mutex);
    file->file = file_of(path);
    if (file->file >= 0) system_vfs->xAccess(system_vfs, path, SQLITE_ACCESS_EXISTS, &exists);
    int code = system_vfs->xOpen(system_vfs, path, file->base.real, flags, out);
    if (code == SQLITE_OK && file->file >= 0 && !exists) {
        file->sync_folder = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
        note((powercut_operation){.call = POWERCUT_CREATE, .file = file->file}, NULL);
    }
    pthread_mutex_unlock(&mutex);
    if (code == SQLITE_OK) base->pMethods = &methods;
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    pthread_mutex_lock(&mutex);
    int file = file_of(path);
    int code = system_vfs->xDelete(system_vfs, path, 0);
    if (code == SQLITE_OK && file >= 0)
        note((powercut_operation){.call = POWERCUT_DELETE,
                                  .file = file,
                                  .folder_synced = sync_folder != 0},
             NULL);
    pthread_mutex_unlock(&mutex);
    return code;
}

void powercut_recorder_install(void)
{
    static sqlite3_vfs vfs;
    system_vfs = sqlite3_vfs_find("unix");
    if (!system_vfs) powercut_fail("SQLite has no VFS with the name unix");
    methods = vfs_file_methods;
    methods.xWrite = file_write;
    methods.xTruncate = file_truncate;
    methods.xSync = file_sync;
    methods.xFileControl = file_control;
    vfs = *system_vfs;
    vfs.szOsFile += (int)sizeof(recorded_file);
    vfs.zName = VFS_NAME;
    vfs.pNext = NULL;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK) powercut_fail("the VFS is not registered");
}

void powercut_recorder_start(const char *folder, powercut_record *into)
{
    pthread_mutex_lock(&mutex);
    files_path(recorded_folder, folder, "");
    recorded_folder[strlen(recorded_folder) - 1] = '\0';
    record = into;
    pthread_mutex_unlock(&mutex);
}

size_t powercut_recorder_position(void)
{
    pthread_mutex_lock(&mutex);
    size_t position = record->count;
    pthread_mutex_unlock(&mutex);
    return position;
}

void powercut_recorder_stop(void)
{
    pthread_mutex_lock(&mutex);
    record = NULL;
    pthread_mutex_unlock(&mutex);
}

void powercut_record_free(powercut_record *old)
{
    for (size_t i = 0; i < old->count; i++)
        free(old->operations[i].bytes);
    free(old->operations);
    *old = (powercut_record){0};
}
