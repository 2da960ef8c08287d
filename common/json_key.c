/* The members of an object: their order, and the stack that holds them while it is read.
 *
 * Canonical order is that of UTF-16 code units. It is the order of the UTF-8 bytes, with one
 * exception: what lies above U+FFFF (first byte F0 to F4) is written with surrogates in UTF-16 and
 * so comes before U+E000 to U+FFFF (first byte EE or EF). */
#include "common/json_internal.h"

#include <string.h>

/* ---- order ---- */

/* Two different bytes at the first place where two texts differ. */
static int compare_bytes(unsigned char a, unsigned char b)
{
    bool a_is_above_surrogates = a == 0xEE || a == 0xEF;
    bool b_is_above_surrogates = b == 0xEE || b == 0xEF;
    if (a_is_above_surrogates && b >= 0xF0) return 1;
    if (b_is_above_surrogates && a >= 0xF0) return -1;
    return a < b ? -1 : 1;
}

static int compare_plain(kedge_bytes a, kedge_bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    size_t i = 0;
    while (common - i >= 8 && memcmp(a.data + i, b.data + i, 8) == 0)
        i += 8;
    for (; i < common; i++) {
        if (a.data[i] != b.data[i]) {
            return compare_bytes((unsigned char)a.data[i], (unsigned char)b.data[i]);
        }
    }
    return (a.size > b.size) - (a.size < b.size);
}

/* The UTF-8 of a key's text, one escape or byte at a time. */
typedef struct decoder {
    const char *at;
    const char *end;
    char pending[4];
    size_t pending_at;
    size_t pending_size;
} decoder;

/* The next byte, or -1 at the end. A broken escape ends it too: the check has refused it. */
static int next_byte(decoder *text)
{
    if (text->pending_at < text->pending_size) {
        return (unsigned char)text->pending[text->pending_at++];
    }
    if (text->at >= text->end) return -1;
    if (*text->at != '\\') return (unsigned char)*text->at++;
    uint32_t code_point;
    if (kedge_json_read_escape(&text->at, text->end, &code_point) != KEDGE_JSON_ESCAPE_OK) {
        text->at = text->end;
        return -1;
    }
    text->pending_size = kedge_json_encode_utf8(code_point, text->pending);
    text->pending_at = 1;
    return (unsigned char)text->pending[0];
}

static int compare_decoded(kedge_bytes a, kedge_bytes b)
{
    decoder left = {.at = a.data, .end = a.data + a.size};
    decoder right = {.at = b.data, .end = b.data + b.size};
    for (;;) {
        int l = next_byte(&left);
        int r = next_byte(&right);
        if (l == r && l < 0) return 0;
        if (l < 0) return -1;
        if (r < 0) return 1;
        if (l != r) return compare_bytes((unsigned char)l, (unsigned char)r);
    }
}

int kedge_json_entry_compare(const kedge_json_entry *a, const kedge_json_entry *b)
{
    if (a->escaped || b->escaped) return compare_decoded(a->key, b->key);
    return compare_plain(a->key, b->key);
}

static kedge_json_entry entry_of(kedge_bytes quoted)
{
    kedge_bytes key = {quoted.data + 1, quoted.size - 2};
    return (kedge_json_entry){.key = key, .escaped = memchr(key.data, '\\', key.size) != NULL};
}

int kedge_json_key_compare(kedge_bytes a, kedge_bytes b)
{
    kedge_json_entry left = entry_of(a);
    kedge_json_entry right = entry_of(b);
    return kedge_json_entry_compare(&left, &right);
}

/* Equal keys in the order of the text, so that the later one can be named. */
static bool comes_after(const kedge_json_entry *a, const kedge_json_entry *b)
{
    int order = kedge_json_entry_compare(a, b);
    return order > 0 || (order == 0 && a->key.data > b->key.data);
}

static void swap(kedge_json_entry *a, kedge_json_entry *b)
{
    kedge_json_entry kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_down(kedge_json_entry *heap, size_t root, size_t count)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) return;
        if (child + 1 < count && comes_after(&heap[child + 1], &heap[child])) child++;
        if (!comes_after(&heap[child], &heap[root])) return;
        swap(&heap[root], &heap[child]);
        root = child;
    }
}

/* A heap sort: no memory, no recursion, and no input that makes it slow. */
void kedge_json_entries_sort(kedge_json_entry *entries, size_t count)
{
    for (size_t root = count / 2; root-- > 0;)
        sift_down(entries, root, count);
    for (size_t last = count; last-- > 1;) {
        swap(&entries[0], &entries[last]);
        sift_down(entries, 0, last);
    }
}

/* ---- the stack ---- */

void kedge_json_entries_init(kedge_json_entries *entries, const kedge_allocator *allocator)
{
    entries->items = entries->inline_items;
    entries->count = 0;
    entries->capacity = KEDGE_JSON_INLINE_ENTRIES;
    entries->allocator = allocator;
}

void kedge_json_entries_free(kedge_json_entries *entries)
{
    if (entries->items != entries->inline_items) {
        kedge_release(entries->allocator, entries->items);
    }
    kedge_json_entries_init(entries, entries->allocator);
}

static bool grow(kedge_json_entries *entries)
{
    const kedge_allocator *allocator = entries->allocator;
    bool is_inline = entries->items == entries->inline_items;
    if (entries->capacity > SIZE_MAX / 2 / sizeof *entries->items) return false;
    kedge_json_entry *items =
        allocator->reallocate(allocator->context, is_inline ? NULL : entries->items,
                              2 * entries->capacity * sizeof *items);
    if (items == NULL) return false;
    if (is_inline) memcpy(items, entries->inline_items, sizeof entries->inline_items);
    entries->items = items;
    entries->capacity *= 2;
    return true;
}

kedge_json_entry *kedge_json_entries_add(kedge_json_entries *entries)
{
    if (entries->count == entries->capacity && !grow(entries)) return NULL;
    return &entries->items[entries->count++];
}
