/* Decides whether a push may add its new client ids. This is checked before anything is written,
 * even before the clients of its origins are retired. */
#include "backend/api/call.h"

/* Only a client's first mutation has the id 1, and each client counts once. */
static bool begins_client(const kedge_push *push, size_t index)
{
    const kedge_push_mutation *mutation = &push->mutations[index];
    if (mutation->id != 1) return false;
    for (size_t i = 0; i < index; i++) {
        const kedge_push_mutation *other = &push->mutations[i];
        if (other->id == 1 && kedge_bytes_equal(other->client, mutation->client)) return false;
    }
    return true;
}

/* `head` is NULL for a project that does not exist yet: then every client is new. */
static kedge_status count_new(kedge_api_call *call, const kedge_push *push,
                              const kedge_version *head, size_t *count)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < push->count && status == KEDGE_OK; i++) {
        kedge_client_state state = {.known = false};
        if (!begins_client(push, i)) continue;
        if (head != NULL) {
            status = kedge_client_load(&call->project, head, push->mutations[i].client, &state,
                                       &call->error);
        }
        if (status == KEDGE_OK && !state.known) ++*count;
    }
    return status;
}

static bool any_begins(const kedge_push *push)
{
    for (size_t i = 0; i < push->count; i++) {
        if (push->mutations[i].id == 1) return true;
    }
    return false;
}

bool kedge_api_admit_clients(kedge_api_call *call, const kedge_push *push)
{
    kedge_new_clients *limit = &call->project.backend->new_clients;
    const kedge_version *head = NULL;
    size_t count = 0;
    int64_t wait_ms = 0;
    if (limit->per_minute == 0 || !any_begins(push)) return true;
    kedge_status status = kedge_version_load(&call->project, 0, &head, &call->error);
    if (status == KEDGE_NOT_FOUND) status = KEDGE_OK;
    if (status == KEDGE_OK) status = count_new(call, push, head, &count);
    kedge_version_release(head);
    if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
        return false;
    }
    if (kedge_new_clients_take(limit, call->project.ref.organization, call->request->identity->user,
                               count, &wait_ms)) {
        return true;
    }
    kedge_api_refuse(call, 429, "too-many-clients",
                     "this user has begun with more than %lld client ids in a minute; nothing of "
                     "the push was applied",
                     (long long)limit->per_minute);
    call->response->retry_after_s = (int32_t)((wait_ms + 999) / 1000);
    return false;
}
