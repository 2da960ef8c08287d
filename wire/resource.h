/* Writes of a resource: PUT resources/{kind}/{id}, also of settings and access lists, and POST
 * …/rollback. */
#ifndef KEDGE_WIRE_RESOURCE_H
#define KEDGE_WIRE_RESOURCE_H

#include "wire/request.h"

#define KEDGE_WIRE_RESOURCE_UID_SIZE 33 /* 32 lower-case hexadecimal digits and a NUL */

/* What both have. */
typedef struct kedge_wire_resource_edit {
    int64_t expected;                       /* the version that is replaced; 0: none */
    char uid[KEDGE_WIRE_RESOURCE_UID_SIZE]; /* "": none */
} kedge_wire_resource_edit;

typedef struct kedge_wire_resource_put {
    kedge_wire_resource_edit edit;
    kedge_bytes value; /* a JSON value. Borrowed */
} kedge_wire_resource_put;

typedef struct kedge_wire_resource_rollback {
    kedge_wire_resource_edit edit;
    int64_t to; /* the version whose value becomes the latest */
} kedge_wire_resource_rollback;

void kedge_wire_resource_put_write(const kedge_wire_resource_put *put, kedge_buffer *out);
/* The errors are those of wire/request.h. `out` borrows from the body. */
kedge_status kedge_wire_resource_put_read(const kedge_wire_request *request,
                                          kedge_wire_resource_put *out, kedge_error *error);

void kedge_wire_resource_rollback_write(const kedge_wire_resource_rollback *rollback,
                                        kedge_buffer *out);
/* The errors are those of wire/request.h. */
kedge_status kedge_wire_resource_rollback_read(const kedge_wire_request *request,
                                               kedge_wire_resource_rollback *out,
                                               kedge_error *error);

#endif
