/* Projects: creating, listing, the inverted index; and the limits in force. */
#include "backend/versioned/projects/projects.h"
#include "backend/api/access.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/upload.h"
#include "backend/logged/logged.h"
#include "backend/versioned/usage/usage.h"
#include "backend/versioned/versions/versions.h"
#include "common/json.h"

#include <string.h>

/* ---- one project ---- */

static void write_project(kedge_api_call *call, const kedge_version *creation, int64_t version)
{
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "organization");
    kedge_json_text(&writer, call->project.ref.organization);
    kedge_json_key(&writer, "project");
    kedge_json_text(&writer, call->project.ref.project);
    kedge_json_key(&writer, "created");
    kedge_json_integer(&writer, creation->created_ms);
    kedge_json_key(&writer, "kind");
    kedge_json_chars(&writer, call->project.history != NULL ? "log" : "versions");
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, version);
    if (creation->forked.size > 0) {
        kedge_json_key(&writer, "forked");
        kedge_json_raw(&writer, creation->forked);
    }
    kedge_json_end_object(&writer);
}

static void respond_project(kedge_api_call *call)
{
    const kedge_version *creation;
    const kedge_version *head;
    if (!kedge_api_open_head(call, &head)) return;
    kedge_status status = kedge_version_load_creation(&call->project, &creation, &call->error);
    if (status == KEDGE_OK) {
        write_project(call, creation, head->number);
        kedge_version_release(creation);
    } else {
        kedge_api_fail(call, status);
    }
    kedge_version_release(head);
}

/* {"kind":"versions"|"log"}; no body: versions. */
static bool read_kind(kedge_api_call *call, kedge_project_kind *kind)
{
    kedge_bytes object;
    kedge_bytes value;
    *kind = KEDGE_PROJECT_VERSIONS;
    if (call->request->body.size == 0) return true;
    if (!kedge_api_body_object(call, &object)) return false;
    if (!kedge_json_member(object, "kind", &value) || kedge_json_text_equals(value, "versions"))
        return true;
    *kind = KEDGE_PROJECT_LOG;
    if (kedge_json_text_equals(value, "log")) return true;
    kedge_api_refuse(call, 400, "body-invalid", "kind must be \"versions\" or \"log\"");
    return false;
}

/* The log is there before the record that says that the project has one. A project that is there
 * and has versions gets no log: its creation is about to be refused. Nor does a name that is taken:
 * whoever has it may not see the log. So the kind is read, also when it is known from before. */
static kedge_status create_log(kedge_api_call *call)
{
    kedge_error failure = {0};
    kedge_project_kind there = KEDGE_PROJECT_LOG;
    kedge_status status = kedge_project_read_kind(&call->project, &there, &failure);
    if (status == KEDGE_OK && there != KEDGE_PROJECT_LOG) return KEDGE_OK;
    if (status == KEDGE_OK || status == KEDGE_NOT_FOUND)
        status = kedge_project_check_name(&call->project, &failure);
    if (status != KEDGE_OK) {
        call->error = failure;
        return status;
    }
    return kedge_logged_create(&call->project, &call->error);
}

static kedge_status create(kedge_api_call *call, kedge_project_kind kind, bool *created,
                           kedge_project_found *found)
{
    bool is_log = kind == KEDGE_PROJECT_LOG;
    kedge_status status = is_log ? create_log(call) : KEDGE_OK;
    if (status == KEDGE_OK)
        status = kedge_project_create_kind(&call->project, kind, created, found, &call->error);
    /* A deletion of the name may have ended in between, which has removed the log. */
    if (status == KEDGE_OK && is_log && *created)
        status = kedge_logged_create(&call->project, &call->error);
    return status;
}

static void refuse_creation(kedge_api_call *call, kedge_status status)
{
    if (strcmp(call->error.code, KEDGE_PROJECT_NAME_TAKEN) == 0)
        kedge_api_refuse(call, 409, KEDGE_PROJECT_NAME_TAKEN, "%s", call->error.message);
    else
        kedge_api_fail(call, status);
}

void kedge_api_project_create(kedge_api_call *call)
{
    bool created = false;
    kedge_project_kind kind;
    kedge_project_found found;
    if (!read_kind(call, &kind)) return;
    kedge_status status = kedge_api_check_new_project(&call->project, &call->error);
    if (status == KEDGE_OK) status = create(call, kind, &created, &found);
    if (status != KEDGE_OK) {
        refuse_creation(call, status);
        return;
    }
    kedge_project_kinds_put(&call->project.backend->project_kinds, &call->project.ref,
                            (int)found.kind);
    if (found.kind != kind && call->request->body.size > 0) {
        kedge_api_refuse(call, 409, "project-kind", "the project is of the kind \"%s\"",
                         found.kind == KEDGE_PROJECT_LOG ? "log" : "versions");
        return;
    }
    if (created) {
        kedge_usage_created(&call->project);
        call->response->status = 201;
    }
    if (kedge_api_choose_kind(call, true)) respond_project(call);
}

void kedge_api_project(kedge_api_call *call)
{
    respond_project(call);
}

/* ---- the projects of an organization ---- */

typedef struct project_page {
    kedge_api_call *call;
    kedge_json_writer writer;
    size_t limit;
    size_t count;
    bool listed;        /* some project of the organization has an access list */
    bool more;          /* one more than the limit is there */
    kedge_buffer shown; /* the last name shown */
    kedge_buffer seen;  /* the last name met, shown or not */
} project_page;

/* Whether the caller may know that the project is there. */
static kedge_status check_seen(project_page *page, kedge_bytes name, bool *seen, kedge_error *error)
{
    kedge_api_admission admission;
    const kedge_identity *identity = page->call->request->identity;
    *seen = kedge_api_may_see(identity, page->call->project.ref.organization, name);
    if (!*seen || !page->listed) return KEDGE_OK;
    kedge_project named = page->call->project;
    named.ref.project = name;
    kedge_status status = kedge_api_admit(&named, identity, &admission, error);
    *seen = status == KEDGE_OK;
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_status add_project(void *context, kedge_bytes name, const kedge_project_found *found,
                                kedge_error *error)
{
    project_page *page = context;
    kedge_buffer_clear(&page->seen);
    kedge_buffer_append_bytes(&page->seen, name);
    bool seen;
    kedge_status checked = check_seen(page, name, &seen, error);
    if (checked != KEDGE_OK) return checked;
    if (!seen) return kedge_buffer_status(&page->seen, error);
    if (page->count == page->limit) {
        page->more = true;
        return kedge_buffer_status(&page->seen, error);
    }
    page->count++;
    kedge_buffer_clear(&page->shown);
    kedge_buffer_append_bytes(&page->shown, name);
    kedge_json_begin_object(&page->writer);
    kedge_json_key(&page->writer, "project");
    kedge_json_text(&page->writer, name);
    kedge_json_key(&page->writer, "created");
    kedge_json_integer(&page->writer, found->created_ms);
    kedge_json_key(&page->writer, "kind");
    kedge_json_chars(&page->writer, found->kind == KEDGE_PROJECT_LOG ? "log" : "versions");
    kedge_json_end_object(&page->writer);
    kedge_status status = kedge_buffer_status(&page->shown, error);
    return status == KEDGE_OK ? kedge_buffer_status(&page->seen, error) : status;
}

/* Pages through all projects until `limit` visible ones and one more are found: `next` must not
 * name one that the identity cannot see. */
static kedge_status fill_page(project_page *page, kedge_bytes after)
{
    kedge_buffer_append_bytes(&page->seen, after);
    bool rest = true;
    while (rest && !page->more) {
        kedge_buffer behind = kedge_buffer_make(page->call->allocator);
        kedge_buffer_append_bytes(&behind, kedge_buffer_bytes(&page->seen));
        kedge_status status = kedge_buffer_status(&behind, &page->call->error);
        if (status == KEDGE_OK) {
            status = kedge_project_list(page->call->project.backend,
                                        page->call->project.ref.organization,
                                        kedge_buffer_bytes(&behind), KEDGE_API_LIST_MAX,
                                        add_project, page, &rest, &page->call->error);
        }
        kedge_buffer_free(&behind);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

static void respond_list(kedge_api_call *call, kedge_bytes after, int64_t limit)
{
    project_page page = {.call = call,
                         .writer = kedge_json_write(&call->response->body),
                         .limit = (size_t)limit,
                         .shown = kedge_buffer_make(call->allocator),
                         .seen = kedge_buffer_make(call->allocator)};
    kedge_json_begin_object(&page.writer);
    kedge_json_key(&page.writer, "projects");
    kedge_json_begin_array(&page.writer);
    kedge_status status = KEDGE_OK;
    if (!call->request->identity->admin) status = kedge_api_has_access_lists(call, &page.listed);
    if (status == KEDGE_OK) status = fill_page(&page, after);
    kedge_json_end_array(&page.writer);
    kedge_json_key(&page.writer, "next");
    if (page.more) {
        kedge_json_text(&page.writer, kedge_buffer_bytes(&page.shown));
    } else {
        kedge_json_null(&page.writer);
    }
    kedge_json_end_object(&page.writer);
    kedge_buffer_free(&page.shown);
    kedge_buffer_free(&page.seen);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}

void kedge_api_project_list(kedge_api_call *call)
{
    int64_t limit = KEDGE_API_LIST_MAX;
    if (!kedge_api_is_of_organization(call)) return;
    kedge_buffer after = kedge_buffer_make(call->allocator);
    if (kedge_api_query_integer(call, "limit", 1, KEDGE_API_LIST_MAX, &limit) &&
        kedge_api_query_after(call, "project", &after)) {
        respond_list(call, kedge_buffer_bytes(&after), limit);
    }
    kedge_buffer_free(&after);
}

/* ---- the organizations of a project ---- */

typedef struct organization_list {
    kedge_api_call *call;
    kedge_json_writer writer;
    size_t count;
} organization_list;

static kedge_status add_organization(void *context, kedge_bytes name,
                                     const kedge_project_found *found, kedge_error *error)
{
    organization_list *list = context;
    (void)found;
    (void)error;
    if (!kedge_api_may_see(list->call->request->identity, name, list->call->project.ref.project)) {
        return KEDGE_OK;
    }
    list->count++;
    kedge_json_text(&list->writer, name);
    return KEDGE_OK;
}

void kedge_api_project_organizations(kedge_api_call *call)
{
    organization_list list = {.call = call, .writer = kedge_json_write(&call->response->body)};
    if (!kedge_api_is_admin(call)) return;
    kedge_json_begin_object(&list.writer);
    kedge_json_key(&list.writer, "project");
    kedge_json_text(&list.writer, call->project.ref.project);
    kedge_json_key(&list.writer, "organizations");
    kedge_json_begin_array(&list.writer);
    kedge_status status = kedge_project_organizations(
        call->project.backend, call->project.ref.project, add_organization, &list, &call->error);
    kedge_json_end_array(&list.writer);
    kedge_json_end_object(&list.writer);
    if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    } else if (list.count == 0) {
        kedge_api_refuse(call, 404, "project-not-found", "there is no project %.*s",
                         (int)call->project.ref.project.size, call->project.ref.project.data);
    }
}

/* ---- limits ---- */

void kedge_api_limits(kedge_api_call *call)
{
    const kedge_backend_options *options = &call->project.backend->options;
    const struct {
        const char *name;
        int64_t value;
    } limits[] = {
        {"name_bytes", KEDGE_LIMIT_NAME_BYTES},
        {"client_id_bytes", KEDGE_LIMIT_CLIENT_ID_BYTES},
        {"item_id_bytes", KEDGE_LIMIT_ITEM_ID_BYTES},
        {"project_record_bytes", KEDGE_LIMIT_PROJECT_RECORD_BYTES},
        {"resource_id_bytes", KEDGE_LIMIT_RESOURCE_ID_BYTES},
        {"resource_bytes", KEDGE_LIMIT_RESOURCE_BYTES},
        {"item_bytes", KEDGE_LIMIT_ITEM_BYTES},
        {"args_bytes", KEDGE_LIMIT_ARGS_BYTES},
        {"json_depth", KEDGE_LIMIT_JSON_DEPTH},
        {"mutation_id", KEDGE_LIMIT_MUTATION_ID},
        {"collections", KEDGE_LIMIT_COLLECTIONS},
        {"collection_items", KEDGE_LIMIT_COLLECTION_ITEMS},
        {"push_bytes", (int64_t)kedge_api_at_most(KEDGE_LIMIT_PUSH_BYTES, options->push_bytes_max)},
        {"push_mutations", KEDGE_LIMIT_PUSH_MUTATIONS},
        {"mutation_changes", KEDGE_LIMIT_MUTATION_CHANGES},
        {"outcomes_per_pull", KEDGE_LIMIT_OUTCOMES_PER_PULL},
        {"snapshot_page_bytes", KEDGE_API_PAGE_BYTES_MAX},
        {"response_bytes",
         (int64_t)kedge_api_at_most(KEDGE_API_RESPONSE_BYTES_MAX, options->response_bytes_max)},
        {"new_clients_per_minute", options->new_clients_per_minute},
        {"request_deadline_ms", KEDGE_LIMIT_REQUEST_DEADLINE_MS},
    };
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "mode");
    kedge_json_chars(&writer, options->enqueue == NULL ? "direct" : "queued");
    for (size_t at = 0; at < sizeof limits / sizeof limits[0]; at++) {
        kedge_json_key(&writer, limits[at].name);
        kedge_json_integer(&writer, limits[at].value);
    }
    if (options->write_budgets) {
        kedge_json_key(&writer, "budgets");
        options->write_budgets(options->write_budgets_context, &writer);
    }
    kedge_json_key(&writer, "upload");
    kedge_json_boolean(&writer, kedge_api_uploads_are_served(call->project.backend));
    kedge_json_end_object(&writer);
}
