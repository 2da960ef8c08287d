/* The embedded ports: records and queue in SQLite, blobs in a folder. The
 * default of kedge-server. */
#ifndef KEDGE_BACKEND_SQLITE_PORTS_H
#define KEDGE_BACKEND_SQLITE_PORTS_H

#include "backend/ports/blobs.h"
#include "backend/ports/queue.h"
#include "backend/ports/records.h"
#include "backend/ports/stream.h"
#include "common/environment.h"

/* `environment` must outlive what is opened. `path` is a file (made when
 * absent); KEDGE_NOT_A_DATABASE, KEDGE_NEWER_DATABASE and KEDGE_CORRUPT name it.
 * Close with vtable->close. */
kedge_status kedge_sqlite_records_open(const kedge_environment *environment, const char *path,
                                       kedge_records *records, kedge_error *error);

#define KEDGE_SQLITE_STREAM_BYTES  268435456 /* 256 MiB */
#define KEDGE_SQLITE_SHARD_CHANGES 4096      /* then the next shard begins */

typedef struct kedge_sqlite_stream_options {
    const char *partition_prefix; /* only records of such partitions have changes; NULL: all */
    int64_t keep_ms;              /* 0: KEDGE_STREAM_KEPT_MS */
    int64_t keep_bytes;           /* 0: KEDGE_SQLITE_STREAM_BYTES */
} kedge_sqlite_stream_options;

/* The changes of `records`, which kedge_sqlite_records_open opened and which must outlive the
 * stream. From here on every process that writes to the file notes its changes, by the options of
 * the last call, each in the transaction of its write. */
kedge_status kedge_sqlite_stream_open(const kedge_records *records,
                                      const kedge_sqlite_stream_options *options,
                                      kedge_stream *stream, kedge_error *error);

/* `receive_max`: deliveries before a message becomes a dead letter. */
kedge_status kedge_sqlite_queue_open(const kedge_environment *environment, const char *path,
                                     uint32_t receive_max, kedge_queue *queue, kedge_error *error);

/* `path` is a folder (made when absent). File names escape what file systems fold or forbid. */
kedge_status kedge_folder_blobs_open(const kedge_environment *environment, const char *path,
                                     kedge_blobs *blobs, kedge_error *error);

#endif
