/* Where a blob stands in its folder: keys to paths and back. */
#ifndef KEDGE_BACKEND_SQLITE_FOLDER_PATH_H
#define KEDGE_BACKEND_SQLITE_FOLDER_PATH_H

#include "common/bytes.h"

/* Holds the path of every key of KEDGE_BLOB_KEY_BYTES_MAX, that of its tags, and a NUL. */
#define KEDGE_FOLDER_PATH_SIZE 3600

/* The path below the folder, NUL-terminated. */
void kedge_folder_path(kedge_bytes key, char path[KEDGE_FOLDER_PATH_SIZE]);
/* The file that keeps the tags of the blob at `path`. */
void kedge_folder_tags_path(const char *path, char tags_path[KEDGE_FOLDER_PATH_SIZE]);
/* The folder that holds `path`, without the slash; "" for the top. */
kedge_bytes kedge_folder_parent(const char *path);

/* What a directory entry is to the store. */
typedef enum kedge_folder_entry {
    KEDGE_FOLDER_FOREIGN,  /* tags, the store's own files, what others put there */
    KEDGE_FOLDER_BLOB,     /* its key ends here */
    KEDGE_FOLDER_DIRECTORY /* its keys go on */
} kedge_folder_entry;

/* Appends what `name` stands for to the key so far. */
kedge_folder_entry kedge_folder_decode(const char *name, kedge_buffer *key);

#endif
