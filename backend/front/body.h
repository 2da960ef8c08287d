/* Content encodings of requests and responses: gzip, or none. */
#ifndef KEDGE_BACKEND_FRONT_BODY_H
#define KEDGE_BACKEND_FRONT_BODY_H

#include "backend/api/api.h"

/* Removes the content encoding of a request; `encoding` is its header, or NULL. `truncated`: the
 * body is only its beginning. False with a problem in `response`. */
bool kedge_body_decode(const char *encoding, bool truncated, kedge_buffer *body,
                       kedge_api_response *response);
/* gzip in the request's Accept-Encoding (RFC 9110, section 12.5.3), unless with the weight 0. */
bool kedge_body_accepts_gzip(const char *accept_encoding);
/* Packs a response to a peer that accepts gzip, when it is not packed and large enough to gain. One
 * with a rest is packed as its parts are made. */
void kedge_body_compress(kedge_api_response *response);

#endif
