/* Resources: documents of an organization whose versions are kept. Admins write them; the members
 * of the organization read them, but not access lists, and not with a token for some projects
 * only. */
#include "backend/api/resources.h"
#include "backend/api/access.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/wire.h"
#include "wire/resource.h"

#include <string.h>

/* A member may not know of a project whose access list does not name it. So where there are such
 * lists, a member reads the settings of a project at the project's path, which asks the list, and
 * not here by their id. */
static bool may_read_settings(kedge_api_call *call)
{
    bool lists = false;
    kedge_bytes id = call->argument[1]; /* empty: all of the kind */
    bool of_project = kedge_bytes_equal_text(call->argument[0], KEDGE_RESOURCE_SETTINGS) &&
                      (id.size == 0 || kedge_bytes_start_with(id, KEDGE_BYTES("project:")));
    if (!of_project || call->request->identity->admin) return true;
    kedge_status status = kedge_api_has_access_lists(call, &lists);
    if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    } else if (lists) {
        kedge_api_refuse(call, 403, "not-allowed",
                         "in an organization with access lists, the settings of a project are read "
                         "at the project's path, and all of them by an admin");
    }
    return status == KEDGE_OK && !lists;
}

/* The resource of the path. False: the call was refused. */
static bool open_resource(kedge_api_call *call, kedge_resource_ref *ref, bool writes)
{
    bool guarded = kedge_bytes_equal_text(call->argument[0], KEDGE_RESOURCE_ACCESS);
    if (!kedge_api_is_of_organization(call)) return false;
    if ((writes || guarded) && !kedge_api_is_admin(call)) return false;
    if (call->request->identity->projects != NULL) {
        kedge_api_refuse(call, 403, "not-allowed", "this token is for some projects only");
        return false;
    }
    if (!may_read_settings(call)) return false;
    ref->organization = call->project.ref.organization;
    ref->kind = call->argument[0];
    ref->id = call->argument[1];
    return true;
}

/* ---- failures ---- */

static void refuse_or_fail(kedge_api_call *call, kedge_status status)
{
    static const struct {
        const char *code;
        int status;
    } told[] = {
        {"resource-not-found", 404},       {"resource-version-not-found", 404},
        {"resource-conflict", 409},        {"resource-too-large", 413},
        {"resource-version-invalid", 400}, {"settings-invalid", 400},
        {"access-list-invalid", 400},      {"resource-id-too-long", 400},
        {"invalid-resource-id", 400},      {"resource-versions-exhausted", 409},
    };
    for (size_t at = 0; at < sizeof told / sizeof told[0]; at++) {
        if (strcmp(call->error.code, told[at].code) != 0) continue;
        kedge_api_refuse(call, told[at].status, told[at].code, "%s", call->error.message);
        return;
    }
    kedge_api_fail(call, status);
}

/* ---- one version ---- */

static void write_summary(kedge_json_writer *writer, const kedge_resource *resource)
{
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, resource->version);
    kedge_json_key(writer, "created");
    kedge_json_integer(writer, resource->created_ms);
    kedge_json_key(writer, "user");
    kedge_json_text(writer, resource->user);
    kedge_json_key(writer, "uid");
    kedge_json_chars(writer, resource->uid);
    if (resource->restored > 0) {
        kedge_json_key(writer, "restored");
        kedge_json_integer(writer, resource->restored);
    }
}

static void write_ref(kedge_json_writer *writer, const kedge_resource_ref *ref)
{
    kedge_json_key(writer, "kind");
    kedge_json_text(writer, ref->kind);
    kedge_json_key(writer, "id");
    kedge_json_text(writer, ref->id);
}

void kedge_api_resource_respond(kedge_api_call *call, const kedge_resource_ref *ref)
{
    int64_t version;
    kedge_resource resource = {0};
    if (!kedge_api_query_version(call, &version)) return;
    kedge_status status =
        kedge_resource_read(call->project.backend, ref, version, &resource, &call->error);
    if (status != KEDGE_OK) {
        refuse_or_fail(call, status);
        return;
    }
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    write_ref(&writer, ref);
    write_summary(&writer, &resource);
    kedge_json_key(&writer, "value");
    kedge_json_raw(&writer, resource.value);
    kedge_json_end_object(&writer);
    kedge_resource_free(&resource);
}

void kedge_api_resource(kedge_api_call *call)
{
    kedge_resource_ref ref;
    if (open_resource(call, &ref, false)) kedge_api_resource_respond(call, &ref);
}

/* ---- writes ---- */

static void respond_written(kedge_api_call *call, const kedge_resource_ref *ref, const char *name,
                            int64_t version)
{
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    write_ref(&writer, ref);
    kedge_json_key(&writer, name);
    kedge_json_integer(&writer, version);
    kedge_json_end_object(&writer);
}

static kedge_resource_edit edit_of(const kedge_api_call *call, const kedge_wire_resource_edit *edit)
{
    return (kedge_resource_edit){.expected = edit->expected,
                                 .user = call->request->identity->user,
                                 .uid = edit->uid[0] == '\0' ? NULL : edit->uid};
}

/* After an edit of a project's access list, also one that failed and may have been made: this
 * process no longer takes the project for one without a list. */
static void forget_unlisted(kedge_api_call *call, const kedge_resource_ref *ref)
{
    if (!kedge_bytes_equal_text(ref->kind, KEDGE_RESOURCE_ACCESS)) return;
    kedge_unlisted_forget(&call->project.backend->unlisted, ref->organization, ref->id);
}

static void respond_edit(kedge_api_call *call, const kedge_resource_ref *ref, kedge_status status,
                         const kedge_wire_resource_edit *edit, int64_t version)
{
    forget_unlisted(call, ref);
    if (status != KEDGE_OK) {
        refuse_or_fail(call, status);
        return;
    }
    if (edit->expected == 0) call->response->status = 201;
    respond_written(call, ref, "version", version);
}

void kedge_api_resource_write(kedge_api_call *call, const kedge_resource_ref *ref)
{
    kedge_wire_resource_put put;
    kedge_wire_request body = kedge_api_body(call);
    int64_t version = 0;
    kedge_status status = kedge_wire_resource_put_read(&body, &put, &call->error);
    if (!kedge_api_body_is_read(call, status)) return;
    kedge_resource_edit edit = edit_of(call, &put.edit);
    status =
        kedge_resource_put(call->project.backend, ref, &edit, put.value, &version, &call->error);
    respond_edit(call, ref, status, &put.edit, version);
}

void kedge_api_resource_put(kedge_api_call *call)
{
    kedge_resource_ref ref;
    if (open_resource(call, &ref, true)) kedge_api_resource_write(call, &ref);
}

void kedge_api_resource_rollback(kedge_api_call *call)
{
    kedge_resource_ref ref;
    kedge_wire_resource_rollback rollback;
    kedge_wire_request body = kedge_api_body(call);
    int64_t version = 0;
    if (!open_resource(call, &ref, true)) return;
    kedge_status status = kedge_wire_resource_rollback_read(&body, &rollback, &call->error);
    if (!kedge_api_body_is_read(call, status)) return;
    kedge_resource_edit edit = edit_of(call, &rollback.edit);
    status = kedge_resource_rollback(call->project.backend, &ref, &edit, rollback.to, &version,
                                     &call->error);
    respond_edit(call, &ref, status, &rollback.edit, version);
}

void kedge_api_resource_delete(kedge_api_call *call)
{
    kedge_resource_ref ref;
    int64_t expected = 0;
    if (!open_resource(call, &ref, true) ||
        !kedge_api_query_integer(call, "expected", 1, KEDGE_RESOURCE_VERSION_MAX, &expected)) {
        return;
    }
    if (expected == 0) {
        kedge_api_refuse(call, 400, "query-invalid",
                         "the parameter \"expected\" is missing: the version to delete");
        return;
    }
    kedge_status status =
        kedge_resource_delete(call->project.backend, &ref, expected, &call->error);
    if (status == KEDGE_OK) {
        respond_written(call, &ref, "deleted", expected);
    } else {
        refuse_or_fail(call, status);
    }
}

/* ---- lists ---- */

typedef struct resource_page {
    kedge_api_call *call;
    kedge_json_writer writer;
    bool with_id;      /* a list of resources, not of versions */
    kedge_buffer last; /* the last id */
} resource_page;

static kedge_status add_resource(void *context, kedge_bytes id, const kedge_resource *resource,
                                 kedge_error *error)
{
    resource_page *page = context;
    kedge_json_begin_object(&page->writer);
    if (page->with_id) {
        kedge_json_key(&page->writer, "id");
        kedge_json_text(&page->writer, id);
        kedge_buffer_clear(&page->last);
        kedge_buffer_append_bytes(&page->last, id);
    }
    write_summary(&page->writer, resource);
    kedge_json_key(&page->writer, "size");
    kedge_json_integer(&page->writer, (int64_t)resource->value.size);
    kedge_json_end_object(&page->writer);
    return kedge_buffer_status(&page->last, error);
}

static void respond_versions(kedge_api_call *call, const kedge_resource_ref *ref, int64_t before,
                             int64_t limit)
{
    resource_page page = {.call = call,
                          .writer = kedge_json_write(&call->response->body),
                          .last = kedge_buffer_make(call->allocator)};
    kedge_resource_page wanted = {add_resource, &page, (uint32_t)limit};
    int64_t latest = 0;
    int64_t next = 0;
    kedge_json_begin_object(&page.writer);
    write_ref(&page.writer, ref);
    kedge_json_key(&page.writer, "versions");
    kedge_json_begin_array(&page.writer);
    kedge_status status = kedge_resource_versions(call->project.backend, ref, before, &wanted,
                                                  &latest, &next, &call->error);
    kedge_json_end_array(&page.writer);
    kedge_api_write_next(&page.writer, "latest", latest);
    kedge_api_write_next(&page.writer, "next", next);
    kedge_json_end_object(&page.writer);
    if (status != KEDGE_OK) refuse_or_fail(call, status);
}

void kedge_api_resource_versions(kedge_api_call *call)
{
    kedge_resource_ref ref;
    int64_t before = 0;
    int64_t limit = KEDGE_API_LIST_MAX;
    if (open_resource(call, &ref, false) &&
        kedge_api_query_integer(call, "before", 1, KEDGE_LIMIT_MUTATION_ID, &before) &&
        kedge_api_query_integer(call, "limit", 1, KEDGE_API_LIST_MAX, &limit)) {
        respond_versions(call, &ref, before, limit);
    }
}

static void respond_list(kedge_api_call *call, const kedge_resource_ref *ref, kedge_bytes after,
                         int64_t limit)
{
    resource_page page = {.call = call,
                          .writer = kedge_json_write(&call->response->body),
                          .with_id = true,
                          .last = kedge_buffer_make(call->allocator)};
    kedge_resource_page wanted = {add_resource, &page, (uint32_t)limit};
    bool more = false;
    kedge_json_begin_object(&page.writer);
    kedge_json_key(&page.writer, "kind");
    kedge_json_text(&page.writer, ref->kind);
    kedge_json_key(&page.writer, "resources");
    kedge_json_begin_array(&page.writer);
    kedge_status status =
        kedge_resource_list(call->project.backend, ref, after, &wanted, &more, &call->error);
    kedge_json_end_array(&page.writer);
    kedge_json_key(&page.writer, "next");
    if (more) {
        kedge_json_text(&page.writer, kedge_buffer_bytes(&page.last));
    } else {
        kedge_json_null(&page.writer);
    }
    kedge_json_end_object(&page.writer);
    kedge_buffer_free(&page.last);
    if (status != KEDGE_OK) refuse_or_fail(call, status);
}

void kedge_api_resource_list(kedge_api_call *call)
{
    kedge_resource_ref ref;
    bool present;
    int64_t limit = KEDGE_API_LIST_MAX;
    if (!open_resource(call, &ref, false)) return;
    kedge_buffer after = kedge_buffer_make(call->allocator);
    if (kedge_api_query_integer(call, "limit", 1, KEDGE_API_LIST_MAX, &limit) &&
        kedge_api_query_text(call, "after", &after, &present)) {
        respond_list(call, &ref, kedge_buffer_bytes(&after), limit);
    }
    kedge_buffer_free(&after);
}
