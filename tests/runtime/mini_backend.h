/* A backend for the scripted server: one project in memory that knows kedge.put alone and decides
 * each push at once. Just enough of the wire for the runtime's own tests. */
#ifndef KEDGE_TESTS_RUNTIME_MINI_BACKEND_H
#define KEDGE_TESTS_RUNTIME_MINI_BACKEND_H

#include "tests/support/scripted_server.h"

#include <stdint.h>

typedef struct mini_backend mini_backend;

mini_backend *mini_backend_new(void);
void mini_backend_free(mini_backend *backend);

/* The handler; its context is the backend. */
bool mini_backend_respond(void *context, const scripted_request *request);

/* Another client's edit: the next version puts notes/`id`, and open streams are poked. */
void mini_backend_put(mini_backend *backend, const char *id, const char *value);
/* While true all requests get 503. */
void mini_backend_fail(mini_backend *backend, bool failing);
/* When set, requests without "Bearer `token`" get 401. */
void mini_backend_want_token(mini_backend *backend, const char *token);
int64_t mini_backend_version(mini_backend *backend);
int64_t mini_backend_decided(mini_backend *backend); /* mutations applied, each once */

#endif
