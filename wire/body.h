/* GET collections/{collection}/bodies/{hash}: the body of an item, in parts. The requested part and
 * the part of the response are in headers (RFC 9110, section 14). */
#ifndef KEDGE_WIRE_BODY_H
#define KEDGE_WIRE_BODY_H

#include "common/bytes.h"
#include "common/hash.h"

#define KEDGE_WIRE_RANGE_SIZE 64 /* of both headers, with a NUL */

/* The result of a Range header for a body of known size. */
typedef enum kedge_wire_range {
    KEDGE_WIRE_RANGE_ALL, /* no Range header, or one that a server may ignore */
    KEDGE_WIRE_RANGE_PART,
    KEDGE_WIRE_RANGE_OUTSIDE
} kedge_wire_range;

/* A part: its first and its last byte, and the size of the whole. */
typedef struct kedge_wire_body_part {
    int64_t first;
    int64_t last;
    int64_t size_bytes;
} kedge_wire_body_part;

/* Appends the path of the request. */
void kedge_wire_body_request_write(kedge_bytes collection, const uint8_t hash[KEDGE_SHA256_SIZE],
                                   kedge_buffer *path);

/* "bytes=first-last". */
void kedge_wire_range_write(int64_t first, int64_t last, char out[KEDGE_WIRE_RANGE_SIZE]);
/* Of a body of out->size_bytes; fills the rest of `out` when it is a part of it. */
kedge_wire_range kedge_wire_range_read(kedge_bytes header, kedge_wire_body_part *out);

/* "bytes first-last/size". */
void kedge_wire_content_range_write(const kedge_wire_body_part *part,
                                    char out[KEDGE_WIRE_RANGE_SIZE]);
/* The same for a range that is outside: the size alone. */
void kedge_wire_content_range_write_outside(int64_t size_bytes, char out[KEDGE_WIRE_RANGE_SIZE]);
/* False when the header does not name a part that the whole can have. */
bool kedge_wire_content_range_read(kedge_bytes header, kedge_wire_body_part *out);

#endif
