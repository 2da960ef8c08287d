/* Snapshots of a log that the backend makes itself (backend/effects/fold.h): blobs of JSON. An app
 * that makes its own keeps them where it likes. */
#ifndef KEDGE_BACKEND_LOG_SNAPSHOT_H
#define KEDGE_BACKEND_LOG_SNAPSHOT_H

#include "backend/log/log.h"

#define KEDGE_LOG_SNAPSHOT_BYTES_MAX 134217728 /* 128 MiB, as text */

/* Puts the text under its id, a hash in hexadecimal digits. One that is there stays: whoever names
 * a snapshot names its entry, and the same entry gives the same snapshot. */
kedge_status kedge_log_snapshot_write(const kedge_log *log, kedge_bytes id, kedge_bytes text,
                                      kedge_error *error);
/* Appends the text, an unchecked JSON object. KEDGE_NOT_FOUND "log-snapshot-not-found": there is
 * none of this id here; KEDGE_CORRUPT "log-snapshot-damaged". */
kedge_status kedge_log_snapshot_read(const kedge_log *log, kedge_bytes id, kedge_buffer *text,
                                     kedge_error *error);

#endif
