/* The state of a project at one version, pinned: what mutators, pulls and queries read.
 *
 * A state is immutable. Its collections are persistent ordered maps (a change shares all but a
 * path with the map before it), so that the state of the head, those of pages being fetched
 * and those that a processor is building live side by side without copies or locks. A
 * collection is loaded when it is first read: newest checkpoint root at or below the version,
 * then the changes after it. */
#ifndef KEDGE_BACKEND_STATE_STATE_H
#define KEDGE_BACKEND_STATE_STATE_H

#include "backend/base/project.h"
#include "backend/versioned/versions/versions.h"
#include "mutate/overlay.h"

typedef struct kedge_state kedge_state;

/* Pins a version: `version` is retained. States of recent versions come from
 * the backend's cache. */
kedge_status kedge_state_open(const kedge_project *project, const kedge_version *version,
                              kedge_state **state, kedge_error *error);
void kedge_state_close(kedge_state *state);
const kedge_version *kedge_state_version(const kedge_state *state);

/* Entries are borrowed until the state is closed. KEDGE_NOT_FOUND; KEDGE_DONE after the last. */
kedge_status kedge_state_find(kedge_state *state, kedge_bytes collection, kedge_bytes id,
                              kedge_entry *entry, kedge_error *error);
kedge_status kedge_state_next(kedge_state *state, kedge_bytes collection, bool from_start,
                              kedge_bytes after, kedge_entry *entry, kedge_error *error);
/* Appends the canonical JSON of an entry, from itself or from blobs, its hash checked. */
kedge_status kedge_state_body(kedge_state *state, kedge_bytes collection, const kedge_entry *entry,
                              kedge_buffer *out, kedge_error *error);

/* For a transaction; valid until the state is closed. */
kedge_state_reader kedge_state_reader_of(kedge_state *state);

#define KEDGE_CHANGES_VERSIONS_MAX 10000
#define KEDGE_CHANGES_BYTES_MAX    33554432 /* of keys, metadata and small bodies: 32 MiB */

/* The keys that differ between version `from` and the state's version: the fold of the deltas
 * (from, version], each key once, in key order. `project_changed` tells of the project record. Free
 * with kedge_changes_free. KEDGE_NOT_FOUND when a version in between is no longer retained, or when
 * the changes exceed a bound above; the caller then reads the whole state. */
typedef struct kedge_changes {
    kedge_version_change *changes;
    size_t count;
    bool project_changed;
    struct kedge_fold *fold; /* what the changes borrow from */
} kedge_changes;

kedge_status kedge_state_changes(kedge_state *state, int64_t from, kedge_changes *changes,
                                 kedge_error *error);
void kedge_changes_free(kedge_changes *changes);

#endif
