/* POST push: decodes the request, calls the processor, and responds in the protocol of the client
 * (native or Replicache).
 *
 * In queued mode the undecided mutations of a native push go to the queue, and the response says
 * so. A result that no later version can change is given at once. */
#include "backend/api/call.h"
#include "backend/api/push_body.h"
#include "wire/replicache.h"

/* A Replicache client starts anew when its state is gone; a gap is an error that it repeats, by
 * when the missing mutation may have come. */
static void respond_problem(kedge_api_call *call, bool native, const kedge_push_result *result)
{
    switch (result->problem) {
    case KEDGE_PUSH_GAP:
        kedge_api_refuse(call, 409, "mutation-gap", "%s", result->detail);
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

/* A problem that a later version cannot resolve. */
static bool is_final(kedge_push_problem problem)
{
    return problem == KEDGE_PUSH_MISMATCH || problem == KEDGE_PUSH_RETIRED ||
           problem == KEDGE_PUSH_CLIENT_FOREIGN;
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
        bool log = call->project.history != NULL;
        /* What is pushed to a log project is not run: there is nothing to do later. */
        bool queued = call->project.backend->options.enqueue != NULL && push.wire.native &&
                      push.push.count > 0 && !log;
        if (!push.wire.supported) {
            kedge_wire_version_not_supported_write("push", &call->response->body);
        } else if (log && !push.wire.native) {
            kedge_api_refuse_foreign(call);
        } else if (!kedge_api_admit_clients(call, &push.push)) {
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
