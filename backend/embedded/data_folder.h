/* What opening a data folder and copying one share: paths in it, its lock, its marks. */
#ifndef KEDGE_BACKEND_EMBEDDED_DATA_FOLDER_H
#define KEDGE_BACKEND_EMBEDDED_DATA_FOLDER_H

#include "common/bytes.h"

#include <limits.h>

/* A folder with this file is a backup: no server runs on it, and only a backup may write to it. */
#define KEDGE_DATA_FOLDER_BACKUP "kedge-backup"
/* The folder has this file while a restore into it has not ended: no server runs on it. */
#define KEDGE_DATA_FOLDER_UNFINISHED "restore-unfinished"

typedef struct kedge_data_path {
    char text[PATH_MAX];
} kedge_data_path;

kedge_status kedge_data_folder_join(const char *folder, const char *name, kedge_data_path *path,
                                    kedge_error *error);
bool kedge_data_folder_has(const char *folder, const char *name);
/* `errno` as an error: "cannot WHAT PATH: …". */
kedge_status kedge_data_folder_fail(const char *what, const char *path, kedge_error *error);
/* `*lock` is to be closed. KEDGE_BUSY "data-folder-in-use": another process has it. */
kedge_status kedge_data_folder_lock(const char *folder, int *lock, kedge_error *error);

#endif
