/* UTF-8, strictly: no surrogates, no overlong forms. */
#ifndef KEDGE_COMMON_UTF8_H
#define KEDGE_COMMON_UTF8_H

#include "common/bytes.h"

bool kedge_bytes_are_utf8(kedge_bytes bytes);
/* The size (1 to 4) of the well-formed UTF-8 sequence that `bytes` starts with;
 * 0: there is none. */
size_t kedge_utf8_sequence(const char *bytes, size_t size);
/* The longest front of well-formed UTF-8 that has at most `size_max` bytes and ends with a
 * character. */
kedge_bytes kedge_utf8_clip(kedge_bytes text, size_t size_max);

#endif
