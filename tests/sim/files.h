/* Plain files and memory of the simulator itself. */
#ifndef KEDGE_TESTS_SIM_FILES_H
#define KEDGE_TESTS_SIM_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* These end the program when memory runs out. */
void *sim_must_allocate(size_t size); /* zeroed */
void *sim_must_reallocate(void *block, size_t size);
char *sim_must_copy(const void *bytes, size_t size); /* adds a NUL */

/* `*bytes` is the caller's to free. */
bool sim_file_read(const char *path, char **bytes, size_t *size);
bool sim_file_write(const char *path, const char *bytes, size_t size);
/* A folder and the files in it, and folders in it. */
void sim_folder_remove(const char *path);

#endif
