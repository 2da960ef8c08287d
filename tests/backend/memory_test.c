/* Every allocation of the processor fails once: nothing leaks, nothing is half-done. */
#include "backend/api/api.h"
#include "backend/memory/memory_ports.h"
#include "tests/backend/world.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>

#define POINTS 300

typedef struct shared {
    kedge_environment environment; /* of the ports, which do not fail */
    kedge_records records;
    kedge_blobs blobs;
    int runs;
} shared;

static push_builder builder;

static void no_pause(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

static void add_all(void)
{
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    push_add_large(&builder, "c1", 2, "b", 2, 10000);
    push_add_call(&builder, "c1", 3, "no.such.mutator", "{}");
    push_add_call(&builder, "c1", 4, "kedge.project", "{\"name\":\"n\"}");
    push_add(&builder, "c2", 1, "a", 3);
    push_set_origin(&builder, "c9", 1);
}

static bool read_state(const kedge_project *project)
{
    const kedge_version *version = NULL;
    kedge_state *state = NULL;
    kedge_changes changes = {0};
    kedge_entry entry;
    bool fine =
        kedge_version_load(project, 0, &version, NULL) == KEDGE_OK &&
        kedge_state_open(project, version, &state, NULL) == KEDGE_OK &&
        kedge_state_find(state, KEDGE_BYTES("items"), KEDGE_BYTES("a"), &entry, NULL) == KEDGE_OK &&
        kedge_state_changes(state, 0, &changes, NULL) == KEDGE_OK;
    kedge_changes_free(&changes);
    kedge_state_close(state);
    kedge_version_release(version);
    return fine;
}

static bool use_backend(const kedge_project *project)
{
    kedge_push_result result = {0};
    const kedge_version *at = NULL;
    bool created = false;
    int64_t created_ms = 0;
    bool fine = kedge_project_create(project, &created, &created_ms, NULL) == KEDGE_OK;
    add_all();
    fine = fine && kedge_processor_push(project, &builder.push, &result, NULL) == KEDGE_OK;
    fine = fine && kedge_processor_index(project, NULL) == KEDGE_OK;
    fine = fine && kedge_processor_retire(project, &ann, KEDGE_BYTES("g1"), KEDGE_BYTES("c2"), &at,
                                          NULL) == KEDGE_OK;
    kedge_version_release(at);
    return fine && read_state(project);
}

static kedge_backend *open_backend(const shared *ports, const kedge_environment *environment,
                                   kedge_registry **registry)
{
    kedge_backend *backend = NULL;
    if (kedge_registry_new(environment->allocator, NULL, 0, registry, NULL) != KEDGE_OK)
        return NULL;
    kedge_backend_options options = {.environment = environment,
                                     .records = ports->records,
                                     .blobs = ports->blobs,
                                     .registry = *registry,
                                     .pause = no_pause};
    if (kedge_backend_new(&options, &backend, NULL) == KEDGE_OK) return backend;
    return NULL;
}

static size_t count_mutations(const kedge_project *project)
{
    const kedge_version *versions[8];
    size_t count = 0;
    size_t mutations = 0;
    assert_int_equal(kedge_version_list(project, 0, 8, KEDGE_VERSION_WHOLE, versions, &count, NULL),
                     KEDGE_OK);
    while (count > 0) {
        mutations += versions[--count]->mutation_count;
        kedge_version_release(versions[count]);
    }
    return mutations;
}

static bool run(const kedge_allocator *allocator, void *context)
{
    shared *ports = context;
    kedge_environment environment = kedge_environment_system(allocator);
    kedge_registry *registry = NULL;
    char name[16];
    snprintf(name, sizeof name, "p%d", ports->runs++);
    kedge_project_ref ref = {KEDGE_BYTES("acme"), kedge_bytes_of(name)};
    kedge_backend *backend = open_backend(ports, &environment, &registry);
    bool fine = backend != NULL && use_backend(HANDLE(backend, &ref));
    kedge_backend_free(backend);
    kedge_registry_free(registry);
    if (fine) return true;
    /* Whatever was reached before memory ran out, the same again ends well and doubles nothing. */
    kedge_environment plenty = kedge_environment_system(NULL);
    backend = open_backend(ports, &plenty, &registry);
    assert_non_null(backend);
    bool created = false;
    int64_t created_ms = 0;
    kedge_push_result result = {0};
    assert_int_equal(kedge_project_create(HANDLE(backend, &ref), &created, &created_ms, NULL),
                     KEDGE_OK);
    add_all();
    assert_int_equal(kedge_processor_push(HANDLE(backend, &ref), &builder.push, &result, NULL),
                     KEDGE_OK);
    assert_int_equal(count_mutations(HANDLE(backend, &ref)), 5);
    kedge_backend_free(backend);
    kedge_registry_free(registry);
    return false;
}

static void test_every_allocation_that_fails_is_survived(void **state)
{
    (void)state;
    shared ports = {.environment = kedge_environment_system(NULL)};
    assert_int_equal(kedge_memory_records_open(&ports.environment, &ports.records, NULL), KEDGE_OK);
    assert_int_equal(kedge_memory_blobs_open(&ports.environment, &ports.blobs, NULL), KEDGE_OK);
    assert_true(failing_allocator_try_every_call(run, &ports, POINTS) > 100);
    ports.records.vtable->close(ports.records.self);
    ports.blobs.vtable->close(ports.blobs.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_that_fails_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
