/* Backups of a data folder, and restoring one.
 *
 * A backup is a data folder with the file `kedge-backup`. It is taken while servers run, in an
 * order in which nothing that the records refer to is missing: the blobs; the queues and then the
 * records, each as it is at one moment; the blobs that have come meanwhile. A blob is put before a
 * record refers to it, so one of the two rounds has met it. A message that is decided between the
 * copy of the queue and that of the records is in both, which is harmless; the other order would
 * lose it.
 *
 * The databases get their names at the end, records.db last. A backup that was cut off leaves a
 * folder without records.db, which nobody restores, or the backup of before. Its queues may then be
 * newer than its records: what was decided in between is in neither. Clients send that again after
 * a restore, like everything that the backup does not have. */
#ifndef KEDGE_BACKEND_EMBEDDED_COPY_H
#define KEDGE_BACKEND_EMBEDDED_COPY_H

#include "common/environment.h"

typedef struct kedge_embedded_copied {
    int64_t blobs, bytes; /* in the folder now: of blobs alone */
    int64_t linked;       /* that this run has added, as links to the same files */
    int64_t copied;       /* … as files of their own, on another file system */
} kedge_embedded_copied;

/* The data folder `data` is copied into `backup`: a new or an empty folder, or an earlier backup,
 * which then gets only what it lacks. Other folders are refused ("not-a-backup"). */
kedge_status kedge_embedded_backup(const kedge_environment *environment, const char *data,
                                   const char *backup, kedge_embedded_copied *copied,
                                   kedge_error *error);
/* The backup becomes the data folder `data`: a new or an empty folder, or one that a restore that
 * was cut off has left ("folder-not-empty"). No server starts there before it is whole. */
kedge_status kedge_embedded_restore(const kedge_environment *environment, const char *backup,
                                    const char *data, kedge_embedded_copied *copied,
                                    kedge_error *error);

#endif
