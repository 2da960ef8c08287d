/* Percent-encoding (RFC 3986, section 2.1). */
#ifndef KEDGE_COMMON_PERCENT_H
#define KEDGE_COMMON_PERCENT_H

#include "common/bytes.h"

/* What RFC 3986 never encodes, besides letters and digits. */
#define KEDGE_PERCENT_UNRESERVED "-._~"

/* Appends `text` to `out`. Each byte that is no letter, no digit and none of `kept` becomes %XX. */
void kedge_percent_encode(kedge_bytes text, const char *kept, kedge_buffer *out);

/* Decodes %XX strictly into `out`; false on a malformed escape, NUL, or no UTF-8, which `error`
 * names. Returns true without memory, too; then `out` is a failed buffer. */
bool kedge_percent_decode(kedge_bytes text, kedge_buffer *out, kedge_error *error);

#endif
