/* What the requests about event logs share. */
#ifndef KEDGE_BACKEND_API_LOGS_H
#define KEDGE_BACKEND_API_LOGS_H

#include "backend/api/call.h"
#include "backend/log/log.h"

/* The log that the path names. It borrows from the call. */
kedge_log kedge_api_log_of(const kedge_api_call *call);
/* Responds with the problem of a failed call of backend/log. */
void kedge_api_log_fail(kedge_api_call *call, kedge_status status);

#endif
