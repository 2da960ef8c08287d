/* Compares two texts by words: the longest common subsequence of what is left between the words
 * that both have at the start and at the end. */
#include "text_diff.h"

#include <string.h>

/* A word, or one character between words. */
typedef struct token {
    const char *start;
    guint bytes;
    guint chars;
} token;

static GArray *split(const char *text)
{
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(token));
    while (*text) {
        token next = {text, 0, 0};
        gboolean word = g_unichar_isalnum(g_utf8_get_char(text));
        do {
            text = g_utf8_next_char(text);
            next.chars++;
        } while (word && *text && g_unichar_isalnum(g_utf8_get_char(text)));
        next.bytes = (guint)(text - next.start);
        g_array_append_val(tokens, next);
    }
    return tokens;
}

/* Part of the tokens of a text, and how many characters are in front of it. */
typedef struct part {
    const token *tokens;
    guint count;
    guint at;
} part;

static gboolean same(const token *a, const token *b)
{
    return a->bytes == b->bytes && memcmp(a->start, b->start, a->bytes) == 0;
}

/* Takes what both have in front and after out of both parts. */
static void trim(part *a, part *b)
{
    while (a->count > 0 && b->count > 0 && same(a->tokens, b->tokens)) {
        a->at += a->tokens->chars;
        b->at += b->tokens->chars;
        a->tokens++, a->count--;
        b->tokens++, b->count--;
    }
    while (a->count > 0 && b->count > 0 &&
           same(a->tokens + a->count - 1, b->tokens + b->count - 1)) {
        a->count--;
        b->count--;
    }
}

/* Cell (i, j), of (a->count + 1) * (b->count + 1): how many tokens the rests of both have in
 * common, from token i of `a` and token j of `b` on. */
static guint16 *common_lengths(const part *a, const part *b)
{
    gsize width = (gsize)b->count + 1;
    guint16 *cells = g_new0(guint16, width * ((gsize)a->count + 1));
    for (guint i = a->count; i-- > 0;) {
        for (guint j = b->count; j-- > 0;) {
            guint16 *cell = cells + i * width + j;
            if (same(a->tokens + i, b->tokens + j))
                *cell = (guint16)(cell[width + 1] + 1);
            else
                *cell = MAX(cell[width], cell[1]);
        }
    }
    return cells;
}

/* Takes the next token of `from` into a change. */
static void take_old(part *from, text_change *change)
{
    change->old_length += from->tokens->chars;
    from->at += from->tokens->chars;
    from->tokens++, from->count--;
}

static void take_new(part *from, text_change *change)
{
    if (change->new_length == 0) change->inserted = from->tokens->start;
    change->new_length += from->tokens->chars;
    change->inserted_bytes += from->tokens->bytes;
    from->at += from->tokens->chars;
    from->tokens++, from->count--;
}

static void walk(part *a, part *b, const guint16 *cells, GArray *changes)
{
    gsize width = (gsize)b->count + 1;
    const guint16 *cell = cells;
    while (a->count > 0 || b->count > 0) {
        text_change change = {a->at, 0, b->at, 0, NULL, 0};
        while (a->count > 0 && b->count > 0 && same(a->tokens, b->tokens)) {
            a->at = change.old_at += a->tokens->chars;
            b->at = change.new_at += b->tokens->chars;
            a->tokens++, a->count--;
            b->tokens++, b->count--;
            cell += width + 1;
        }
        while ((a->count > 0 || b->count > 0) &&
               !(a->count > 0 && b->count > 0 && same(a->tokens, b->tokens))) {
            if (b->count == 0 || (a->count > 0 && cell[width] >= cell[1])) {
                take_old(a, &change);
                cell += width;
            } else {
                take_new(b, &change);
                cell++;
            }
        }
        if (change.old_length + change.new_length > 0) g_array_append_val(changes, change);
    }
}

GArray *text_diff(const char *old_text, const char *new_text)
{
    GArray *changes = g_array_new(FALSE, FALSE, sizeof(text_change));
    GArray *old_tokens = split(old_text);
    GArray *new_tokens = split(new_text);
    part a = {(const token *)(void *)old_tokens->data, old_tokens->len, 0};
    part b = {(const token *)(void *)new_tokens->data, new_tokens->len, 0};
    trim(&a, &b);
    if ((guint64)(a.count + 1) * (b.count + 1) <= TEXT_DIFF_CELLS_MAX) {
        guint16 *cells = common_lengths(&a, &b);
        walk(&a, &b, cells, changes);
        g_free(cells);
    } else {
        text_change all = {a.at, 0, b.at, 0, NULL, 0};
        while (a.count > 0)
            take_old(&a, &all);
        while (b.count > 0)
            take_new(&b, &all);
        g_array_append_val(changes, all);
    }
    g_array_unref(old_tokens);
    g_array_unref(new_tokens);
    return changes;
}

guint text_diff_place(const GArray *changes, guint at)
{
    guint place = at;
    for (guint i = 0; i < changes->len; i++) {
        const text_change *change = &g_array_index(changes, text_change, i);
        if (change->old_at >= at) break;
        if (change->old_at + change->old_length > at) {
            return change->new_at + MIN(at - change->old_at, change->new_length);
        }
        place = at + change->new_at + change->new_length - change->old_at - change->old_length;
    }
    return place;
}
