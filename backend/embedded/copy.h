/* Backups of a data folder, and restoring one.
 *
 * A backup is a data folder with the file `kedge-backup`. Servers may run meanwhile. The copies are
 * made in an order in which every blob that the records refer to is in the backup: first the blobs;
 * then the queues and after them the records, each as of one moment; then the blobs that were put
 * meanwhile. A blob is put before a record refers to it, so one of the two rounds copies it. A
 * message that is decided between the copies of the queue and of the records is in both, which is
 * harmless; in the other order it would be in neither.
 *
 * The databases get their names at the end, records.db last. A backup that was interrupted leaves a
 * folder without records.db, which cannot be restored, or the earlier backup. The queues of the
 * earlier backup may then be newer than its records, and pushes that were decided between the two
 * backups are in neither. Clients push these again after a restore, like everything that the backup
 * does not have. */
#ifndef KEDGE_BACKEND_EMBEDDED_COPY_H
#define KEDGE_BACKEND_EMBEDDED_COPY_H

#include "common/environment.h"

typedef struct kedge_embedded_copied {
    int64_t blobs, bytes; /* in the folder now: of blobs alone */
    int64_t linked;       /* blobs that this run has added as links to the same files */
    int64_t copied;       /* blobs that this run has copied, to another file system */
} kedge_embedded_copied;

/* Copies the data folder `data` into `backup`: a new or an empty folder, or an earlier backup. An
 * earlier backup gets new databases, and the blobs that it lacks. Other folders are refused
 * ("not-a-backup"). */
kedge_status kedge_embedded_backup(const kedge_environment *environment, const char *data,
                                   const char *backup, kedge_embedded_copied *copied,
                                   kedge_error *error);
/* Copies the backup to the data folder `data`: a new or an empty folder, or one of a restore that
 * was interrupted; others are refused ("folder-not-empty"). No server starts there before the
 * restore is complete. */
kedge_status kedge_embedded_restore(const kedge_environment *environment, const char *backup,
                                    const char *data, kedge_embedded_copied *copied,
                                    kedge_error *error);

#endif
