/* Lambda's Runtime API (version 2018-06-01), over HTTP on the address that Lambda names. One
 * thread's. */
#ifndef KEDGE_BACKEND_LAMBDA_RUNTIME_H
#define KEDGE_BACKEND_LAMBDA_RUNTIME_H

#include "common/environment.h"

#define KEDGE_REQUEST_ID_SIZE 128

typedef struct kedge_runtime kedge_runtime;

typedef struct kedge_invocation {
    char id[KEDGE_REQUEST_ID_SIZE];
    int64_t deadline_ms; /* since 1970; INT64_MAX when Lambda named none */
    kedge_buffer event;
} kedge_invocation;

/* `address` is AWS_LAMBDA_RUNTIME_API, "127.0.0.1:9001". */
kedge_status kedge_runtime_new(const kedge_environment *environment, const char *address,
                               kedge_runtime **runtime, kedge_error *error);
void kedge_runtime_free(kedge_runtime *runtime); /* NULL is allowed */

/* Waits for the next invocation, as long as it takes. `invocation->event` comes in made; it is
 * replaced. A failure means that the process has to end. */
kedge_status kedge_runtime_next(kedge_runtime *runtime, kedge_invocation *invocation,
                                kedge_error *error);
/* KEDGE_LIMIT_EXCEEDED: Lambda found the response too large; kedge_runtime_fail is to follow. */
kedge_status kedge_runtime_respond(kedge_runtime *runtime, const char *id, kedge_bytes response,
                                   kedge_error *error);
/* Reports that the invocation failed; with `id` NULL, that the start of the function failed. */
kedge_status kedge_runtime_fail(kedge_runtime *runtime, const char *id, const kedge_error *failure,
                                kedge_error *error);

#endif
