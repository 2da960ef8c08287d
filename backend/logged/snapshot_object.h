/* The object of a snapshot: the data that is not in the checkpoints of the collections.
 *
 *   {"collections": [collection, …], "hash": hash of the state, "lineage": of the entry,
 *    "number": of the entry, "project"?: {…}, "rejections": [collection, …]}
 *   collection: [name, number of the snapshot that wrote its checkpoint, items]
 *
 * It is a blob beside the parts of versions, named by its SHA-256, which is the snapshot's id. The
 * text is canonical, so the same snapshot is always the same object. The mutations that replays
 * rejected are in a collection of their own, with a name that no app's collection can have. Each
 * rejection has two ids there: `client#mutation`, and the same of the mutation's origin (its own
 * when it has none) with the digest after it. */
#ifndef KEDGE_BACKEND_LOGGED_SNAPSHOT_OBJECT_H
#define KEDGE_BACKEND_LOGGED_SNAPSHOT_OBJECT_H

#include "backend/base/project.h"
#include "backend/versioned/model/version.h"

#define KEDGE_LOGGED_REJECTIONS "-rejections"

typedef struct kedge_snapshot_object {
    uint8_t hash[KEDGE_SHA256_SIZE];
    /* Number, lineage, project record and collections; each has its own reference. */
    const kedge_version *state;
    const kedge_version *rejections;
} kedge_snapshot_object;

/* Puts the object; `id` is its name. */
kedge_status kedge_snapshot_object_put(const kedge_project *project,
                                       const kedge_snapshot_object *object,
                                       char id[KEDGE_SHA256_HEX], kedge_error *error);
/* KEDGE_CORRUPT "snapshot-missing", "snapshot-damaged". Release both versions. */
kedge_status kedge_snapshot_object_get(const kedge_project *project, const char *id,
                                       kedge_snapshot_object *object, kedge_error *error);

#endif
