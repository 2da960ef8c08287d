/* The hash of the state that a snapshot has (mutate/state_hash.h). */
#ifndef KEDGE_BACKEND_LOGGED_SNAPSHOT_HASH_H
#define KEDGE_BACKEND_LOGGED_SNAPSHOT_HASH_H

#include "backend/base/project.h"
#include "backend/versioned/model/map.h"
#include "backend/versioned/model/version.h"

/* `maps` has one map for each collection of the version. Reads the bodies that are blobs. */
kedge_status kedge_snapshot_hash(const kedge_project *project, const kedge_version *version,
                                 const kedge_map *maps, uint8_t hash[KEDGE_SHA256_SIZE],
                                 kedge_error *error);

#endif
