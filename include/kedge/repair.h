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
 * damaged folder `path`, row by row and not up to the first damaged page. `path` is left as it is,
 * and must not be open anywhere. Open `new_path` afterwards: it pulls the project anew, under a
 * client id of its own, and sends the saved edits; the server applies none of them twice, but until
 * it has said which ones it knows, those that may have left the damaged folder are withheld from
 * reads. Missing edits are counted in kedge_sync_status.unrecovered of the new folder. `report` may
 * be NULL. Any thread; no network. Errors: KEDGE_NOT_FOUND (no folder, or no outbox.db in it),
 * KEDGE_CORRUPT (nothing can be read), KEDGE_BUSY (the folder is open), KEDGE_INVALID_ARGUMENT
 * (`new_path` is not empty), KEDGE_NEWER_DATABASE, KEDGE_UNSUPPORTED (a layout before 3, without
 * checksums), KEDGE_NOT_A_DATABASE, KEDGE_IO, KEDGE_DISK_FULL, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_repair(const char *path, const char *new_path,
                                    kedge_repair_report *KEDGE_NULLABLE report,
                                    kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
