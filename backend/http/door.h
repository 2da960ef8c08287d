/* The check of tokens that are not known yet, on a thread of its own.
 *
 * Anybody may send a token, and the check of its signature takes some 100 us. On the daemon's
 * thread many forged tokens would delay every connection. So an exchange whose token is not known
 * waits in this queue, with its connection suspended. The door checks the exchanges in the order in
 * which they came. A connection has at most one request in the queue, so the queue is never longer
 * than the number of connections. */
#ifndef KEDGE_BACKEND_HTTP_DOOR_H
#define KEDGE_BACKEND_HTTP_DOOR_H

#include "backend/http/exchange.h"

kedge_status kedge_door_start(const kedge_environment *environment, kedge_door **door,
                              kedge_error *error);
/* Refuses new exchanges from now on, and returns when those in the queue are checked. NULL is
 * allowed. */
void kedge_door_stop(kedge_door *door);
void kedge_door_free(kedge_door *door);

/* The exchange's connection is suspended, and is resumed when `recognized` is set and the state is
 * KEDGE_EXCHANGE_CHECKED. False: the door has stopped, and the exchange stays the caller's. */
bool kedge_door_check(kedge_door *door, kedge_exchange *exchange);

#endif
