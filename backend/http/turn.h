/* An exchange's time on the workers: whose it is, until when, and when it makes room. */
#ifndef KEDGE_BACKEND_HTTP_TURN_H
#define KEDGE_BACKEND_HTTP_TURN_H

#include "backend/http/exchange.h"

/* Hands the exchange to the workers, which run it in one turn or several. Its connection is
 * suspended, and will be resumed with the response; unless it is taken, the caller does both. The
 * daemon's thread. */
kedge_workers_answer kedge_exchange_begin_turns(kedge_exchange *exchange);
/* The same for the next part of its response. */
kedge_workers_answer kedge_exchange_begin_part(kedge_exchange *exchange);

#endif
