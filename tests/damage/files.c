/* Databases behind the client's back, and memory: see damage.h. */
#include "tests/damage/damage.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

void damage_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("damage: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(3);
}

int64_t damage_size(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? (int64_t)facts.st_size : 0;
}

void damage_checkpoint(const char *folder)
{
    static const char *const files[] = {"outbox.db", "cache.db"};
    for (size_t i = 0; i < 2; i++) {
        char path[FILES_PATH_BYTES];
        sqlite3 *db = NULL;
        files_path(path, folder, files[i]);
        if (!files_exists(path)) continue;
        /* A connection that has read nothing does not know of the WAL, so its checkpoint does
         * nothing. */
        if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
            sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) !=
                SQLITE_OK)
            damage_fail("%s: %s", path, sqlite3_errmsg(db));
        sqlite3_close(db);
    }
}

uint64_t damage_fingerprint(const char *folder, const char *file)
{
    static const char *const suffixes[] = {"", "-wal"};
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 2; i++) {
        char name[64], path[FILES_PATH_BYTES];
        size_t size;
        (void)snprintf(name, sizeof name, "%.50s%s", file, suffixes[i]);
        files_path(path, folder, name);
        unsigned char *data = files_read(path, &size);
        for (size_t at = 0; data && at < size; at++)
            hash = (hash ^ data[at]) * 0x100000001b3u;
        hash = (hash ^ size) * 0x100000001b3u; /* an empty file is as good as none */
        free(data);
    }
    return hash;
}

void *damage_share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) damage_fail("no shared memory");
    return memory;
}

void damage_unshare(void *memory, size_t size)
{
    munmap(memory, size);
}

kedge_options damage_options(const char *folder, const char *url)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = folder;
    options.url = url;
    options.organization = DAMAGE_ORGANIZATION;
    options.project = DAMAGE_PROJECT;
    options.mutators = damage_mutators;
    options.mutator_count = 1;
    options.server_wait_ms = -1;
    options.offline = true;
    return options;
}
