/* A large canonical value in pieces: a small change costs the pieces that it touches, not the whole
 * value.
 *
 * The value of a rope never changes. A change makes another rope, which shares the pieces that it
 * did not touch. So whoever holds a rope keeps its value, without a copy, while others change it.
 * References are counted; a rope belongs to one thread. (Ropes: Boehm, Atkinson and Plass,
 * 1995.) */
#ifndef KEDGE_MUTATE_JSON_ROPE_H
#define KEDGE_MUTATE_JSON_ROPE_H

#include "common/json.h"

/* Below this a rope is no gain. */
#define KEDGE_JSON_ROPE_BYTES_MIN 16384

typedef struct kedge_json_rope kedge_json_rope;

/* Copies the canonical value. The caller must release the rope. KEDGE_NO_MEMORY. */
kedge_status kedge_json_rope_make(const kedge_allocator *allocator, kedge_bytes value,
                                  kedge_json_rope **rope, kedge_error *error);
kedge_json_rope *kedge_json_rope_share(kedge_json_rope *rope);
void kedge_json_rope_release(const kedge_allocator *allocator, kedge_json_rope *rope); /* or NULL */
/* Opens a rope: cuts a container that is one piece into pieces of its children, in place, also for
 * those who share the rope. Does nothing to any other rope. KEDGE_NO_MEMORY. */
kedge_status kedge_json_rope_open(const kedge_allocator *allocator, kedge_json_rope *rope,
                                  kedge_error *error);

kedge_json_type kedge_json_rope_type(const kedge_json_rope *rope);
/* The size of the canonical text, and the text: `out` has room for it. */
uint64_t kedge_json_rope_size(const kedge_json_rope *rope);
void kedge_json_rope_write(const kedge_json_rope *rope, char *out);
void kedge_json_rope_append(const kedge_json_rope *rope, kedge_buffer *out);
/* How deep containers are nested; 0: it is none. */
unsigned kedge_json_rope_depth(kedge_json_rope *rope);

/* ---- merges: an object is open ---- */

/* Applies the merge patch `patch` (RFC 7396), a canonical object, to the rope. The text of `merged`
 * is that which kedge_json_merge makes of the rope's text. The caller must release `merged`.
 * KEDGE_NO_MEMORY. */
kedge_status kedge_json_rope_merge(const kedge_allocator *allocator, const kedge_json_rope *rope,
                                   kedge_bytes patch, kedge_json_rope **merged, kedge_error *error);
/* Appends a canonical object with those members of the rope that `shape` has, too: a number as it
 * is, an object in the same way where `shape` has an object, and null in the place of any other
 * value. Fails only by the buffer's own status. */
void kedge_json_rope_pick(kedge_json_rope *rope, kedge_bytes shape, kedge_buffer *out);

/* ---- places ---- */

/* A value in a rope: a rope itself, or when that is NULL the text in a piece. Borrowed from the
 * rope that it was found in. */
typedef struct kedge_json_part {
    kedge_json_rope *rope;
    kedge_bytes text;
} kedge_json_part;

kedge_json_type kedge_json_part_type(const kedge_json_part *part);
uint64_t kedge_json_part_size(const kedge_json_part *part);
bool kedge_json_part_equals(const kedge_json_part *part, kedge_bytes text);
/* The text of a value that is no container. */
kedge_bytes kedge_json_part_text(const kedge_json_part *part);
/* How many children a container has, which is open if it is a rope. */
size_t kedge_json_part_count(const kedge_json_part *part);
/* Finds the child with the key, in quotes; `*place` is then its place, or where it would belong.
 * With an empty key: the child at `*place`. False: there is none. */
bool kedge_json_part_find(const kedge_json_part *part, kedge_bytes key, size_t *place,
                          kedge_json_part *child);

typedef enum kedge_json_change_kind {
    KEDGE_JSON_SET,    /* the child's value */
    KEDGE_JSON_INSERT, /* a child in front of the one at the place, or at the end */
    KEDGE_JSON_REMOVE
} kedge_json_change_kind;

/* A change of one child of a container. */
typedef struct kedge_json_change {
    kedge_json_change_kind kind;
    const size_t *places; /* of the containers on the way, each in the one before; then the child */
    size_t steps;         /* of them: at least one */
    kedge_bytes key;      /* of a member that is inserted */
    kedge_json_part value;
} kedge_json_change;

/* The containers on the way are open, if they are ropes: whoever has found the child has opened
 * them. The caller must release `changed`. KEDGE_NO_MEMORY. */
kedge_status kedge_json_rope_change(const kedge_allocator *allocator, const kedge_json_rope *rope,
                                    const kedge_json_change *change, kedge_json_rope **changed,
                                    kedge_error *error);

#endif
