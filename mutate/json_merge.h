/* JSON Merge Patch (RFC 7396) on canonical text. */
#ifndef KEDGE_MUTATE_JSON_MERGE_H
#define KEDGE_MUTATE_JSON_MERGE_H

#include "common/bytes.h"

/* Applies `patch` to `target`, both canonical, and appends the result as canonical JSON. An absent
 * target is empty bytes. Takes time linear in the size of both. Fails only by the buffer's own
 * status. */
void kedge_json_merge(kedge_bytes target, kedge_bytes patch, kedge_buffer *out);

#endif
