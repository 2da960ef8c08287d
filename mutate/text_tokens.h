/* Texts cut into tokens, lines or words, for the three-way merge.
 *
 * A token never ends inside a character (UTF-8), nor between a character and the combining marks
 * after it. */
#ifndef KEDGE_MUTATE_TEXT_TOKENS_H
#define KEDGE_MUTATE_TEXT_TOKENS_H

#include "common/bytes.h"

#define KEDGE_TEXT_TOKENS_MAX 131072 /* of one text */

typedef enum kedge_text_unit {
    KEDGE_TEXT_LINES, /* each with its newline */
    /* A run of letters and digits; a run of blanks; a newline; any other character. In scripts
     * that are written without spaces each character is a word. */
    KEDGE_TEXT_WORDS
} kedge_text_unit;

/* The texts of a three-way merge, in the order of all arrays of three. */
enum { KEDGE_TEXT_BASE, KEDGE_TEXT_THEIRS, KEDGE_TEXT_OURS, KEDGE_TEXT_SIDES };

typedef struct kedge_text_tokens {
    kedge_bytes text;
    size_t count;
    uint32_t *starts;  /* count + 1 of them; the last is the text's size */
    uint32_t *symbols; /* equal where the tokens' texts are: over all three */
} kedge_text_tokens;

typedef struct kedge_text_split {
    const kedge_allocator *allocator;
    kedge_text_tokens sides[KEDGE_TEXT_SIDES];
    uint32_t symbol_count;
    bool *has_word; /* by symbol: the token has a letter, a digit or a picture */
} kedge_text_split;

/* Cuts three texts, well-formed UTF-8. KEDGE_DONE: one of them has too many tokens, and there is
 * nothing to free. KEDGE_NO_MEMORY. */
kedge_status kedge_text_split_make(const kedge_allocator *allocator, kedge_text_unit unit,
                                   const kedge_bytes texts[KEDGE_TEXT_SIDES],
                                   kedge_text_split *split, kedge_error *error);
void kedge_text_split_free(kedge_text_split *split);

/* The bytes of the tokens from `start` to in front of `end`. */
kedge_bytes kedge_text_range(const kedge_text_tokens *tokens, size_t start, size_t end);

/* What must stand between two texts that are put one after the other, so that the last word of the
 * first does not become one with the first word of the second: "", " ", or, when one of them has
 * several lines, "\n". */
const char *kedge_text_separator(kedge_bytes first, kedge_bytes second);

#endif
