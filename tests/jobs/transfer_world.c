/* Exports in memory, and what they are compared with. */
#include "tests/jobs/transfer_world.h"

#include "backend/jobs/export.h"
#include "backend/jobs/retention.h"
#include "tests/support/project.h"

#include <string.h>

const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};

static push_builder builder;

/* ---- lines in memory ---- */

static kedge_status keep_line(void *context, kedge_bytes line, kedge_error *error)
{
    kedge_buffer *text = context;
    kedge_buffer_append_bytes(text, line);
    kedge_buffer_append_byte(text, '\n');
    return kedge_buffer_status(text, error);
}

typedef struct reading {
    kedge_bytes rest;
} reading;

static kedge_status next_line(void *context, kedge_buffer *line, bool *end, kedge_error *error)
{
    reading *from = context;
    *end = from->rest.size == 0;
    if (*end) return KEDGE_OK;
    const char *stop = memchr(from->rest.data, '\n', from->rest.size);
    size_t size = stop == NULL ? from->rest.size : (size_t)(stop - from->rest.data);
    kedge_buffer_append(line, from->rest.data, size);
    size_t taken = stop == NULL ? size : size + 1;
    from->rest.data += taken;
    from->rest.size -= taken;
    return kedge_buffer_status(line, error);
}

kedge_status transfer_try_export(test_world *world, const kedge_project_ref *ref,
                                 kedge_buffer *text, kedge_error *error)
{
    kedge_lines lines = {keep_line, text};
    kedge_export_result result;
    kedge_buffer_clear(text);
    return kedge_export_project(HANDLE(world->backend, ref), &lines, &result, error);
}

void transfer_export(test_world *world, const kedge_project_ref *ref, kedge_buffer *text)
{
    kedge_error error = {0};
    if (transfer_try_export(world, ref, text, &error) != KEDGE_OK) {
        fail_msg("export: %s: %s", error.code, error.message);
    }
}

kedge_status transfer_import_by(const kedge_project *project, kedge_bytes text,
                                kedge_import_result *result, kedge_error *error)
{
    reading from = {text};
    kedge_line_source source = {next_line, &from};
    return kedge_import_project(project, &source, result, error);
}

kedge_status transfer_import(test_world *world, const kedge_project_ref *ref, kedge_bytes text,
                             kedge_import_result *result, kedge_error *error)
{
    return transfer_import_by(HANDLE(world->backend, ref), text, result, error);
}

void transfer_must_import(test_world *world, const kedge_project_ref *ref, const kedge_buffer *text)
{
    kedge_import_result result;
    kedge_error error = {0};
    if (transfer_import(world, ref, kedge_buffer_bytes(text), &result, &error) != KEDGE_OK) {
        fail_msg("import: %s: %s", error.code, error.message);
    }
}

void transfer_break_off(test_world *world, const kedge_buffer *text, uint64_t at)
{
    kedge_import_result result;
    world_arm(world, WORLD_FAULT_BEFORE, at, true, false);
    assert_int_not_equal(transfer_import(world, &copy, kedge_buffer_bytes(text), &result, NULL),
                         KEDGE_OK);
    world_disarm(world);
    world_restart(world);
}

/* ---- stories ---- */

void transfer_retain_project(test_world *world, const kedge_project_ref *ref, int64_t versions)
{
    kept_lines kept;
    kedge_retention_rule rule = {.versions = versions};
    kedge_retention_result result;
    lines_begin(&kept);
    assert_int_equal(
        kedge_retention_run(HANDLE(world->backend, ref), &rule, true, &kept.lines, &result, NULL),
        KEDGE_OK);
    lines_end(&kept);
}

void transfer_retain(test_world *world, int64_t versions)
{
    transfer_retain_project(world, &notes, versions);
}

/* Everything that a project can have. */
void transfer_tell(test_world *world, int mutations)
{
    jobs_story story;
    kedge_push_result result = {0};
    const kedge_version *at = NULL;
    story_begin(&story, 5);
    story_tell(&story, world, mutations);
    assert_int_equal(
        kedge_processor_retire(NOTES(world), &ann, KEDGE_BYTES("g1"), KEDGE_BYTES("c0"), &at, NULL),
        KEDGE_OK);
    kedge_version_release(at);
    push_begin(&builder);
    push_add(&builder, "c9", 1, "a \\\" \\n/\xc3\xa4", 1);
    push_set_origin(&builder, "c0", 100);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
}

static void compare_lines(const kedge_buffer *a, const kedge_buffer *b)
{
    /* But for the first one, which has a random id and the name. */
    const char *left = strchr(a->data, '\n');
    const char *right = strchr(b->data, '\n');
    const char *left_end = strstr(left, "\n{\"end\"");
    const char *right_end = strstr(right, "\n{\"end\"");
    assert_int_equal(left_end - left, right_end - right);
    assert_memory_equal(left, right, (size_t)(left_end - left));
}

void transfer_check(test_world *world, const kedge_buffer *text)
{
    kedge_buffer again = kedge_buffer_make(&kedge_allocator_default);
    assert_string_equal(jobs_findings(world, &copy), "");
    transfer_export(world, &copy, &again);
    compare_lines(text, &again);
    kedge_buffer_free(&again);
}
