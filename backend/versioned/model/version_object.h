/* A version with its memory: what the public kedge_version of a loaded or committed record stands
 * in. */
#ifndef KEDGE_BACKEND_MODEL_VERSION_OBJECT_H
#define KEDGE_BACKEND_MODEL_VERSION_OBJECT_H

#include "backend/versioned/model/version.h"
#include "common/arena.h"

#include <stdatomic.h>

typedef struct kedge_version_object {
    kedge_version version; /* first: a public pointer is a pointer to the object */
    atomic_uint references;
    kedge_arena arena;
} kedge_version_object;

/* One reference; NULL: no memory. It may be changed until it is shown to anybody else. */
kedge_version_object *kedge_version_object_new(const kedge_allocator *allocator);

/* NULL when the version does not have the collection. */
const kedge_version_collection *kedge_version_find_collection(const kedge_version *version,
                                                              kedge_bytes name);
/* The changes of one collection: `*first` of `*count`. */
void kedge_version_find_changes(const kedge_version *version, kedge_bytes name, size_t *first,
                                size_t *count);

#endif
