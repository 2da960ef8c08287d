/* Retiring a client, and what the backend has decided of it and of earlier ones. */
#include "backend/api/call.h"
#include "common/names.h"

#include <string.h>

typedef struct earlier_clients {
    size_t count;
    char clients[KEDGE_LIMIT_EARLIER_CLIENTS][KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
} earlier_clients;

static bool is_listed(const earlier_clients *list, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(list->clients[i], list->clients[before]) == 0) return true;
    return false;
}

static bool read_earlier(kedge_api_call *call, kedge_bytes object, earlier_clients *out)
{
    kedge_bytes list, client;
    out->count = 0;
    if (!kedge_json_member(object, "earlier", &list)) return true;
    kedge_json_iterator walk = kedge_json_iterate(list);
    bool fits = kedge_json_type_of(list) == KEDGE_JSON_ARRAY;
    while (fits && kedge_json_next_element(&walk, &client)) {
        fits = out->count < KEDGE_LIMIT_EARLIER_CLIENTS;
        char *chars = fits ? out->clients[out->count++] : NULL;
        fits = fits && kedge_json_to_chars(client, chars, sizeof out->clients[0]) &&
               kedge_check_client_id(kedge_bytes_of(chars), NULL) == KEDGE_OK &&
               !is_listed(out, out->count - 1);
    }
    if (!fits) {
        kedge_api_refuse(call, 400, "body-invalid",
                         "earlier must be an array of at most %d client ids, each once and 1 to 128"
                         " of A-Z a-z 0-9 _ -",
                         KEDGE_LIMIT_EARLIER_CLIENTS);
    }
    return fits;
}

/* One that is unknown, or somebody else's, has decided nothing. */
static kedge_status write_earlier(kedge_api_call *call, kedge_json_writer *writer,
                                  const kedge_version *at, const earlier_clients *earlier)
{
    kedge_client_state client;
    kedge_json_key(writer, "earlier");
    kedge_json_begin_object(writer);
    for (size_t i = 0; i < earlier->count; i++) {
        kedge_bytes id = kedge_bytes_of(earlier->clients[i]);
        kedge_status status =
            kedge_client_load(call->backend, &call->ref, at, id, &client, &call->error);
        if (status != KEDGE_OK) return status;
        bool own = client.known && !kedge_client_is_reserved(id) &&
                   strcmp(client.user, call->request->identity->user) == 0;
        kedge_json_key(writer, earlier->clients[i]);
        kedge_json_integer(writer, own ? client.lmid : 0);
    }
    kedge_json_end_object(writer);
    return KEDGE_OK;
}

static kedge_status write_retired(kedge_api_call *call, const kedge_version *at,
                                  int64_t lowest_pending, const earlier_clients *earlier)
{
    kedge_client_state client;
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_status status =
        kedge_client_load(call->backend, &call->ref, at, call->argument[0], &client, &call->error);
    if (status != KEDGE_OK) return status;
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, at->number);
    kedge_json_key(&writer, "lineage");
    kedge_json_chars(&writer, at->lineage);
    kedge_json_key(&writer, "lmid");
    kedge_json_integer(&writer, client.lmid);
    status = kedge_api_write_outcomes(&writer, call->backend, &call->ref, at, call->argument[0],
                                      lowest_pending < 1 ? 1 : lowest_pending, client.lmid,
                                      &call->error);
    if (status == KEDGE_OK) status = write_earlier(call, &writer, at, earlier);
    kedge_json_end_object(&writer);
    return status;
}

void kedge_api_retire(kedge_api_call *call)
{
    char group[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    int64_t lowest_pending;
    earlier_clients earlier;
    kedge_bytes object;
    const kedge_version *at;
    if (!kedge_api_body_object(call, &object) ||
        !kedge_api_body_client_id(call, object, "clientGroupID", "clientGroupID", group) ||
        !kedge_api_body_integer(call, object, "lowest_pending", "lowest_pending", 0,
                                &lowest_pending) ||
        !read_earlier(call, object, &earlier) || !kedge_api_open_head(call, &at)) {
        return;
    }
    kedge_version_release(at);
    kedge_status status =
        kedge_processor_retire(call->backend, &call->ref, call->request->identity,
                               kedge_bytes_of(group), call->argument[0], &at, &call->error);
    if (status == KEDGE_NOT_FOUND) {
        kedge_api_refuse(call, 404, "client-not-found",
                         "the client does not exist for this group and user");
        return;
    }
    if (status == KEDGE_OK) {
        status = write_retired(call, at, lowest_pending, &earlier);
        kedge_version_release(at);
    }
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}
