/* Random edits of places in a canonical value, and mutations that make them, from a seed: mostly
 * such that can be made. */
#ifndef KEDGE_TESTS_MUTATE_RANDOM_EDITS_H
#define KEDGE_TESTS_MUTATE_RANDOM_EDITS_H

#include "tests/mutate/random_json.h"

/* Appends a JSON Patch of one operation or more. */
void random_operations(uint64_t *seed, kedge_bytes target, kedge_buffer *out);
/* Appends the members "base", "path" and "text" of an edit of a text in the value. */
void random_text_edit(uint64_t *seed, kedge_bytes target, kedge_buffer *out);
/* Appends the members "expected", "path", "value" and others of a change of a restore. */
void random_restore(uint64_t *seed, kedge_bytes target, kedge_buffer *out);

/* The args of a mutation of an item of the collection "notes". */

/* Appends them up to the value of the member. */
void random_begin_args(kedge_buffer *args, const char *id, const char *member);
/* Of kedge.put of a container, mostly a large one; and of kedge.merge. */
void random_put(uint64_t *seed, const char *id, kedge_buffer *args);
void random_merge(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args);
/* Of any edit; returns the name of its mutator. */
const char *random_mutation(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args);

#endif
