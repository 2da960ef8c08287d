/* Base64: groups of three bytes as four characters. */
#include "common/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- encoding ---- */

static void encode_group(const unsigned char *bytes, size_t size, char *out)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (size > 1) bits |= (uint32_t)bytes[1] << 8;
    if (size > 2) bits |= bytes[2];
    out[0] = alphabet[bits >> 18];
    out[1] = alphabet[bits >> 12 & 63];
    out[2] = size > 1 ? alphabet[bits >> 6 & 63] : '=';
    out[3] = size > 2 ? alphabet[bits & 63] : '=';
}

void kedge_base64_encode(kedge_bytes bytes, kedge_buffer *out)
{
    const unsigned char *at = (const unsigned char *)bytes.data;
    size_t groups = bytes.size / 3 + (bytes.size % 3 != 0);
    char *room = kedge_buffer_reserve(out, groups * 4);
    if (room == NULL) return;
    for (size_t left = bytes.size; left > 0;) {
        size_t size = left < 3 ? left : 3;
        encode_group(at, size, room);
        at += size;
        left -= size;
        room += 4;
    }
    out->size += groups * 4;
    kedge_buffer_append(out, "", 0);
}

/* ---- decoding ---- */

static int value_of(char character)
{
    if (character >= 'A' && character <= 'Z') return character - 'A';
    if (character >= 'a' && character <= 'z') return character - 'a' + 26;
    if (character >= '0' && character <= '9') return character - '0' + 52;
    if (character == '+') return 62;
    return character == '/' ? 63 : -1;
}

/* `count` characters (2 to 4) without padding to `count` - 1 bytes. */
static bool decode_group(const char *text, size_t count, char *out)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < count ? value_of(text[i]) : 0;
        if (value < 0) return false;
        bits = bits << 6 | (uint32_t)value;
    }
    for (size_t i = 0; i + 1 < count; i++)
        out[i] = (char)(unsigned char)(bits >> (16 - 8 * i));
    uint32_t behind = count == 4 ? 0 : count == 3 ? bits & 0xff : bits & 0xffff;
    return behind == 0;
}

bool kedge_base64_decode(kedge_bytes text, char *out, size_t *out_size)
{
    if (text.size % 4 != 0) return false;
    size_t padding = 0;
    if (text.size > 0 && text.data[text.size - 1] == '=')
        padding = text.data[text.size - 2] == '=' ? 2 : 1;
    size_t size = 0;
    for (size_t at = 0; at < text.size; at += 4) {
        size_t count = at + 4 == text.size ? 4 - padding : 4;
        if (!decode_group(text.data + at, count, out + size)) return false;
        size += count - 1;
    }
    *out_size = size;
    return true;
}
