/* What all implementations of the blobs port share: the checks of its contract, tags, listings. */
#ifndef KEDGE_BACKEND_PORTS_BLOBS_SUPPORT_H
#define KEDGE_BACKEND_PORTS_BLOBS_SUPPORT_H

#include "backend/ports/blobs.h"

/* KEDGE_OK, KEDGE_INVALID_ARGUMENT or KEDGE_LIMIT_EXCEEDED. */
kedge_status kedge_blob_key_check(kedge_bytes key, kedge_error *error);
kedge_status kedge_blob_put_check(kedge_bytes key, kedge_bytes bytes, kedge_error *error);
kedge_status kedge_blob_tag_check(kedge_bytes key, kedge_bytes name, kedge_bytes value,
                                  kedge_error *error);
/* kedge_blob_put_check, and kedge_blob_tag_check unless `tag` is NULL. */
kedge_status kedge_blob_put_tagged_check(kedge_bytes key, kedge_bytes bytes,
                                         const kedge_blob_tag *tag, kedge_error *error);
kedge_status kedge_blob_list_check(kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                                   kedge_error *error);

kedge_status kedge_blob_not_found(kedge_bytes key, kedge_error *error);
kedge_status kedge_blob_tag_not_found(kedge_bytes key, kedge_bytes name, kedge_error *error);
kedge_status kedge_blob_exists(kedge_bytes key, kedge_error *error); /* KEDGE_CONFLICT */

/* ---- tags as bytes ---- */

/* Appends to `out` the tags of `tags` with `name` set to `value`, or removed when it is empty. A
 * tag is two bytes of the name's size, two of the value's (high first), the name, the value.
 * KEDGE_LIMIT_EXCEEDED when there would be too many; KEDGE_CORRUPT when `tags` has another form. */
kedge_status kedge_blob_tags_set(kedge_bytes tags, kedge_bytes name, kedge_bytes value,
                                 kedge_buffer *out, kedge_error *error);
/* The value of one tag within `tags`; false when there is none. */
bool kedge_blob_tags_get(kedge_bytes tags, kedge_bytes name, kedge_bytes *value);

/* ---- listings ---- */

/* Keeps the `limit` smallest keys that were offered, in order; `more` once one had to go. */
kedge_status kedge_blob_list_offer(kedge_blob_list *list, size_t limit, kedge_bytes key,
                                   int64_t size_bytes, int64_t modified_ms, kedge_error *error);

#endif
