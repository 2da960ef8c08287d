/* The differences between two versions of a text: which ranges of tokens became which. */
#ifndef KEDGE_MUTATE_TEXT_DIFF_H
#define KEDGE_MUTATE_TEXT_DIFF_H

#include "mutate/text_tokens.h"

/* The tokens [base_start, base_end) became [side_start, side_end) of the other text. One of the two
 * ranges may be empty. */
typedef struct kedge_text_hunk {
    uint32_t base_start, base_end;
    uint32_t side_start, side_end;
} kedge_text_hunk;

typedef struct kedge_text_hunks {
    kedge_text_hunk *rows; /* in order; between two there is a token that both texts have */
    size_t count;
    size_t capacity;
} kedge_text_hunks;

/* The changes from the base to `side`, one of KEDGE_TEXT_THEIRS and KEDGE_TEXT_OURS. The caller
 * must free `hunks`, also after a failure. KEDGE_NO_MEMORY. */
kedge_status kedge_text_diff(const kedge_text_split *split, size_t side, kedge_text_hunks *hunks,
                             kedge_error *error);
void kedge_text_hunks_free(const kedge_allocator *allocator, kedge_text_hunks *hunks);

#endif
