/* Pulls of log projects. */
#ifndef KEDGE_BACKEND_API_PULL_LOG_H
#define KEDGE_BACKEND_API_PULL_LOG_H

#include "backend/api/call.h"
#include "wire/pull.h"

/* POST pull of a log project. */
void kedge_api_pull_log(kedge_api_call *call, const kedge_wire_pull_request *request);

#endif
