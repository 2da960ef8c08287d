/* The embedded ports: records and queue in SQLite, blobs in a folder. The
 * default of kedge-server. */
#ifndef KEDGE_BACKEND_SQLITE_PORTS_H
#define KEDGE_BACKEND_SQLITE_PORTS_H

#include "backend/ports/blobs.h"
#include "backend/ports/queue.h"
#include "backend/ports/records.h"
#include "common/environment.h"

/* `environment` must outlive what is opened. `path` is a file (made when
 * absent); KEDGE_NOT_A_DATABASE, KEDGE_NEWER_DATABASE and KEDGE_CORRUPT name it.
 * Close with vtable->close. */
kedge_status kedge_sqlite_records_open(const kedge_environment *environment, const char *path,
                                       kedge_records *records, kedge_error *error);

/* `receive_max`: deliveries before a message becomes a dead letter. */
kedge_status kedge_sqlite_queue_open(const kedge_environment *environment, const char *path,
                                     uint32_t receive_max, kedge_queue *queue, kedge_error *error);

/* `path` is a folder (made when absent). File names escape what file systems fold or forbid. */
kedge_status kedge_folder_blobs_open(const kedge_environment *environment, const char *path,
                                     kedge_blobs *blobs, kedge_error *error);

#endif
