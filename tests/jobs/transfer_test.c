/* Export and import: the same project again, whatever fails on the way; no half of one is seen. */
#include "tests/jobs/jobs_world.h"

#include "backend/core/fork.h"
#include "backend/core/layout.h"
#include "backend/jobs/export.h"
#include "backend/jobs/import.h"
#include "backend/jobs/retention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};

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

static void export_of(test_world *world, const kedge_project_ref *ref, kedge_buffer *text)
{
    kedge_lines lines = {keep_line, text};
    kedge_export_result result;
    kedge_error error = {0};
    kedge_buffer_clear(text);
    if (kedge_export_project(world->backend, ref, &lines, &result, &error) != KEDGE_OK) {
        fail_msg("export: %s: %s", error.code, error.message);
    }
}

static kedge_status import_as(test_world *world, const kedge_project_ref *ref, kedge_bytes text,
                              kedge_import_result *result, kedge_error *error)
{
    reading from = {text};
    kedge_line_source source = {next_line, &from};
    return kedge_import_project(world->backend, ref, &source, result, error);
}

static void must_import(test_world *world, const kedge_project_ref *ref, const kedge_buffer *text)
{
    kedge_import_result result;
    kedge_error error = {0};
    if (import_as(world, ref, kedge_buffer_bytes(text), &result, &error) != KEDGE_OK) {
        fail_msg("import: %s: %s", error.code, error.message);
    }
}

/* ---- stories ---- */

static void retain(test_world *world, int64_t versions)
{
    kept_lines kept;
    kedge_retention_rule rule = {.versions = versions};
    kedge_retention_result result;
    lines_begin(&kept);
    assert_int_equal(
        kedge_retention_run(world->backend, &notes, &rule, true, &kept.lines, &result, NULL),
        KEDGE_OK);
    lines_end(&kept);
}

/* Everything that a project can have. */
static void tell_all(test_world *world, int mutations)
{
    jobs_story story;
    kedge_push_result result = {0};
    const kedge_version *at = NULL;
    story_begin(&story, 5);
    story_tell(&story, world, mutations);
    assert_int_equal(kedge_processor_retire(world->backend, &notes, &ann, KEDGE_BYTES("g1"),
                                            KEDGE_BYTES("c0"), &at, NULL),
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

static void check_same(test_world *world, const kedge_buffer *text)
{
    kedge_buffer again = kedge_buffer_make(&kedge_allocator_default);
    assert_string_equal(jobs_findings(world, &copy), "");
    export_of(world, &copy, &again);
    compare_lines(text, &again);
    kedge_buffer_free(&again);
}

/* ---- the same again ---- */

static void test_an_import_is_the_same_project(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    tell_all(world, 60);
    export_of(world, &notes, &text);
    must_import(world, &copy, &text);
    check_same(world, &text);
    kedge_buffer_free(&text);
}

static void test_so_is_one_of_what_retention_has_left(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    tell_all(world, 60);
    retain(world, 12);
    export_of(world, &notes, &text);
    assert_non_null(strstr(text.data, "{\"gone\":[[1,\""));
    assert_non_null(strstr(text.data, "{\"base\":{"));
    assert_non_null(strstr(text.data, "{\"row\":\"Mutation#c1#"));
    must_import(world, &copy, &text);
    check_same(world, &text);
    kedge_buffer_free(&text);
}

static void test_a_fork_and_an_empty_project_are_exported_too(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_project_ref forked = {KEDGE_BYTES("acme"), KEDGE_BYTES("forked")};
    kedge_project_ref other = {KEDGE_BYTES("other"), KEDGE_BYTES("empty")};
    kedge_fork fork = {.done = false};
    const kedge_version *head = NULL;
    export_of(world, &notes, &text);
    must_import(world, &other, &text);
    assert_int_equal(kedge_version_load(world->backend, &other, 0, &head, NULL), KEDGE_OK);
    assert_int_equal(head->number, 0);
    kedge_version_release(head);
    tell_all(world, 40);
    assert_int_equal(
        kedge_fork_project(world->backend, &notes, world_head(world), &forked, &fork, NULL),
        KEDGE_OK);
    export_of(world, &forked, &text);
    must_import(world, &copy, &text);
    check_same(world, &text);
    kedge_buffer_free(&text);
}

/* A client of the exported project goes on with the imported one. */
static void test_pushes_go_on_where_they_were(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_push_result result = {0};
    for (int i = 1; i <= 30; i++)
        world_put(world, "c1", i, "a", i);
    retain(world, 4);
    export_of(world, &notes, &text);
    must_import(world, &copy, &text);
    push_begin(&builder);
    push_add(&builder, "c1", 3, "a", 3);
    push_add(&builder, "c1", 30, "a", 30);
    assert_int_equal(kedge_processor_push(world->backend, &copy, &builder.push, &result, NULL),
                     KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(result.version, 30);
    push_begin(&builder);
    push_add(&builder, "c1", 31, "a", 31);
    assert_int_equal(kedge_processor_push(world->backend, &copy, &builder.push, &result, NULL),
                     KEDGE_OK);
    assert_int_equal(result.version, 31);
    assert_string_equal(jobs_findings(world, &copy), "");
    assert_int_equal(world_head(world), 30);
    kedge_buffer_free(&text);
}

static void test_an_import_that_is_there_is_not_made_again(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_import_result result;
    kedge_error error = {0};
    kedge_push_result pushed = {0};
    tell_all(world, 20);
    export_of(world, &notes, &text);
    must_import(world, &copy, &text);
    push_begin(&builder);
    push_add(&builder, "new", 1, "a", 31);
    assert_int_equal(kedge_processor_push(world->backend, &copy, &builder.push, &pushed, NULL),
                     KEDGE_OK);
    assert_int_equal(import_as(world, &copy, kedge_buffer_bytes(&text), &result, &error), KEDGE_OK);
    assert_false(result.created);
    assert_int_equal(import_as(world, &notes, kedge_buffer_bytes(&text), &result, &error),
                     KEDGE_CONFLICT);
    assert_string_equal(error.code, "project-exists");
    export_of(world, &notes, &text);
    assert_int_equal(import_as(world, &copy, kedge_buffer_bytes(&text), &result, &error),
                     KEDGE_CONFLICT);
    assert_string_equal(error.code, "project-exists");
    kedge_buffer_free(&text);
}

/* ---- damage ---- */

/* Each line left out, cut off, doubled, or with one byte changed. */
static void test_a_damaged_export_becomes_no_project(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer changed = kedge_buffer_make(&kedge_allocator_default);
    tell_all(world, 20);
    retain(world, 9);
    export_of(world, &notes, &text);
    uint64_t seed = 9;
    int refused = 0;
    for (int i = 0; i < 400; i++) {
        kedge_import_result result;
        kedge_error error = {0};
        const kedge_version *version = NULL;
        size_t at = world_random(&seed) % (text.size - 2);
        kedge_buffer_clear(&changed);
        kedge_buffer_append(&changed, text.data, text.size);
        const char *line = memchr(text.data + at, '\n', text.size - at);
        switch (i % 4) {
        case 0:
            changed.data[at] ^= (char)(1 << (world_random(&seed) % 7));
            break;
        case 1:
            kedge_buffer_truncate(&changed, at);
            break;
        case 2: /* from somewhere to the end of the line is missing */
            kedge_buffer_truncate(&changed, at);
            kedge_buffer_append_text(&changed, line);
            break;
        default: /* a piece of it comes twice */
            kedge_buffer_truncate(&changed, (size_t)(line - text.data) + 1);
            kedge_buffer_append_text(&changed, text.data + at);
            break;
        }
        kedge_status status =
            import_as(world, &copy, kedge_buffer_bytes(&changed), &result, &error);
        if (status == KEDGE_OK) {
            fail_msg("change %d at %zu was taken", i, at);
        }
        if (status == KEDGE_INVALID_ARGUMENT) refused++;
        assert_int_equal(kedge_version_load(world->backend, &copy, 0, &version, NULL),
                         KEDGE_NOT_FOUND);
        kedge_import_discard(world->backend, &copy, NULL);
    }
    assert_true(refused > 390);
    must_import(world, &copy, &text);
    check_same(world, &text);
    kedge_buffer_free(&text);
    kedge_buffer_free(&changed);
}

static void test_an_export_of_a_newer_format_is_told(void **state)
{
    test_world *world = *state;
    kedge_import_result result;
    kedge_error error = {0};
    assert_int_equal(
        import_as(world, &copy, KEDGE_BYTES("{\"kedge_export\":2}\n"), &result, &error),
        KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "export-format-newer");
    assert_int_equal(import_as(world, &copy, KEDGE_BYTES(""), &result, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(import_as(world, &copy, KEDGE_BYTES("{}\n"), &result, &error),
                     KEDGE_INVALID_ARGUMENT);
}

static void test_a_damaged_project_is_not_exported(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_lines lines = {keep_line, &text};
    kedge_export_result result;
    kedge_error error = {0};
    tell_all(world, 40);
    world_remove_one_blob(world, "acme/projects/notes/items/");
    assert_int_equal(kedge_export_project(world->backend, &notes, &lines, &result, &error),
                     KEDGE_CORRUPT);
    assert_string_equal(error.code, "item-body-missing");
    assert_null(strstr(text.data, "{\"end\""));
    damage_delete(world, "ProjectVersion#pv_000000000003");
    assert_int_equal(kedge_export_project(world->backend, &notes, &lines, &result, &error),
                     KEDGE_CORRUPT);
    kedge_buffer_free(&text);
}

/* ---- what is seen of an import under way ---- */

static void check_hidden(test_world *world)
{
    const kedge_version *version = NULL;
    kedge_push_result result = {0};
    kedge_error error = {0};
    assert_int_equal(kedge_version_load(world->backend, &copy, 0, &version, &error),
                     KEDGE_NOT_FOUND);
    assert_string_equal(error.code, "project-not-found");
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    assert_int_equal(kedge_processor_push(world->backend, &copy, &builder.push, &result, NULL),
                     KEDGE_NOT_FOUND);
}

static void break_off(test_world *world, const kedge_buffer *text, uint64_t at)
{
    kedge_import_result result;
    world_arm(world, WORLD_FAULT_BEFORE, at, true, false);
    assert_int_not_equal(import_as(world, &copy, kedge_buffer_bytes(text), &result, NULL),
                         KEDGE_OK);
    world_disarm(world);
    world_restart(world);
}

static void test_an_import_under_way_is_no_project(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer other = kedge_buffer_make(&kedge_allocator_default);
    kedge_import_result result;
    kedge_error error = {0};
    bool created = false;
    int64_t created_ms = 0;
    tell_all(world, 30);
    export_of(world, &notes, &text);
    export_of(world, &notes, &other);
    break_off(world, &text, 40);
    check_hidden(world);
    assert_int_equal(import_as(world, &copy, kedge_buffer_bytes(&other), &result, &error),
                     KEDGE_CONFLICT);
    assert_string_equal(error.code, "import-under-way");
    /* As open mode does at the first use of a name. */
    assert_int_equal(kedge_project_create(world->backend, &copy, &created, &created_ms, NULL),
                     KEDGE_OK);
    check_hidden(world);
    must_import(world, &copy, &text);
    check_same(world, &text);
    kedge_buffer_free(&text);
    kedge_buffer_free(&other);
}

static size_t count_blobs(test_world *world)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    kedge_bytes none = {NULL, 0};
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/projects/copy/"), none,
                                         1000, &list, NULL),
                     KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}

static void test_an_import_is_discarded_whole(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer other = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    tell_all(world, 30);
    export_of(world, &notes, &text);
    export_of(world, &notes, &other);
    assert_int_equal(kedge_import_discard(world->backend, &copy, &error), KEDGE_NOT_FOUND);
    for (uint64_t at = 1; at <= 12; at++) {
        break_off(world, &text, 36);
        assert_true(count_blobs(world) > 0);
        world_arm(world, WORLD_FAULT_AFTER, at, true, false);
        kedge_import_discard(world->backend, &copy, NULL);
        world_disarm(world);
        kedge_import_discard(world->backend, &copy, NULL);
        assert_int_equal(count_blobs(world), 0);
        assert_int_equal(kedge_import_discard(world->backend, &copy, &error), KEDGE_NOT_FOUND);
        assert_string_equal(error.code, "no-import");
    }
    must_import(world, &copy, &other);
    check_same(world, &other);
    assert_int_equal(kedge_import_discard(world->backend, &copy, &error), KEDGE_NOT_FOUND);
    kedge_buffer_free(&text);
    kedge_buffer_free(&other);
}

/* ---- crashes and races ---- */

static void crash_at(int (*setup)(void **), bool retained, world_fault fault, uint64_t at,
                     bool *ended)
{
    void *made = NULL;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_import_result result;
    const kedge_version *version = NULL;
    setup(&made);
    test_world *world = made;
    tell_all(world, 16);
    if (retained) retain(world, 5);
    export_of(world, &notes, &text);
    world_arm(world, fault, at, true, false);
    import_as(world, &copy, kedge_buffer_bytes(&text), &result, NULL);
    *ended = world->faults == 0;
    world_disarm(world);
    world_restart(world);
    kedge_status found = kedge_version_load(world->backend, &copy, 0, &version, NULL);
    if (found == KEDGE_OK) {
        kedge_version_release(version);
        check_same(world, &text);
    } else {
        assert_int_equal(found, KEDGE_NOT_FOUND);
    }
    must_import(world, &copy, &text);
    check_same(world, &text);
    kedge_buffer_free(&text);
    world_teardown(&made);
}

static void test_an_import_broken_off_at_any_port_call_goes_on(void **state)
{
    (void)state;
    int (*setups[])(void **) = {world_setup_memory, world_setup_seed};
    for (size_t i = 0; i < 4; i++) {
        for (int fault = WORLD_FAULT_BEFORE; fault <= WORLD_FAULT_AFTER; fault++) {
            bool ended = false;
            uint64_t at = 1;
            for (; !ended; at += WORLD_STRIDE)
                crash_at(setups[i % 2], i >= 2, (world_fault)fault, at, &ended);
            assert_true(at > 30);
        }
    }
}

static const kedge_buffer *imported_text;

static void import_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    must_import(world, &copy, imported_text);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void discard_of_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    kedge_import_discard(other, &copy, NULL);
    kedge_backend_free(other);
}

static void test_somebody_else_between_any_two_calls_makes_no_half_project(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {import_of_another, discard_of_another};
    for (size_t i = 0; i < 2; i++) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            void *made = NULL;
            kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
            kedge_import_result result;
            const kedge_version *version = NULL;
            world_setup_memory(&made);
            test_world *world = made;
            tell_all(world, 12);
            retain(world, 5);
            export_of(world, &notes, &text);
            imported_text = &text;
            world_arm(world, WORLD_FAULT_NONE, 0, false, false);
            world->meddle = meddles[i];
            world->meddle_at = at;
            kedge_status status = import_as(world, &copy, kedge_buffer_bytes(&text), &result, NULL);
            ended = world->meddle != NULL;
            world_disarm(world);
            world_restart(world);
            kedge_status found = kedge_version_load(world->backend, &copy, 0, &version, NULL);
            kedge_version_release(found == KEDGE_OK ? version : NULL);
            if (status == KEDGE_OK) assert_int_equal(found, KEDGE_OK);
            if (found == KEDGE_OK) check_same(world, &text);
            must_import(world, &copy, &text);
            check_same(world, &text);
            kedge_buffer_free(&text);
            world_teardown(&made);
        }
    }
}

static void push_of_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_large(&builder, "other", 1, "x", 1, 9000);
    assert_int_equal(push_send(&builder, other, &ann, &result), KEDGE_OK);
    kedge_backend_free(other);
}

static void retention_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    retain(world, 2);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void test_an_export_is_whole_or_fails_whatever_happens_meanwhile(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {push_of_another, retention_of_another};
    for (size_t i = 0; i < 2; i++) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            void *made = NULL;
            kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
            kedge_lines lines = {keep_line, &text};
            kedge_export_result result;
            kedge_error error = {0};
            world_setup_memory(&made);
            test_world *world = made;
            tell_all(world, 12);
            world_restart(world);
            world_arm(world, WORLD_FAULT_NONE, 0, false, false);
            world->meddle = meddles[i];
            world->meddle_at = at;
            kedge_status status =
                kedge_export_project(world->backend, &notes, &lines, &result, &error);
            ended = world->meddle != NULL;
            world_disarm(world);
            if (i == 0) assert_int_equal(status, KEDGE_OK);
            if (status == KEDGE_OK) {
                must_import(world, &copy, &text);
                check_same(world, &text);
            } else {
                assert_int_equal(status, KEDGE_UNAVAILABLE);
            }
            kedge_buffer_free(&text);
            world_teardown(&made);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_an_import_is_the_same_project),
        OVER_ALL(test_so_is_one_of_what_retention_has_left),
        OVER_BOTH(test_a_fork_and_an_empty_project_are_exported_too),
        OVER_ALL(test_pushes_go_on_where_they_were),
        OVER_BOTH(test_an_import_that_is_there_is_not_made_again),
        OVER_MEMORY(test_a_damaged_export_becomes_no_project),
        OVER_MEMORY(test_an_export_of_a_newer_format_is_told),
        OVER_MEMORY(test_a_damaged_project_is_not_exported),
        OVER_BOTH(test_an_import_under_way_is_no_project),
        OVER_MEMORY(test_an_import_is_discarded_whole),
        cmocka_unit_test(test_an_import_broken_off_at_any_port_call_goes_on),
        cmocka_unit_test(test_somebody_else_between_any_two_calls_makes_no_half_project),
        cmocka_unit_test(test_an_export_is_whole_or_fails_whatever_happens_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
