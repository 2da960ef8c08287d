/* What to do when kedge_open answers KEDGE_CORRUPT: save what can be read into a new folder. */
#ifndef KEDGE_REPAIR_H
#define KEDGE_REPAIR_H

#include <kedge/error.h>

KEDGE_BEGIN_DECLS

#define KEDGE_REPAIR_REPORT_VERSION 1

/* How many edits were found. Start from KEDGE_REPAIR_REPORT_INIT. */
typedef struct kedge_repair_report {
    uint32_t version;
    int64_t pending;   /* saved: they are sent from the new folder */
    int64_t rejected;  /* saved in the inbox */
    int64_t confirmed; /* saved in the tail that is kept for a restore of the backend */
    int64_t damaged;   /* found, but changed: in the inbox, with the code "damaged" */
    int64_t missing;   /* known to have been there, and nowhere to be found; -1: nobody can know */
} kedge_repair_report;

#define KEDGE_REPAIR_REPORT_INIT                                                                   \
    {                                                                                              \
        .version = KEDGE_REPAIR_REPORT_VERSION                                                     \
    }

/* Makes the folder `new_path`, which must not exist or be empty, from what can be read of the
 * damaged folder `path`: row by row, not up to the first damaged page, and also when the header of
 * outbox.db or its schema cannot be read. Open `new_path` afterwards, or put it in the place of
 * `path`.
 *
 * The damaged folder. It is left as it is and may be read-only: the repair works on a copy in the
 * new folder, which needs room for that besides what is saved. No process may have `path` open.
 * When both folders are used, the server applies no edit twice. Keep `path` until kedge_sync of the
 * new folder was KEDGE_OK.
 *
 * The new folder has a client id of its own. The cache is not taken over: until the first pull,
 * reads show the saved edits and nothing else. Edits that may have left the damaged folder are
 * sent, and the server applies none of them twice; until it has said which ones it knows, they are
 * withheld (kedge_sync_status.withheld): reads and mutators behave as if they were not there. So an
 * offline kedge.patch of an item whose creation is withheld is rejected with item-not-found. An
 * edit is not withheld if both files of `path` prove that it never left. Missing edits are counted
 * in kedge_sync_status.unrecovered.
 *
 * A repair that was interrupted leaves the folder `repair.partial` in `new_path`, which kedge_open
 * refuses then (KEDGE_CORRUPT, repair-unfinished); call kedge_repair once more with the same
 * paths. One that fails leaves nothing.
 *
 * `report` may be NULL. Any thread; no network. Errors: KEDGE_NOT_FOUND (no folder, or neither
 * outbox.db nor its -wal in it), KEDGE_CORRUPT (nothing can be read that proves itself), KEDGE_BUSY
 * (`path` is open, or another repair saves into `new_path`), KEDGE_INVALID_ARGUMENT (`new_path` is
 * not empty), KEDGE_NEWER_DATABASE, KEDGE_UNSUPPORTED (a layout before 3, without checksums),
 * KEDGE_NOT_A_DATABASE, KEDGE_IO, KEDGE_DISK_FULL, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_repair(const char *path, const char *new_path,
                                    kedge_repair_report *KEDGE_NULLABLE report,
                                    kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
