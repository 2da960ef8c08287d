/* Checkpoints: a collection as it was at one version, so that a reader need not fold from the
 * beginning.
 *
 *   Collection#{name}#cv_{number}#0000    the root, written last: no root, no checkpoint
 *   Collection#{name}#cv_{number}#0001…   further parts of a long root
 *
 *   attribute  type    holds
 *   version    number  the project version that it is of, which gave the collection this number
 *   lineage    text    of that version
 *   parts      number  how many records the root has
 *   items      number  how many items the collection has
 *   map        packed  {id: entry}: the items themselves, in the order of ids
 *   chunks     packed  [[sha256, items], …]: or the blobs that hold them in this form
 *
 * Every part has either `map` or `chunks`; the collection has the items of its parts, in their
 * order. The seed cadence writes maps only, of at most 350 KB each. The compact cadence writes one
 * map when the collection is small, and otherwise chunks of at most 256 KB, named by the hash of
 * their text. The border of a chunk depends only on the items next to it, so that a change of one
 * item rewrites only its own chunk and the root.
 *
 * A reader takes the newest root at or below its version whose version still has its lineage; when
 * a chunk of it is missing, the next older one; without any, it folds from the beginning. */
#ifndef KEDGE_BACKEND_STATE_CHECKPOINT_H
#define KEDGE_BACKEND_STATE_CHECKPOINT_H

#include "backend/base/project.h"
#include "backend/versioned/model/map.h"
#include "backend/versioned/state/state_internal.h"

#define KEDGE_CHECKPOINT_VERSIONS_MAX 1024 /* a tail over it is due for a checkpoint in any case */
#define KEDGE_CHUNK_BYTES_TYPICAL     131072
#define KEDGE_ROOT_MAP_BYTES          65536 /* a collection up to this stands in the root itself */
#define KEDGE_ROOT_CHUNKS_PER_PART    4096
#define KEDGE_ROOT_PARTS_MAX          256

/* `*map` is the collection at the root that was found; `*version` its project version and
 * `*number` the collection's. All empty and 0 when there is none. `*damaged`: a newer one
 * could not be used. */
kedge_status kedge_checkpoint_read(const kedge_project *project,
                                   const kedge_version_collection *collection, kedge_map *map,
                                   int64_t *version, int64_t *number, bool *damaged,
                                   kedge_error *error);

/* What one root record, "#0000", and its further parts and chunks hold, whatever its lineage.
 * KEDGE_CORRUPT when something of it is gone or damaged. */
kedge_status kedge_checkpoint_read_root(const kedge_project *project, kedge_bytes collection,
                                        int64_t number, const kedge_record *root, kedge_map *map,
                                        kedge_error *error);

/* The chunks that one record of a root names. */
typedef kedge_status (*kedge_chunk_name_visit)(void *context, const uint8_t hash[KEDGE_SHA256_SIZE],
                                               kedge_error *error);
kedge_status kedge_checkpoint_visit_chunks(const kedge_allocator *allocator,
                                           const kedge_record *part, kedge_chunk_name_visit visit,
                                           void *context, kedge_error *error);

/* Whether the tail of a collection has become long enough. The slot is loaded. */
bool kedge_checkpoint_is_due(const kedge_version_collection *collection, const kedge_slot *slot);

/* Writes the checkpoint of one collection of a state. With `all` the chunks of the checkpoint
 * before are put again as well; otherwise they are taken to be there. */
kedge_status kedge_checkpoint_write(kedge_state *state, const kedge_version_collection *collection,
                                    bool all, kedge_error *error);

/* The same of a collection that is no state's: `lineage` is of the version `collection->last`.
 * `known` is the number of a checkpoint of the collection whose chunks are there; 0: none. */
kedge_status kedge_checkpoint_write_map(const kedge_project *project,
                                        const kedge_version_collection *collection,
                                        const char *lineage, const kedge_map *map, int64_t known,
                                        kedge_error *error);

/* Whether a collection that the version changed needs a checkpoint. */
bool kedge_checkpoint_any_due(kedge_state *state);

/* The checkpoints that are due, of the collections that the version changed; with `all` of every
 * one. */
kedge_status kedge_checkpoint_write_due(kedge_state *state, bool all, kedge_error *error);

#endif
