/* See file.h. */
#include "backend/front/file.h"

#include "common/error.h"

#include <fcntl.h>
#include <unistd.h>

kedge_status kedge_file_read(const kedge_allocator *allocator, const char *path, char **text,
                             kedge_error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = kedge_allocate(allocator, KEDGE_FILE_BYTES_MAX + 2);
    size_t size = 0;
    ssize_t got = -1;
    /* One byte more than a file may have tells one that has more. */
    while (file >= 0 && bytes && size <= KEDGE_FILE_BYTES_MAX) {
        got = read(file, bytes + size, KEDGE_FILE_BYTES_MAX + 1 - size);
        if (got <= 0) break;
        size += (size_t)got;
    }
    if (file >= 0) close(file);
    if (file < 0 || !bytes || got != 0) {
        kedge_release(allocator, bytes);
        return kedge_fail(error, KEDGE_IO, "file-unreadable",
                          "cannot read %s, a file of at most 1 MiB", path);
    }
    *text = bytes;
    return KEDGE_OK;
}
