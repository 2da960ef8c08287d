/* See poke.h. */
#include "wire/poke.h"

#include "common/assert.h"

#include <inttypes.h>
#include <kedge/limits.h>
#include <stdio.h>

size_t kedge_wire_poke_write(const kedge_wire_poke *poke, char out[KEDGE_WIRE_EVENT_BYTES_MAX])
{
    KEDGE_ASSERT(poke->version >= 0);
    int size = snprintf(out, KEDGE_WIRE_EVENT_BYTES_MAX,
                        "event: poke\ndata: {\"version\":%" PRId64 "}\n\n", poke->version);
    return (size_t)size;
}

size_t kedge_wire_ping_write(char out[KEDGE_WIRE_EVENT_BYTES_MAX])
{
    return (size_t)snprintf(out, KEDGE_WIRE_EVENT_BYTES_MAX, "event: ping\ndata: {}\n\n");
}

bool kedge_wire_poke_read(const kedge_allocator *allocator, kedge_bytes event, kedge_bytes data,
                          kedge_wire_poke *out)
{
    return kedge_bytes_equal_text(event, "poke") &&
           kedge_json_check(data, KEDGE_LIMIT_JSON_DEPTH, allocator, NULL) == KEDGE_OK &&
           kedge_json_member_integer(data, "version", &out->version) && out->version >= 0;
}

void kedge_wire_ticket_write(const char *ticket, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "ticket");
    kedge_json_chars(&writer, ticket);
    kedge_json_end_object(&writer);
}
