/* Retires a client, and responds with the outcomes of its mutations and the lmids of earlier
 * clients. */
#include "wire/retire.h"
#include "backend/api/decided_log.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/wire.h"
#include "backend/versioned/commit/processor.h"
#include "backend/versioned/index/clients.h"

#include <string.h>

/* A client that is unknown, or of another group or user, has no decided mutations. */
static kedge_status load_earlier(kedge_api_call *call, const kedge_version *at,
                                 kedge_wire_client_marks *earlier)
{
    kedge_client_state client;
    for (size_t i = 0; i < earlier->count; i++) {
        kedge_bytes id = kedge_bytes_of(earlier->marks[i].client_id);
        kedge_status status = kedge_client_load(&call->project, at, id, &client, &call->error);
        if (status != KEDGE_OK) return status;
        bool own = client.known && !kedge_client_is_reserved(id) &&
                   strcmp(client.user, call->request->identity->user) == 0;
        earlier->marks[i].id = own ? client.lmid : 0;
    }
    return KEDGE_OK;
}

static kedge_status load_response(kedge_api_call *call, const kedge_version *at,
                                  int64_t lowest_pending, kedge_wire_retire_response *out)
{
    kedge_client_state client;
    kedge_status status =
        kedge_client_load(&call->project, at, call->argument[0], &client, &call->error);
    if (status != KEDGE_OK) return status;
    out->version = at->number;
    memcpy(out->lineage, at->lineage, sizeof out->lineage);
    out->lmid = client.lmid;
    status = kedge_api_load_outcomes(call, at, call->argument[0],
                                     lowest_pending < 1 ? 1 : lowest_pending, client.lmid,
                                     &out->outcomes);
    if (status == KEDGE_OK)
        status = kedge_api_keep_decided(call, call->argument[0], &out->outcomes);
    return status == KEDGE_OK ? load_earlier(call, at, &out->earlier) : status;
}

static kedge_status respond_retired(kedge_api_call *call, const kedge_version *at,
                                    const kedge_wire_retire_request *request)
{
    kedge_wire_retire_response response = {.earlier = request->earlier,
                                           .outcomes = kedge_wire_outcomes_make(call->allocator)};
    kedge_status status = load_response(call, at, request->lowest_pending, &response);
    if (status == KEDGE_OK) kedge_wire_retire_response_write(&response, &call->response->body);
    kedge_wire_retire_response_free(&response);
    return status;
}

/* A backend may be restored between the pull that brought the state and this request: what it tells
 * now would be of another lineage than that state. */
static bool knows_cookie(kedge_api_call *call, const kedge_version *head,
                         const kedge_wire_cookie *cookie)
{
    bool known = true;
    kedge_status status = KEDGE_OK;
    if (cookie->kind != KEDGE_WIRE_COOKIE_NULL)
        status = kedge_api_knows(call, head, cookie->version, cookie->lineage, &known);
    if (status != KEDGE_OK)
        kedge_api_fail(call, status);
    else if (!known)
        kedge_api_refuse(call, 410, "version-gone",
                         "this project does not have the version of the cookie; pull again");
    return status == KEDGE_OK && known;
}

void kedge_api_retire(kedge_api_call *call)
{
    kedge_wire_retire_request request;
    kedge_wire_request body = kedge_api_body(call);
    const kedge_version *at;
    kedge_status status = kedge_wire_retire_request_read(&body, &request, &call->error);
    if (!kedge_api_body_is_read(call, status) || !kedge_api_open_head(call, &at)) return;
    bool known = knows_cookie(call, at, &request.cookie);
    kedge_version_release(at);
    if (!known) return;
    status = kedge_processor_retire(&call->project, call->request->identity,
                                    kedge_bytes_of(request.group_id), call->argument[0], &at,
                                    &call->error);
    if (status == KEDGE_NOT_FOUND) {
        kedge_api_refuse(call, 404, "client-not-found",
                         "the client does not exist for this group and user");
        return;
    }
    if (status == KEDGE_OK) {
        status = respond_retired(call, at, &request);
        kedge_version_release(at);
    }
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}
