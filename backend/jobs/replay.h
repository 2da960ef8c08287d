/* The state of a project as the fold of its deltas: what every checkpoint must be equal to.
 *
 * It starts from nothing, or, where retention has removed the beginning, from the
 * checkpoints that stand for what was before the oldest version that is kept, and takes one
 * version after the other. */
#ifndef KEDGE_BACKEND_JOBS_REPLAY_H
#define KEDGE_BACKEND_JOBS_REPLAY_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/model/map.h"
#include "backend/versioned/model/version.h"

typedef struct kedge_replayed_collection {
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_map map;
    int64_t number; /* how often it was changed */
    int64_t last;   /* the version of the last change, and of the one before; 0: none */
    int64_t previous;
} kedge_replayed_collection;

typedef struct kedge_replay {
    const kedge_project *project;
    kedge_replayed_collection *collections; /* in the order in which they came */
    size_t count;
    size_t capacity;
    int64_t version; /* the last one taken; 0: none */
} kedge_replay;

kedge_replay kedge_replay_make(const kedge_project *project);
void kedge_replay_free(kedge_replay *replay);

/* A collection as it was before a version that may have changed it. False: there was none. */
bool kedge_replay_before(const kedge_version *version, const kedge_version_collection *collection,
                         kedge_version_collection *before);

/* The state before `version`, from the checkpoints of its collections. KEDGE_CORRUPT when one is
 * missing. */
kedge_status kedge_replay_start(kedge_replay *replay, const kedge_version *version,
                                kedge_error *error);
/* Sets a collection as it is before the first version that will be taken. Shares the map. */
kedge_status kedge_replay_put(kedge_replay *replay, const kedge_version_collection *collection,
                              const kedge_map *map, kedge_error *error);
/* The changes of the next version. */
kedge_status kedge_replay_take(kedge_replay *replay, const kedge_version *version,
                               kedge_error *error);

/* NULL: there is none of this name. */
kedge_replayed_collection *kedge_replay_find(const kedge_replay *replay, kedge_bytes name);

/* Whether two maps hold the same entries; otherwise `difference` names the first id that differs
 * and how. */
bool kedge_replay_same(const kedge_map *a, const kedge_map *b, kedge_buffer *difference);

#endif
