/* Commands that are requests to the backend, and what they share with the others. */
#include "backend/admin/address.h"
#include "backend/admin/verbs.h"

#include "common/error.h"
#include "common/json.h"

#include <errno.h>
#include <kedge/limits.h>
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

/* A client is told only that the backend failed. An operator is told the cause. */
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
    kedge_admin_write_query(admin->command->path, admin->line, &query);
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

int kedge_admin_send(const kedge_admin *admin, const char *method, const kedge_buffer *body)
{
    kedge_error error = {0};
    kedge_buffer path = kedge_buffer_make(admin->allocator);
    kedge_api_response response = {.body = kedge_buffer_make(admin->allocator)};
    int code = KEDGE_ADMIN_NO_RESPONSE;
    kedge_admin_write_path(admin->command->path, admin->line, &path);
    if (kedge_buffer_status(body, &error) != KEDGE_OK ||
        kedge_buffer_status(&path, &error) != KEDGE_OK) {
        code = kedge_admin_complain(&error);
    } else if (kedge_admin_request(admin, method, path.data, (kedge_bytes){NULL, 0},
                                   kedge_buffer_bytes(body), &response)) {
        code = kedge_admin_print(&response.body);
    }
    kedge_buffer_free(&path);
    kedge_buffer_free(&response.body);
    return code;
}

int kedge_admin_create_log_project(const kedge_admin *admin)
{
    kedge_buffer body = kedge_buffer_make(admin->allocator);
    kedge_buffer_append_text(&body, "{\"kind\":\"log\"}");
    int code = kedge_admin_send(admin, "PUT", &body);
    kedge_buffer_free(&body);
    return code;
}

kedge_status kedge_admin_read_value(const char *path, size_t bytes_max, kedge_buffer *text,
                                    kedge_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    size_t size = 1;
    if (file == NULL) {
        return kedge_fail(error, KEDGE_IO, "input-failed", "%s cannot be opened: %s", path,
                          strerror(errno));
    }
    while (size > 0 && text->size <= bytes_max) {
        char bytes[4096];
        size = fread(bytes, 1, sizeof bytes, file);
        kedge_buffer_append(text, bytes, size);
    }
    bool failed = ferror(file) != 0;
    if (!standard) fclose(file);
    if (failed) {
        return kedge_fail(error, KEDGE_IO, "input-failed", "%s could not be read", path);
    }
    if (text->size > bytes_max) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "input-too-large",
                          "%s has more than %zu bytes", path, bytes_max);
    }
    kedge_status status = kedge_buffer_status(text, error);
    if (status != KEDGE_OK) return status;
    return kedge_json_check(kedge_buffer_bytes(text), KEDGE_LIMIT_JSON_DEPTH,
                            &kedge_allocator_default, error);
}
