/* The signals of kedge-server: SIGINT and SIGTERM stop it, SIGHUP makes it read again what may have
 * changed. */
#ifndef KEDGE_BACKEND_HTTP_SIGNALS_H
#define KEDGE_BACKEND_HTTP_SIGNALS_H

#include "backend/http/reload.h"

/* Leaves the signals to the calling thread; the threads that it starts from now on do not get
 * them. */
void kedge_signals_block(void);
/* Returns the signal that stops the server. Hands each SIGHUP on until then. The audit log (NULL:
 * none) is told who has sent them. */
int kedge_signals_await_stop(kedge_reload *reload, kedge_audit *audit);

#endif
