/* The errors of the Replicache protocol, which have status 200 and replace the response. */
#ifndef KEDGE_WIRE_REPLICACHE_H
#define KEDGE_WIRE_REPLICACHE_H

#include "common/json.h"

/* Tells the client to start again with a new client group. */
void kedge_wire_client_state_not_found_write(kedge_buffer *out);
/* The pushVersion or pullVersion is not ours; `type`: "push" or "pull". */
void kedge_wire_version_not_supported_write(const char *type, kedge_buffer *out);
/* Returns whether a response is such an error. */
bool kedge_wire_version_not_supported_read(const kedge_allocator *allocator, kedge_bytes body);

#endif
