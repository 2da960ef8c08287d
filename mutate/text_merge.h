/* The three-way merge of texts.
 *
 * `theirs` and `ours` were made from `base`. The merge has what both changed: first by lines, then,
 * where both changed the same lines, by words. Where both changed the same words differently, it
 * keeps what both have there: theirs, then ours. Nothing that one of them typed is left out. When
 * the changes do not overlap, exchanging theirs and ours gives the same merge. The same three texts
 * give the same bytes everywhere. */
#ifndef KEDGE_MUTATE_TEXT_MERGE_H
#define KEDGE_MUTATE_TEXT_MERGE_H

#include "common/bytes.h"

typedef struct kedge_text_merge_result {
    size_t overlaps; /* places at which both changed or inserted different texts */
    uint64_t cost;   /* the work done, in bytes; the same on every machine */
} kedge_text_merge_result;

/* Appends the merge to `merged`. The texts are well-formed UTF-8. KEDGE_LIMIT_EXCEEDED
 * "mutation-too-costly" when the cost would be above `cost_max`; KEDGE_NO_MEMORY. */
kedge_status kedge_text_merge(const kedge_allocator *allocator, kedge_bytes base,
                              kedge_bytes theirs, kedge_bytes ours, uint64_t cost_max,
                              kedge_buffer *merged, kedge_text_merge_result *result,
                              kedge_error *error);

#endif
