/* Saving what can be read of a damaged database into a new folder, after kedge_open returned
 * KEDGE_CORRUPT. */
#ifndef KEDGE_REPAIR_H
#define KEDGE_REPAIR_H

#include <kedge/error.h>

KEDGE_BEGIN_DECLS

/* How many edits were found. Start from KEDGE_REPAIR_REPORT_INIT (see kedge/base.h). */
typedef struct kedge_repair_report {
    uint32_t size;
    int64_t pending;   /* saved: the new folder sends them */
    int64_t rejected;  /* saved in the inbox */
    int64_t confirmed; /* saved among those kept for a restore of the backend */
    int64_t damaged;   /* found, but changed by the damage: in the inbox with the code "damaged" */
    int64_t missing;   /* known to have existed, but not found; -1: cannot be known */
} kedge_repair_report;

#define KEDGE_REPAIR_REPORT_INIT                                                                   \
    {                                                                                              \
        sizeof(kedge_repair_report), 0, 0, 0, 0, 0                                                 \
    }

/* Creates the folder `new_path`, which must not exist or must be empty, from all rows that can be
 * read of the damaged folder `path`. Rows after a damaged page are read, too, and also when the
 * header of outbox.db or its schema cannot be read. Afterwards open `new_path`, or rename it to
 * `path`.
 *
 * The damaged folder is not changed and may be read-only: the repair works on a copy in the new
 * folder, which needs disk space for this copy and for what is saved. No process may have `path`
 * open. If both folders are used later, the server still applies no edit twice. Keep `path` until
 * kedge_sync of the new folder has returned KEDGE_OK.
 *
 * The new folder has a client id of its own. The cache is not copied: until the first pull, reads
 * show only the saved edits. Edits that the damaged folder may have sent are sent again, and the
 * server applies none of them twice. They are withheld (kedge_sync_status.withheld) until the
 * server has said which ones it knows: reads and mutators do not see them. So an offline
 * kedge.patch of an item whose creation is withheld is rejected with item-not-found. An edit is not
 * withheld if both files of `path` prove that it was never sent. Missing edits are counted in
 * kedge_sync_status.unrecovered.
 *
 * A repair that was interrupted leaves the folder `repair.partial` in `new_path`. kedge_open of
 * that folder returns KEDGE_CORRUPT with the code repair-unfinished; call kedge_repair once more
 * with the same paths. A repair that fails leaves no files.
 *
 * `report` may be NULL. Any thread; no network. Errors: KEDGE_NOT_FOUND (no folder, or neither
 * outbox.db nor its -wal in it), KEDGE_CORRUPT (no readable row has a correct checksum), KEDGE_BUSY
 * (`path` is open, or another repair saves into `new_path`), KEDGE_INVALID_ARGUMENT (`new_path` is
 * not empty), KEDGE_NEWER_DATABASE, KEDGE_UNSUPPORTED (a layout before 3, without checksums),
 * KEDGE_NOT_A_DATABASE, KEDGE_IO, KEDGE_DISK_FULL, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_repair(const char *path, const char *new_path,
                                    kedge_repair_report *KEDGE_NULLABLE report,
                                    kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
