/* One mutation of a push: its digest, its reader. Its writer stands in push.h. */
#ifndef KEDGE_WIRE_PUSH_MUTATION_H
#define KEDGE_WIRE_PUSH_MUTATION_H

#include "wire/push.h"

/* The digest of a mutation, by which client and server check that they mean the same mutation.
 * `args` is canonical JSON, or args that are too deep for it, as they were sent. `name` is the text
 * between the quotes in canonical JSON: the name itself, when it needs no escapes. `uid` is
 * hexadecimal digits, or empty when there is none. */
void kedge_wire_digest(kedge_bytes args, kedge_bytes name, kedge_bytes uid,
                       uint8_t digest[KEDGE_DIGEST_SIZE]);

/* For push.c. Reads the element `index` of "mutations", whose text is `element`; `text_bytes_max`
 * is the size of the whole body. Fails when it has no readable client id or id; any other error
 * makes the mutation invalid. `scratch` is a work buffer. */
kedge_status kedge_wire_push_mutation_read(kedge_wire_push_request *request, size_t text_bytes_max,
                                           size_t index, kedge_bytes element, kedge_buffer *scratch,
                                           kedge_wire_mutation *out, kedge_error *error);

/* Reads the first element of "mutations" as an invalid mutation, when the end of a truncated body
 * cuts it off and it is larger than the args of any valid mutation. `*read` is false when the
 * client id or the id is not in the part that was received, when the element is smaller, and when
 * it is of a native client, whose mutations fit. */
kedge_status kedge_wire_push_mutation_read_cut(kedge_wire_push_request *request,
                                               size_t text_bytes_max, kedge_bytes element,
                                               kedge_wire_mutation *out, bool *read,
                                               kedge_error *error);

#endif
