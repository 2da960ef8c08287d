/* gzip (RFC 1952) over zlib, whole buffers. The output is deterministic: no name, no time. */
#ifndef KEDGE_COMMON_GZIP_H
#define KEDGE_COMMON_GZIP_H

#include "common/bytes.h"

kedge_status kedge_gzip(kedge_bytes plain, kedge_buffer *out, kedge_error *error);
/* The same in a third of the time, into some 15 % more bytes: for what is written often, and is
 * paid by the request. */
kedge_status kedge_gzip_quick(kedge_bytes plain, kedge_buffer *out, kedge_error *error);
/* Returns KEDGE_CORRUPT for anything but one whole gzip stream, and KEDGE_LIMIT_EXCEEDED as soon as
 * the output would exceed `size_max`, which also bounds the work. */
kedge_status kedge_gunzip(kedge_bytes compressed, size_t size_max, kedge_buffer *out,
                          kedge_error *error);

/* The checksum of gzip and zip (RFC 1952, section 8). */
uint32_t kedge_crc32(kedge_bytes bytes);

#endif
