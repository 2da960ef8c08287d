/* What every front end serves itself, without a backend and without a token: /v1/health, and
 * OPTIONS, the preflight of CORS. */
#ifndef KEDGE_BACKEND_FRONT_HEALTH_H
#define KEDGE_BACKEND_FRONT_HEALTH_H

#include "backend/api/api.h"

/* Whether it is such a request. */
bool kedge_front_serves(const char *method, kedge_bytes path);
/* Makes the response to such a request, but for the headers of CORS. Health has the methods GET and
 * HEAD; the caller sends no body to HEAD. */
void kedge_front_serve(const char *method, kedge_api_response *response);

#endif
