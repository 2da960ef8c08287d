/* The calls that go on as they are: see vfs_file.h. */
#include "tests/support/vfs_file.h"

#include <stddef.h>

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((vfs_file *)file)->real;
}

static int pass_close(sqlite3_file *file)
{
    sqlite3_file *real = real_of(file);
    return real->pMethods == NULL ? SQLITE_OK : real->pMethods->xClose(real);
}

static int pass_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xRead(real_of(file), bytes, size, offset);
}

static int pass_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xWrite(real_of(file), bytes, size, offset);
}

static int pass_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int pass_sync(sqlite3_file *file, int flags)
{
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int pass_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int pass_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int pass_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int pass_check_lock(sqlite3_file *file, int *held)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), held);
}

static int pass_control(sqlite3_file *file, int what, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), what, argument);
}

static int pass_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int pass_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int pass_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **map)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, map);
}

static int pass_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void pass_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int pass_shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

const sqlite3_io_methods vfs_file_methods = {.iVersion = 2,
                                             .xClose = pass_close,
                                             .xRead = pass_read,
                                             .xWrite = pass_write,
                                             .xTruncate = pass_truncate,
                                             .xSync = pass_sync,
                                             .xFileSize = pass_size,
                                             .xLock = pass_lock,
                                             .xUnlock = pass_unlock,
                                             .xCheckReservedLock = pass_check_lock,
                                             .xFileControl = pass_control,
                                             .xSectorSize = pass_sector,
                                             .xDeviceCharacteristics = pass_characteristics,
                                             .xShmMap = pass_shm_map,
                                             .xShmLock = pass_shm_lock,
                                             .xShmBarrier = pass_shm_barrier,
                                             .xShmUnmap = pass_shm_unmap};
