/* The commands fork and rebase: each repeats its request until the response says "done". */
#include "backend/admin/address.h"
#include "backend/admin/verbs.h"
#include "backend/versioned/model/layout.h"
#include "common/error.h"
#include "common/json.h"

#define PROJECT "/v1/orgs/{o}/projects/{p}"

static bool is_done(const kedge_api_response *response)
{
    kedge_bytes done;
    bool value = false;
    return kedge_json_member(kedge_buffer_bytes(&response->body), "done", &done) &&
           kedge_json_to_boolean(done, &value) && value;
}

/* Sends one POST to the path that `pattern` and the command line make. Returns the exit code. */
static int post(const kedge_admin *admin, const char *pattern, kedge_bytes body,
                kedge_api_response *response)
{
    kedge_error error = {0};
    kedge_buffer path = kedge_buffer_make(admin->allocator);
    int code = KEDGE_ADMIN_NO_RESPONSE;
    kedge_admin_write_path(pattern, admin->line, &path);
    if (kedge_buffer_status(&path, &error) != KEDGE_OK) {
        code = kedge_admin_complain(&error);
    } else if (kedge_admin_request(admin, "POST", path.data, (kedge_bytes){NULL, 0}, body,
                                   response)) {
        code = 0;
    }
    kedge_buffer_free(&path);
    return code;
}

/* ---- fork ---- */

/* The version number that `text`, the value of `option`, has. When `text` is NULL, the number of
 * the newest version of the project `name` of the command line's organization. */
static kedge_status find_version(const kedge_admin *admin, const char *name, const char *option,
                                 const char *text, int64_t *number, kedge_error *error)
{
    const kedge_version *head = NULL;
    kedge_project_ref ref = {kedge_bytes_of(admin->line->organization), kedge_bytes_of(name)};
    kedge_project project = kedge_project_of(admin->backend, &ref);
    if (text != NULL)
        return kedge_admin_read_number(option, text, 1, KEDGE_VERSION_NUMBER_MAX, number, error);
    kedge_status status = kedge_version_load_detail(&project, 0, KEDGE_VERSION_STATE, &head, error);
    if (status != KEDGE_OK) return status;
    *number = head->number;
    kedge_version_release(head);
    if (*number > 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_NOT_FOUND, "version-not-found",
                      "the project has no version yet");
}

int kedge_admin_fork(const kedge_admin *admin)
{
    int64_t number = 0;
    kedge_error error = {0};
    kedge_status status = find_version(admin, admin->line->project, "--version",
                                       admin->line->version, &number, &error);
    kedge_buffer body = kedge_buffer_make(admin->allocator);
    kedge_api_response response = {.body = kedge_buffer_make(admin->allocator)};
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, number);
    kedge_json_key(&writer, "to");
    kedge_json_chars(&writer, admin->line->arguments[0]);
    kedge_json_end_object(&writer);
    if (status == KEDGE_OK) status = kedge_buffer_status(&body, &error);
    int code = status == KEDGE_OK ? 0 : kedge_admin_complain(&error);
    bool done = false;
    while (code == 0 && !done) {
        kedge_buffer_free(&response.body);
        code = post(admin, PROJECT "/fork", kedge_buffer_bytes(&body), &response);
        done = is_done(&response);
    }
    if (code == 0) code = kedge_admin_print(&response.body);
    kedge_buffer_free(&body);
    kedge_buffer_free(&response.body);
    return code;
}

/* ---- rebase ---- */

static void write_rebase(const kedge_admin *admin, int64_t from, int64_t to, kedge_bytes next,
                         kedge_buffer *body)
{
    kedge_json_writer writer = kedge_json_write(body);
    kedge_buffer_clear(body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "from_project");
    kedge_json_chars(&writer, admin->line->arguments[0]);
    kedge_json_key(&writer, "from_version");
    kedge_json_integer(&writer, from);
    kedge_json_key(&writer, "to_version");
    kedge_json_integer(&writer, to);
    kedge_json_key(&writer, "job");
    kedge_json_chars(&writer, admin->line->arguments[1]);
    kedge_json_key(&writer, "next");
    kedge_json_raw(&writer, next);
    kedge_json_end_object(&writer);
}

/* Prints the response to each part on its own line. */
static int rebase(const kedge_admin *admin, int64_t from, int64_t to)
{
    kedge_buffer body = kedge_buffer_make(admin->allocator);
    kedge_api_response response = {.body = kedge_buffer_make(admin->allocator)};
    kedge_error error = {0};
    kedge_bytes next = KEDGE_BYTES("null");
    int code = 0;
    bool done = false;
    while (code == 0 && !done) {
        write_rebase(admin, from, to, next, &body);
        kedge_buffer_free(&response.body); /* `next` pointed into it, and is in `body` now */
        code = kedge_buffer_status(&body, &error) == KEDGE_OK
                   ? post(admin, PROJECT "/rebase", kedge_buffer_bytes(&body), &response)
                   : kedge_admin_complain(&error);
        if (code == 0) code = kedge_admin_print(&response.body);
        done = is_done(&response) ||
               !kedge_json_member(kedge_buffer_bytes(&response.body), "next", &next);
    }
    kedge_buffer_free(&body);
    kedge_buffer_free(&response.body);
    return code;
}

int kedge_admin_rebase(const kedge_admin *admin)
{
    const kedge_admin_line *line = admin->line;
    int64_t from = 0;
    int64_t to = 0;
    kedge_error error = {0};
    kedge_status status =
        line->from == NULL
            ? kedge_fail(&error, KEDGE_INVALID_ARGUMENT, "usage", "rebase needs --from V")
            : find_version(admin, line->arguments[0], "--from", line->from, &from, &error);
    if (status == KEDGE_OK) {
        status = find_version(admin, line->arguments[0], "--to", line->to, &to, &error);
    }
    return status == KEDGE_OK ? rebase(admin, from, to) : kedge_admin_complain(&error);
}
