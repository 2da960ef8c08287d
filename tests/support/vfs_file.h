/* The file of an sqlite3_vfs that stands on another: each call goes on to the other's file, unless
 * the VFS puts a function of its own in its place. */
#ifndef KEDGE_TESTS_SUPPORT_VFS_FILE_H
#define KEDGE_TESTS_SUPPORT_VFS_FILE_H

#include <sqlite3.h>

/* The first member of the VFS's own struct. */
typedef struct vfs_file {
    sqlite3_file base;
    sqlite3_file *real; /* its methods are NULL when it could not be opened */
} vfs_file;

/* To be copied and changed. They map no file into memory: such writes would pass the VFS by. */
extern const sqlite3_io_methods vfs_file_methods;

#endif
