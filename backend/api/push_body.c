/* See push_body.h. */
#include "backend/api/push_body.h"

#include "common/error.h"

#include <string.h>

static void take(const kedge_wire_mutation *read, kedge_push_mutation *out)
{
    *out = (kedge_push_mutation){.client = read->client_id,
                                 .id = read->id,
                                 .name = read->name,
                                 .args = read->args,
                                 .timestamp_ms = read->timestamp_ms,
                                 .uid = read->uid,
                                 .origin_client = read->origin_client_id,
                                 .origin_id = read->origin_id,
                                 .mutator = read->mutator_version,
                                 .invalid_code = read->invalid_code};
    memcpy(out->digest, read->digest, sizeof out->digest);
    memcpy(out->invalid_message, read->invalid_message, sizeof out->invalid_message);
}

kedge_status kedge_push_request_read(const kedge_allocator *allocator,
                                     const kedge_wire_request *body, const kedge_identity *identity,
                                     kedge_push_request *out, kedge_error *error)
{
    *out = (kedge_push_request){.push = {.count = 0}};
    kedge_wire_push_request *wire = &out->wire;
    kedge_status status = kedge_wire_push_request_read(allocator, body, wire, error);
    if (status != KEDGE_OK || !wire->supported) return status;
    out->sender = (kedge_push_sender){kedge_bytes_of(wire->group_id), identity};
    out->push.senders = &out->sender;
    out->push.sender_count = 1;
    if (wire->count == 0) return KEDGE_OK;
    out->push.mutations = kedge_allocate(allocator, wire->count * sizeof *out->push.mutations);
    if (out->push.mutations == NULL) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < wire->count; i++)
        take(&wire->mutations[i], &out->push.mutations[i]);
    out->push.count = wire->count;
    return KEDGE_OK;
}

kedge_status kedge_push_body_read(const kedge_allocator *allocator, kedge_bytes body,
                                  const kedge_identity *identity, kedge_push_request *out,
                                  kedge_error *error)
{
    kedge_wire_request request = {.body = body};
    kedge_status status = kedge_push_request_read(allocator, &request, identity, out, error);
    if (status != KEDGE_OK) return status;
    if (!out->wire.supported) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "push-version-unsupported",
                          "pushVersion must be 1");
    }
    if (out->wire.too_large) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "push-too-large",
                          "the push has more than %d mutations", KEDGE_LIMIT_PUSH_MUTATIONS);
    }
    return KEDGE_OK;
}

void kedge_push_request_free(kedge_push_request *request)
{
    if (request->wire.allocator != NULL) {
        kedge_release(request->wire.allocator, request->push.mutations);
    }
    kedge_wire_push_request_free(&request->wire);
    *request = (kedge_push_request){.push = {.count = 0}};
}
