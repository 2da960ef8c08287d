/* The digest of a mutation, by which client and server check that they mean the same mutation. */
#ifndef KEDGE_WIRE_DIGEST_H
#define KEDGE_WIRE_DIGEST_H

#include "common/hash.h"

/* `args` is canonical JSON. `name` is the text between the quotes in canonical JSON: the name
 * itself, when it needs no escapes. `uid` is hexadecimal digits, or empty when there is none. */
void kedge_wire_digest(kedge_bytes args, kedge_bytes name, kedge_bytes uid,
                       uint8_t digest[KEDGE_DIGEST_SIZE]);

#endif
