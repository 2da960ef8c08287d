/* Bodies of entries that are too large for the table: blobs, written as discardable writes.
 *
 * A blob gets a name that nobody else uses, and a tag that lets the bucket delete it. Then the
 * entry is put, then the tag is removed. So the bucket deletes a blob whose entry was never put. */
#ifndef KEDGE_BACKEND_LOG_BODY_H
#define KEDGE_BACKEND_LOG_BODY_H

#include "backend/log/layout.h"

/* In seconds. A reader removes KEDGE_BLOB_DISCARD_TAG from the body of an entry that is younger;
 * the bucket's rule deletes later (KEDGE_BLOB_DISCARD_DAYS). */
#define KEDGE_LOG_DISCARD_S 604800

typedef struct kedge_log_body_name {
    char text[KEDGE_LOG_ID_HEX]; /* empty: no blob */
} kedge_log_body_name;

/* Writes the body under a new name, with the tag. */
kedge_status kedge_log_body_write(const kedge_log *log, kedge_bytes body, kedge_log_body_name *name,
                                  kedge_error *error);
/* After the entry was put: removes the tag. A failure is reported as one of background work; the
 * next reader of the body tries again. */
void kedge_log_body_keep(const kedge_log *log, kedge_bytes name);
/* The same, and tells a failure. KEDGE_OK also when there is no such blob any more. */
kedge_status kedge_log_body_untag(const kedge_log *log, kedge_bytes name, kedge_error *error);
/* When the entry will never be put: removes the blob. When that fails, the bucket's rule removes it
 * later. */
void kedge_log_body_discard(const kedge_log *log, kedge_bytes name);

#endif
