/* Every allocation of the jobs fails once: nothing leaks, nothing is half-done, and the same again
 * ends well. */
#include "backend/api/api.h"
#include "backend/memory/memory_ports.h"
#include "tests/jobs/jobs_world.h"

#include "backend/jobs/checkpoint.h"
#include "backend/jobs/export.h"
#include "backend/jobs/gc.h"
#include "backend/jobs/import.h"
#include "backend/jobs/retention.h"
#include "backend/versioned/projects/fork.h"
#include "backend/versioned/projects/rebase.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS 200

static push_builder builder;

/* The ports and the project are made with memory that does not fail. */
typedef struct sandbox {
    kedge_environment environment;
    kedge_records records;
    kedge_blobs blobs;
    kedge_buffer exported;
} sandbox;

static const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};
static const kedge_project_ref import = {{"acme", 4}, {"import", 6}};

static void no_pause(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

static kedge_backend *open_backend(const sandbox *box, const kedge_environment *environment,
                                   kedge_registry **registry)
{
    kedge_backend *backend = NULL;
    if (kedge_registry_new(environment->allocator, NULL, 0, registry, NULL) != KEDGE_OK)
        return NULL;
    kedge_backend_options options = {.environment = environment,
                                     .records = box->records,
                                     .blobs = box->blobs,
                                     .registry = *registry,
                                     .pause = no_pause};
    if (kedge_backend_new(&options, &backend, NULL) == KEDGE_OK) return backend;
    return NULL;
}

static void fill(kedge_backend *backend)
{
    bool created = false;
    int64_t created_ms = 0;
    assert_int_equal(kedge_project_create(HANDLE(backend, &notes), &created, &created_ms, NULL),
                     KEDGE_OK);
    for (int i = 1; i <= 5; i++) {
        kedge_push_result result = {0};
        push_begin(&builder);
        push_add_large(&builder, "c1", 2 * i - 1, "a", i, 9000);
        push_add(&builder, "c1", 2 * i, "b", i);
        assert_int_equal(push_send(&builder, backend, &ann, &result), KEDGE_OK);
    }
}

/* ---- the jobs, one after the other ---- */

static kedge_status drop_line(void *context, kedge_bytes line, kedge_error *error)
{
    (void)context, (void)line, (void)error;
    return KEDGE_OK;
}

static kedge_status keep_line(void *context, kedge_bytes line, kedge_error *error)
{
    kedge_buffer *text = context;
    kedge_buffer_append_bytes(text, line);
    kedge_buffer_append_byte(text, '\n');
    return kedge_buffer_status(text, error);
}

static kedge_status next_line(void *context, kedge_buffer *line, bool *end, kedge_error *error)
{
    const char **at = context;
    *end = **at == '\0';
    if (*end) return KEDGE_OK;
    size_t size = strcspn(*at, "\n");
    kedge_buffer_append(line, *at, size);
    *at += size + 1;
    return kedge_buffer_status(line, error);
}

static kedge_status drop_outcome(void *context, const kedge_rebase_outcome *outcome,
                                 kedge_error *error)
{
    (void)context, (void)outcome, (void)error;
    return KEDGE_OK;
}

static bool fork_and_rebase(kedge_backend *backend)
{
    kedge_fork fork = {.done = false};
    kedge_project from = kedge_project_of(backend, &notes);
    kedge_project to = kedge_project_of(backend, &copy);
    kedge_rebase_job rebase = {.from = &from,
                               .from_version = 4,
                               .to_version = 5,
                               .to = &to,
                               .job = KEDGE_BYTES("j"),
                               .role = "admin"};
    kedge_rebase_place next;
    int64_t version = 0;
    return kedge_fork_project(HANDLE(backend, &notes), 3, HANDLE(backend, &copy), &fork, NULL) ==
               KEDGE_OK &&
           fork.done &&
           kedge_rebase_run(&rebase, drop_outcome, NULL, &next, &version, NULL) == KEDGE_OK;
}

static bool transfer(sandbox *box, kedge_backend *backend)
{
    kedge_export_result exported;
    kedge_import_result imported;
    kedge_lines lines = {keep_line, &box->exported};
    if (box->exported.size == 0 &&
        kedge_export_project(HANDLE(backend, &notes), &lines, &exported, NULL) != KEDGE_OK) {
        kedge_buffer_clear(&box->exported);
        return false;
    }
    const char *at = box->exported.data;
    kedge_line_source source = {next_line, &at};
    return kedge_import_project(HANDLE(backend, &import), &source, &imported, NULL) == KEDGE_OK;
}

static bool look_after(const kedge_project *project)
{
    kedge_lines lines = {drop_line, NULL};
    kedge_verify_summary verified;
    kedge_retention_rule rule = {.versions = 1};
    kedge_retention_result retained;
    kedge_gc_options options = {.remove = true, .grace_ms = 1};
    kedge_gc_result collected;
    bool sound = kedge_verify_project(project, &lines, &verified, NULL) == KEDGE_OK;
    if (sound) assert_int_equal(verified.findings, 0);
    return sound && kedge_checkpoint_project(project, &lines, NULL) == KEDGE_OK &&
           kedge_retention_run(project, &rule, true, &lines, &retained, NULL) == KEDGE_OK &&
           kedge_gc_run(project, &options, &lines, &collected, NULL) == KEDGE_OK;
}

static bool run_jobs(sandbox *box, kedge_backend *backend)
{
    return fork_and_rebase(backend) && transfer(box, backend) &&
           look_after(HANDLE(backend, &copy)) && look_after(HANDLE(backend, &import));
}

/* ---- every allocation ---- */

static bool run(const kedge_allocator *allocator, void *context)
{
    (void)context;
    sandbox box = {.environment = kedge_environment_system(NULL),
                   .exported = kedge_buffer_make(&kedge_allocator_default)};
    kedge_environment scarce = kedge_environment_system(allocator);
    kedge_registry *registry = NULL;
    assert_int_equal(kedge_memory_records_open(&box.environment, &box.records, NULL), KEDGE_OK);
    assert_int_equal(kedge_memory_blobs_open(&box.environment, &box.blobs, NULL), KEDGE_OK);
    kedge_backend *backend = open_backend(&box, &box.environment, &registry);
    fill(backend);
    kedge_backend_free(backend);
    kedge_registry_free(registry);
    registry = NULL;
    backend = open_backend(&box, &scarce, &registry);
    bool fine = backend != NULL && run_jobs(&box, backend);
    kedge_backend_free(backend);
    kedge_registry_free(registry);
    if (!fine) {
        backend = open_backend(&box, &box.environment, &registry);
        assert_true(run_jobs(&box, backend));
        kedge_backend_free(backend);
        kedge_registry_free(registry);
    }
    kedge_buffer_free(&box.exported);
    box.records.vtable->close(box.records.self);
    box.blobs.vtable->close(box.blobs.self);
    return fine;
}

static void test_every_allocation_that_fails_is_survived(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(run, NULL, POINTS) > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_that_fails_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
