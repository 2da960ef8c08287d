/* JSON Merge Patch (RFC 7396) on canonical text. */
#ifndef KEDGE_MUTATE_JSON_MERGE_H
#define KEDGE_MUTATE_JSON_MERGE_H

#include "common/bytes.h"

/* Appends what `patch` makes of `target`, both canonical, as canonical JSON; an absent target is
 * empty bytes. Linear in both. Fails only by the buffer's own status. */
void kedge_json_merge(kedge_bytes target, kedge_bytes patch, kedge_buffer *out);

#endif
