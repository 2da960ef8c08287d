/* The args of kedge.apply: an edit as what it has read and what it writes.
 *
 *   {"reads": [{"collection", "id", "hash"}          an item; hash null: there is none
 *              {"collection", "after", "through", "hash"}   the items in a piece of a collection
 *              {"project": true, "hash"}],           the project record
 *    "ops":   [{"op": "put", "collection", "id", "value"}
 *              {"op": "merge", "collection", "id", "patch"}
 *              {"op": "delete", "collection", "id"}
 *              {"op": "put-project", "value"}],
 *    "made": {"name", "args", "attempt", "sequence"}}     how the edit was made; may be left out
 *
 * A hash is the first half of a SHA-256, in hexadecimal: over the canonical value, or, of a piece
 * of a collection, over each of its items in order: the size of the id (4 bytes, little endian),
 * the id, the size of the value, the value. The piece starts after `after`, at the start of the
 * collection when it is left out, and ends with `through`, at the end when it is left out. */
#ifndef KEDGE_MUTATE_APPLY_H
#define KEDGE_MUTATE_APPLY_H

#include "common/hash.h"
#include <kedge/limits.h>

#define KEDGE_APPLY_MUTATOR  "kedge.apply"
#define KEDGE_APPLY_CONFLICT "conflict" /* the code of the rejection when a read has changed */

/* The hash of a canonical value. */
void kedge_apply_hash(kedge_bytes value, char hex[KEDGE_DIGEST_HEX]);

/* The hash of a piece of a collection, whose items are added in order of id. */
void kedge_apply_hash_begin(kedge_sha256_stream *piece);
void kedge_apply_hash_add(kedge_sha256_stream *piece, kedge_bytes id, kedge_bytes value);
void kedge_apply_hash_end(kedge_sha256_stream *piece, char hex[KEDGE_DIGEST_HEX]);

/* The client-only mutation that the edit was made by. The server does not look at it: it is for the
 * client, which makes the edit again after a conflict, and for people who read the history. */
typedef struct kedge_apply_made {
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_bytes args;
    int64_t attempt;  /* from 1 on */
    int64_t sequence; /* that of its first attempt, in the folder of its client; 0: its own */
} kedge_apply_made;

/* Reads the member "made". Returns true when it is there and right; otherwise `made` is undefined.
 * `*valid` is false when it is there and wrong. `made` borrows from the args. */
bool kedge_apply_read_made(kedge_bytes args, kedge_apply_made *made, bool *valid);

#endif
