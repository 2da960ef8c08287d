/* The signals of kedge-server: SIGINT and SIGTERM stop it, SIGHUP makes it read its keys again. */
#ifndef KEDGE_BACKEND_HTTP_SIGNALS_H
#define KEDGE_BACKEND_HTTP_SIGNALS_H

#include "backend/auth/auth.h"
#include "backend/front/logger.h"

/* Leaves the signals to the calling thread; the threads that it starts from now on do not get
 * them. */
void kedge_signals_block(void);

typedef struct kedge_signals_keys {
    const kedge_environment *environment;
    kedge_auth *auth;
    const char *path; /* of the key set; NULL: there is none */
    kedge_logger *log;
} kedge_signals_keys;

/* Returns the signal that stops the server. Until then the key set is read again on SIGHUP, and
 * within a minute after its file has changed. When it cannot be read, or is no key set, that is
 * logged, and the keys of before stay. */
int kedge_signals_await_stop(const kedge_signals_keys *keys);

#endif
