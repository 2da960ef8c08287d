/* Which bytes are well-formed UTF-8. */
#include "common/utf8.h"

static bool continues(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The rows of table 3-7 of the Unicode standard: what the second byte may be after each first one
 * shuts out overlong forms, surrogates and what lies above U+10FFFF. */
size_t kedge_utf8_sequence(const char *bytes, size_t size)
{
    if (size == 0) return 0;
    const unsigned char *b = (const unsigned char *)bytes;
    if (b[0] < 0x80) return 1;
    if (b[0] < 0xC2 || b[0] > 0xF4 || size < 2 || !continues(b[1])) return 0;
    if (b[0] < 0xE0) return 2;
    if (size < 3 || !continues(b[2])) return 0;
    if (b[0] < 0xF0) {
        bool overlong = b[0] == 0xE0 && b[1] < 0xA0;
        bool surrogate = b[0] == 0xED && b[1] > 0x9F;
        return overlong || surrogate ? 0 : 3;
    }
    if (size < 4 || !continues(b[3])) return 0;
    bool overlong = b[0] == 0xF0 && b[1] < 0x90;
    bool too_high = b[0] == 0xF4 && b[1] > 0x8F;
    return overlong || too_high ? 0 : 4;
}

bool kedge_bytes_are_utf8(kedge_bytes bytes)
{
    size_t at = 0;
    while (at < bytes.size) {
        size_t sequence = kedge_utf8_sequence(bytes.data + at, bytes.size - at);
        if (sequence == 0) return false;
        at += sequence;
    }
    return true;
}

kedge_bytes kedge_utf8_clip(kedge_bytes text, size_t size_max)
{
    if (text.size <= size_max) return text;
    text.size = size_max;
    while (text.size > 0 && !kedge_bytes_are_utf8(text))
        text.size--;
    return text;
}
