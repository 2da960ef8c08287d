/* POST rebase: replays mutations of another project's versions onto this project. Each request
 * replays a part of them. */
#include "backend/versioned/projects/rebase.h"
#include "backend/api/access.h"
#include "backend/api/handlers.h"
#include "backend/api/wire.h"

#include <stdio.h>
#include <string.h>

typedef struct rebase_request {
    char from[KEDGE_LIMIT_NAME_BYTES + 1];
    char job[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    kedge_project source;
    kedge_rebase_job rebase;
} rebase_request;

/* ---- the request ---- */

static bool read_place(kedge_api_call *call, kedge_bytes object, kedge_rebase_place *place)
{
    kedge_bytes next;
    if (!kedge_json_member(object, "next", &next) || kedge_json_type_of(next) == KEDGE_JSON_NULL) {
        return true;
    }
    return kedge_api_body_integer(call, next, "version", "next.version", 1, &place->version) &&
           kedge_api_body_integer(call, next, "id", "next.id", 1, &place->id);
}

static bool read_request(kedge_api_call *call, rebase_request *out)
{
    kedge_bytes object;
    kedge_rebase_job *rebase = &out->rebase;
    if (!kedge_api_body_object(call, &object) ||
        !kedge_api_body_project(call, object, "from_project", out->from) ||
        !kedge_api_body_integer(call, object, "from_version", "from_version", 1,
                                &rebase->from_version) ||
        !kedge_api_body_integer(call, object, "to_version", "to_version", 1, &rebase->to_version) ||
        !kedge_api_body_client_id(call, object, "job", "job", out->job) ||
        !read_place(call, object, &rebase->resume)) {
        return false;
    }
    out->source = call->project;
    out->source.ref.project = kedge_bytes_of(out->from);
    rebase->from = &out->source;
    rebase->to = &call->project;
    rebase->job = kedge_bytes_of(out->job);
    rebase->role = call->request->identity->role;
    return true;
}

/* ---- the response ---- */

static void write_source(kedge_json_writer *writer, const kedge_rebase_outcome *outcome)
{
    kedge_json_key(writer, "from");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, outcome->from_version);
    kedge_json_key(writer, "client");
    kedge_json_text(writer, outcome->from->client);
    kedge_json_key(writer, "id");
    kedge_json_integer(writer, outcome->from->id);
    kedge_json_key(writer, "name");
    kedge_json_text(writer, outcome->from->name);
    kedge_api_write_outcome(writer, outcome->from);
    kedge_json_end_object(writer);
}

static kedge_status write_outcome(void *context, const kedge_rebase_outcome *outcome,
                                  kedge_error *error)
{
    kedge_json_writer *writer = context;
    kedge_json_begin_object(writer);
    if (outcome->decided != NULL) {
        kedge_json_key(writer, "id");
        kedge_json_integer(writer, outcome->id);
        kedge_json_key(writer, "version");
        kedge_json_integer(writer, outcome->version);
        kedge_api_write_outcome(writer, outcome->decided);
    } else {
        kedge_json_key(writer, "outcome");
        kedge_json_chars(writer, "left-out");
    }
    write_source(writer, outcome);
    kedge_json_end_object(writer);
    return kedge_buffer_status(writer->buffer, error);
}

static void write_place(kedge_json_writer *writer, const kedge_rebase_place *next)
{
    kedge_json_key(writer, "next");
    if (next->version == 0) {
        kedge_json_null(writer);
        return;
    }
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, next->version);
    kedge_json_key(writer, "id");
    kedge_json_integer(writer, next->id);
    kedge_json_end_object(writer);
}

static kedge_status run(kedge_api_call *call, const rebase_request *request)
{
    kedge_rebase_place next;
    int64_t version = 0;
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "job");
    kedge_json_chars(&writer, request->job);
    kedge_json_key(&writer, "mutations");
    kedge_json_begin_array(&writer);
    kedge_status status =
        kedge_rebase_run(&request->rebase, write_outcome, &writer, &next, &version, &call->error);
    if (status != KEDGE_OK) return status;
    kedge_json_end_array(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, version);
    kedge_json_key(&writer, "done");
    kedge_json_boolean(&writer, next.version == 0);
    write_place(&writer, &next);
    kedge_json_end_object(&writer);
    return KEDGE_OK;
}

/* Whether clients of the target may have been retired before the refusal. */
static bool may_have_retired(const kedge_api_call *call, const rebase_request *request)
{
    return strcmp(call->error.code, "job-mismatch") == 0 ||
           (strcmp(call->error.code, "rebase-invalid") == 0 && request->rebase.resume.version != 0);
}

static void refuse_rebase(kedge_api_call *call, kedge_status status)
{
    static const struct {
        const char *code;
        int status;
    } refusals[] = {{"rebase-invalid", 400},    {"project-not-found", 404},
                    {"version-not-found", 404}, {"version-not-retained", 404},
                    {"job-mismatch", 409},      {"rebase-range-in-base", 409},
                    {"mutator-unknown", 409}};
    for (size_t at = 0; at < sizeof refusals / sizeof refusals[0]; at++) {
        if (strcmp(call->error.code, refusals[at].code) != 0) continue;
        kedge_api_refuse(call, refusals[at].status, refusals[at].code, "%s", call->error.message);
        return;
    }
    if (strcmp(call->error.code, "rebase-unfinished") == 0) {
        call->response->unfinished = true;
        kedge_api_refuse(call, 503, call->error.code, "%s", call->error.message);
        return;
    }
    kedge_api_fail(call, status);
}

void kedge_api_rebase(kedge_api_call *call)
{
    rebase_request request = {.job = ""};
    if (!kedge_api_is_admin(call) || !read_request(call, &request)) return;
    snprintf(call->response->other, sizeof call->response->other, "%s", request.from);
    if (!kedge_api_may_see(call->request->identity, request.source.ref.organization,
                           request.source.ref.project)) {
        kedge_api_refuse(call, 404, "project-not-found", "there is no project \"%s\"",
                         request.from);
        return;
    }
    kedge_status status = run(call, &request);
    if (status == KEDGE_OK) return;
    call->response->changed = may_have_retired(call, &request);
    refuse_rebase(call, status);
}
