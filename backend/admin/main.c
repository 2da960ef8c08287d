/* kedge-admin: reads a backend's data folder in place, with the backend's own code. */
#include "backend/admin/commands.h"
#include "backend/core/backend.h"
#include "backend/core/processor.h"
#include "backend/embedded/embedded.h"
#include "common/error.h"
#include "common/json.h"

#include <stdio.h>

#define EXIT_NO_ANSWER 1
#define EXIT_USAGE     2

static const kedge_identity administrator = {
    .user = "kedge-admin", .role = "admin", .organization = "*", .admin = true};

static int fail(const kedge_error *error)
{
    fprintf(stderr, "kedge-admin: %s (%s)\n", error->message, error->code);
    return EXIT_NO_ANSWER;
}

static int print(const kedge_buffer *buffer)
{
    bool written = fwrite(buffer->data, 1, buffer->size, stdout) == buffer->size;
    if (written && putchar('\n') != EOF && fflush(stdout) == 0) return 0;
    fputs("kedge-admin: the answer could not be written\n", stderr);
    return EXIT_NO_ANSWER;
}

/* ---- commands that are requests ---- */

static int print_problem(const kedge_api_response *response)
{
    kedge_error error = {.status = KEDGE_INTERNAL, .code = "internal", .message = "no answer"};
    kedge_bytes body = kedge_buffer_bytes(&response->body);
    kedge_json_member_chars(body, "code", error.code, sizeof error.code);
    kedge_json_member_chars(body, "detail", error.message, sizeof error.message);
    return fail(&error);
}

static int ask(kedge_backend *backend, const kedge_allocator *allocator,
               const kedge_admin_command *command, const kedge_admin_line *line)
{
    kedge_buffer path = kedge_buffer_make(allocator);
    kedge_buffer query = kedge_buffer_make(allocator);
    kedge_api_response response = {.body = kedge_buffer_make(allocator)};
    kedge_admin_write_path(command, line, &path);
    kedge_admin_write_query(line, &query);
    kedge_api_request request = {.method = kedge_bytes_of(command->method),
                                 .path = kedge_buffer_bytes(&path),
                                 .query = kedge_buffer_bytes(&query),
                                 .identity = &administrator};
    kedge_backend_handle(backend, &request, &response);
    int code = response.status < 300 ? print(&response.body) : print_problem(&response);
    kedge_buffer_free(&path);
    kedge_buffer_free(&query);
    kedge_buffer_free(&response.body);
    return code;
}

/* ---- index ---- */

static int complete_index(kedge_backend *backend, const kedge_allocator *allocator,
                          const kedge_admin_line *line)
{
    kedge_error error = {0};
    const kedge_version *head = NULL;
    kedge_project_ref ref = {kedge_bytes_of(line->organization), kedge_bytes_of(line->project)};
    kedge_status status = kedge_version_load(backend, &ref, 0, &head, &error);
    if (status == KEDGE_OK) status = kedge_processor_index(backend, &ref, &error);
    if (status != KEDGE_OK) {
        kedge_version_release(head);
        return fail(&error);
    }
    kedge_buffer out = kedge_buffer_make(allocator);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "indexed_through");
    kedge_json_integer(&writer, head->number);
    kedge_json_end_object(&writer);
    kedge_version_release(head);
    int code = print(&out);
    kedge_buffer_free(&out);
    return code;
}

/* ---- the program ---- */

static int run(const kedge_environment *environment, const kedge_embedded *ports,
               const kedge_admin_command *command, const kedge_admin_line *line)
{
    kedge_error error = {0};
    kedge_registry *registry = NULL;
    kedge_backend *backend = NULL;
    kedge_status status = kedge_registry_new(environment->allocator, NULL, 0, &registry, &error);
    if (status == KEDGE_OK) {
        kedge_backend_options options = {.environment = environment,
                                         .records = kedge_embedded_records(ports),
                                         .blobs = kedge_embedded_blobs(ports),
                                         .registry = registry};
        status = kedge_backend_new(&options, &backend, &error);
    }
    int code;
    if (status != KEDGE_OK) {
        code = fail(&error);
    } else if (command->method == NULL) {
        code = complete_index(backend, environment->allocator, line);
    } else {
        code = ask(backend, environment->allocator, command, line);
    }
    kedge_backend_free(backend);
    kedge_registry_free(registry);
    return code;
}

static int open_and_run(const kedge_admin_command *command, const kedge_admin_line *line)
{
    kedge_error error = {0};
    kedge_embedded *ports = NULL;
    kedge_environment environment = kedge_environment_system(NULL);
    bool makes = kedge_bytes_equal_text(KEDGE_BYTES("create-project"), command->name);
    if (!makes && !kedge_embedded_exists(line->data)) {
        fprintf(stderr, "kedge-admin: %s is no data folder of a backend: it has no records.db\n",
                line->data);
        return EXIT_NO_ANSWER;
    }
    if (kedge_embedded_open(&environment, line->data, false, &ports, &error) != KEDGE_OK) {
        return fail(&error);
    }
    int code = run(&environment, ports, command, line);
    kedge_embedded_close(ports);
    return code;
}

static int print_help(void)
{
    kedge_buffer help = kedge_buffer_make(&kedge_allocator_default);
    kedge_admin_write_help(&help);
    int code = fputs(help.no_memory ? "" : help.data, stdout) < 0 ? EXIT_NO_ANSWER : 0;
    kedge_buffer_free(&help);
    return code;
}

int main(int argc, char **argv)
{
    kedge_admin_line line;
    kedge_error error = {0};
    const kedge_admin_command *command = NULL;
    if (kedge_admin_parse(argc, argv, &line, &command, &error) != KEDGE_OK) {
        fprintf(stderr, "kedge-admin: %s; see --help\n", error.message);
        return EXIT_USAGE;
    }
    return line.help ? print_help() : open_and_run(command, &line);
}
