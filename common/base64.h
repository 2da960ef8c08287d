/* Base64 (RFC 4648, section 4: '+' and '/', with padding). */
#ifndef KEDGE_COMMON_BASE64_H
#define KEDGE_COMMON_BASE64_H

#include "common/bytes.h"

/* At most so many bytes stand in a text of `size` characters. */
#define KEDGE_BASE64_DECODED_MAX(size) ((size) / 4 * 3)

void kedge_base64_encode(kedge_bytes bytes, kedge_buffer *out); /* appends */

/* Decodes into `out`, which holds KEDGE_BASE64_DECODED_MAX(text.size) bytes. False when `text` is
 * not exactly what the encoder writes: another character, white space, padding that is missing or
 * in the middle, bits after the last byte. */
bool kedge_base64_decode(kedge_bytes text, char *out, size_t *out_size);

#endif
