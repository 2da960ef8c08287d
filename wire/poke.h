/* The events of an event stream: pokes, each with a version to pull. And the ticket that opens a
 * stream. */
#ifndef KEDGE_WIRE_POKE_H
#define KEDGE_WIRE_POKE_H

#include "common/json.h"

#define KEDGE_WIRE_EVENT_BYTES_MAX 128

typedef struct kedge_wire_poke {
    int64_t version; /* at least this version is committed */
} kedge_wire_poke;

/* Writes the event and returns its size, without a NUL. */
size_t kedge_wire_poke_write(const kedge_wire_poke *poke, char out[KEDGE_WIRE_EVENT_BYTES_MAX]);
/* An event that only shows that the stream is alive. */
size_t kedge_wire_ping_write(char out[KEDGE_WIRE_EVENT_BYTES_MAX]);
/* Reads an event of a stream. Returns false when it is not a poke. */
bool kedge_wire_poke_read(const kedge_allocator *allocator, kedge_bytes event, kedge_bytes data,
                          kedge_wire_poke *out);

/* The response of POST events/ticket: hexadecimal digits. */
void kedge_wire_ticket_write(const char *ticket, kedge_buffer *out);

#endif
