/* The key of an item on the wire: `collection/id`, split at the first slash; `project` for the
 * project record. A key without a valid collection in front of a slash is an item of the collection
 * `_`, with the whole key as its id. An id of `_` is written alone where it reads back as itself,
 * and as `_/id` otherwise. */
#ifndef KEDGE_WIRE_KEY_H
#define KEDGE_WIRE_KEY_H

#include "common/bytes.h"

/* Both parts are empty for the project record; otherwise they point into `key`, or the collection
 * is static storage. */
void kedge_wire_key_split(kedge_bytes key, kedge_bytes *collection, kedge_bytes *id);
/* Appends the key of an item, or of the project record when `collection` is empty. */
void kedge_wire_key_join(kedge_bytes collection, kedge_bytes id, kedge_buffer *out);

#endif
