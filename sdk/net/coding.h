/* The content coding of what is sent: gzip, of pushes and pulls on the way to the server, and of a
 * push that is uploaded. */
#ifndef KEDGE_SDK_NET_CODING_H
#define KEDGE_SDK_NET_CODING_H

#include "common/bytes.h"

/* A body of this size or more leaves compressed. */
#define KEDGE_CODING_BYTES_MIN 4096

/* `packed`, which is empty, becomes the body as gzip. An upload is always sent so: the hash of the
 * gzip names it. */
kedge_status kedge_coding_pack(kedge_bytes body, kedge_buffer *packed, kedge_error *error);

/* Encodes the body of a request to the server, of KEDGE_CODING_BYTES_MIN or more: sets `*body` to
 * the bytes to send, which are in `packed`, and `*coding` to their Content-Encoding; NULL after a
 * failure. */
kedge_status kedge_coding_encode(kedge_bytes *body, kedge_buffer *packed, const char **coding,
                                 kedge_error *error);

#endif
