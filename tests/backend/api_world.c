/* A backend over ports in memory, and requests to it. */
#include "tests/backend/api_world.h"

#include "common/error.h"
#include "common/json.h"
#include "mutate/registry.h"
#include "tests/backend/stores.h"

#include <kedge/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE "/v1/orgs/acme/projects/notes/"

static const char *rob_projects[] = {"notes"};

const kedge_identity ann = {.user = "ann", .role = "member", .organization = "acme"};
const kedge_identity bob = {.user = "bob", .role = "member", .organization = "acme"};
const kedge_identity eve = {.user = "ann", .role = "member", .organization = "evil"};
const kedge_identity rob = {.user = "rob",
                            .role = "member",
                            .organization = "acme",
                            .projects = rob_projects,
                            .project_count = 1};
const kedge_identity root = {.user = "root", .role = "admin", .organization = "*", .admin = true};

/* ---- the world ---- */

/* Nobody waits for a lost race here. */
static void no_pause(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

static kedge_status enqueue(void *context, kedge_bytes organization, kedge_bytes project,
                            const kedge_identity *identity, kedge_bytes push, kedge_error *error)
{
    api_world *world = context;
    assert_true(kedge_bytes_equal_text(organization, "acme"));
    assert_true(kedge_bytes_equal_text(project, "notes"));
    if (world->enqueue_status != KEDGE_OK)
        return kedge_fail(error, world->enqueue_status, "queue-away", "the queue is away");
    world->enqueued++;
    kedge_buffer_clear(&world->last_enqueued);
    kedge_buffer_append_bytes(&world->last_enqueued, push);
    (void)snprintf(world->enqueued_by, sizeof world->enqueued_by, "%s/%s", identity->user,
                   identity->role);
    return KEDGE_OK;
}

static void note_background(void *context, const kedge_background_failure *failure)
{
    api_world *world = context;
    world->background_failures[failure->work]++;
}

static void open_backend(api_world *world)
{
    const char *cadence = getenv("KEDGE_TEST_CADENCE");
    bool seed = cadence != NULL && strcmp(cadence, "seed") == 0;
    kedge_backend_options options = {.environment = &world->environment,
                                     .records = world->records,
                                     .blobs = world->blobs,
                                     .registry = world->registry,
                                     .cadence = seed ? KEDGE_CADENCE_SEED : KEDGE_CADENCE_COMPACT,
                                     .pause = no_pause,
                                     .enqueue = world->queued ? enqueue : NULL,
                                     .enqueue_context = world,
                                     .failed = note_background,
                                     .failed_context = world,
                                     .new_clients_per_minute = world->new_clients,
                                     .organization_projects = world->projects_max,
                                     .organization_stored_bytes = world->stored_max,
                                     .response_bytes_max = world->carried_max,
                                     .create_projects = world->open};
    kedge_error error = {0};
    assert_int_equal(kedge_backend_new(&options, &world->backend, &error), KEDGE_OK);
}

static api_world *make_world(bool open, bool queued, const kedge_allocator *allocator,
                             void (*wrap)(api_world *world))
{
    api_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->open = open;
    world->queued = queued;
    world->environment = kedge_environment_system(allocator);
    world->response.body = kedge_buffer_make(world->environment.allocator);
    world->last_enqueued = kedge_buffer_make(world->environment.allocator);
    kedge_error error = {0};
    assert_int_equal(stores_open(&world->environment, &world->records, &world->blobs, &error),
                     KEDGE_OK);
    assert_int_equal(
        kedge_registry_new(world->environment.allocator, NULL, 0, &world->registry, &error),
        KEDGE_OK);
    if (wrap != NULL) wrap(world);
    open_backend(world);
    return world;
}

static api_world *with_project(api_world *world)
{
    kedge_bytes none = {NULL, 0};
    assert_int_equal(api_ask(world, &ann, "PUT", "/v1/orgs/acme/projects/notes", none), 201);
    return world;
}

api_world *api_world_new(void)
{
    return api_world_new_with(NULL, NULL);
}

api_world *api_world_new_with(const kedge_allocator *allocator, void (*wrap)(api_world *world))
{
    return with_project(make_world(false, false, allocator, wrap));
}

api_world *api_world_new_queued(void)
{
    return with_project(make_world(false, true, NULL, NULL));
}

api_world *api_world_new_open(void)
{
    return make_world(true, false, NULL, NULL);
}

void api_world_restart(api_world *world)
{
    kedge_backend_free(world->backend);
    open_backend(world);
}

void api_world_lose_blobs(api_world *world, const char *prefix, bool damages)
{
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &world->blobs;
    assert_int_equal(blobs->vtable->list(blobs->self, kedge_bytes_of(prefix),
                                         (kedge_bytes){NULL, 0}, 10, &list, NULL),
                     KEDGE_OK);
    assert_true(list.count > 0);
    for (size_t i = 0; i < list.count; i++) {
        kedge_bytes key = kedge_bytes_of(list.blobs[i].key);
        assert_int_equal(blobs->vtable->remove(blobs->self, key, NULL), KEDGE_OK);
        if (damages)
            assert_int_equal(blobs->vtable->put_if_absent(blobs->self, key, KEDGE_BYTES("?"), NULL),
                             KEDGE_OK);
    }
    kedge_blob_list_free(&list);
    api_world_restart(world);
}

void api_world_free(api_world *world)
{
    cJSON_Delete(world->json);
    kedge_buffer_free(&world->response.body);
    kedge_buffer_free(&world->last_enqueued);
    kedge_backend_free(world->backend);
    kedge_registry_free(world->registry);
    stores_close(&world->records, &world->blobs);
    free(world);
}

/* ---- asking ---- */

/* What must hold of every response: a body that is I-JSON, and problems in the shape of RFC
 * 9457. */
static void check_response_to(api_world *world)
{
    const kedge_api_response *response = &world->response;
    assert_true(response->status >= 200 && response->status < 600);
    assert_non_null(response->content_type);
    if (response->content_encoding != NULL) return;
    kedge_error error = {0};
    kedge_bytes body = kedge_buffer_bytes(&response->body);
    kedge_status status =
        kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, &error);
    world->json = cJSON_ParseWithLength(body.data, body.size);
    /* Values may be as deep as a document, inside of the response. */
    if ((status != KEDGE_OK && status != KEDGE_LIMIT_EXCEEDED) || world->json == NULL) {
        fail_msg("the response is not I-JSON: %s: %s", error.message, response->body.data);
    }
    if (response->status < 300) {
        assert_string_equal(response->content_type, "application/json");
        return;
    }
    assert_string_equal(response->content_type, "application/problem+json");
    assert_string_equal(api_string(world, "type"), "about:blank");
    assert_int_equal(api_number(world, "status"), response->status);
    assert_true(api_string(world, "title")[0] != '\0');
    assert_true(api_string(world, "detail")[0] != '\0');
    bool waits = response->status == 503 || response->status == 429;
    assert_int_equal(response->retry_after_s > 0, waits);
}

static bool has_room(void *context, size_t size)
{
    api_world *world = context;
    if (size > world->asked) world->asked = size;
    return world->room == 0 || size <= world->room;
}

int api_ask(api_world *world, const kedge_identity *who, const char *method, const char *path,
            kedge_bytes body)
{
    const char *question = strchr(path, '?');
    size_t path_size = question == NULL ? strlen(path) : (size_t)(question - path);
    kedge_api_request request = {.method = kedge_bytes_of(method),
                                 .path = {path, path_size},
                                 .query = kedge_bytes_of(question == NULL ? "" : question + 1),
                                 .body = body,
                                 .body_truncated = world->truncated,
                                 .goes_on = world->goes_on,
                                 .has_room = has_room,
                                 .room_context = world,
                                 .accepts_gzip = world->accepts_gzip,
                                 .range = kedge_bytes_of(world->range == NULL ? "" : world->range),
                                 .identity = who};
    cJSON_Delete(world->json);
    world->json = NULL;
    kedge_buffer_free(&world->response.body);
    world->asked = 0;
    kedge_backend_handle(world->backend, &request, &world->response);
    check_response_to(world);
    return world->response.status;
}

int api_get(api_world *world, const char *path)
{
    return api_ask(world, &ann, "GET", api_format(BASE "%s", path), (kedge_bytes){NULL, 0});
}

int api_post_as(api_world *world, const kedge_identity *who, const char *path, const char *body)
{
    return api_ask(world, who, "POST", api_format(BASE "%s", path), kedge_bytes_of(body));
}

int api_post(api_world *world, const char *path, const char *body)
{
    return api_post_as(world, &ann, path, body);
}

/* ---- the response ---- */

const char *api_text(const api_world *world)
{
    return world->response.body.size == 0 ? "" : world->response.body.data;
}

const char *api_code(const api_world *world)
{
    const cJSON *code = world->response.status < 300 ? NULL : api_at(world, "code");
    return cJSON_IsString(code) ? code->valuestring : "";
}

const cJSON *api_at(const api_world *world, const char *path)
{
    char part[128];
    const cJSON *at = world->json;
    while (at != NULL && *path != '\0') {
        size_t size = strcspn(path, ".");
        assert_true(size < sizeof part);
        memcpy(part, path, size);
        part[size] = '\0';
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, (int)strtol(part, NULL, 10))
                               : cJSON_GetObjectItemCaseSensitive(at, part);
        path += path[size] == '.' ? size + 1 : size;
    }
    return at;
}

int64_t api_number(const api_world *world, const char *path)
{
    const cJSON *at = api_at(world, path);
    if (!cJSON_IsNumber(at)) fail_msg("no number at %s of %s", path, api_text(world));
    return (int64_t)at->valuedouble;
}

const char *api_string(const api_world *world, const char *path)
{
    const cJSON *at = api_at(world, path);
    if (!cJSON_IsString(at)) fail_msg("no string at %s of %s", path, api_text(world));
    return at->valuestring;
}

int api_count(const api_world *world, const char *path)
{
    const cJSON *at = api_at(world, path);
    return cJSON_IsArray(at) || cJSON_IsObject(at) ? cJSON_GetArraySize(at) : -1;
}

/* ---- writing requests ---- */

const char *api_format(const char *format, ...)
{
    static char texts[64][8192];
    static size_t next;
    char *text = texts[next++ % 64];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof texts[0], format, arguments);
    va_end(arguments);
    assert_true(size >= 0 && (size_t)size < sizeof texts[0]);
    return text;
}

const char *api_patch(const api_world *world)
{
    char *text = cJSON_PrintUnformatted(api_at(world, "patch"));
    assert_non_null(text);
    const char *patch = api_format("%s", text);
    cJSON_free(text);
    return patch;
}

void api_pull(api_world *world, const char *group, const char *cookie)
{
    api_post(world, "pull",
             api_format("{\"profileID\":\"p\",\"clientGroupID\":\"%s\",\"cookie\":%s,"
                        "\"pullVersion\":1,\"schemaVersion\":\"\"}",
                        group, cookie));
}

int64_t api_put(api_world *world, const char *client, int64_t id, const char *key,
                const char *value)
{
    const char *slash = strchr(key, '/');
    assert_non_null(slash);
    int status = api_post(
        world, "push",
        api_format("{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"%s\"},"
                   "\"mutations\":[{\"clientID\":\"%s\",\"id\":%lld,\"name\":\"kedge.put\","
                   "\"args\":{\"collection\":\"%.*s\",\"id\":\"%s\",\"value\":%s},"
                   "\"timestamp\":1,\"uid\":\"%032llx\"}]}",
                   client, client, (long long)id, (int)(slash - key), key, slash + 1, value,
                   (unsigned long long)id));
    if (status != 200) fail_msg("the push failed: %s", api_text(world));
    return api_number(world, "kedge.version");
}

const char *api_cookie(const api_world *world)
{
    char *text = cJSON_PrintUnformatted(api_at(world, "cookie"));
    assert_non_null(text);
    const char *cookie = api_format("%s", text);
    cJSON_free(text);
    return cookie;
}

int64_t api_head(api_world *world)
{
    assert_int_equal(
        api_ask(world, &ann, "GET", "/v1/orgs/acme/projects/notes", (kedge_bytes){NULL, 0}), 200);
    return api_number(world, "version");
}
