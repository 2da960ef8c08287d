/* Removes entries from the table. */
#ifndef KEDGE_BACKEND_LOG_REMOVE_H
#define KEDGE_BACKEND_LOG_REMOVE_H

#include "backend/log/record.h"

typedef struct kedge_log_removal {
    int64_t end;       /* the entries with a num below it */
    int64_t expires_s; /* 0: they are deleted. Otherwise the store may delete them from then on */
    bool bodies;       /* the blobs of their bodies are removed, too */
} kedge_log_removal;

/* One by one, from the segment's first. After a failure the call may be repeated. */
kedge_status kedge_log_remove_entries(const kedge_log *log, const kedge_log_segment *segment,
                                      const kedge_log_removal *removal, kedge_error *error);

#endif
