/* UTF-8, strictly: no surrogates, no overlong forms. */
#ifndef KEDGE_COMMON_UTF8_H
#define KEDGE_COMMON_UTF8_H

#include "common/bytes.h"

bool kedge_bytes_are_utf8(kedge_bytes bytes);
/* The size (1 to 4) of the well-formed UTF-8 sequence that `bytes` starts with;
 * 0: there is none. */
size_t kedge_utf8_sequence(const char *bytes, size_t size);

#endif
