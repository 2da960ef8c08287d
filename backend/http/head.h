/* The head of a request: what a proxy in front of the server might read otherwise than the server
 * is refused, so that no request can hide in another one. */
#ifndef KEDGE_BACKEND_HTTP_HEAD_H
#define KEDGE_BACKEND_HTTP_HEAD_H

#include <microhttpd.h>

/* NULL when the head has one meaning; otherwise what is wrong with it, in static storage. `version`
 * is that of the request line. */
const char *kedge_head_problem(struct MHD_Connection *connection, const char *version);

#endif
