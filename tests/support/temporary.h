/* A folder of a test's own. scripts/test puts TMPDIR in memory, where it can. */
#ifndef KEDGE_TESTS_SUPPORT_TEMPORARY_H
#define KEDGE_TESTS_SUPPORT_TEMPORARY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a fresh folder below $TMPDIR, and writes its path, which has `name` in it. Without TMPDIR,
 * and where the path would need more than `size` bytes, the folder is below /tmp. The caller
 * removes it. */
static inline bool temporary_folder(char *path, size_t size, const char *name)
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || strlen(parent) + strlen(name) + sizeof "/kedge--XXXXXX" > size)
        parent = "/tmp";
    (void)snprintf(path, size, "%s/kedge-%s-XXXXXX", parent, name);
    return mkdtemp(path) != NULL;
}

/* Whether a message names this file or folder. Of a long path it shows the end alone, which has the
 * name of the fresh folder. */
static inline bool temporary_is_named(const char *message, const char *path)
{
    const char *end = strstr(path, "/kedge-");
    return end != NULL && strstr(message, end) != NULL;
}

#endif
