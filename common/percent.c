/* See percent.h. */
#include "common/percent.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/utf8.h"

#include <string.h>

static bool is_kept(char byte, const char *kept)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr(kept, byte) != NULL);
}

void kedge_percent_encode(kedge_bytes text, const char *kept, kedge_buffer *out)
{
    static const char digits[] = "0123456789ABCDEF";
    KEDGE_ASSERT(strchr(kept, '%') == NULL);
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        if (is_kept(byte, kept)) {
            kedge_buffer_append_byte(out, byte);
        } else {
            kedge_buffer_append_byte(out, '%');
            kedge_buffer_append_byte(out, digits[(unsigned char)byte >> 4]);
            kedge_buffer_append_byte(out, digits[(unsigned char)byte & 15]);
        }
    }
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

bool kedge_percent_decode(kedge_bytes text, kedge_buffer *out, kedge_error *error)
{
    size_t start = out->size;
    for (size_t at = 0; at < text.size; at++) {
        char byte = text.data[at];
        if (byte == '%') {
            int high = at + 2 < text.size ? hex_digit(text.data[at + 1]) : -1;
            int low = at + 2 < text.size ? hex_digit(text.data[at + 2]) : -1;
            if (high < 0 || low < 0) {
                kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-escape",
                           "the '%%' at offset %zu is not followed by two hexadecimal digits", at);
                return false;
            }
            byte = (char)(high * 16 + low);
            at += 2;
        }
        if (byte == '\0') {
            kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-escape", "a NUL is not allowed");
            return false;
        }
        kedge_buffer_append_byte(out, byte);
    }
    kedge_bytes decoded = {out->data == NULL ? NULL : out->data + start, out->size - start};
    if (!out->no_memory && !kedge_bytes_are_utf8(decoded)) {
        kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-utf8", "it is not UTF-8");
        return false;
    }
    return true;
}
