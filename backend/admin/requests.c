/* Commands that are requests to the backend, and what they share with the others. */
#include "backend/admin/address.h"
#include "backend/admin/verbs.h"

#include "common/json.h"

#include <stdio.h>
#include <string.h>

static const kedge_identity administrator = {
    .user = "kedge-admin", .role = "admin", .organization = "*", .admin = true};

int kedge_admin_complain(const kedge_error *error)
{
    bool usage = strcmp(error->code, "usage") == 0;
    fprintf(stderr, "kedge-admin: %s%s (%s)\n", error->message, usage ? "; see --help" : "",
            error->code);
    return usage ? KEDGE_ADMIN_USAGE : KEDGE_ADMIN_NO_RESPONSE;
}

void kedge_admin_warn(void *context, const kedge_background_failure *failure)
{
    (void)context;
    fprintf(stderr, "kedge-admin: warning: %s of \"%.*s\": %s (%s)\n",
            kedge_background_name(failure->work), (int)failure->project.size, failure->project.data,
            failure->error->message, failure->error->code);
}

int kedge_admin_print(const kedge_buffer *buffer)
{
    bool written = fwrite(buffer->data, 1, buffer->size, stdout) == buffer->size;
    if (written && putchar('\n') != EOF && fflush(stdout) == 0) return 0;
    fputs("kedge-admin: the response could not be written\n", stderr);
    return KEDGE_ADMIN_NO_RESPONSE;
}

kedge_project kedge_admin_project(const kedge_admin *admin)
{
    kedge_project_ref ref = {kedge_bytes_of(admin->line->organization),
                             kedge_bytes_of(admin->line->project)};
    return kedge_project_of(admin->backend, &ref);
}

/* A client is told that the backend failed; an operator, what of it. */
static void complain_of_problem(const kedge_api_response *response)
{
    kedge_error error = {.status = KEDGE_INTERNAL, .code = "internal", .message = "no response"};
    kedge_bytes body = kedge_buffer_bytes(&response->body);
    kedge_json_member_chars(body, "code", error.code, sizeof error.code);
    kedge_json_member_chars(body, "detail", error.message, sizeof error.message);
    kedge_admin_complain(response->cause.status == KEDGE_OK ? &error : &response->cause);
}

bool kedge_admin_request(const kedge_admin *admin, const char *method, const char *path,
                         kedge_bytes query, kedge_bytes body, kedge_api_response *response)
{
    kedge_api_request request = {.method = kedge_bytes_of(method),
                                 .path = kedge_bytes_of(path),
                                 .query = query,
                                 .body = body,
                                 .identity = &administrator};
    kedge_backend_handle(admin->backend, &request, response);
    if (response->status < 300) return true;
    complain_of_problem(response);
    return false;
}

int kedge_admin_ask(const kedge_admin *admin)
{
    kedge_buffer path = kedge_buffer_make(admin->allocator);
    kedge_buffer query = kedge_buffer_make(admin->allocator);
    kedge_api_response response = {.body = kedge_buffer_make(admin->allocator)};
    kedge_error error = {0};
    int code = KEDGE_ADMIN_NO_RESPONSE;
    kedge_admin_write_path(admin->command->path, admin->line, &path);
    kedge_admin_write_query(admin->line, &query);
    if (kedge_buffer_status(&path, &error) != KEDGE_OK ||
        kedge_buffer_status(&query, &error) != KEDGE_OK) {
        code = kedge_admin_complain(&error);
    } else if (kedge_admin_request(admin, admin->command->method, path.data,
                                   kedge_buffer_bytes(&query), (kedge_bytes){NULL, 0}, &response)) {
        code = kedge_admin_print(&response.body);
    }
    kedge_buffer_free(&path);
    kedge_buffer_free(&query);
    kedge_buffer_free(&response.body);
    return code;
}
