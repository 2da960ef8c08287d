/* The tokens of JSON. Strings: finding what needs attention in them, escapes, decoding. Numbers
 * have a file of their own, json_number.c, and so have the members of objects, json_members.c. */
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

/* `*at` is after \u. */
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
