/* A version of a log project as the body of an entry, and back.
 *
 *   {"created": ms, "indexed_through": N, "mutations": [{…}, …], "recent": [run, …],
 *    "retired"?: client, "runs": [run, …]}
 *   run: [client, group, user, version, first, last, retired (0 or 1)]; the version of the entry's
 *   own runs is 0, since its number is not known before it is appended
 *
 * wire/replay.h has the members of a mutation. */
#ifndef KEDGE_BACKEND_LOGGED_ENTRY_H
#define KEDGE_BACKEND_LOGGED_ENTRY_H

#include "backend/log/log.h"
#include "backend/versioned/model/version.h"
#include "wire/replay.h"

/* Of the JSON of a run, at most: of a user's name each byte may be escaped. */
#define KEDGE_LOGGED_RUN_BYTES (2 * KEDGE_LIMIT_CLIENT_ID_BYTES + 6 * KEDGE_USER_BYTES_MAX + 128)
/* Of the body with one mutation, at most. In args that nest too deep, which are a string here, each
 * byte may be escaped once. */
#define KEDGE_LOGGED_ENTRY_BYTES_MAX                                                               \
    (2 * KEDGE_LIMIT_ARGS_BYTES + (KEDGE_RECENT_RUNS_MAX + 1) * KEDGE_LOGGED_RUN_BYTES + 16384)

void kedge_logged_entry_write(const kedge_version *version, kedge_buffer *out);
/* One mutation as the wire has it; borrows. */
kedge_wire_replay_mutation kedge_logged_mutation(const kedge_version_mutation *mutation);

/* A version of any entry of the log; one of the log itself has no mutations and no `recent`.
 * KEDGE_CORRUPT names log, segment and entry. */
kedge_status kedge_logged_entry_read(const kedge_log *log, const kedge_log_entry *entry,
                                     kedge_version_object **object, size_t *bytes,
                                     kedge_error *error);

#endif
