/* Taking entries out of the table. */
#ifndef KEDGE_BACKEND_LOG_REMOVE_H
#define KEDGE_BACKEND_LOG_REMOVE_H

#include "backend/log/record.h"

typedef struct kedge_log_removal {
    int64_t end;       /* entries with a num below it */
    int64_t expires_s; /* instead of deleting them: when a store may; 0: delete */
    bool bodies;       /* and their blobs */
} kedge_log_removal;

/* From the first on, one by one. What is gone is gone: an interrupted call is repeated. */
kedge_status kedge_log_remove_entries(const kedge_log *log, const kedge_log_segment *segment,
                                      const kedge_log_removal *removal, kedge_error *error);

#endif
