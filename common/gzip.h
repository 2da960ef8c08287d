/* gzip (RFC 1952) over zlib, whole buffers or a stream in parts. The output is deterministic: no
 * name, no time. */
#ifndef KEDGE_COMMON_GZIP_H
#define KEDGE_COMMON_GZIP_H

#include "common/bytes.h"

kedge_status kedge_gzip(kedge_bytes plain, kedge_buffer *out, kedge_error *error);
/* The same in a third of the time, into some 15 % more bytes: for data that is written often, into
 * a store that charges by the request and not by the byte. */
kedge_status kedge_gzip_quick(kedge_bytes plain, kedge_buffer *out, kedge_error *error);
/* Returns KEDGE_CORRUPT for anything but one whole gzip stream, and KEDGE_LIMIT_EXCEEDED as soon as
 * the output would exceed `size_max`, which also bounds the work. */
kedge_status kedge_gunzip(kedge_bytes compressed, size_t size_max, kedge_buffer *out,
                          kedge_error *error);

/* One gzip stream that is written in parts. */
typedef struct kedge_gzip_stream kedge_gzip_stream;

kedge_gzip_stream *kedge_gzip_stream_new(const kedge_allocator *allocator); /* NULL: no memory */
void kedge_gzip_stream_free(kedge_gzip_stream *stream);
/* Appends the next part, from which a reader gets all that was written so far; with `last` also the
 * stream's end. KEDGE_NO_MEMORY: the stream is broken. */
kedge_status kedge_gzip_stream_write(kedge_gzip_stream *stream, kedge_bytes plain, bool last,
                                     kedge_buffer *out, kedge_error *error);

/* The checksum of gzip and zip (RFC 1952, section 8). */
uint32_t kedge_crc32(kedge_bytes bytes);

#endif
