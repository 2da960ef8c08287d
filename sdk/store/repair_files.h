/* The folders of a repair.
 *
 * A repair works in the folder `repair.partial` of the new folder:
 *
 *   old.db, old.db-wal      the damaged outbox, copied; only the copy is opened
 *   cache.db, cache.db-wal  of the cache what its meta row needs, copied
 *   fresh.db                an empty outbox, whose schema may stand in for a damaged one
 *   new.db                  what is saved
 *
 * The last step renames new.db to `outbox.db` of the new folder. Until then kedge_open refuses the
 * new folder, and a repair that begins anew clears `repair.partial`. */
#ifndef KEDGE_SDK_STORE_REPAIR_FILES_H
#define KEDGE_SDK_STORE_REPAIR_FILES_H

#include "sdk/store/store_internal.h"

typedef struct kedge_repair_files {
    const char *path;     /* the damaged folder, in which nothing is made or written */
    const char *new_path; /* both short enough for a file name after them */
    char scratch[KEDGE_STORE_PATH_BYTES];
    int scratch_lock;
    bool folder_made; /* new_path was not there before */
} kedge_repair_files;

/* Makes the new folder and an empty `repair.partial` in it. KEDGE_INVALID_ARGUMENT when it has
 * other contents than an interrupted repair leaves; KEDGE_BUSY when another repair works there. */
kedge_status kedge_repair_files_begin(kedge_repair_files *files, const char *path,
                                      const char *new_path, kedge_error *error);
/* Copies the damaged folder's files while nobody writes them. Where the disk cannot read, the copy
 * has zeros. KEDGE_BUSY when the folder is open in some process. */
kedge_status kedge_repair_files_copy(const kedge_repair_files *files, kedge_error *error);
/* Puts new.db into its place, durably. */
kedge_status kedge_repair_files_publish(const kedge_repair_files *files, kedge_error *error);
/* Removes `repair.partial`, and, unless `saved`, the new folder if it was not there before. */
void kedge_repair_files_end(kedge_repair_files *files, bool saved);

/* The path of a file in `repair.partial`. */
void kedge_repair_file(const kedge_repair_files *files, const char *name,
                       char out[KEDGE_STORE_PATH_BYTES]);

#endif
