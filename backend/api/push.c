/* POST push: decodes the request, admits its new clients, calls the processor, and responds in the
 * protocol of the client (native or Replicache).
 *
 * In queued mode the undecided mutations of a native push go to the queue, and the response says
 * so. A result that no later version can change is given at once. */
#include "backend/api/push.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/upload.h"
#include "backend/versioned/index/clients.h"
#include "backend/versioned/versions/versions.h"
#include "common/assert.h"
#include "common/error.h"
#include "wire/replicache.h"

#include <stdio.h>
#include <string.h>

/* ---- the decoded push ---- */

static void take(const kedge_wire_mutation *read, kedge_push_mutation *out)
{
    *out = (kedge_push_mutation){.client = read->client_id,
                                 .id = read->id,
                                 .name = read->name,
                                 .args = read->args,
                                 .args_are_canonical = read->args_are_canonical,
                                 .timestamp_ms = read->timestamp_ms,
                                 .uid = read->uid,
                                 .origin_client = read->origin_client_id,
                                 .origin_id = read->origin_id,
                                 .mutator = read->mutator_version,
                                 .waits = read->waits,
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

/* ---- new clients ---- */

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

/* Whether the user may begin with the clients that are new in the push; otherwise the call is
 * refused. This is checked before anything is written, even before the clients of its origins are
 * retired; so a push that goes on in another time slice has paid for its clients. */
static bool admit_clients(kedge_api_call *call, const kedge_push *push)
{
    kedge_new_clients *limit = &call->project.backend->new_clients;
    const kedge_version *head = NULL;
    size_t count = 0;
    int64_t wait_ms = 0;
    if (limit->per_minute == 0 || call->request->goes_on || !any_begins(push)) return true;
    kedge_status status =
        kedge_version_load_detail(&call->project, 0, KEDGE_VERSION_STATE, &head, &call->error);
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
                     "this user has begun to use more than %lld client ids in a minute; nothing of "
                     "the push was applied",
                     (long long)limit->per_minute);
    call->response->retry_after_s = (int32_t)((wait_ms + 999) / 1000);
    return false;
}

/* ---- the response ---- */

static void tell_missing(kedge_api_call *call, const kedge_push_result *result)
{
    const kedge_project_ref *ref = &call->project.ref;
    const kedge_mutator *here = kedge_registry_find(call->project.backend->options.registry,
                                                    kedge_bytes_of(result->mutator));
    kedge_missing_mutator *missing = &call->response->missing;
    snprintf(missing->organization, sizeof missing->organization, "%.*s",
             (int)ref->organization.size, ref->organization.data);
    snprintf(missing->project, sizeof missing->project, "%.*s", (int)ref->project.size,
             ref->project.data);
    snprintf(missing->mutator, sizeof missing->mutator, "%s", result->mutator);
    missing->wanted = result->mutator_version;
    missing->here = here == NULL ? 0 : here->version;
    KEDGE_ASSERT(missing->wanted > missing->here);
}

/* To all problems but two the response for Replicache is that the client's state is gone, whereupon
 * it starts anew. A gap or a server that is too old is an error, after which it pushes again: the
 * missing mutation or the newer server may be there by then. */
static void respond_problem(kedge_api_call *call, bool native, const kedge_push_result *result)
{
    switch (result->problem) {
    case KEDGE_PUSH_GAP:
        kedge_api_refuse(call, 409, "mutation-gap", "%s", result->detail);
        return;
    case KEDGE_PUSH_SERVER_OLD:
        tell_missing(call, result);
        kedge_api_refuse(call, 409, "server-too-old", "%s", result->detail);
        return;
    case KEDGE_PUSH_FINE:
        return;
    default:
        break;
    }
    if (!native) {
        kedge_wire_client_state_not_found_write(&call->response->body);
        return;
    }
    switch (result->problem) {
    case KEDGE_PUSH_MISMATCH:
        kedge_api_refuse(call, 409, "mutation-mismatch", "%s", result->detail);
        return;
    case KEDGE_PUSH_RETIRED:
        kedge_api_refuse(call, 409, "client-retired", "%s", result->detail);
        return;
    case KEDGE_PUSH_CLIENT_UNKNOWN:
        kedge_api_refuse(call, 409, "client-unknown", "%s", result->detail);
        return;
    default:
        kedge_api_refuse(call, 404, "client-not-found",
                         "a client of this push does not exist for this group and user");
        return;
    }
}

static void respond_applied(kedge_api_call *call, bool native, int64_t version)
{
    kedge_wire_push_response response = {.native = native, .version = version};
    kedge_wire_push_response_write(&response, &call->response->body);
}

/* ---- queued mode ---- */

/* A problem that a later version cannot resolve. A newer server can resolve SERVER_OLD, and the
 * client is told at once that it has to wait. */
static bool is_final(kedge_push_problem problem)
{
    return problem == KEDGE_PUSH_MISMATCH || problem == KEDGE_PUSH_RETIRED ||
           problem == KEDGE_PUSH_CLIENT_FOREIGN || problem == KEDGE_PUSH_SERVER_OLD;
}

static kedge_status examine(kedge_api_call *call, const kedge_push *push, kedge_push_result *result,
                            size_t *undecided)
{
    kedge_status status =
        kedge_processor_examine(&call->project, push, result, undecided, &call->error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = kedge_api_create_on_use(&call->project, &call->error);
    if (status != KEDGE_OK) return status;
    return kedge_processor_examine(&call->project, push, result, undecided, &call->error);
}

static kedge_status enqueue(kedge_api_call *call, const kedge_push_request *push)
{
    const kedge_backend_options *options = &call->project.backend->options;
    kedge_buffer body = kedge_buffer_make(call->allocator);
    kedge_wire_push_request_copy(&push->wire, &body);
    kedge_status status = kedge_buffer_status(&body, &call->error);
    if (status == KEDGE_OK) {
        status = options->enqueue(options->enqueue_context, call->project.ref.organization,
                                  call->project.ref.project, call->request->identity,
                                  kedge_buffer_bytes(&body), &call->error);
    }
    kedge_buffer_free(&body);
    return status;
}

static void respond_queued(kedge_api_call *call, const kedge_push_request *push)
{
    kedge_push_result result = {.version = 0};
    size_t undecided = 0;
    kedge_status status = examine(call, &push->push, &result, &undecided);
    if (status == KEDGE_OK && undecided > 0) status = enqueue(call, push);
    if (status == KEDGE_NOT_FOUND) {
        kedge_api_refuse_project(call);
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    } else if (is_final(result.problem)) {
        respond_problem(call, true, &result);
    } else if (push->wire.too_large) {
        kedge_api_refuse(call, 503, "push-too-large",
                         "the first %zu mutations are queued; push the others without them "
                         "(at most %d bytes and %d mutations)",
                         push->push.count, KEDGE_LIMIT_PUSH_BYTES, KEDGE_LIMIT_PUSH_MUTATIONS);
    } else if (undecided > 0) {
        kedge_wire_push_response response = {.native = true, .queued = true};
        kedge_wire_push_response_write(&response, &call->response->body);
    } else {
        respond_applied(call, true, result.version);
    }
}

/* ---- direct mode ---- */

/* Calls the processor first, without a read that checks whether the project exists. */
static kedge_status decide(kedge_api_call *call, const kedge_push *push, kedge_push_result *result)
{
    kedge_status status = kedge_processor_push(&call->project, push, result, &call->error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = kedge_api_create_on_use(&call->project, &call->error);
    if (status != KEDGE_OK) return status;
    return kedge_processor_push(&call->project, push, result, &call->error);
}

static void respond_direct(kedge_api_call *call, const kedge_push_request *push)
{
    kedge_push_result result = {.version = 0};
    kedge_status status = decide(call, &push->push, &result);
    if (status == KEDGE_NOT_FOUND) {
        kedge_api_refuse_project(call);
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    } else if (result.problem != KEDGE_PUSH_FINE) {
        respond_problem(call, push->wire.native, &result);
    } else if (result.cut) {
        call->response->unfinished = true;
        kedge_api_refuse(call, 503, "push-unfinished",
                         "the first %zu of %zu mutations are decided, and the time of the request "
                         "is over; push the others again",
                         result.taken, push->push.count);
    } else if (push->wire.too_large || result.taken < push->push.count) {
        kedge_api_refuse(call, 503, "push-too-large",
                         "the first %zu mutations are decided; push the others without them "
                         "(at most %d bytes, %d mutations, and origins of %d clients at once)",
                         result.taken, KEDGE_LIMIT_PUSH_BYTES, KEDGE_LIMIT_PUSH_MUTATIONS,
                         KEDGE_PUSH_ORIGINS_MAX);
    } else {
        respond_applied(call, push->wire.native, result.version);
    }
}

static void respond_push(kedge_api_call *call)
{
    kedge_push_request push;
    kedge_wire_request body = kedge_api_body(call);
    kedge_status status = kedge_push_request_read(call->allocator, &body, call->request->identity,
                                                  &push, &call->error);
    if (kedge_api_body_is_read(call, status)) {
        memcpy(call->response->schema_version, push.wire.schema_version,
               sizeof push.wire.schema_version);
        bool log = call->project.history != NULL;
        /* What is pushed to a log project is not run: there is nothing to do later. */
        bool queued = call->project.backend->options.enqueue != NULL && push.wire.native &&
                      push.push.count > 0 && !log;
        if (!push.wire.supported) {
            kedge_wire_version_not_supported_write("push", &call->response->body);
        } else if (log && !push.wire.native) {
            kedge_api_refuse_foreign(call);
        } else if (!admit_clients(call, &push.push)) {
            /* refused */
        } else if (queued) {
            respond_queued(call, &push);
        } else {
            respond_direct(call, &push);
        }
    }
    kedge_push_request_free(&push);
}

void kedge_api_push(kedge_api_call *call)
{
    kedge_api_upload upload;
    if (kedge_api_upload_open(call, &upload)) respond_push(call);
    kedge_api_upload_close(call, &upload);
}
