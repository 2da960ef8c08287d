/* The canonical form of a request: what both sides of a signature must agree on, byte for byte. */
#ifndef KEDGE_BACKEND_AWS_CANONICAL_H
#define KEDGE_BACKEND_AWS_CANONICAL_H

#include "backend/aws/sigv4.h"

/* The caller's headers or parameters, and those that a signature adds. */
#define KEDGE_AWS_SIGNED_HEADERS_MAX    (KEDGE_HTTP_HEADERS_MAX + 4)
#define KEDGE_AWS_SIGNED_PARAMETERS_MAX (KEDGE_AWS_PARAMETERS_MAX + 8)

/* The path as it is signed: normalized and encoded as `signing` says. */
void kedge_aws_canonical_path(const kedge_aws_signing *signing, kedge_bytes path,
                              kedge_buffer *out);

/* "a=1&b=2": encoded, then sorted by name and by value. The result can also be sent as the query.
 * At most KEDGE_AWS_SIGNED_PARAMETERS_MAX. */
void kedge_aws_canonical_query(const kedge_aws_parameter *parameters, size_t count,
                               kedge_buffer *out);

/* One line a name, lower-case and sorted: "name:value\n". White space is trimmed and runs of it
 * become one space; values of one name are joined by commas in the order they came in. `names` gets
 * "a;b;c". At most KEDGE_AWS_SIGNED_HEADERS_MAX. */
void kedge_aws_canonical_headers(const kedge_http_header *headers, size_t count,
                                 kedge_buffer *lines, kedge_buffer *names);

#endif
