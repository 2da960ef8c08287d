/* A project of items of about 150 bytes, pulled into a store. */
#include "bench/project.h"

#include "bench/bench.h"

#include <stdio.h>

#define LINEAGE "0123456789abcdef0123456789abcdef"

static kedge_environment environment;

kedge_store *bench_open_store(const char *folder, kedge_registry **registry)
{
    environment = kedge_environment_system(NULL);
    kedge_error error = {0};
    bench_check(kedge_registry_new(environment.allocator, NULL, 0, registry, &error), &error,
                "registry");
    kedge_store_options options = {.environment = &environment,
                                   .path = folder,
                                   .organization = "bench",
                                   .project = "pulls",
                                   .user = "",
                                   .role = "",
                                   .registry = *registry};
    kedge_store *store = NULL;
    bench_check(kedge_store_open(&options, &store, &error), &error, "store");
    return store;
}

void bench_write_value(kedge_buffer *out, int number, int version)
{
    kedge_buffer_append_format(
        out,
        "{\"done\":false,\"rank\":%d,\"text\":\"buy milk and bread, and do not forget the coffee "
        "this "
        "time, please; it is important\",\"title\":\"item %06d\",\"version\":%d}",
        number, number, version);
}

void bench_write_response(kedge_buffer *out, int version, int first, int count, int step)
{
    kedge_buffer_clear(out);
    kedge_buffer_append_format(out,
                               "{\"cookie\":{\"lineage\":\"" LINEAGE "\",\"order\":%d},"
                               "\"lastMutationIDChanges\":{},\"patch\":[",
                               version);
    if (version == 1) kedge_buffer_append_text(out, "{\"op\":\"clear\"}");
    for (int i = 0; i < count; i++) {
        int number = first + i * step;
        kedge_buffer_append_format(out, "%s{\"op\":\"put\",\"key\":\"notes/%06d\",\"value\":",
                                   i || version == 1 ? "," : "", number);
        bench_write_value(out, number, version);
        kedge_buffer_append_byte(out, '}');
    }
    kedge_buffer_append_format(out,
                               "],\"kedge\":{\"from\":%d,\"version\":%d,\"lineage\":\"" LINEAGE
                               "\",\"lmid\":0,\"retired\":false,\"known\":false,\"outcomes\":[],"
                               "\"outcomes_next\":null,\"snapshot\":null,\"lost\":false}}",
                               version - 1, version);
}

double bench_apply(kedge_store *store, kedge_bytes body)
{
    kedge_error error = {0};
    kedge_wire_pull_response response = {0};
    kedge_apply_result result = KEDGE_APPLY_STALE;
    kedge_change_set changes = kedge_change_set_make(environment.allocator);
    double start = bench_now_ms();
    bench_check(kedge_wire_pull_response_read(environment.allocator, body, &response, &error),
                &error, "decode");
    bench_check(kedge_store_apply(store, &response, &result, &changes, &error), &error, "apply");
    double took = bench_now_ms() - start;
    kedge_wire_pull_response_free(&response);
    kedge_change_set_free(&changes);
    snprintf(error.message, sizeof error.message, "the store answered %d", (int)result);
    bench_check(result == KEDGE_APPLY_DONE ? KEDGE_OK : KEDGE_INTERNAL, &error, "apply");
    return took;
}
