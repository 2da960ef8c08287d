/* Files below one folder: written whole and durably, or not at all. */
#ifndef KEDGE_BACKEND_SQLITE_FOLDER_FILES_H
#define KEDGE_BACKEND_SQLITE_FOLDER_FILES_H

#include "backend/sqlite/folder_path.h"
#include "common/environment.h"

#include <pthread.h>

#define KEDGE_FOLDER_TEMPORARY    "@temporary"
#define KEDGE_FOLDER_FORMAT       "@format"
#define KEDGE_FOLDER_LOCK         "@lock"
#define KEDGE_FOLDER_DURABLE_MAX  64
#define KEDGE_FOLDER_DIGEST_BYTES 16

typedef struct kedge_folder {
    const kedge_environment *environment;
    char *path; /* for messages */
    int top;    /* the folder's descriptor */
    int lock;   /* shared while the folder is open */
    pthread_mutex_t mutex;
    /* Directories whose names are known to be durable up to the top, by the hash of their path. */
    uint8_t durable[KEDGE_FOLDER_DURABLE_MAX][KEDGE_FOLDER_DIGEST_BYTES];
} kedge_folder;

#define KEDGE_FOLDER_TEMPORARY_SIZE 48

kedge_status kedge_folder_fail(const kedge_folder *folder, const char *doing, int system_error,
                               kedge_error *error);

/* Makes the folder and what it needs, and removes what a crash left. KEDGE_NOT_A_DATABASE: the
 * folder holds something else. A failure leaves nothing to close. */
kedge_status kedge_folder_open(kedge_folder *folder, const kedge_environment *environment,
                               const char *path, kedge_error *error);
void kedge_folder_close(kedge_folder *folder);

/* Writes a new, synced file under a name of its own below KEDGE_FOLDER_TEMPORARY. */
kedge_status kedge_folder_write_temporary(kedge_folder *folder, kedge_bytes bytes,
                                          char name[KEDGE_FOLDER_TEMPORARY_SIZE],
                                          kedge_error *error);
/* Appends a whole file of at most `size_max` bytes; KEDGE_NOT_FOUND without filling in `error`. */
kedge_status kedge_folder_read(const kedge_folder *folder, const char *path, size_t size_max,
                               kedge_buffer *out, kedge_error *error);
bool kedge_folder_has(const kedge_folder *folder, const char *path);

/* Makes the directories above `path`, durably. */
kedge_status kedge_folder_make_parents(kedge_folder *folder, const char *path, kedge_error *error);
/* Makes the names in the directory above `path` durable. 0 or a system error. */
int kedge_folder_sync_parent(const kedge_folder *folder, const char *path);

#endif
