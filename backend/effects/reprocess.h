/* The effects of a project's logs without a stream: for changes that were trimmed before anybody
 * read them. Goes through the entries themselves, from a time on, and does for each what the
 * stream's handler would have done (apply.h), which can be repeated.
 *
 * How far it came stands in a record (backend/log/layout.h), so that a run that ended in between is
 * gone on with. Its attributes: since (s), log, next (the number of the entry in it that comes
 * next), revision */
#ifndef KEDGE_BACKEND_EFFECTS_REPROCESS_H
#define KEDGE_BACKEND_EFFECTS_REPROCESS_H

#include "backend/effects/apply.h"

#define KEDGE_REPROCESS_PAGE 100 /* entries between two writes of the record */
/* Entries that are so much older are looked at, too: the clocks of their writers may differ. */
#define KEDGE_REPROCESS_SKEW_S 300

/* What a run did; one that goes on counts its own part alone. */
typedef struct kedge_reprocess_result {
    bool continued;     /* it went on where another one had ended */
    uint64_t logs;      /* that were gone through to their end */
    uint64_t entries;   /* that were looked at */
    uint64_t bodies;    /* that are blobs, without a tag now */
    uint64_t snapshots; /* that are missing; requested, if the effects have a queue */
    uint64_t passed;    /* entries that cannot be read, logs that are damaged: told to `passed` */
} kedge_reprocess_result;

/* All logs of the project, entries from `since_s` (since 1970) on. The record of another `since_s`
 * is dropped. `result` tells in any case what was done. KEDGE_UNAVAILABLE and the like: run it
 * again, and it goes on; KEDGE_BUSY "reprocess-elsewhere": another run is at it. */
kedge_status kedge_reprocess_logs(const kedge_effects *effects, const kedge_project *project,
                                  int64_t since_s, kedge_reprocess_result *result,
                                  kedge_error *error);

#endif
