/* A large canonical object in pieces: a small merge costs the pieces that it touches, not the whole
 * object.
 *
 * A rope never changes. A merge makes another rope, which shares the pieces that the merge did not
 * touch. Ropes are counted references, of one thread: what a value was before is kept by holding
 * its rope, without a copy. (Ropes: Boehm, Atkinson and Plass, 1995.) */
#ifndef KEDGE_MUTATE_JSON_ROPE_H
#define KEDGE_MUTATE_JSON_ROPE_H

#include "common/bytes.h"

/* Below this a rope is no gain. */
#define KEDGE_JSON_ROPE_BYTES_MIN 16384

typedef struct kedge_json_rope kedge_json_rope;

/* Copies the canonical object. The caller must release the rope. KEDGE_NO_MEMORY. */
kedge_status kedge_json_rope_make(const kedge_allocator *allocator, kedge_bytes object,
                                  kedge_json_rope **rope, kedge_error *error);
kedge_json_rope *kedge_json_rope_share(kedge_json_rope *rope);
void kedge_json_rope_release(const kedge_allocator *allocator, kedge_json_rope *rope); /* or NULL */

/* The size of the canonical text, and the text: `out` has room for it. */
size_t kedge_json_rope_size(const kedge_json_rope *rope);
void kedge_json_rope_write(const kedge_json_rope *rope, char *out);

/* What the merge patch `patch` (RFC 7396), a canonical object, makes of the rope: kedge_json_merge
 * makes the same text of the rope's text. The caller must release `merged`. KEDGE_NO_MEMORY. */
kedge_status kedge_json_rope_merge(const kedge_allocator *allocator, const kedge_json_rope *rope,
                                   kedge_bytes patch, kedge_json_rope **merged, kedge_error *error);
/* Appends a canonical object of the members that `shape` names, too: a number as it is, an object
 * in the same way where `shape` has an object, and null in the place of any other value. Fails only
 * by the buffer's own status. */
void kedge_json_rope_pick(const kedge_json_rope *rope, kedge_bytes shape, kedge_buffer *out);

#endif
