/* POST fork: a version of the project becomes a new project. */
#include "backend/versioned/projects/fork.h"
#include "backend/api/access.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/versioned/usage/usage.h"
#include "backend/versioned/versions/versions.h"
#include "common/json.h"
#include "common/names.h"

#include <stdio.h>
#include <string.h>

typedef struct fork_request {
    int64_t version;
    char to[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_project target;
} fork_request;

static bool read_request(kedge_api_call *call, fork_request *out)
{
    kedge_bytes object;
    if (!kedge_api_body_object(call, &object) ||
        !kedge_api_body_integer(call, object, "version", "version", 1, &out->version) ||
        !kedge_api_body_project(call, object, "to", out->to)) {
        return false;
    }
    out->target = call->project;
    out->target.ref.project = kedge_bytes_of(out->to);
    return true;
}

/* Writes the new project, or the progress of a fork that is not done. */
static kedge_status write_response(kedge_api_call *call, const fork_request *request,
                                   const kedge_fork *fork)
{
    const kedge_version *creation = NULL;
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    if (fork->done) {
        kedge_status status =
            kedge_version_load_creation(&request->target, &creation, &call->error);
        if (status != KEDGE_OK) return status;
    }
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "organization");
    kedge_json_text(&writer, request->target.ref.organization);
    kedge_json_key(&writer, "project");
    kedge_json_text(&writer, request->target.ref.project);
    kedge_json_key(&writer, "done");
    kedge_json_boolean(&writer, fork->done);
    kedge_json_key(&writer, "copied");
    kedge_json_integer(&writer, fork->copied);
    kedge_json_key(&writer, "left");
    kedge_json_integer(&writer, fork->left);
    if (creation != NULL) {
        kedge_json_key(&writer, "created");
        kedge_json_integer(&writer, creation->created_ms);
        kedge_json_key(&writer, "forked");
        kedge_json_raw(&writer, creation->forked);
        kedge_version_release(creation);
    }
    kedge_json_end_object(&writer);
    return KEDGE_OK;
}

/* Refuses the request with a code of its own when the caller can resolve the failure. */
static void refuse_fork(kedge_api_call *call, const fork_request *request, kedge_status status)
{
    static const char *const codes[] = {"project-exists", "import-under-way", "fork-too-large",
                                        "item-body-missing", "item-body-damaged"};
    if (status == KEDGE_NOT_FOUND) {
        const kedge_version *version = NULL;
        if (kedge_api_open_version(call, request->version, 404, "version-not-found", &version)) {
            kedge_version_release(version);
            kedge_api_fail(call, KEDGE_UNAVAILABLE);
        }
        return;
    }
    for (size_t at = 0; at < sizeof codes / sizeof codes[0]; at++) {
        if (strcmp(call->error.code, codes[at]) != 0) continue;
        kedge_api_refuse(call, 409, codes[at], "%s", call->error.message);
        return;
    }
    kedge_api_fail(call, status);
}

void kedge_api_fork(kedge_api_call *call)
{
    fork_request request;
    kedge_fork fork;
    if (!kedge_api_is_admin(call) || !read_request(call, &request)) return;
    snprintf(call->response->other, sizeof call->response->other, "%s", request.to);
    if (!kedge_api_may_see(call->request->identity, request.target.ref.organization,
                           request.target.ref.project)) {
        kedge_api_refuse(call, 403, "not-allowed", "this token does not cover the project %s",
                         request.to);
        return;
    }
    kedge_status status = kedge_api_check_new_project(&request.target, &call->error);
    if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
        return;
    }
    status =
        kedge_fork_project(&call->project, request.version, &request.target, &fork, &call->error);
    if (status == KEDGE_OK) {
        if (fork.created) kedge_usage_created(&request.target);
        call->response->status = fork.created ? 201 : fork.done ? 200 : 202;
        status = write_response(call, &request, &fork);
        if (status != KEDGE_OK) kedge_api_fail(call, status);
        return;
    }
    refuse_fork(call, &request, status);
}
