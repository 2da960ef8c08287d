/* JSON Patch (RFC 6902) on canonical text. */
#ifndef KEDGE_MUTATE_JSON_PATCH_H
#define KEDGE_MUTATE_JSON_PATCH_H

#include "common/bytes.h"

/* Appends what `patch` makes of `target`, both canonical, as canonical JSON, though perhaps nested
 * deeper than KEDGE_LIMIT_JSON_DEPTH. `cost` gets the work done; over `cost_max` it fails with
 * KEDGE_LIMIT_EXCEEDED. KEDGE_REJECTED with the codes args-invalid (no patch),
 * patch-path-not-found, patch-test-failed, patch-removes-root, patch-moves-into-itself; the message
 * names the operation by its place, from 0. KEDGE_NO_MEMORY. */
kedge_status kedge_json_patch(const kedge_allocator *allocator, kedge_bytes target,
                              kedge_bytes patch, uint64_t cost_max, uint64_t *cost,
                              kedge_buffer *out, kedge_error *error);

#endif
