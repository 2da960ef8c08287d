/* Bodies of entries that are too large for the table: blobs, written as discardable writes.
 *
 * A blob gets a name that nobody else uses, and a tag that lets the bucket delete it. Then the
 * entry is put, then the tag is removed. So a blob whose entry never came is deleted by itself. */
#ifndef KEDGE_BACKEND_LOG_BODY_H
#define KEDGE_BACKEND_LOG_BODY_H

#include "backend/log/layout.h"

/* A body may carry KEDGE_BLOB_DISCARD_TAG only while its entry is younger; the lifecycle takes
 * longer. */
#define KEDGE_LOG_DISCARD_S 604800

typedef struct kedge_log_body_name {
    char text[KEDGE_LOG_ID_HEX]; /* empty: no blob */
} kedge_log_body_name;

/* Writes the body under a new name, with the tag. */
kedge_status kedge_log_body_write(const kedge_log *log, kedge_bytes body, kedge_log_body_name *name,
                                  kedge_error *error);
/* The entry is there: removes the tag. A failure is reported as one of background work; whoever
 * reads the body tries again. */
void kedge_log_body_keep(const kedge_log *log, kedge_bytes name);
/* The same, and tells a failure. KEDGE_OK also when there is no such blob any more. */
kedge_status kedge_log_body_untag(const kedge_log *log, kedge_bytes name, kedge_error *error);
/* The entry will never be there: removes the blob. When that fails, the tag does it later. */
void kedge_log_body_discard(const kedge_log *log, kedge_bytes name);

#endif
