/* The commits of other processes: a thread that reads the newest versions of what has event streams
 * here, so that these also tell what another server, a function or a tool has written to the same
 * stores. Those of this process come at once, by kedge_server_committed. */
#ifndef KEDGE_BACKEND_HTTP_FOREIGN_COMMITS_H
#define KEDGE_BACKEND_HTTP_FOREIGN_COMMITS_H

#include "backend/api/api.h"
#include "backend/http/events.h"

#include <stdatomic.h>

#define KEDGE_FOREIGN_COMMITS_LOOK_MS 5000 /* between the end of a look and the next one */
#define KEDGE_FOREIGN_COMMITS_READ_MS 5000 /* of one read */

typedef struct kedge_foreign_commits kedge_foreign_commits;

/* `events` and `backend`, which is NULL until there is one, must outlive it. */
kedge_status kedge_foreign_commits_start(const kedge_environment *environment, kedge_events *events,
                                         _Atomic(kedge_backend *) *backend,
                                         kedge_foreign_commits **commits, kedge_error *error);
/* Both allow NULL. A read that is under way may go on for its time; the second waits for it. */
void kedge_foreign_commits_stop(kedge_foreign_commits *commits);
void kedge_foreign_commits_free(kedge_foreign_commits *commits); /* after the stop */

#endif
