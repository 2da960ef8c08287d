/* Counters and sizes of an open database, for monitoring and for tests of an app. */
#ifndef KEDGE_STATS_H
#define KEDGE_STATS_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* Start from KEDGE_STATS_INIT (see kedge/base.h). */
typedef struct kedge_stats {
    uint32_t size;
    /* Counted since kedge_open, for this handle alone. */
    int64_t edits;          /* that were made, also by undo, redo and kedge_rejected_resubmit */
    int64_t edits_refused;  /* calls of kedge_mutate that failed, also for a batch or a text */
    int64_t requests;       /* sent to the server, without those for the event stream */
    int64_t request_bytes;  /* of the bodies of these requests, before any compression */
    int64_t responses;      /* that were complete, whatever their HTTP status */
    int64_t response_bytes; /* of the bodies of these responses, decoded */
    int64_t failures;       /* requests without a response, or with an HTTP status from 400 on */
    int64_t pokes;          /* news of a version that came on the event stream */
    int64_t pulls;          /* commits of a response that changed what reads show; and caches that
                             * the background check has set aside */
    /* The sizes of the files now, in bytes; 0: there is no such file. */
    int64_t outbox_bytes;
    int64_t outbox_wal_bytes;
    int64_t cache_bytes;
    int64_t cache_wal_bytes;
} kedge_stats;

#define KEDGE_STATS_INIT                                                                           \
    {                                                                                              \
        sizeof(kedge_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                 \
    }

/* Fills `stats`, without using the network and without waiting for a writer. Any thread. It takes a
 * few microseconds. Errors: KEDGE_INVALID_ARGUMENT. */
KEDGE_API kedge_status kedge_get_stats(kedge_db *db, kedge_stats *stats,
                                       kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
