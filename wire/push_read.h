/* Reading one mutation of a push. Private to wire. */
#ifndef KEDGE_WIRE_PUSH_READ_H
#define KEDGE_WIRE_PUSH_READ_H

#include "wire/push.h"

/* Reads the element `index` of "mutations", whose text is `element`; `text_bytes_max` is the size
 * of the whole body. Fails when it has no readable client id or id; any other error makes the
 * mutation invalid. `scratch` is a work buffer. */
kedge_status kedge_wire_push_mutation_read(kedge_wire_push_request *request, size_t text_bytes_max,
                                           size_t index, kedge_bytes element, kedge_buffer *scratch,
                                           kedge_wire_mutation *out, kedge_error *error);

#endif
