/* Reads the folder of a database without its app, for the command `kedge`. An app may have the
 * folder open meanwhile, so nothing in it is written. Only SQLite makes its `-shm` files beside a
 * WAL that nobody has open.
 *
 * A sink gets the lines one by one, without a newline. Edits and items are JSON objects. */
#ifndef KEDGE_SDK_STORE_INSPECT_H
#define KEDGE_SDK_STORE_INSPECT_H

#include "common/environment.h"

typedef struct kedge_inspect kedge_inspect;

typedef struct kedge_inspect_sink {
    void *context;
    void (*line)(void *context, kedge_bytes text);
} kedge_inspect_sink;

/* The time between two looks of kedge_inspect_watch. */
#define KEDGE_INSPECT_POLL_MS 200
/* How many findings of SQLite's integrity check are shown for a file. */
#define KEDGE_INSPECT_FINDINGS_MAX 100

/* `path`: the folder. It may have no cache.db, as after a repair. Errors: KEDGE_NOT_FOUND (no
 * outbox.db), KEDGE_NOT_A_DATABASE, KEDGE_NEWER_DATABASE, KEDGE_UNSUPPORTED (a layout that the app
 * must bring up to date first), KEDGE_IO, KEDGE_CORRUPT, KEDGE_NO_MEMORY. */
kedge_status kedge_inspect_open(const kedge_environment *environment, const char *path,
                                kedge_inspect **inspect, kedge_error *error);
void kedge_inspect_close(kedge_inspect *inspect);

/* "name: value" lines: identity, position, counts, sizes, collections. */
kedge_status kedge_inspect_facts(kedge_inspect *inspect, kedge_inspect_sink sink,
                                 kedge_error *error);
/* The edits that the server has not decided, and the edits in the inbox, each in order of
 * sequence. */
kedge_status kedge_inspect_pending(kedge_inspect *inspect, kedge_inspect_sink sink,
                                   kedge_error *error);
kedge_status kedge_inspect_rejected(kedge_inspect *inspect, kedge_inspect_sink sink,
                                    kedge_error *error);
/* What reads show: the project record, then each item. When a part cannot be read, the rest is
 * given to the sink, and then there is an error: KEDGE_CORRUPT (rows are damaged or missing),
 * KEDGE_UNAVAILABLE (the cache lacks edits that the outbox has, as after a crash). */
kedge_status kedge_inspect_export(kedge_inspect *inspect, kedge_inspect_sink sink,
                                  kedge_error *error);
/* What reads showed before a restore of the backend and do not show now, as lost.db has it; a line
 * for each item, as those of the export, with "deleted" in place of "value" for an item that was
 * not there. KEDGE_CORRUPT: rows are damaged; the others are given to the sink before that. */
kedge_status kedge_inspect_lost(kedge_inspect *inspect, kedge_inspect_sink sink,
                                kedge_error *error);
/* The outcome of one edit, and the reason. KEDGE_NOT_FOUND: no edit has had the sequence, or the
 * tail no longer has the edit. */
kedge_status kedge_inspect_trace(kedge_inspect *inspect, int64_t sequence, kedge_inspect_sink sink,
                                 kedge_error *error);
/* One JSON line with the position and the counts: now, and after each change, `lines` in all
 * (0: without end). */
kedge_status kedge_inspect_watch(kedge_inspect *inspect, int64_t lines, kedge_inspect_sink sink,
                                 kedge_error *error);

/* Checks both files whole: SQLite's integrity check, the checksum of each row, the totals. A line
 * for each finding; `*findings` is how many there are. */
kedge_status kedge_inspect_verify(kedge_inspect *inspect, kedge_inspect_sink sink,
                                  int64_t *findings, kedge_error *error);

#endif
