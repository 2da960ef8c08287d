/* What a Replicache client is told with status 200 in the place of a response. */
#ifndef KEDGE_WIRE_REPLICACHE_H
#define KEDGE_WIRE_REPLICACHE_H

#include "common/json.h"

/* The client starts anew. */
void kedge_wire_client_state_not_found_write(kedge_buffer *out);
/* The pushVersion or pullVersion is not ours; `type`: "push" or "pull". */
void kedge_wire_version_not_supported_write(const char *type, kedge_buffer *out);
/* Whether a response is that. */
bool kedge_wire_version_not_supported_read(kedge_bytes body);

#endif
