/* Files and folders of the programs that drive clients from outside: see files.h. */
#include "tests/support/files.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *format, ...) KEDGE_PRINTF(1, 2);
static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(3);
}

void files_path(char out[FILES_PATH_BYTES], const char *folder, const char *name)
{
    int size = snprintf(out, FILES_PATH_BYTES, "%s/%s", folder, name);
    if (size >= FILES_PATH_BYTES) fail("a path is too long: %s/%s", folder, name);
}

bool files_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

unsigned char *files_read(const char *path, size_t *size)
{
    *size = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    struct stat facts;
    if (fstat(fileno(file), &facts) != 0) fail("%s: %s", path, strerror(errno));
    unsigned char *data = malloc((size_t)facts.st_size + 1);
    if (!data) fail("no memory");
    *size = fread(data, 1, (size_t)facts.st_size, file);
    fclose(file);
    return data;
}

void files_write(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        fail("%s: %s", path, strerror(errno));
}

static bool is_shared_memory(const char *name)
{
    size_t size = strlen(name);
    return size > 4 && strcmp(name + size - 4, "-shm") == 0;
}

void files_copy_folder(const char *from, const char *to)
{
    if (mkdir(to, 0700) != 0 && errno != EEXIST) fail("%s: %s", to, strerror(errno));
    DIR *folder = opendir(from);
    if (!folder) fail("%s: %s", from, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char source[FILES_PATH_BYTES], target[FILES_PATH_BYTES];
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (is_shared_memory(entry->d_name)) continue;
        files_path(source, from, entry->d_name);
        files_path(target, to, entry->d_name);
        if (lstat(source, &facts) != 0) fail("%s: %s", source, strerror(errno));
        if (S_ISDIR(facts.st_mode)) {
            files_copy_folder(source, target);
        } else if (S_ISREG(facts.st_mode)) {
            size_t size;
            unsigned char *data = files_read(source, &size);
            if (!data) fail("%s cannot be read", source);
            files_write(target, data, size);
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

void files_remove_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
