/* What a process remembers of projects and logs, to save reads of the store. It is kept in memory
 * alone, and what is forgotten is read again. Any thread. */
#ifndef KEDGE_BACKEND_BASE_HINTS_H
#define KEDGE_BACKEND_BASE_HINTS_H

#include "backend/base/project_ref.h"
#include "common/bytes.h"
#include "common/environment.h"

#include <kedge/limits.h>
#include <pthread.h>

/* ---- kinds of projects ---- */

/* The kinds of projects that were asked for. A kind changes only when the project is deleted and
 * its name taken anew. */

#define KEDGE_PROJECT_KINDS 1024 /* places, by hash; a project takes its place from another one */

typedef struct kedge_known_kind {
    char organization[KEDGE_LIMIT_NAME_BYTES + 1]; /* empty: free */
    char project[KEDGE_LIMIT_NAME_BYTES + 1];
    int kind;
} kedge_known_kind;

typedef struct kedge_project_kinds {
    pthread_mutex_t lock;
    kedge_known_kind *places;
    const kedge_allocator *allocator;
} kedge_project_kinds;

kedge_status kedge_project_kinds_open(kedge_project_kinds *kinds, const kedge_allocator *allocator,
                                      kedge_error *error);
void kedge_project_kinds_close(kedge_project_kinds *kinds);

/* False: it is not known. */
bool kedge_project_kinds_find(kedge_project_kinds *kinds, const kedge_project_ref *ref, int *kind);
/* The names in `ref` must have been checked. */
void kedge_project_kinds_put(kedge_project_kinds *kinds, const kedge_project_ref *ref, int kind);

/* ---- projects without an access list ---- */

/* Projects that had no access list a moment ago, so that not every request to such a project reads
 * the store for it.
 *
 * A first list that another process puts is therefore in force here after KEDGE_UNLISTED_MS at the
 * latest. A list that exists is read with every request. */

#define KEDGE_UNLISTED_PLACES 1024 /* by hash; a project takes its place from another one */
#define KEDGE_UNLISTED_MS     10000

typedef struct kedge_unlisted_place {
    uint64_t project; /* hash of organization and resource id; 0: free */
    int64_t until_ms; /* monotonic */
} kedge_unlisted_place;

typedef struct kedge_unlisted {
    const kedge_environment *environment;
    pthread_mutex_t lock;
    kedge_unlisted_place places[KEDGE_UNLISTED_PLACES];
    uint64_t forgotten; /* counts the calls of kedge_unlisted_forget */
} kedge_unlisted;

void kedge_unlisted_open(kedge_unlisted *unlisted, const kedge_environment *environment);
void kedge_unlisted_close(kedge_unlisted *unlisted);

/* `id` is the id of the access list. False: the list must be read, and when there is none,
 * `*since` is for kedge_unlisted_note. */
bool kedge_unlisted_has(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id,
                        uint64_t *since);
/* Does nothing when something was forgotten since: the list may have been put after the read. */
void kedge_unlisted_note(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id,
                         uint64_t since);
void kedge_unlisted_forget(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id);

/* ---- snapshots of log projects ---- */

/* The projects whose damaged snapshot could not be made anew a moment ago, or was asked for from
 * the readers of the stream. The work reads all entries of the log, and it may fail each time. So
 * not every request that needs the snapshot begins it. */

#define KEDGE_REMAKES   256 /* places, by hash; a project takes its place from another one */
#define KEDGE_REMAKE_MS 30000

typedef struct kedge_remake {
    uint64_t project; /* hash of its name */
    int64_t until_ms; /* monotonic; 0: free */
} kedge_remake;

typedef struct kedge_remakes {
    const kedge_environment *environment;
    pthread_mutex_t lock;
    kedge_remake places[KEDGE_REMAKES];
} kedge_remakes;

void kedge_remakes_open(kedge_remakes *remakes, const kedge_environment *environment);
void kedge_remakes_close(kedge_remakes *remakes);

/* False: the last try has ended less than KEDGE_REMAKE_MS ago. */
bool kedge_remakes_may_begin(kedge_remakes *remakes, const kedge_project_ref *ref);
void kedge_remakes_ended(kedge_remakes *remakes, const kedge_project_ref *ref);

/* ---- the newest segments of logs ---- */

/* Which segment of a log was the newest when it was last seen: a cached hint.
 *
 * An append that starts from it saves the read of the Segment table. A hint that is wrong costs
 * two reads: the segment's last entry is then an End Segment, which makes the append start anew. */

#define KEDGE_LOG_HINTS         1024 /* places, by hash; a log takes its place from another one */
#define KEDGE_LOG_HINT_ID_BYTES 16

typedef struct kedge_log_hint {
    uint8_t id[KEDGE_LOG_HINT_ID_BYTES]; /* of the log; zeros: free */
    int64_t segment;
    int64_t first; /* the number of the segment's entry 0 */
} kedge_log_hint;

typedef struct kedge_log_hints {
    pthread_mutex_t lock;
    kedge_log_hint *places;
    const kedge_allocator *allocator;
} kedge_log_hints;

kedge_status kedge_log_hints_open(kedge_log_hints *hints, const kedge_allocator *allocator,
                                  kedge_error *error);
void kedge_log_hints_close(kedge_log_hints *hints);

/* Fills the rest of `hint` for hint->id; false: nothing is known. */
bool kedge_log_hint_find(kedge_log_hints *hints, kedge_log_hint *hint);
void kedge_log_hint_put(kedge_log_hints *hints, const kedge_log_hint *hint);

#endif
