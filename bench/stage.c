/* See stage.h. Everything that a client makes up comes from its number, so that a run is the same
 * each time. */
#include "bench/stage.h"

#include "bench/bench.h"
#include "mutate/registry.h"

#include <stdlib.h>
#include <string.h>

void bench_stage_open(bench_stage *stage, const kedge_environment *environment,
                      kedge_records records, kedge_blobs blobs, kedge_queue queue,
                      kedge_cadence cadence)
{
    kedge_error error = {0};
    const kedge_allocator *allocator = environment->allocator;
    *stage = (bench_stage){.environment = *environment};
    bench_check(kedge_registry_new(allocator, NULL, 0, &stage->registry, &error), &error,
                "registry");
    bench_check(
        kedge_meter_new(allocator, records, blobs, queue, (kedge_stream){0}, &stage->meter, &error),
        &error, "meter");
    stage->options = (kedge_backend_options){.environment = &stage->environment,
                                             .records = kedge_meter_records(stage->meter),
                                             .blobs = kedge_meter_blobs(stage->meter),
                                             .registry = stage->registry,
                                             .cadence = cadence,
                                             .create_projects = true};
    bench_check(kedge_backend_new(&stage->options, &stage->backend, &error), &error, "backend");
}

void bench_stage_restart(bench_stage *stage)
{
    kedge_error error = {0};
    kedge_backend_free(stage->backend);
    stage->backend = NULL;
    bench_check(kedge_backend_new(&stage->options, &stage->backend, &error), &error, "backend");
}

void bench_stage_close(bench_stage *stage)
{
    kedge_backend_free(stage->backend);
    kedge_registry_free(stage->registry);
    kedge_meter_free(stage->meter);
}

static kedge_cost ask_as(bench_stage *stage, const char *user, const char *method,
                         const char *project, const char *path, kedge_bytes body,
                         kedge_buffer *received)
{
    const kedge_identity identity = {.user = user, .role = "member", .organization = "bench"};
    char whole[512];
    int size = snprintf(whole, sizeof whole, "/v1/orgs/bench/projects/%s%s", project, path);
    const char *mark = strchr(whole, '?');
    size_t path_size = mark != NULL ? (size_t)(mark - whole) : (size_t)size;
    const kedge_api_request request = {.method = kedge_bytes_of(method),
                                       .path = {whole, path_size},
                                       .query = mark != NULL ? kedge_bytes_of(mark + 1)
                                                             : (kedge_bytes){0},
                                       .body = body,
                                       .identity = &identity};
    kedge_api_response response = {.body = kedge_buffer_make(stage->environment.allocator)};
    kedge_backend_handle(stage->backend, &request, &response);
    if (response.status / 100 != 2) {
        fprintf(stderr, "bench: %s %s answered %d: %.*s %s\n", method, whole, response.status,
                (int)response.body.size, response.body.data, response.cause.message);
        exit(2);
    }
    if (received != NULL) {
        kedge_buffer_clear(received);
        kedge_buffer_append_bytes(received, kedge_buffer_bytes(&response.body));
    }
    kedge_buffer_free(&response.body);
    return response.cost;
}

kedge_cost bench_ask(bench_stage *stage, const char *method, const char *project, const char *path,
                     kedge_bytes body, kedge_buffer *received)
{
    return ask_as(stage, "reader", method, project, path, body, received);
}

/* ---- clients ---- */

/* Splitmix64: the same on every machine. */
static uint64_t mixed(uint64_t number)
{
    uint64_t z = number * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void bench_client_make(bench_client *client, uint64_t number)
{
    snprintf(client->id, sizeof client->id, "%016llx%016llx",
             (unsigned long long)mixed(2 * number + 1), (unsigned long long)mixed(2 * number + 2));
    snprintf(client->user, sizeof client->user, "user-%llu", (unsigned long long)number);
    client->next = 1;
}

void bench_push_begin(kedge_buffer *body, const bench_client *client)
{
    kedge_buffer_clear(body);
    kedge_buffer_append_format(body,
                               "{\"pushVersion\":1,\"clientGroupID\":\"%s\","
                               "\"profileID\":\"kedge\",\"schemaVersion\":\"\",\"mutations\":[",
                               client->id);
}

void bench_push_mutation(kedge_buffer *body, bench_client *client, const char *name,
                         const char *args)
{
    bool first = body->data[body->size - 1] == '[';
    uint64_t seed = mixed((uint64_t)client->next) ^
                    mixed((uint64_t)(unsigned char)client->id[0] + ((uint64_t)client->id[5] << 8));
    kedge_buffer_append_format(body,
                               "%s{\"clientID\":\"%s\",\"id\":%lld,\"name\":\"%s\",\"args\":%s,"
                               "\"timestamp\":%lld,\"uid\":\"%016llx%016llx\"}",
                               first ? "" : ",", client->id, (long long)client->next, name, args,
                               1795000000000LL + (long long)client->next * 977,
                               (unsigned long long)mixed(seed),
                               (unsigned long long)mixed(seed + 1));
    client->next++;
}

void bench_push_end(kedge_buffer *body, const bench_client *client)
{
    kedge_buffer_append_format(body, "],\"kedge\":{\"client\":\"%s\"}}", client->id);
}

kedge_cost bench_push(bench_stage *stage, const char *project, const bench_client *client,
                      kedge_bytes body)
{
    return ask_as(stage, client->user, "POST", project, "/push", body, NULL);
}

/* ---- edits ---- */

static const char *const words[] = {"buy",  "milk",  "and",  "bread",  "call", "the",    "school",
                                    "ask",  "about", "rent", "paint",  "fix",  "door",   "today",
                                    "book", "train", "send", "photos", "to",   "martha", "later"};

/* `count` words that differ from edit to edit. */
static void write_words(kedge_buffer *out, uint64_t seed, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t word = mixed(seed * 64 + (uint64_t)i) % (sizeof words / sizeof *words);
        kedge_buffer_append_format(out, "%s%s", i == 0 ? "" : " ", words[word]);
    }
}

void bench_args_write(kedge_buffer *args, uint32_t number, uint64_t edit)
{
    kedge_buffer_clear(args);
    kedge_buffer_append_format(args,
                               "{\"collection\":\"notes\",\"id\":\"note-%06u\",\"value\":"
                               "{\"done\":false,\"rank\":%u,\"text\":\"",
                               number, number);
    write_words(args, edit, 12);
    kedge_buffer_append_format(args, "\",\"title\":\"note number %06u\"}}", number);
    kedge_buffer_append_byte(args, '\0');
}

void bench_args_put(kedge_buffer *args, uint32_t number)
{
    bench_args_write(args, number, 1000000 + number);
}

void bench_args_edit(kedge_buffer *args, uint32_t number, uint64_t edit)
{
    kedge_buffer_clear(args);
    kedge_buffer_append_format(
        args, "{\"collection\":\"notes\",\"id\":\"note-%06u\",\"patch\":{\"text\":\"", number);
    write_words(args, edit, 12);
    kedge_buffer_append_text(args, "\"}}");
    kedge_buffer_append_byte(args, '\0');
}
