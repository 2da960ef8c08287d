/* Reading the body of a request, with an error that names the place in it.
 *
 * A body is checked as a whole first; the members are read from what was checked. The errors:
 * KEDGE_INVALID_ARGUMENT "body-not-json" and "body-invalid", KEDGE_LIMIT_EXCEEDED "body-too-large",
 * KEDGE_NO_MEMORY. Their messages are sent to the client. */
#ifndef KEDGE_WIRE_REQUEST_H
#define KEDGE_WIRE_REQUEST_H

#include "common/json.h"

#include <kedge/limits.h>

/* A body as it was received. Borrowed. */
typedef struct kedge_wire_request {
    kedge_bytes body; /* at most KEDGE_LIMIT_PUSH_BYTES */
    bool truncated;   /* the rest of the body is missing */
} kedge_wire_request;

/* Checks that the body is a JSON object. */
kedge_status kedge_wire_request_object(const kedge_wire_request *request, kedge_bytes *object,
                                       kedge_error *error);
/* Returns the error that says why `text` is not a JSON object. */
kedge_status kedge_wire_request_no_object(kedge_bytes text, kedge_error *error);

/* Members that must be there; `path` names them in the error. `chars` holds
 * KEDGE_LIMIT_CLIENT_ID_BYTES + 1. */
kedge_status kedge_wire_request_client_id(kedge_bytes object, const char *name, const char *path,
                                          char *chars, kedge_error *error);
kedge_status kedge_wire_request_integer(kedge_bytes object, const char *name, const char *path,
                                        int64_t least, int64_t *value, kedge_error *error);
/* `chars` holds KEDGE_LIMIT_NAME_BYTES + 1. */
kedge_status kedge_wire_request_project(kedge_bytes object, const char *name, char *chars,
                                        kedge_error *error);
/* A SHA-256 in hexadecimal digits. */
kedge_status kedge_wire_request_hash(kedge_bytes object, const char *name, uint8_t *hash,
                                     kedge_error *error);
/* An optional member that must be text. */
kedge_status kedge_wire_request_optional_text(kedge_bytes object, const char *name,
                                              kedge_error *error);
/* The optional member "schemaVersion", which must be text. `chars` holds
 * KEDGE_LIMIT_SCHEMA_VERSION_BYTES + 1; "" when it is absent or does not fit. */
kedge_status kedge_wire_request_schema_version(kedge_bytes object, char *chars, kedge_error *error);

#endif
