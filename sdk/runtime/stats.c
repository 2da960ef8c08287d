/* kedge/stats.h: the counters of this process, and the sizes of the files. */
#include <kedge/stats.h>

#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"
#include "sdk/runtime/structs.h"

#include <stdio.h>
#include <sys/stat.h>

static int64_t bytes_of(const kedge_db *db, const char *name)
{
    char path[4096];
    struct stat facts;
    int size = snprintf(path, sizeof path, "%s/%s", db->path, name);
    if (size < 0 || size >= (int)sizeof path || stat(path, &facts) != 0) return 0;
    return (int64_t)facts.st_size;
}

kedge_status kedge_get_stats(kedge_db *db, kedge_stats *stats, kedge_error *error)
{
    static const kedge_struct_kind kind = {.initialiser = "KEDGE_STATS_INIT",
                                           .size = sizeof(kedge_stats)};
    KEDGE_CALL(db, error);
    if (stats == NULL) return kedge_fail_null("stats", error);
    kedge_status status = kedge_struct_check(kind, stats, error);
    if (status != KEDGE_OK) return status;
    kedge_counters *counters = &db->counters;
    kedge_stats now = {.edits = atomic_load(&counters->edits),
                       .edits_refused = atomic_load(&counters->edits_refused),
                       .requests = atomic_load(&counters->requests),
                       .request_bytes = atomic_load(&counters->request_bytes),
                       .responses = atomic_load(&counters->responses),
                       .response_bytes = atomic_load(&counters->response_bytes),
                       .failures = atomic_load(&counters->failures),
                       .pokes = atomic_load(&counters->pokes),
                       .pulls = atomic_load(&counters->pulls),
                       .outbox_bytes = bytes_of(db, "outbox.db"),
                       .outbox_wal_bytes = bytes_of(db, "outbox.db-wal"),
                       .cache_bytes = bytes_of(db, "cache.db"),
                       .cache_wal_bytes = bytes_of(db, "cache.db-wal")};
    kedge_struct_fill(kind, &now, stats);
    return KEDGE_OK;
}
