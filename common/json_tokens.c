/* The tokens of JSON. Strings: finding what needs attention in them, escapes, decoding. The members
 * of an object: their order, and the stack that holds them while it is read. Numbers have a file of
 * their own, json_number.c.
 *
 * Canonical order is that of UTF-16 code units. It is the order of the UTF-8 bytes, with one
 * exception: what lies above U+FFFF (first byte F0 to F4) is written with surrogates in UTF-16 and
 * so comes before U+E000 to U+FFFF (first byte EE or EF). */
#include "common/json_tokens.h"

#include <string.h>

/* ---- strings ---- */

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Not 0 if a byte of `word` equals `byte`, which repeats it eight times. */
static inline uint64_t has_byte(uint64_t word, uint64_t byte)
{
    uint64_t difference = word ^ byte;
    return (difference - ONES) & ~difference & HIGHS;
}

static inline uint64_t has_special(uint64_t word)
{
    uint64_t control = (word - ONES * 0x20) & ~word & HIGHS;
    return control | (word & HIGHS) | has_byte(word, ONES * '"') | has_byte(word, ONES * '\\');
}

static inline bool is_special(unsigned char byte)
{
    return byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\';
}

/* Eight bytes at a time. */
const char *kedge_json_plain_run(const char *at, const char *end)
{
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        if (has_special(word) != 0) break;
        at += 8;
    }
    while (at < end && !is_special((unsigned char)*at))
        at++;
    return at;
}

static bool read_hex4(const char *at, const char *end, uint32_t *unit)
{
    if (end - at < 4) return false;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char digit = at[i];
        uint32_t part;
        if (digit >= '0' && digit <= '9')
            part = (uint32_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            part = (uint32_t)(digit - 'a') + 10;
        else if (digit >= 'A' && digit <= 'F')
            part = (uint32_t)(digit - 'A') + 10;
        else
            return false;
        value = value << 4 | part;
    }
    *unit = value;
    return true;
}

/* `*at` is behind \u. */
static kedge_json_escape read_unicode(const char **at, const char *end, uint32_t *code_point)
{
    uint32_t high;
    uint32_t low;
    if (!read_hex4(*at, end, &high)) return KEDGE_JSON_ESCAPE_MALFORMED;
    *at += 4;
    *code_point = high;
    if (high < 0xD800 || high > 0xDFFF) return KEDGE_JSON_ESCAPE_OK;
    bool pair = high < 0xDC00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' &&
                read_hex4(*at + 2, end, &low) && low >= 0xDC00 && low <= 0xDFFF;
    if (!pair) return KEDGE_JSON_ESCAPE_SURROGATE;
    *at += 6;
    *code_point = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    return KEDGE_JSON_ESCAPE_OK;
}

kedge_json_escape kedge_json_read_escape(const char **at, const char *end, uint32_t *code_point)
{
    if (end - *at < 2) return KEDGE_JSON_ESCAPE_MALFORMED;
    char letter = (*at)[1];
    *at += 2;
    switch (letter) {
    case '"':
    case '\\':
    case '/':
        *code_point = (unsigned char)letter;
        return KEDGE_JSON_ESCAPE_OK;
    case 'b':
        *code_point = '\b';
        return KEDGE_JSON_ESCAPE_OK;
    case 'f':
        *code_point = '\f';
        return KEDGE_JSON_ESCAPE_OK;
    case 'n':
        *code_point = '\n';
        return KEDGE_JSON_ESCAPE_OK;
    case 'r':
        *code_point = '\r';
        return KEDGE_JSON_ESCAPE_OK;
    case 't':
        *code_point = '\t';
        return KEDGE_JSON_ESCAPE_OK;
    case 'u':
        return read_unicode(at, end, code_point);
    default:
        return KEDGE_JSON_ESCAPE_MALFORMED;
    }
}

size_t kedge_json_encode_utf8(uint32_t code_point, char utf8[4])
{
    if (code_point < 0x80) {
        utf8[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        utf8[0] = (char)(0xC0 | code_point >> 6);
        utf8[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        utf8[0] = (char)(0xE0 | code_point >> 12);
        utf8[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        utf8[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    utf8[0] = (char)(0xF0 | code_point >> 18);
    utf8[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    utf8[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    utf8[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

size_t kedge_json_escape_of(unsigned char byte, char escape[6])
{
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    static const char digits[] = "0123456789abcdef";
    if (byte >= 0x20 && byte != '"' && byte != '\\') return 0;
    char letter = byte >= 0x20 ? (char)byte : letters[byte];
    escape[0] = '\\';
    escape[1] = letter;
    if (letter != '\0') return 2;
    escape[1] = 'u';
    escape[2] = '0';
    escape[3] = '0';
    escape[4] = digits[byte >> 4];
    escape[5] = digits[byte & 15];
    return 6;
}

/* Copies as much of a piece as fits and counts all of it. */
static void put(const char *piece, size_t piece_size, char *out, size_t capacity, size_t *size)
{
    if (*size < capacity && piece_size > 0) {
        size_t room = capacity - *size;
        memcpy(out + *size, piece, piece_size < room ? piece_size : room);
    }
    *size += piece_size;
}

bool kedge_json_string_decode(kedge_bytes value, char *out, size_t capacity, size_t *size)
{
    if (value.size < 2 || value.data[0] != '"' || value.data[value.size - 1] != '"') return false;
    const char *at = value.data + 1;
    const char *end = value.data + value.size - 1;
    *size = 0;
    if (memchr(at, '\0', (size_t)(end - at)) != NULL) return false;
    while (at < end) {
        const char *backslash = memchr(at, '\\', (size_t)(end - at));
        const char *stop = backslash == NULL ? end : backslash;
        put(at, (size_t)(stop - at), out, capacity, size);
        at = stop;
        if (at == end) break;
        uint32_t code_point;
        char utf8[4];
        if (kedge_json_read_escape(&at, end, &code_point) != KEDGE_JSON_ESCAPE_OK) return false;
        if (code_point == 0) return false;
        put(utf8, kedge_json_encode_utf8(code_point, utf8), out, capacity, size);
    }
    return true;
}

bool kedge_json_text_equals(kedge_bytes value, const char *text)
{
    if (value.size < 2 || value.data[0] != '"' || value.data[value.size - 1] != '"') return false;
    const char *at = value.data + 1;
    const char *end = value.data + value.size - 1;
    kedge_bytes left = kedge_bytes_of(text);
    /* No escape makes a string longer: a text that is not longer than `text` has none if equal. */
    size_t size = (size_t)(end - at);
    if (size < left.size || (size == left.size && memcmp(at, left.data, size) != 0)) return false;
    if (memchr(at, '\\', size) == NULL) return size == left.size;
    while (at < end) {
        char piece[4] = {*at};
        size_t piece_size = 1;
        uint32_t code_point;
        if (*at != '\\') {
            at++;
        } else if (kedge_json_read_escape(&at, end, &code_point) == KEDGE_JSON_ESCAPE_OK) {
            piece_size = kedge_json_encode_utf8(code_point, piece);
        } else {
            return false;
        }
        if (!kedge_bytes_start_with(left, (kedge_bytes){piece, piece_size})) return false;
        left.data += piece_size;
        left.size -= piece_size;
    }
    return left.size == 0;
}

/* ---- the members of an object ---- */

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
