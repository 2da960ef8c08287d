/* An sqlite3_vfs that fails where it is told to, over the system's own. */
#include "tests/support/fault_vfs.h"
#include "tests/support/vfs_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512

/* One write, or what a truncation cut off, since the last sync. */
typedef struct change {
    int64_t offset;
    size_t size;
    int64_t file_size_before;
    size_t before_size; /* less than `size` where the write extended the file */
    unsigned char *before;
    unsigned char *after; /* NULL: a truncation to `offset` */
    struct change *earlier;
} change;

/* A file by what it is, not by its name: it may be renamed. Its descriptor stays open for as long
 * as a connection has the file, since closing it would drop the connection's locks. */
typedef struct disk_file {
    dev_t device;
    ino_t inode;
    int descriptor;
    int users;
    change *newest;
    struct disk_file *next;
} disk_file;

struct fault_vfs {
    sqlite3_vfs vfs;
    sqlite3_io_methods methods; /* of its files */
    sqlite3_vfs *real;
    char *name;
    pthread_mutex_t mutex;
    disk_file *files;
    uint64_t seed;
    fault_kind kind;
    uint64_t nth;
    uint64_t armed_calls;
    bool sticky;
    bool full;
    int64_t room; /* -1: no end */
    bool refuses;
    bool crashed;
    void (*asleep)(void *context);
    void *asleep_context;
    fault_counts counts;
};

typedef struct fault_file {
    vfs_file file;
    fault_vfs *vfs;
    disk_file *disk; /* NULL: a temporary file */
} fault_file;

/* ---- deciding ---- */

/* splitmix64 */
static uint64_t draw(fault_vfs *vfs)
{
    uint64_t z = (vfs->seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static bool is_due(fault_vfs *vfs)
{
    vfs->armed_calls++;
    if (vfs->nth == 0) return false;
    return vfs->sticky ? vfs->armed_calls >= vfs->nth : vfs->armed_calls == vfs->nth;
}

/* For everything but writes. */
static bool fails(fault_vfs *vfs)
{
    pthread_mutex_lock(&vfs->mutex);
    vfs->counts.calls++;
    bool fail = vfs->crashed || (vfs->kind == FAULT_IO && is_due(vfs));
    if (fail) vfs->counts.failed++;
    pthread_mutex_unlock(&vfs->mutex);
    return fail;
}

typedef enum write_fate { WRITE_DONE, WRITE_FAILED, WRITE_FULL, WRITE_TORN } write_fate;

static write_fate fate_of_write(fault_vfs *vfs, int64_t growth)
{
    bool grows = growth > 0;
    bool fits = vfs->room < 0 || growth <= vfs->room;
    vfs->counts.calls++;
    vfs->counts.writes++;
    bool due = is_due(vfs);
    if (vfs->crashed || (due && vfs->kind == FAULT_IO)) {
        vfs->counts.failed++;
        return WRITE_FAILED;
    }
    if ((due && vfs->kind == FAULT_FULL) || (vfs->full && grows) || (grows && !fits)) {
        vfs->counts.full++;
        return WRITE_FULL;
    }
    if (vfs->room >= 0 && grows) vfs->room -= growth;
    if (!due || vfs->kind != FAULT_TORN_WRITE) return WRITE_DONE;
    vfs->counts.torn++;
    return WRITE_TORN;
}

/* ---- what is not synced ---- */

static void forget_changes(disk_file *disk)
{
    while (disk->newest) {
        change *earlier = disk->newest->earlier;
        free(disk->newest->before);
        free(disk->newest->after);
        free(disk->newest);
        disk->newest = earlier;
    }
}

static int64_t size_of(const disk_file *disk)
{
    struct stat facts;
    return fstat(disk->descriptor, &facts) == 0 ? (int64_t)facts.st_size : 0;
}

/* Remembers `size` bytes at `offset` before they change; `after` NULL for a truncation. */
static void note_change(disk_file *disk, int64_t offset, size_t size, const void *after)
{
    change *made = calloc(1, sizeof *made);
    unsigned char *before = malloc(size + 1);
    unsigned char *copy = after ? malloc(size + 1) : NULL;
    if (!made || !before || (after && !copy)) abort();
    made->offset = offset;
    made->size = size;
    made->file_size_before = size_of(disk);
    ssize_t got = pread(disk->descriptor, before, size, offset);
    made->before_size = got > 0 ? (size_t)got : 0;
    made->before = before;
    if (after) memcpy(copy, after, size);
    made->after = copy;
    made->earlier = disk->newest;
    disk->newest = made;
}

static void put(const disk_file *disk, const unsigned char *bytes, size_t size, int64_t offset)
{
    if (pwrite(disk->descriptor, bytes, size, offset) != (ssize_t)size) abort();
}

static void cut(const disk_file *disk, int64_t size)
{
    if (ftruncate(disk->descriptor, size) != 0) abort();
}

/* Newest first. */
static void undo(const disk_file *disk)
{
    for (const change *at = disk->newest; at; at = at->earlier) {
        if (!at->after) cut(disk, at->file_size_before);
        if (at->before_size > 0) put(disk, at->before, at->before_size, at->offset);
        cut(disk, at->file_size_before);
    }
}

/* Oldest first, each sector by the seed. */
static void redo(fault_vfs *vfs, const disk_file *disk, const change *at)
{
    if (!at) return;
    redo(vfs, disk, at->earlier);
    if (!at->after) {
        if (draw(vfs) % 2 == 0) cut(disk, at->offset);
        return;
    }
    for (size_t done = 0; done < at->size;) {
        size_t part = SECTOR - (size_t)(at->offset + (int64_t)done) % SECTOR;
        if (part > at->size - done) part = at->size - done;
        if (draw(vfs) % 2 == 0)
            put(disk, at->after + done, part, at->offset + (int64_t)done);
        else
            vfs->counts.dropped++;
        done += part;
    }
}

static void release_unused(fault_vfs *vfs)
{
    for (disk_file **at = &vfs->files; *at;) {
        disk_file *disk = *at;
        if (disk->users > 0 || disk->newest) {
            at = &disk->next;
            continue;
        }
        *at = disk->next;
        close(disk->descriptor);
        free(disk);
    }
}

static disk_file *find_disk_file(fault_vfs *vfs, const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0) return NULL;
    for (disk_file *at = vfs->files; at; at = at->next) {
        if (at->device == facts.st_dev && at->inode == facts.st_ino) {
            at->users++;
            return at;
        }
    }
    disk_file *made = calloc(1, sizeof *made);
    if (!made) abort();
    made->device = facts.st_dev;
    made->inode = facts.st_ino;
    made->descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (made->descriptor < 0) abort();
    made->users = 1;
    made->next = vfs->files;
    vfs->files = made;
    return made;
}

/* ---- the file's methods ---- */

static fault_file *of(sqlite3_file *file)
{
    return (fault_file *)file;
}

static int file_close(sqlite3_file *file)
{
    fault_file *f = of(file);
    int code = vfs_file_methods.xClose(file);
    pthread_mutex_lock(&f->vfs->mutex);
    if (f->disk) f->disk->users--;
    release_unused(f->vfs);
    pthread_mutex_unlock(&f->vfs->mutex);
    return code;
}

static int file_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset)
{
    if (fails(of(file)->vfs)) return SQLITE_IOERR_READ;
    return vfs_file_methods.xRead(file, out, size, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
    fault_file *f = of(file);
    pthread_mutex_lock(&f->vfs->mutex);
    int64_t growth = f->disk ? offset + size - size_of(f->disk) : 0;
    write_fate fate = fate_of_write(f->vfs, growth);
    if (fate == WRITE_DONE && f->vfs->refuses) fate = WRITE_FULL;
    if (fate == WRITE_TORN) size /= 2;
    if (f->disk && (fate == WRITE_DONE || fate == WRITE_TORN))
        note_change(f->disk, offset, (size_t)size, bytes);
    pthread_mutex_unlock(&f->vfs->mutex);
    if (fate == WRITE_FAILED) return SQLITE_IOERR_WRITE;
    if (fate == WRITE_FULL) return SQLITE_FULL;
    int code = vfs_file_methods.xWrite(file, bytes, size, offset);
    return fate == WRITE_TORN ? SQLITE_IOERR_WRITE : code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    fault_file *f = of(file);
    if (fails(f->vfs)) return SQLITE_IOERR_TRUNCATE;
    pthread_mutex_lock(&f->vfs->mutex);
    if (f->disk && size < size_of(f->disk)) {
        if (f->vfs->room >= 0) f->vfs->room += size_of(f->disk) - size;
        note_change(f->disk, size, (size_t)(size_of(f->disk) - size), NULL);
    }
    pthread_mutex_unlock(&f->vfs->mutex);
    return vfs_file_methods.xTruncate(file, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    fault_file *f = of(file);
    (void)flags;
    if (fails(f->vfs)) return SQLITE_IOERR_FSYNC;
    pthread_mutex_lock(&f->vfs->mutex);
    if (f->disk) forget_changes(f->disk);
    pthread_mutex_unlock(&f->vfs->mutex);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    if (fails(of(file)->vfs)) return SQLITE_IOERR_FSTAT;
    return vfs_file_methods.xFileSize(file, size);
}

/* No promise at all: neither atomic nor in order nor safe beside what is written. */
static int file_characteristics(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    fault_vfs *vfs = of(file)->vfs;
    sqlite3_file *real = of(file)->file.real;
    if (fails(vfs)) return SQLITE_IOERR_SHMMAP;
    int code = real->pMethods->xShmMap(real, page, size, 0, out);
    if (code != SQLITE_OK || *out != NULL || !extend) return code;
    pthread_mutex_lock(&vfs->mutex);
    write_fate fate = fate_of_write(vfs, vfs->full ? 1 : 0);
    pthread_mutex_unlock(&vfs->mutex);
    if (fate == WRITE_FULL) return SQLITE_IOERR_SHMSIZE;
    if (fate != WRITE_DONE) return SQLITE_IOERR_SHMMAP;
    return real->pMethods->xShmMap(real, page, size, extend, out);
}

/* ---- the VFS's methods ---- */

static fault_vfs *of_vfs(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static int vfs_open(sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags, int *out)
{
    fault_vfs *vfs = of_vfs(self);
    fault_file *f = of(file);
    const int kept = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
    *f = (fault_file){.file.real = (sqlite3_file *)(f + 1), .vfs = vfs};
    if (fails(vfs)) return SQLITE_CANTOPEN;
    int code = vfs->real->xOpen(vfs->real, path, f->file.real, flags, out);
    if (code != SQLITE_OK) return code;
    pthread_mutex_lock(&vfs->mutex);
    if (path && (flags & kept)) f->disk = find_disk_file(vfs, path);
    pthread_mutex_unlock(&vfs->mutex);
    f->file.base.pMethods = &vfs->methods;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *self, const char *path, int sync)
{
    if (fails(of_vfs(self))) return SQLITE_IOERR_DELETE;
    return of_vfs(self)->real->xDelete(of_vfs(self)->real, path, sync);
}

static int vfs_access(sqlite3_vfs *self, const char *path, int flags, int *out)
{
    return of_vfs(self)->real->xAccess(of_vfs(self)->real, path, flags, out);
}

static int vfs_full_path(sqlite3_vfs *self, const char *path, int size, char *out)
{
    return of_vfs(self)->real->xFullPathname(of_vfs(self)->real, path, size, out);
}

static int vfs_random(sqlite3_vfs *self, int size, char *out)
{
    fault_vfs *vfs = of_vfs(self);
    pthread_mutex_lock(&vfs->mutex);
    for (int i = 0; i < size; i++)
        out[i] = (char)draw(vfs);
    pthread_mutex_unlock(&vfs->mutex);
    return size;
}

static int vfs_sleep(sqlite3_vfs *self, int microseconds)
{
    fault_vfs *vfs = of_vfs(self);
    int slept = vfs->real->xSleep(vfs->real, microseconds);
    if (vfs->asleep) vfs->asleep(vfs->asleep_context);
    return slept;
}

static int vfs_time(sqlite3_vfs *self, double *out)
{
    return of_vfs(self)->real->xCurrentTime(of_vfs(self)->real, out);
}

fault_vfs *fault_vfs_new(const char *name, uint64_t seed)
{
    fault_vfs *vfs = calloc(1, sizeof *vfs);
    if (!vfs) return NULL;
    vfs->real = sqlite3_vfs_find(NULL);
    vfs->name = strdup(name);
    vfs->seed = seed;
    vfs->room = -1;
    pthread_mutex_init(&vfs->mutex, NULL);
    vfs->methods = vfs_file_methods;
    vfs->methods.xClose = file_close;
    vfs->methods.xRead = file_read;
    vfs->methods.xWrite = file_write;
    vfs->methods.xTruncate = file_truncate;
    vfs->methods.xSync = file_sync;
    vfs->methods.xFileSize = file_size;
    vfs->methods.xDeviceCharacteristics = file_characteristics;
    vfs->methods.xShmMap = file_shm_map;
    vfs->vfs = (sqlite3_vfs){.iVersion = 1,
                             .szOsFile = (int)sizeof(fault_file) + vfs->real->szOsFile,
                             .mxPathname = vfs->real->mxPathname,
                             .zName = vfs->name,
                             .pAppData = vfs,
                             .xOpen = vfs_open,
                             .xDelete = vfs_delete,
                             .xAccess = vfs_access,
                             .xFullPathname = vfs_full_path,
                             .xRandomness = vfs_random,
                             .xSleep = vfs_sleep,
                             .xCurrentTime = vfs_time};
    if (vfs->name && sqlite3_vfs_register(&vfs->vfs, 0) == SQLITE_OK) return vfs;
    free(vfs->name);
    free(vfs);
    return NULL;
}

void fault_vfs_free(fault_vfs *vfs)
{
    if (!vfs) return;
    sqlite3_vfs_unregister(&vfs->vfs);
    for (disk_file *at = vfs->files; at; at = at->next)
        forget_changes(at);
    release_unused(vfs);
    if (vfs->files) abort(); /* a connection is open */
    pthread_mutex_destroy(&vfs->mutex);
    free(vfs->name);
    free(vfs);
}

void fault_vfs_arm(fault_vfs *vfs, fault_kind kind, uint64_t nth, bool sticky)
{
    pthread_mutex_lock(&vfs->mutex);
    vfs->kind = kind;
    vfs->nth = nth;
    vfs->sticky = sticky;
    vfs->armed_calls = 0;
    pthread_mutex_unlock(&vfs->mutex);
}

uint64_t fault_vfs_armed_calls(const fault_vfs *vfs)
{
    return vfs->armed_calls;
}

void fault_vfs_set_full(fault_vfs *vfs, bool full)
{
    vfs->full = full;
}

void fault_vfs_on_sleep(fault_vfs *vfs, void (*asleep)(void *context), void *context)
{
    vfs->asleep = asleep;
    vfs->asleep_context = context;
}

void fault_vfs_set_room(fault_vfs *vfs, int64_t bytes)
{
    pthread_mutex_lock(&vfs->mutex);
    vfs->room = bytes;
    pthread_mutex_unlock(&vfs->mutex);
}

void fault_vfs_refuse_writes(fault_vfs *vfs, bool refuse)
{
    pthread_mutex_lock(&vfs->mutex);
    vfs->refuses = refuse;
    pthread_mutex_unlock(&vfs->mutex);
}

void fault_vfs_crash(fault_vfs *vfs)
{
    pthread_mutex_lock(&vfs->mutex);
    vfs->crashed = true;
    pthread_mutex_unlock(&vfs->mutex);
}

void fault_vfs_power_cut(fault_vfs *vfs)
{
    pthread_mutex_lock(&vfs->mutex);
    for (disk_file *at = vfs->files; at; at = at->next) {
        if (at->users > 0) abort(); /* close the connections first */
        undo(at);
        redo(vfs, at, at->newest);
        forget_changes(at);
    }
    release_unused(vfs);
    vfs->crashed = false;
    pthread_mutex_unlock(&vfs->mutex);
}

void fault_vfs_revive(fault_vfs *vfs)
{
    pthread_mutex_lock(&vfs->mutex);
    vfs->crashed = false;
    pthread_mutex_unlock(&vfs->mutex);
}

fault_counts fault_vfs_counts(const fault_vfs *vfs)
{
    return vfs->counts;
}
