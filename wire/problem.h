/* A problem document (RFC 9457): how the server refuses a request. */
#ifndef KEDGE_WIRE_PROBLEM_H
#define KEDGE_WIRE_PROBLEM_H

#include "common/json.h"

#define KEDGE_WIRE_PROBLEM_TYPE "application/problem+json"

typedef struct kedge_wire_problem {
    int64_t status; /* of HTTP; 0: the document does not say */
    char code[sizeof((kedge_error *)0)->code];
    char detail[4096]; /* "": there is none, or it is longer */
} kedge_wire_problem;

/* Without memory `out` is a failed buffer. */
void kedge_wire_problem_write(int status, const char *code, const char *detail, kedge_buffer *out);
/* Returns false when the body of this type is not a problem document of Kedge. */
bool kedge_wire_problem_read(const kedge_allocator *allocator, kedge_bytes content_type,
                             kedge_bytes body, kedge_wire_problem *out);

#endif
