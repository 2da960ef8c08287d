/* The embedded default: all of a backend's data in one folder.
 *
 *   DIR/records.db   records, in SQLite
 *   DIR/queue.db     the queue of pushes, in SQLite
 *   DIR/snapshots.db the queue of snapshots, in SQLite
 *   DIR/blobs/       blobs, a file each
 *   DIR/server.lock  held by the server that runs here, which writes its process id into it
 *
 * Any number of processes may open a folder beside each other; at most one holds its lock. */
#ifndef KEDGE_BACKEND_EMBEDDED_H
#define KEDGE_BACKEND_EMBEDDED_H

#include "backend/ports/blobs.h"
#include "backend/ports/queue.h"
#include "backend/ports/records.h"
#include "backend/ports/stream.h"
#include "common/environment.h"

typedef struct kedge_embedded kedge_embedded;

/* Opens the folder `path`, made when absent (its parent must exist). With `lock` it is this
 * process's until the close: KEDGE_BUSY when another holds it. KEDGE_NOT_A_DATABASE for a folder
 * that holds other things and no data of Kedge; other failures are those of the ports.
 * `environment` must outlive it. */
kedge_status kedge_embedded_open(const kedge_environment *environment, const char *path, bool lock,
                                 kedge_embedded **embedded, kedge_error *error);
void kedge_embedded_close(kedge_embedded *embedded); /* NULL is allowed */

/* When it was opened, other users of the machine could read its databases. */
bool kedge_embedded_is_readable_by_others(const kedge_embedded *embedded);
/* When it was opened there were blobs or a queue, and no records.db: it was lost, or is not
 * mounted, and all projects begin anew. */
bool kedge_embedded_lacked_records(const kedge_embedded *embedded);

/* The folder holds a backend's data: asked before a read-only tool would make one. */
bool kedge_embedded_exists(const char *path);

/* Borrowed until the close. */
kedge_records kedge_embedded_records(const kedge_embedded *embedded);
kedge_blobs kedge_embedded_blobs(const kedge_embedded *embedded);
kedge_queue kedge_embedded_queue(const kedge_embedded *embedded);
kedge_queue kedge_embedded_snapshots(const kedge_embedded *embedded);

/* Opens the stream of the records whose partition keys start with `prefix`: from here on every
 * process that writes to the folder notes their changes. Borrowed until the close. */
kedge_status kedge_embedded_stream(kedge_embedded *embedded, const char *prefix,
                                   kedge_stream *stream, kedge_error *error);

#endif
