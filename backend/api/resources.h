/* Requests about one resource. */
#ifndef KEDGE_BACKEND_API_RESOURCES_H
#define KEDGE_BACKEND_API_RESOURCES_H

#include "backend/api/call.h"
#include "backend/resource/settings.h"

/* Each responds to one request about the resource. The caller has checked who may send it. */
void kedge_api_resource_respond(kedge_api_call *call, const kedge_resource_ref *ref);
void kedge_api_resource_write(kedge_api_call *call, const kedge_resource_ref *ref);

#endif
