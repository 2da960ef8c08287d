/* Finds the handler of a request: the table of routes, the parts of a path, and the check of the
 * identity.
 *
 * A path is cut at its slashes first and decoded afterwards, each part by itself, so that an
 * encoded slash belongs to a name and "..", encoded or not, is a name like any other (and no valid
 * one, but for an item's id). */
#include "backend/api/access.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/ports/meter.h"
#include "backend/versioned/usage/usage.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "common/percent.h"

#include <stdio.h>
#include <string.h>

/* For which kinds of projects a route is. */
typedef enum route_kind {
    ANY,      /* it does not ask */
    EITHER,   /* versions and logs: the handler works on both */
    VERSIONS, /* a log project is refused */
    LOG_WRITE /* the log that holds a log project's mutations is refused */
} route_kind;

/* What else holds for a route. */
enum {
    EVERYBODY = 1,   /* needs no identity */
    ADMINISTERS = 2, /* what it changes is for the audit log */
    /* Refused when the organization has stored all that it may. The creation of a project checks
     * the budgets itself, because it is not refused when the project exists. */
    STORES = 4
};

typedef struct api_route {
    const char *method;
    /* Literal segments, and for variable ones what they are: {o}rganization, {p}roject,
     * {c}ollection, c{l}ient, {i}tem id, {v}ersion, {h}ash, {n}umber of a mutation, {k}ind and
     * id of a {r}esource, lo{g}, {e}ntry of a log. */
    const char *pattern;
    void (*handle)(kedge_api_call *call);
    route_kind kind;
    unsigned traits;
} api_route;

#define ORGANIZATION "/v1/orgs/{o}"
#define PROJECT      KEDGE_WIRE_PATH_PROJECT

static const api_route routes[] = {
    {"GET", "/v1/limits", kedge_api_limits, ANY, EVERYBODY},
    {"GET", "/v1/projects/{p}", kedge_api_project_organizations, ANY, 0},
    {"GET", ORGANIZATION "/projects", kedge_api_project_list, ANY, 0},
    {"GET", ORGANIZATION "/settings", kedge_api_organization_settings, ANY, 0},
    {"PUT", ORGANIZATION "/settings", kedge_api_organization_settings_put, ANY,
     ADMINISTERS | STORES},
    {"GET", ORGANIZATION "/resources/{k}", kedge_api_resource_list, ANY, 0},
    {"GET", ORGANIZATION "/resources/{k}/{r}", kedge_api_resource, ANY, 0},
    {"PUT", ORGANIZATION "/resources/{k}/{r}", kedge_api_resource_put, ANY, ADMINISTERS | STORES},
    {"DELETE", ORGANIZATION "/resources/{k}/{r}", kedge_api_resource_delete, ANY, ADMINISTERS},
    {"GET", ORGANIZATION "/resources/{k}/{r}/versions", kedge_api_resource_versions, ANY, 0},
    {"POST", ORGANIZATION "/resources/{k}/{r}/rollback", kedge_api_resource_rollback, ANY,
     ADMINISTERS | STORES},
    {"PUT", PROJECT, kedge_api_project_create, ANY, ADMINISTERS},
    {"GET", PROJECT, kedge_api_project, EITHER, 0},
    {"GET", PROJECT "/settings", kedge_api_project_settings, EITHER, 0},
    {"PUT", PROJECT "/settings", kedge_api_project_settings_put, EITHER, ADMINISTERS | STORES},
    {"GET", PROJECT "/access", kedge_api_project_access, EITHER, 0},
    {"PUT", PROJECT "/access", kedge_api_project_access_put, EITHER, ADMINISTERS | STORES},
    {"POST", PROJECT "/fork", kedge_api_fork, VERSIONS, ADMINISTERS | STORES},
    {"POST", PROJECT "/rebase", kedge_api_rebase, VERSIONS, ADMINISTERS | STORES},
    {"POST", PROJECT "/push", kedge_api_push, EITHER, STORES},
    {"POST", PROJECT "/push/upload", kedge_api_push_upload, EITHER, STORES},
    {"POST", PROJECT "/pull", kedge_api_pull, EITHER, 0},
    {"GET", PROJECT "/snapshot", kedge_api_snapshot, EITHER, 0},
    {"POST", PROJECT "/snapshot", kedge_api_snapshot_make, EITHER, ADMINISTERS | STORES},
    {"GET", PROJECT "/collections/{c}/bodies/{h}", kedge_api_item_body, EITHER, 0},
    {"POST", PROJECT "/clients/{l}/retire", kedge_api_retire, EITHER, STORES},
    {"GET", PROJECT "/clients/{l}/mutations", kedge_api_mutations, EITHER, 0},
    {"GET", PROJECT "/clients/{l}/mutations/{n}", kedge_api_mutation, EITHER, 0},
    {"GET", PROJECT "/logs", kedge_api_log_list, EITHER, 0},
    {"PUT", KEDGE_WIRE_PATH_LOG, kedge_api_log_create, EITHER, STORES},
    {"GET", KEDGE_WIRE_PATH_LOG, kedge_api_log, EITHER, 0},
    {"GET", KEDGE_WIRE_PATH_LOG "/segments", kedge_api_log_segments, EITHER, 0},
    {"POST", KEDGE_WIRE_PATH_LOG "/segments", kedge_api_log_new_segment, EITHER, STORES},
    {"POST", KEDGE_WIRE_PATH_LOG "/segments/{e}/archive", kedge_api_log_archive, EITHER,
     ADMINISTERS},
    {"POST", KEDGE_WIRE_PATH_LOG "/truncate", kedge_api_log_truncate, LOG_WRITE, ADMINISTERS},
    {"POST", KEDGE_WIRE_PATH_LOG "/entries", kedge_api_log_append, LOG_WRITE, STORES},
    {"GET", KEDGE_WIRE_PATH_LOG "/entries", kedge_api_log_entries, EITHER, 0},
    {"GET", KEDGE_WIRE_PATH_LOG "/snapshots/{h}", kedge_api_log_snapshot, EITHER, 0},
    {"GET", KEDGE_WIRE_PATH_LOG "/snapshots/{h}/{h}", kedge_api_log_snapshot_chunk, EITHER, 0},
    {"POST", KEDGE_WIRE_PATH_LOG "/entries/{e}/metadata", kedge_api_log_metadata, LOG_WRITE,
     STORES},
    {"GET", PROJECT "/versions", kedge_api_versions, VERSIONS, 0},
    {"GET", PROJECT "/versions/{v}", kedge_api_version, VERSIONS, 0},
    {"GET", PROJECT "/versions/{v}/collections/{c}", kedge_api_collection, VERSIONS, 0},
    {"GET", PROJECT "/versions/{v}/collections/{c}/{i}", kedge_api_item, VERSIONS, 0},
};

/* ---- matching ---- */

static void cut_pattern(const api_route *route, kedge_wire_path *pattern)
{
    bool cut = kedge_wire_path_cut(kedge_bytes_of(route->pattern), pattern);
    KEDGE_ASSERT(cut);
    (void)cut;
}

bool kedge_api_is_for_everybody(kedge_bytes path)
{
    kedge_wire_path parts;
    kedge_wire_path pattern;
    if (!kedge_wire_path_cut(path, &parts)) return false;
    for (size_t at = 0; at < sizeof routes / sizeof routes[0]; at++) {
        if (!(routes[at].traits & EVERYBODY)) continue;
        cut_pattern(&routes[at], &pattern);
        if (kedge_wire_path_matches(&pattern, &parts)) return true;
    }
    return false;
}

/* The route of the path and the method; NULL after a refusal. */
static const api_route *find_route(kedge_api_call *call, kedge_wire_path *pattern,
                                   kedge_wire_path *path)
{
    kedge_bytes text = call->request->path;
    char methods[KEDGE_API_METHODS_SIZE] = "";
    bool cut_up = text.size <= KEDGE_WIRE_PATH_BYTES_MAX && kedge_wire_path_cut(text, path);
    for (size_t at = 0; cut_up && at < sizeof routes / sizeof routes[0]; at++) {
        cut_pattern(&routes[at], pattern);
        if (!kedge_wire_path_matches(pattern, path)) continue;
        if (kedge_bytes_equal_text(call->request->method, routes[at].method)) return &routes[at];
        size_t size = strlen(methods);
        snprintf(methods + size, sizeof methods - size, "%s%s%s", size > 0 ? ", " : "",
                 routes[at].method, strcmp(routes[at].method, "GET") == 0 ? ", HEAD" : "");
    }
    if (methods[0] != '\0') {
        kedge_api_problem_of_method(call->response, methods);
    } else {
        kedge_api_refuse(call, 404, "route-not-found", "there is nothing at this path");
    }
    return NULL;
}

/* ---- the variable parts ---- */

static bool is_mutation_number(kedge_bytes text)
{
    int64_t number;
    return kedge_wire_version_read(text, &number);
}

static kedge_status check_argument(char kind, kedge_bytes text, kedge_error *error)
{
    switch (kind) {
    case 'o':
        return kedge_check_name("organization", text, error);
    case 'p':
        return kedge_check_name("project", text, error);
    case 'c':
        return kedge_check_name("collection", text, error);
    case 'k':
        return kedge_check_name("kind", text, error);
    case 'r':
        return kedge_check_resource_id(text, error);
    case 'l':
        return kedge_check_client_id(text, error);
    case 'i':
        return kedge_check_item_id(text, error);
    case 'g':
        return kedge_check_name("log", text, error);
    case 'e': {
        int64_t number;
        if (kedge_json_to_integer(text, &number) && number >= 0) return KEDGE_OK;
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-number",
                          "\"%.*s\" is not a number from 0 on",
                          text.size < 64 ? (int)text.size : 64, text.data);
    }
    case 'h': {
        uint8_t hash[KEDGE_SHA256_SIZE];
        if (kedge_hex_decode(text, hash, sizeof hash)) return KEDGE_OK;
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-hash",
                          "a hash is 64 lower-case hexadecimal digits");
    }
    default:
        if (is_mutation_number(text)) return KEDGE_OK;
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-number",
                          "\"%.*s\" is neither \"latest\" nor a number from 1 on",
                          text.size < 64 ? (int)text.size : 64, text.data);
    }
}

/* Decodes one part and appends it to path_text. All parts together are not longer than the path. */
static bool read_argument(kedge_api_call *call, char kind, kedge_bytes encoded,
                          kedge_buffer *scratch, kedge_bytes *text)
{
    kedge_buffer_clear(scratch);
    if (!kedge_percent_decode(encoded, scratch, &call->error)) return false;
    if (scratch->no_memory) {
        kedge_fail_no_memory(&call->error);
        return false;
    }
    char *place = call->path_text + call->path_text_size;
    if (scratch->size > 0) memcpy(place, scratch->data, scratch->size);
    call->path_text_size += scratch->size;
    *text = (kedge_bytes){place, scratch->size};
    return check_argument(kind, *text, &call->error) == KEDGE_OK;
}

static bool read_arguments(kedge_api_call *call, const kedge_wire_path *pattern,
                           const kedge_wire_path *path)
{
    kedge_buffer scratch = kedge_buffer_make(call->allocator);
    bool fine = true;
    for (size_t at = 0; fine && at < path->count; at++) {
        kedge_bytes text;
        if (pattern->part[at].data[0] != '{') continue;
        char kind = pattern->part[at].data[1];
        fine = read_argument(call, kind, path->part[at], &scratch, &text);
        if (!fine) break;
        if (kind == 'o') {
            call->project.ref.organization = text;
        } else if (kind == 'p') {
            call->project.ref.project = text;
        } else {
            call->argument[call->argument_count++] = text;
        }
    }
    kedge_buffer_free(&scratch);
    if (fine) return true;
    if (call->error.status == KEDGE_NO_MEMORY) {
        kedge_api_fail(call, KEDGE_NO_MEMORY);
    } else {
        kedge_api_refuse(call, 400, "name-invalid", "the path is wrong: %s", call->error.message);
    }
    return false;
}

/* ---- who asks ---- */

static bool has_fine_user(kedge_api_call *call)
{
    const kedge_identity *identity = call->request->identity;
    if (identity == NULL || strlen(identity->user) <= KEDGE_USER_BYTES_MAX) return true;
    kedge_api_refuse(call, 403, "user-too-long", "the name of the user is longer than %d bytes",
                     KEDGE_USER_BYTES_MAX);
    return false;
}

/* Checks access for the routes of one project. Other routes check it themselves. */
static bool may_enter(kedge_api_call *call, const api_route *route)
{
    if (call->project.ref.organization.size == 0 || call->project.ref.project.size == 0)
        return true;
    return route->handle == kedge_api_project_create ? kedge_api_may_create(call)
                                                     : kedge_api_enter_project(call);
}

static bool may_serve(kedge_api_call *call, route_kind kind)
{
    if (kind == ANY) return true;
    if (!kedge_api_choose_kind(call, kind != VERSIONS)) return false;
    return kind != LOG_WRITE || kedge_api_is_free_log(call);
}

/* Whether another organization may store something is not told. */
static bool may_store(kedge_api_call *call, const api_route *route)
{
    if (!(route->traits & STORES) || call->request->goes_on) return true;
    if (!kedge_api_is_of_organization(call)) return false;
    kedge_status status =
        kedge_usage_check_stored(&call->project, call->request->body.size, &call->error);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
    return status == KEDGE_OK;
}

/* A request that failed with a 5xx may have changed something, and another one when its handler has
 * said so. One to create a project that is there has not. */
static void note_change(kedge_api_call *call, const api_route *route)
{
    int status = call->response->status;
    bool there = route->handle == kedge_api_project_create && status == 200;
    bool may_have = call->response->changed || (!there && (status < 300 || status >= 500));
    call->response->changed = (route->traits & ADMINISTERS) && may_have;
}

static void respond(kedge_api_call *call)
{
    kedge_wire_path pattern;
    kedge_wire_path path;
    const api_route *route = find_route(call, &pattern, &path);
    if (route == NULL) return;
    if (!(route->traits & EVERYBODY) && call->request->identity == NULL) {
        kedge_api_refuse(call, 401, "token-missing", "this request needs a bearer token");
        return;
    }
    if (!has_fine_user(call) || !read_arguments(call, &pattern, &path) || !may_enter(call, route))
        return;
    if (may_serve(call, route->kind) && may_store(call, route)) route->handle(call);
    kedge_api_finish(call);
    note_change(call, route);
}

/* For a peer that takes no parts. */
static void write_rest(kedge_api_call *call)
{
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && call->response->rest.context != NULL) {
        status = kedge_api_check_room(call);
        if (status == KEDGE_OK)
            status = kedge_api_go_on(call->response, KEDGE_API_PART_BYTES, &call->error);
    }
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}

void kedge_backend_handle(kedge_backend *backend, const kedge_api_request *request,
                          kedge_api_response *response)
{
    static const kedge_project_ref none;
    kedge_api_call call = {.project = kedge_project_of(backend, &none),
                           .request = request,
                           .response = response,
                           .allocator = response->body.allocator};
    response->status = 200;
    response->content_type = "application/json";
    response->content_encoding = NULL;
    response->immutable = false;
    response->retry_after_s = 0;
    response->content_range[0] = '\0';
    response->allow[0] = '\0';
    response->damaged_items = 0;
    response->missing.wanted = 0;
    response->changed = false;
    response->other[0] = '\0';
    response->rest = (kedge_api_rest){.context = NULL};
    response->exceeded = NULL;
    kedge_cost before = kedge_meter_of_thread();
    kedge_usage_begin();
    respond(&call);
    kedge_usage_end(&call.project);
    kedge_cost after = kedge_meter_of_thread();
    response->cost = kedge_cost_minus(&after, &before);
    if (!request->takes_parts) write_rest(&call);
}
