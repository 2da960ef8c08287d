/* What differs between two texts, by words, and where a cursor belongs afterwards. A text view that
 * takes over another text in these pieces keeps its cursor, its selection and its scroll. */
#ifndef TEXT_DIFF_H
#define TEXT_DIFF_H

#include <glib.h>

/* The most comparisons of a word of one text with a word of the other, 2 bytes each. Where the
 * parts that differ have more, they count as one change. */
#define TEXT_DIFF_CELLS_MAX 4000000

/* One change: `old_length` characters at `old_at` become `new_length` characters at `new_at`. */
typedef struct text_change {
    guint old_at, old_length;
    guint new_at, new_length;
    const char *inserted; /* in the new text, `inserted_bytes` long */
    gsize inserted_bytes;
} text_change;

/* The changes from `old_text` to `new_text`, both UTF-8, first to last; none when they are equal.
 * Places count characters. Free the array with g_array_unref; it borrows `new_text`. */
GArray *text_diff(const char *old_text, const char *new_text);

/* Where the place `at` of the old text is in the new one. A place where text was put in stays in
 * front of it. */
guint text_diff_place(const GArray *changes, guint at);

#endif
