/* The members of an object: their order, and the stack that holds them while it is read.
 *
 * Canonical order is that of UTF-16 code units. It is the order of the UTF-8 bytes, with one
 * exception: what lies above U+FFFF (first byte F0 to F4) is written with surrogates in UTF-16 and
 * so comes before U+E000 to U+FFFF (first byte EE or EF).
 *
 * Keys come from strangers, with any number of escapes and long common beginnings. The sort decodes
 * each byte of a key once: it sorts by the next eight bytes of all keys, and then each group of
 * keys that are equal so far by the eight after them. */
#include "common/json_tokens.h"

#include <string.h>

/* ---- the bytes of a key ---- */

/* The next byte of the decoded key, or -1 at its end. A broken escape ends it too: the check has
 * refused it. */
static int next_byte(kedge_json_key_text *text, const char *end)
{
    if (text->pending_at < text->pending_size) {
        return (unsigned char)text->pending[text->pending_at++];
    }
    if (text->at >= end) return -1;
    if (*text->at != '\\') return (unsigned char)*text->at++;
    uint32_t code_point;
    if (kedge_json_read_escape(&text->at, end, &code_point) != KEDGE_JSON_ESCAPE_OK) {
        text->at = end;
        return -1;
    }
    text->pending_size = (uint8_t)kedge_json_encode_utf8(code_point, text->pending);
    text->pending_at = 1;
    return (unsigned char)text->pending[0];
}

/* The place of a byte in the order, from 1 on; 0 is the end of a key, which comes first. In UTF-8
 * there is no byte C0, C1, or above F4. */
static unsigned rank_of(int byte)
{
    if (byte < 0xC0) return (unsigned)(byte + 1);
    if (byte < 0xEE) return (unsigned)byte;
    return (unsigned)(byte < 0xF0 ? byte + 5 : byte - 2);
}

/* ---- order ---- */

static int compare_plain(kedge_bytes a, kedge_bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    size_t i = 0;
    while (common - i >= 8 && memcmp(a.data + i, b.data + i, 8) == 0)
        i += 8;
    for (; i < common; i++) {
        if (a.data[i] != b.data[i]) {
            return rank_of((unsigned char)a.data[i]) < rank_of((unsigned char)b.data[i]) ? -1 : 1;
        }
    }
    return (a.size > b.size) - (a.size < b.size);
}

static int compare_decoded(kedge_bytes a, kedge_bytes b)
{
    kedge_json_key_text left = {.at = a.data};
    kedge_json_key_text right = {.at = b.data};
    for (;;) {
        int l = next_byte(&left, a.data + a.size);
        int r = next_byte(&right, b.data + b.size);
        if (l != r) return rank_of(l) < rank_of(r) ? -1 : 1;
        if (l < 0) return 0;
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

/* ---- sorting ---- */

#define RANKS 8 /* in `next` */

/* Reads the ranks of the next bytes into `next`. */
static void read_next(kedge_json_entry *entry)
{
    const char *end = entry->key.data + entry->key.size;
    entry->next = 0;
    for (int i = 0; i < RANKS; i++)
        entry->next = entry->next << 8 | rank_of(next_byte(&entry->text, end));
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
        if (child + 1 < count && heap[child + 1].next > heap[child].next) child++;
        if (heap[child].next <= heap[root].next) return;
        swap(&heap[root], &heap[child]);
        root = child;
    }
}

/* A heap sort: no memory, no recursion, and no input that makes it slow. */
static void sort_by_next(kedge_json_entry *entries, size_t count)
{
    for (size_t root = count / 2; root-- > 0;)
        sift_down(entries, root, count);
    for (size_t last = count; last-- > 1;) {
        swap(&entries[0], &entries[last]);
        sift_down(entries, 0, last);
    }
}

static size_t count_equal(const kedge_json_entry *entries, size_t count)
{
    size_t equal = 1;
    while (equal < count && entries[equal].next == entries[0].next)
        equal++;
    return equal;
}

/* Equal keys stay in the order of the text, so that the later one can be named. */
static void sort_equal_keys(kedge_json_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        entries[i].next = (uintptr_t)entries[i].key.data;
    sort_by_next(entries, count);
}

static bool is_at_end(const kedge_json_entry *entry)
{
    return (entry->next & 0xFF) == 0;
}

/* Sorts keys that are equal as far as they were read. Goes on with the largest group of those that
 * still are in the same loop, so that the recursion is as deep as the logarithm of `count`. */
static void sort_from_here(kedge_json_entry *entries, size_t count)
{
    while (count > 1 && !is_at_end(entries)) {
        for (size_t i = 0; i < count; i++)
            read_next(&entries[i]);
        if (count_equal(entries, count) < count) sort_by_next(entries, count);
        kedge_json_entry *largest = entries;
        size_t largest_count = count_equal(entries, count);
        for (size_t i = largest_count, equal; i < count; i += equal) {
            equal = count_equal(entries + i, count - i);
            if (equal > largest_count) {
                largest = entries + i;
                largest_count = equal;
            }
        }
        for (size_t i = 0, equal; i < count; i += equal) {
            equal = count_equal(entries + i, count - i);
            if (entries + i != largest) sort_from_here(entries + i, equal);
        }
        entries = largest;
        count = largest_count;
    }
    sort_equal_keys(entries, count);
}

void kedge_json_entries_sort(kedge_json_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        entries[i].text = (kedge_json_key_text){.at = entries[i].key.data};
        entries[i].next = 1; /* not at its end */
    }
    sort_from_here(entries, count);
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
