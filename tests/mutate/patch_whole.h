/* JSON Patch (RFC 6902) the plain way, with the same count of work, to compare with: each container
 * that a pointer goes through is read whole, and the result is written whole. */
#ifndef KEDGE_TESTS_MUTATE_PATCH_WHOLE_H
#define KEDGE_TESTS_MUTATE_PATCH_WHOLE_H

#include "common/json.h"

/* Appends what `patch` makes of `target`, both canonical, as kedge_json_patch has it. `cost` gets
 * the work done; over `cost_max` it fails with KEDGE_LIMIT_EXCEEDED. */
kedge_status patch_whole(const kedge_allocator *allocator, kedge_bytes target, kedge_bytes patch,
                         uint64_t cost_max, uint64_t *cost, kedge_buffer *out, kedge_error *error);

#endif
