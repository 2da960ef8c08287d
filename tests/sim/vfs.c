/* The VFS: each call is passed on to the system's, unless the disk is dead, full or failing; each
 * write is remembered until a sync. */
#include "tests/sim/vfs.h"
#include "tests/sim/vfs_image.h"
#include "tests/support/vfs_file.h"

#include <string.h>

typedef struct sim_file {
    vfs_file base;
    sim_disk *disk;   /* NULL: of no simulated folder */
    sim_image *image; /* NULL: not followed */
} sim_file;

static sqlite3_vfs *system_vfs;
static sqlite3_io_methods methods;
static sim_disk *disks;
static sim_dice vfs_dice;

static sim_disk *disk_of(const char *path)
{
    if (path == NULL) return NULL;
    for (sim_disk *disk = disks; disk != NULL; disk = disk->next) {
        size_t size = strlen(disk->folder);
        if (strncmp(path, disk->folder, size) == 0 && path[size] == '/') return disk;
    }
    return NULL;
}

/* Counts down to death. True: the machine is dead, this call does nothing. */
static bool dead(sim_disk *disk)
{
    if (disk == NULL || disk->suspended) return false;
    if (!disk->dead && disk->dies_in >= 0 && disk->dies_in-- == 0) sim_disk_die(disk);
    return disk->dead;
}

static bool fails(sim_disk *disk)
{
    if (disk == NULL || disk->suspended) return false;
    if (!sim_dice_chance(&disk->dice, disk->error_per_mille)) return false;
    disk->failed_error++;
    return true;
}

/* ---- a file ---- */

static int file_read(sqlite3_file *base, void *bytes, int size, sqlite3_int64 offset)
{
    sim_file *file = (sim_file *)base;
    if (dead(file->disk) || fails(file->disk)) return SQLITE_IOERR_READ;
    return vfs_file_methods.xRead(base, bytes, size, offset);
}

static int file_write(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 offset)
{
    sim_file *file = (sim_file *)base;
    sim_disk *disk = file->disk;
    if (dead(disk)) return SQLITE_IOERR_WRITE;
    if (disk != NULL && disk->full && !disk->suspended) {
        disk->failed_full++;
        return SQLITE_FULL;
    }
    if (fails(disk)) return SQLITE_IOERR_WRITE;
    int code = vfs_file_methods.xWrite(base, bytes, size, offset);
    if (code == SQLITE_OK && file->image != NULL)
        sim_image_write(file->image, bytes, (size_t)size, (size_t)offset);
    return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    sim_file *file = (sim_file *)base;
    if (dead(file->disk) || fails(file->disk)) return SQLITE_IOERR_TRUNCATE;
    int code = vfs_file_methods.xTruncate(base, size);
    if (code == SQLITE_OK && file->image != NULL) sim_image_truncate(file->image, (size_t)size);
    return code;
}

static int file_sync(sqlite3_file *base, int flags)
{
    sim_file *file = (sim_file *)base;
    (void)flags;
    if (dead(file->disk) || fails(file->disk)) return SQLITE_IOERR_FSYNC;
    if (file->image != NULL) sim_image_sync(file->image);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    sim_file *file = (sim_file *)base;
    if (dead(file->disk)) return SQLITE_IOERR_FSTAT;
    return vfs_file_methods.xFileSize(base, size);
}

static int file_lock(sqlite3_file *base, int level)
{
    sim_file *file = (sim_file *)base;
    if (dead(file->disk)) return SQLITE_IOERR_LOCK;
    return vfs_file_methods.xLock(base, level);
}

static int file_shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **map)
{
    sim_file *file = (sim_file *)base;
    if (dead(file->disk)) return SQLITE_IOERR_SHMMAP;
    return vfs_file_methods.xShmMap(base, page, size, extend, map);
}

/* ---- the file system ---- */

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out)
{
    sim_file *file = (sim_file *)base;
    (void)vfs;
    memset(file, 0, sizeof *file);
    file->base.real = (sqlite3_file *)(file + 1);
    file->disk = disk_of(path);
    if (dead(file->disk)) return SQLITE_CANTOPEN;
    int code = system_vfs->xOpen(system_vfs, path, file->base.real, flags, out);
    if (code != SQLITE_OK) return code;
    int followed = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
    if (file->disk != NULL && (flags & followed) != 0) {
        sqlite3_int64 size = 0;
        (void)vfs_file_methods.xFileSize(base, &size);
        file->image = sim_image_of(file->disk, path, size == 0);
    }
    base->pMethods = &methods;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    sim_disk *disk = disk_of(path);
    if (dead(disk)) return SQLITE_IOERR_DELETE;
    int code = system_vfs->xDelete(system_vfs, path, sync_folder);
    if (disk != NULL && code == SQLITE_OK) sim_image_forget(disk, path);
    return code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *response)
{
    (void)vfs;
    if (dead(disk_of(path))) return SQLITE_IOERR_ACCESS;
    return system_vfs->xAccess(system_vfs, path, flags, response);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
    (void)vfs;
    return system_vfs->xFullPathname(system_vfs, path, size, out);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *bytes)
{
    (void)vfs;
    sim_dice_fill(&vfs_dice, bytes, (size_t)size);
    return size;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds; /* nobody else could let go of a lock meanwhile */
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *time)
{
    (void)vfs;
    *time = INT64_C(212608800000000);
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *text)
{
    (void)vfs;
    return system_vfs->xGetLastError(system_vfs, size, text);
}

bool sim_vfs_register(void)
{
    static sqlite3_vfs vfs;
    system_vfs = sqlite3_vfs_find("unix");
    if (system_vfs == NULL) return false;
    methods = vfs_file_methods;
    methods.xRead = file_read;
    methods.xWrite = file_write;
    methods.xTruncate = file_truncate;
    methods.xSync = file_sync;
    methods.xFileSize = file_size;
    methods.xLock = file_lock;
    methods.xShmMap = file_shm_map;
    vfs = (sqlite3_vfs){.iVersion = 2,
                        .szOsFile = (int)sizeof(sim_file) + system_vfs->szOsFile,
                        .mxPathname = system_vfs->mxPathname,
                        .zName = SIM_VFS_NAME,
                        .xOpen = vfs_open,
                        .xDelete = vfs_delete,
                        .xAccess = vfs_access,
                        .xFullPathname = vfs_full_path,
                        .xRandomness = vfs_randomness,
                        .xSleep = vfs_sleep,
                        .xGetLastError = vfs_last_error,
                        .xCurrentTimeInt64 = vfs_time};
    return sqlite3_vfs_register(&vfs, 1) == SQLITE_OK;
}

void sim_vfs_seed(uint64_t seed)
{
    vfs_dice = sim_dice_make(seed, 1);
    sqlite3_randomness(0, NULL);
}

void sim_disk_open(sim_disk *disk, const char *folder, sim_dice dice)
{
    memset(disk, 0, sizeof *disk);
    (void)strncpy(disk->folder, folder, sizeof disk->folder - 1);
    disk->dice = dice;
    disk->dies_in = -1;
    disk->next = disks;
    disks = disk;
}

void sim_disk_close(sim_disk *disk)
{
    for (sim_disk **at = &disks; *at != NULL; at = &(*at)->next) {
        if (*at != disk) continue;
        *at = disk->next;
        break;
    }
    sim_images_free(disk);
}
