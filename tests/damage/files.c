/* Folders, memory and the server's process: see damage.h. */
#include "tests/damage/damage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

void damage_path(char out[DAMAGE_PATH_BYTES], const char *folder, const char *name)
{
    int size = snprintf(out, DAMAGE_PATH_BYTES, "%s/%s", folder, name);
    if (size >= DAMAGE_PATH_BYTES) damage_fail("a path is too long: %s/%s", folder, name);
}

bool damage_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int64_t damage_size(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? (int64_t)facts.st_size : 0;
}

unsigned char *damage_read(const char *path, size_t *size)
{
    *size = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    struct stat facts;
    if (fstat(fileno(file), &facts) != 0) damage_fail("%s: %s", path, strerror(errno));
    unsigned char *data = malloc((size_t)facts.st_size + 1);
    if (!data) damage_fail("no memory");
    *size = fread(data, 1, (size_t)facts.st_size, file);
    fclose(file);
    return data;
}

void damage_write(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        damage_fail("%s: %s", path, strerror(errno));
}

static bool is_shared_memory(const char *name)
{
    size_t size = strlen(name);
    return size > 4 && strcmp(name + size - 4, "-shm") == 0;
}

void damage_copy_folder(const char *from, const char *to)
{
    if (mkdir(to, 0700) != 0 && errno != EEXIST) damage_fail("%s: %s", to, strerror(errno));
    DIR *folder = opendir(from);
    if (!folder) damage_fail("%s: %s", from, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char source[DAMAGE_PATH_BYTES], target[DAMAGE_PATH_BYTES];
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (is_shared_memory(entry->d_name)) continue;
        damage_path(source, from, entry->d_name);
        damage_path(target, to, entry->d_name);
        if (lstat(source, &facts) != 0) damage_fail("%s: %s", source, strerror(errno));
        if (S_ISDIR(facts.st_mode)) {
            damage_copy_folder(source, target);
        } else if (S_ISREG(facts.st_mode)) {
            size_t size;
            unsigned char *data = damage_read(source, &size);
            if (!data) damage_fail("%s cannot be read", source);
            damage_write(target, data, size);
            free(data);
        }
    }
    closedir(folder);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void damage_remove_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void damage_checkpoint(const char *folder)
{
    static const char *const files[] = {"outbox.db", "cache.db"};
    for (size_t i = 0; i < 2; i++) {
        char path[DAMAGE_PATH_BYTES];
        sqlite3 *db = NULL;
        damage_path(path, folder, files[i]);
        if (!damage_exists(path)) continue;
        if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
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
        char name[64], path[DAMAGE_PATH_BYTES];
        size_t size;
        (void)snprintf(name, sizeof name, "%.50s%s", file, suffixes[i]);
        damage_path(path, folder, name);
        unsigned char *data = damage_read(path, &size);
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

void damage_server_start(damage_server *server, const char *program, const char *data)
{
    int ends[2];
    if (pipe(ends) != 0) damage_fail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "--data", data, "--listen", "127.0.0.1:0", "--open", "--log-level",
              "error", "--workers", "4", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    char line[256] = "";
    if (child < 0 || !lines || !fgets(line, sizeof line, lines) ||
        strncmp(line, "kedge-server ready on ", 22) != 0)
        damage_fail("the server %s did not start", program);
    line[strcspn(line, "\n")] = '\0';
    (void)snprintf(server->url, sizeof server->url, "%.120s", line + 22);
    fclose(lines);
    server->pid = child;
}

void damage_server_stop(damage_server *server)
{
    if (server->pid <= 0) return;
    kill(server->pid, SIGTERM);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    server->pid = 0;
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
    options.offline = true;
    return options;
}
