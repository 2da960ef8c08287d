/* A state's insides: its collections, loaded or not yet. */
#ifndef KEDGE_BACKEND_STATE_STATE_INTERNAL_H
#define KEDGE_BACKEND_STATE_STATE_INTERNAL_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/model/map.h"
#include "backend/versioned/state/state.h"

/* One collection of the version, at the same index. `map` may be read without the lock once
 * `loaded` is true and never changes after that. Until then `base`, when there is one, is the
 * collection as it was at `base_version`: a start that saves the checkpoint. */
typedef struct kedge_slot {
    atomic_bool loaded;
    kedge_map map;
    bool has_base;
    kedge_map base;
    int64_t base_version;
    atomic_llong root_number; /* the collection's number at its newest usable checkpoint; 0: none */
    atomic_llong tail_bytes;  /* about what was changed since */
    atomic_llong tail_changes; /* of how many items, one that changed twice counted twice */
    atomic_bool root_damaged;  /* a newer checkpoint lacked a chunk: the next writes all its own */
} kedge_slot;

struct kedge_state {
    atomic_uint references;
    kedge_project project; /* after the struct */
    const kedge_version *version;
    uint64_t family;      /* states that share maps count once in the cache */
    pthread_mutex_t lock; /* held while a collection is loaded */
    kedge_slot *slots;    /* one for each collection of the version */
};

void kedge_state_retain(kedge_state *state);
/* About what it holds in memory. */
size_t kedge_state_bytes(const kedge_state *state);

/* A state of `version` that starts from `parent` (NULL: from nothing), which is of the same line
 * and not newer. Not put into the cache. */
kedge_status kedge_state_derive(const kedge_project *project, kedge_state *parent,
                                const kedge_version *version, kedge_state **state,
                                kedge_error *error);

/* The newest version by a consistent read, as a state that the cache keeps. */
kedge_status kedge_state_open_newest(const kedge_project *project, kedge_state **state,
                                     kedge_error *error);

/* The whole collection, loaded; NULL when the version has none of this name. */
kedge_status kedge_state_collection(kedge_state *state, kedge_bytes name, const kedge_map **map,
                                    kedge_error *error);
kedge_slot *kedge_state_slot(kedge_state *state, kedge_bytes name);

#endif
