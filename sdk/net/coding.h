/* The content coding of what is sent: gzip, of pushes and pulls on the way to the server, and of a
 * push that is uploaded. */
#ifndef KEDGE_SDK_NET_CODING_H
#define KEDGE_SDK_NET_CODING_H

#include "common/bytes.h"

/* `packed`, which is empty, becomes the body as gzip. An upload is always sent so: the hash of the
 * gzip names it. */
kedge_status kedge_coding_pack(kedge_bytes body, kedge_buffer *packed, kedge_error *error);

/* Encodes the body of a request to the server: sets `*body` to the bytes to send, which are in
 * `packed` if they are compressed, and `*coding` to their Content-Encoding, or NULL. */
kedge_status kedge_coding_encode(kedge_bytes *body, kedge_buffer *packed, const char **coding,
                                 kedge_error *error);

#endif
