/* Percent-encoding (RFC 3986, section 2.1). */
#ifndef KEDGE_COMMON_PERCENT_H
#define KEDGE_COMMON_PERCENT_H

#include "common/bytes.h"

/* What RFC 3986 never encodes, besides letters and digits. */
#define KEDGE_PERCENT_UNRESERVED "-._~"

/* Appends `text` to `out`. Each byte that is no letter, no digit and none of `kept` becomes %XX. */
void kedge_percent_encode(kedge_bytes text, const char *kept, kedge_buffer *out);

/* Decodes %XX strictly into `out`. False when there is a malformed escape or a NUL, or the result
 * is not UTF-8; `error` says which. When memory runs out it returns true, and `out` is a failed
 * buffer (kedge_buffer_status). */
bool kedge_percent_decode(kedge_bytes text, kedge_buffer *out, kedge_error *error);

#endif
