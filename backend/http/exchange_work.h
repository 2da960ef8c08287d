/* An exchange on the workers: whose it is, until when it may take, and when it makes room. */
#ifndef KEDGE_BACKEND_HTTP_EXCHANGE_WORK_H
#define KEDGE_BACKEND_HTTP_EXCHANGE_WORK_H

#include "backend/http/exchange.h"

/* Hands the exchange to the workers, which run it in one time slice or several. Its connection is
 * suspended, and will be resumed with the response; unless it is taken, the caller does both. The
 * daemon's thread. */
kedge_workers_admission kedge_exchange_submit(kedge_exchange *exchange);
/* The same for the next part of its response. */
kedge_workers_admission kedge_exchange_submit_part(kedge_exchange *exchange);

#endif
