/* The command organizations-all: all organizations that have a project. The API has no such
 * request, because a token belongs to one organization. Whoever runs the command has access to the
 * stores. */
#include "backend/admin/verbs.h"

#include "backend/versioned/projects/organizations.h"
#include "common/error.h"
#include "common/json.h"

#define LIST_MAX 1000

typedef struct page {
    kedge_json_writer writer;
    kedge_buffer last;
} page;

static kedge_status add(void *context, kedge_bytes organization, kedge_error *error)
{
    page *shown = context;
    kedge_json_text(&shown->writer, organization);
    kedge_buffer_clear(&shown->last);
    kedge_buffer_append_bytes(&shown->last, organization);
    return kedge_buffer_status(&shown->last, error);
}

static kedge_status write_page(const kedge_admin *admin, kedge_buffer *text, kedge_error *error)
{
    int64_t limit;
    bool more = false;
    const char *after = admin->line->after == NULL ? "" : admin->line->after;
    kedge_status status =
        kedge_admin_read_number("--limit", admin->line->limit, 1, LIST_MAX, &limit, error);
    if (status != KEDGE_OK) return status;
    if (limit == 0) limit = LIST_MAX;
    page shown = {kedge_json_write(text), kedge_buffer_make(admin->allocator)};
    kedge_json_begin_object(&shown.writer);
    kedge_json_key(&shown.writer, "organizations");
    kedge_json_begin_array(&shown.writer);
    status = kedge_organization_list(admin->backend, kedge_bytes_of(after), (uint32_t)limit, add,
                                     &shown, &more, error);
    kedge_json_end_array(&shown.writer);
    kedge_json_key(&shown.writer, "next");
    if (more)
        kedge_json_text(&shown.writer, kedge_buffer_bytes(&shown.last));
    else
        kedge_json_null(&shown.writer);
    kedge_json_end_object(&shown.writer);
    kedge_buffer_free(&shown.last);
    return status == KEDGE_OK ? kedge_buffer_status(text, error) : status;
}

int kedge_admin_organizations_all(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_buffer text = kedge_buffer_make(admin->allocator);
    kedge_status status = write_page(admin, &text, &error);
    int code = status == KEDGE_OK ? kedge_admin_print(&text) : kedge_admin_complain(&error);
    kedge_buffer_free(&text);
    return code;
}
