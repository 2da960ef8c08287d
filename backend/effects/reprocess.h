/* The effects of a project's logs without a stream: for changes that were trimmed before a reader
 * read them. Reads the entries from a time on, and does for each what the stream's handler would
 * have done (apply.h). This can be repeated.
 *
 * A record (backend/log/layout.h) has how far the run came, so that a later run continues one that
 * was interrupted. Its attributes: since (s), log, next (the number of the next entry in that log),
 * revision */
#ifndef KEDGE_BACKEND_EFFECTS_REPROCESS_H
#define KEDGE_BACKEND_EFFECTS_REPROCESS_H

#include "backend/effects/apply.h"

#define KEDGE_REPROCESS_PAGE 100 /* entries between two writes of the record */
/* Entries that are older by up to this are handled, too, since the clocks of their writers may
 * differ. */
#define KEDGE_REPROCESS_SKEW_S 300

/* What a run did. A run that continues an earlier one counts only its own part. */
typedef struct kedge_reprocess_result {
    bool continued;     /* it went on where another one had ended */
    uint64_t logs;      /* that were gone through to their end */
    uint64_t entries;   /* that were looked at */
    uint64_t bodies;    /* that are blobs; their tags are removed */
    uint64_t snapshots; /* that are missing; requested, if the effects have a queue */
    uint64_t passed;    /* unreadable entries, damaged logs; `effects->passed` is called for each */
} kedge_reprocess_result;

/* All logs of the project, entries from `since_s` (since 1970) on. The record of another `since_s`
 * is dropped. `result` is filled in any case. KEDGE_UNAVAILABLE and the like: run it again, and it
 * continues; KEDGE_BUSY "reprocess-elsewhere": another run is in progress. */
kedge_status kedge_reprocess_logs(const kedge_effects *effects, const kedge_project *project,
                                  int64_t since_s, kedge_reprocess_result *result,
                                  kedge_error *error);

#endif
