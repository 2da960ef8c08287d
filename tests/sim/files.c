/* Plain files and memory. */
#include "tests/sim/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *checked(void *block)
{
    if (block != NULL) return block;
    fputs("kedge-sim: out of memory\n", stderr);
    exit(2);
}

void *sim_must_allocate(size_t size)
{
    return checked(calloc(1, size == 0 ? 1 : size));
}

void *sim_must_reallocate(void *block, size_t size)
{
    return checked(realloc(block, size == 0 ? 1 : size));
}

char *sim_must_copy(const void *bytes, size_t size)
{
    char *copy = sim_must_allocate(size + 1);
    if (size > 0) memcpy(copy, bytes, size);
    return copy;
}

bool sim_file_read(const char *path, char **bytes, size_t *size)
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool good = fstat(file, &facts) == 0;
    size_t whole = good ? (size_t)facts.st_size : 0;
    char *read_bytes = sim_must_allocate(whole + 1);
    good = good && pread(file, read_bytes, whole, 0) == (ssize_t)whole;
    close(file);
    *bytes = read_bytes;
    *size = whole;
    return good;
}

/* Over the old file, so that it stays the same one. */
bool sim_file_write(const char *path, const char *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return false;
    bool good = ftruncate(file, (off_t)size) == 0;
    if (good && size > 0) good = pwrite(file, bytes, size, 0) == (ssize_t)size;
    return close(file) == 0 && good;
}

static void remove_below(const char *path, int depth)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char below[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        (void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (unlink(below) != 0 && depth < 4) remove_below(below, depth + 1);
    }
    if (folder != NULL) closedir(folder);
    (void)rmdir(path);
}

void sim_folder_remove(const char *path)
{
    remove_below(path, 0);
}
