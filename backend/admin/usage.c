/* What an organization has, as its budgets count it. */
#include "backend/jobs/usage.h"
#include "backend/admin/verbs.h"
#include "backend/versioned/usage/usage.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"

static int print(const kedge_admin *admin, int64_t projects, int64_t stored, const int64_t *before)
{
    kedge_buffer text = kedge_buffer_make(admin->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "organization");
    kedge_json_chars(&writer, admin->line->arguments[0]);
    kedge_json_key(&writer, "projects");
    kedge_json_integer(&writer, projects);
    kedge_json_key(&writer, "stored_bytes");
    kedge_json_integer(&writer, stored);
    if (before != NULL) {
        kedge_json_key(&writer, "before");
        kedge_json_integer(&writer, *before);
    }
    kedge_json_end_object(&writer);
    int code = kedge_admin_print(&text);
    kedge_buffer_free(&text);
    return code;
}

static int show(const kedge_admin *admin, bool recount)
{
    int64_t projects = 0;
    int64_t stored = 0;
    int64_t before = 0;
    kedge_error error = {0};
    const kedge_project_ref ref = {.organization = kedge_bytes_of(admin->line->arguments[0])};
    const kedge_project organization = kedge_project_of(admin->backend, &ref);
    kedge_status status = kedge_check_name("organization", ref.organization, &error);
    if (status == KEDGE_OK)
        status = recount ? kedge_usage_recount(&organization, &before, &stored, &error)
                         : kedge_usage_read(&organization, &stored, &error);
    if (status == KEDGE_OK)
        status = kedge_usage_count_projects(&organization, INT64_MAX, &projects, &error);
    if (status != KEDGE_OK) return kedge_admin_complain(&error);
    return print(admin, projects, stored, recount ? &before : NULL);
}

int kedge_admin_usage(const kedge_admin *admin)
{
    return show(admin, false);
}

int kedge_admin_recount_usage(const kedge_admin *admin)
{
    return show(admin, true);
}
