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

/* ---- copies, beside processes that read and write ---- */

/* The database `from` as it is at one moment becomes the new file `to`, whole and durable, without
 * a write-ahead log beside it. What a copy that was cut off left there is replaced. KEDGE_CORRUPT:
 * the database is damaged. A failure leaves no file. */
kedge_status kedge_sqlite_copy(const char *from, const char *to, kedge_error *error);
/* Puts the write-ahead log of a database that nobody else has open into the file, so that another
 * file may take its place. */
kedge_status kedge_sqlite_end_log(const char *path, kedge_error *error);

typedef struct kedge_folder_copied {
    int64_t blobs, bytes; /* that the last call has seen */
    int64_t linked;       /* that all calls have added as links to the same files */
    int64_t copied;       /* … as files of their own, on another file system */
} kedge_folder_copied;

/* Adds the blobs of the folder `from`, with their tags and times, to the folder `to`, which is made
 * when absent. Durable when it returns. Blobs that are put or removed meanwhile may be there or
 * not; each that is there is whole. Blobs that only `to` has stay. `told` is zero at the first
 * call. */
kedge_status kedge_folder_blobs_copy(const kedge_environment *environment, const char *from,
                                     const char *to, kedge_folder_copied *told, kedge_error *error);

#endif
