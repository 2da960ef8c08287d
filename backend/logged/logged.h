/* Log projects: projects whose mutations are appended to a log and decided by each replay.
 *
 * The log is the one named "mutations" of backend/log. A version of a log project is an entry of
 * the log: its number is the version's number, and its id is the lineage. So the folders in
 * backend/versioned deduplicate, index and retire as they do for version records (history.h);
 * docs/explanation/log-projects.md says why each mutation is appended exactly once.
 *
 * Any thread may call. All calls block in the ports. */
#ifndef KEDGE_BACKEND_LOGGED_LOGGED_H
#define KEDGE_BACKEND_LOGGED_LOGGED_H

#include "backend/log/log.h"
#include "backend/versioned/versions/history.h"
#include "backend/versioned/versions/versions.h"
#include "wire/replay.h"

#define KEDGE_LOGGED_LOG           "mutations" /* the name of the log */
#define KEDGE_LOGGED_TYPE          "mutations" /* the type of its entries */
#define KEDGE_LOGGED_ENTRY_VERSION 1           /* of that type */

/* What the handle of a log project has as its `history`. */
extern const kedge_version_history kedge_logged_history;

kedge_log kedge_logged_log(const kedge_project *project);

/* Creates the log, before the project's record. Idempotent. */
kedge_status kedge_logged_create(const kedge_project *project, kedge_error *error);

/* ---- entries (entries.c) ---- */

/* The entries of the log from one number up or down, as versions. It must not move. */
typedef struct kedge_logged_reader {
    kedge_log log;
    kedge_log_reader entries;
    kedge_log_page page;
    size_t at;      /* the next one of the page */
    uint32_t ahead; /* how many are read at once */
} kedge_logged_reader;

/* From the entry `number` on (-1: from the end), up, or down to number 0, by consistent reads.
 * Close it in every case. KEDGE_CORRUPT "log-missing": the project has no log. */
kedge_status kedge_logged_reader_open(const kedge_project *project, int64_t number, bool descending,
                                      uint32_t ahead, kedge_logged_reader *reader,
                                      kedge_error *error);
void kedge_logged_reader_close(kedge_logged_reader *reader);
/* The next entry as a version, without `recent` when it is one of the log itself; its snapshot, or
 * an empty text; the size of its body. KEDGE_DONE behind the last. */
typedef struct kedge_logged_entry {
    const kedge_version *version; /* release it */
    char snapshot[KEDGE_SHA256_HEX];
    int64_t revision; /* of its metadata */
    bool is_system;   /* an entry of the log itself, or one that asks for a snapshot */
    size_t bytes;
} kedge_logged_entry;
kedge_status kedge_logged_read(kedge_logged_reader *reader, kedge_logged_entry *entry,
                               kedge_error *error);

#endif
