/* Files and folders, for programs that drive clients from outside. What cannot be done ends the
 * program with exit code 3 and a sentence. */
#ifndef KEDGE_TESTS_SUPPORT_FILES_H
#define KEDGE_TESTS_SUPPORT_FILES_H

#include <kedge/base.h>

#define FILES_PATH_BYTES 512

void files_path(char out[FILES_PATH_BYTES], const char *folder, const char *name);
bool files_exists(const char *path);
/* The whole file, in memory of its own, which the caller frees; NULL when there is none. */
unsigned char *files_read(const char *path, size_t *size);
void files_write(const char *path, const unsigned char *data, size_t size);
/* Copies a folder and what is in it, but not SQLite's shared memory. */
void files_copy_folder(const char *from, const char *to);
void files_remove_folder(const char *path);

#endif
