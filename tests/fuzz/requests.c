/* Fuzz target: requests to a backend over ports in memory, which has one project with one version.
 * The input is lines "METHOD path?query", each followed by a body up to a line "." or the end. So
 * that cookies, queries and paths are read where they are used. No request is an internal failure,
 * and each response in JSON is JSON. */
#include "backend/api/api.h"
#include "backend/memory/memory_ports.h"
#include "common/json.h"
#include "tests/fuzz/fuzz.h"

#include <kedge/limits.h>
#include <string.h>

#define REQUESTS_MAX 8
/* A response holds items, each of which may be as deep as a value may be. */
#define RESPONSE_DEPTH_MAX KEDGE_LIMIT_JSON_DEPTH
#define PROJECT            "/v1/orgs/acme/projects/notes"

static void no_pause(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

static kedge_bytes cut(kedge_bytes *rest, const char *end)
{
    size_t length = strlen(end);
    kedge_bytes piece = *rest;
    for (size_t i = 0; i + length <= rest->size; i++) {
        if (memcmp(rest->data + i, end, length) == 0) {
            piece.size = i;
            *rest = (kedge_bytes){rest->data + i + length, rest->size - i - length};
            return piece;
        }
    }
    *rest = (kedge_bytes){rest->data + rest->size, 0};
    return piece;
}

static void ask(kedge_backend *backend, kedge_bytes line, kedge_bytes body)
{
    static const kedge_identity ann = {.user = "ann", .role = "member", .organization = "acme"};
    kedge_bytes method = cut(&line, " "), path = cut(&line, "?");
    kedge_api_request request = {
        .method = method, .path = path, .query = line, .body = body, .identity = &ann};
    kedge_api_response response = {.body = kedge_buffer_make(&kedge_allocator_default)};
    kedge_backend_handle(backend, &request, &response);
    kedge_bytes value, rest, json = kedge_buffer_bytes(&response.body);
    FUZZ_CHECK(response.status >= 200 && response.status != 500);
    if (json.size > 0 && response.content_type && strstr(response.content_type, "json"))
        FUZZ_CHECK(kedge_json_skip(json, &value, &rest) && rest.size == 0);
    kedge_buffer_free(&response.body);
}

static void ask_text(kedge_backend *backend, const char *line, const char *body)
{
    ask(backend, kedge_bytes_of(line), kedge_bytes_of(body));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_backend_options options = {.environment = &environment, .pause = no_pause};
    kedge_registry *registry = NULL;
    kedge_backend *backend = NULL;
    FUZZ_CHECK(kedge_memory_records_open(&environment, &options.records, NULL) == KEDGE_OK);
    FUZZ_CHECK(kedge_memory_blobs_open(&environment, &options.blobs, NULL) == KEDGE_OK);
    FUZZ_CHECK(kedge_registry_new(environment.allocator, NULL, 0, &registry, NULL) == KEDGE_OK);
    options.registry = registry;
    FUZZ_CHECK(kedge_backend_new(&options, &backend, NULL) == KEDGE_OK);
    ask_text(backend, "PUT " PROJECT, "");
    ask_text(backend, "POST " PROJECT "/push",
             "{\"pushVersion\":1,\"clientGroupID\":\"c1\",\"mutations\":[{\"clientID\":\"c1\","
             "\"id\":1,\"name\":\"kedge.put\",\"args\":{\"collection\":\"n\",\"id\":\"a\","
             "\"value\":1},\"timestamp\":1}]}");
    kedge_bytes rest = {(const char *)data, size};
    for (int i = 0; i < REQUESTS_MAX && rest.size > 0; i++) {
        kedge_bytes line = cut(&rest, "\n");
        ask(backend, line, cut(&rest, "\n.\n"));
    }
    kedge_backend_free(backend);
    kedge_registry_free(registry);
    options.records.vtable->close(options.records.self);
    options.blobs.vtable->close(options.blobs.self);
    return 0;
}
