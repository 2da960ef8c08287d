/* The body of a push without the request around it. */
#include "backend/api/push_body.h"

#include "backend/api/call.h"
#include "common/error.h"

static kedge_status keep_problem(const kedge_api_response *response, kedge_error *error)
{
    char code[sizeof error->code] = "body-invalid";
    char detail[sizeof error->message] = "";
    kedge_bytes problem = kedge_buffer_bytes(&response->body);
    kedge_json_member_chars(problem, "code", code, sizeof code);
    kedge_json_member_chars(problem, "detail", detail, sizeof detail);
    if (response->cause.status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, code, "%s", detail);
}

kedge_status kedge_push_body_read(const kedge_allocator *allocator, kedge_bytes body,
                                  const kedge_identity *identity, kedge_push_request *out,
                                  kedge_error *error)
{
    kedge_api_request request = {.body = body, .identity = identity};
    kedge_api_response response = {.body = kedge_buffer_make(allocator)};
    kedge_api_call call = {.request = &request, .response = &response, .allocator = allocator};
    kedge_status status = KEDGE_OK;
    if (!kedge_push_request_decode(&call, out)) {
        status = keep_problem(&response, error);
    } else if (!out->supported) {
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "push-version-unsupported",
                            "pushVersion must be 1");
    } else if (out->too_large) {
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "push-too-large",
                            "the push has more than %d mutations", KEDGE_LIMIT_PUSH_MUTATIONS);
    }
    kedge_buffer_free(&response.body);
    return status;
}

void kedge_push_request_free(const kedge_allocator *allocator, kedge_push_request *request)
{
    kedge_release(allocator, request->push.mutations);
    kedge_release(allocator, request->text);
    *request = (kedge_push_request){.supported = false};
}

void kedge_push_body_write(const kedge_push_request *request, kedge_buffer *out)
{
    kedge_buffer_append_format(out, "{\"pushVersion\":1,\"clientGroupID\":\"%s\",\"mutations\":[",
                               request->group);
    kedge_buffer_append_bytes(out, request->list);
    kedge_buffer_append_text(out, "]}");
}
