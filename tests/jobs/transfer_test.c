/* Export and import: the same project again; no damaged one, and no half of one that goes on. */
#include "tests/jobs/transfer_world.h"

#include "backend/api/api.h"
#include "backend/versioned/projects/fork.h"
#include "tests/support/project.h"

#include <string.h>

static push_builder builder;
static int pushes_before_retention;

/* ---- the same again ---- */

static void test_an_import_is_the_same_project(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    transfer_tell(world, 60);
    transfer_export(world, &notes, &text);
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
    kedge_buffer_free(&text);
}

static void test_so_is_one_of_what_retention_has_left(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    transfer_tell(world, 60);
    transfer_retain(world, 12);
    transfer_export(world, &notes, &text);
    assert_non_null(strstr(text.data, "{\"gone\":[[1,\""));
    assert_non_null(strstr(text.data, "{\"base\":{"));
    assert_non_null(strstr(text.data, "{\"row\":\"Mutation#c1#"));
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
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
    transfer_export(world, &notes, &text);
    transfer_must_import(world, &other, &text);
    assert_int_equal(kedge_version_load(HANDLE(world->backend, &other), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(head->number, 0);
    kedge_version_release(head);
    transfer_tell(world, 40);
    assert_int_equal(kedge_fork_project(NOTES(world), world_head(world),
                                        HANDLE(world->backend, &forked), &fork, NULL),
                     KEDGE_OK);
    transfer_export(world, &forked, &text);
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
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
    transfer_retain(world, 4);
    transfer_export(world, &notes, &text);
    transfer_must_import(world, &copy, &text);
    push_begin(&builder);
    push_add(&builder, "c1", 3, "a", 3);
    push_add(&builder, "c1", 30, "a", 30);
    assert_int_equal(
        kedge_processor_push(HANDLE(world->backend, &copy), &builder.push, &result, NULL),
        KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(result.version, 30);
    push_begin(&builder);
    push_add(&builder, "c1", 31, "a", 31);
    assert_int_equal(
        kedge_processor_push(HANDLE(world->backend, &copy), &builder.push, &result, NULL),
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
    transfer_tell(world, 20);
    transfer_export(world, &notes, &text);
    transfer_must_import(world, &copy, &text);
    push_begin(&builder);
    push_add(&builder, "new", 1, "a", 31);
    assert_int_equal(
        kedge_processor_push(HANDLE(world->backend, &copy), &builder.push, &pushed, NULL),
        KEDGE_OK);
    assert_int_equal(transfer_import(world, &copy, kedge_buffer_bytes(&text), &result, &error),
                     KEDGE_OK);
    assert_false(result.created);
    assert_int_equal(transfer_import(world, &notes, kedge_buffer_bytes(&text), &result, &error),
                     KEDGE_CONFLICT);
    assert_string_equal(error.code, "project-exists");
    transfer_export(world, &notes, &text);
    assert_int_equal(transfer_import(world, &copy, kedge_buffer_bytes(&text), &result, &error),
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
    transfer_tell(world, 20);
    transfer_retain(world, 9);
    transfer_export(world, &notes, &text);
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
            transfer_import(world, &copy, kedge_buffer_bytes(&changed), &result, &error);
        if (status == KEDGE_OK) {
            fail_msg("change %d at %zu was taken", i, at);
        }
        if (status == KEDGE_INVALID_ARGUMENT) refused++;
        assert_int_equal(kedge_version_load(HANDLE(world->backend, &copy), 0, &version, NULL),
                         KEDGE_NOT_FOUND);
        kedge_import_discard(HANDLE(world->backend, &copy), NULL);
    }
    assert_true(refused > 390);
    kedge_import_result result;
    kedge_buffer_clear(&changed);
    kedge_buffer_append(&changed, text.data, text.size);
    kedge_buffer_append_text(&changed, "{\"more\":1}\n");
    assert_int_equal(transfer_import(world, &copy, kedge_buffer_bytes(&changed), &result, NULL),
                     KEDGE_INVALID_ARGUMENT);
    kedge_import_discard(HANDLE(world->backend, &copy), NULL);
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
    kedge_buffer_free(&text);
    kedge_buffer_free(&changed);
}

static void test_an_export_of_a_newer_format_is_told(void **state)
{
    test_world *world = *state;
    kedge_import_result result;
    kedge_error error = {0};
    assert_int_equal(
        transfer_import(world, &copy, KEDGE_BYTES("{\"kedge_export\":2}\n"), &result, &error),
        KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "export-format-newer");
    assert_int_equal(transfer_import(world, &copy, KEDGE_BYTES(""), &result, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(transfer_import(world, &copy, KEDGE_BYTES("{}\n"), &result, &error),
                     KEDGE_INVALID_ARGUMENT);
}

static void check_complaint(test_world *world, kedge_bytes text, const char *message)
{
    kedge_import_result result;
    kedge_error error = {0};
    assert_int_equal(transfer_import(world, &copy, text, &result, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "export-damaged");
    assert_string_equal(error.message, message);
    kedge_import_discard(HANDLE(world->backend, &copy), NULL);
}

static void test_the_line_that_is_damaged_is_named(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    transfer_tell(world, 5);
    transfer_export(world, &notes, &text);
    size_t first = (size_t)(strchr(text.data, '\n') - text.data) + 1;
    check_complaint(world, KEDGE_BYTES(""), "the export has no lines");
    check_complaint(world, KEDGE_BYTES("{}\n"),
                    "line 1 of the export: the first line is not what an export has there");
    check_complaint(world, (kedge_bytes){text.data, first},
                    "the export ends at line 1, before its last one, {\"end\":…}");
    text.data[first] = '!';
    check_complaint(world, kedge_buffer_bytes(&text),
                    "line 2 of the export: a line is not what an export has there");
    kedge_buffer_free(&text);
}

static void test_a_damaged_project_is_not_exported(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    transfer_tell(world, 40);
    world_remove_one_blob(world, "acme/projects/notes/items/");
    assert_int_equal(transfer_try_export(world, &notes, &text, &error), KEDGE_CORRUPT);
    assert_string_equal(error.code, "item-body-missing");
    assert_null(strstr(text.data, "{\"end\""));
    damage_delete(world, "ProjectVersion#pv_000000000003");
    assert_int_equal(transfer_try_export(world, &notes, &text, &error), KEDGE_CORRUPT);
    kedge_buffer_free(&text);
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

/* With pushes in front, so that the newest version which an export began with may be older than the
 * oldest that is kept. */
static void retention_of_another(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    for (int i = 1; i <= pushes_before_retention; i++)
        world_put(world, "later", i, "x", i);
    transfer_retain(world, 2);
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void test_an_export_is_whole_or_fails_whatever_happens_meanwhile(void **state)
{
    (void)state;
    static const struct {
        void (*meddle)(test_world *);
        int pushes;
        bool empty; /* the project at first */
    } cases[] = {{push_of_another, 0, false},
                 {retention_of_another, 0, false},
                 {retention_of_another, 4, false},
                 {retention_of_another, 4, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            void *made = NULL;
            kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
            kedge_error error = {0};
            world_setup_memory(&made);
            test_world *world = made;
            if (!cases[i].empty) transfer_tell(world, 12);
            pushes_before_retention = cases[i].pushes;
            world_restart(world);
            world_arm(world, WORLD_FAULT_NONE, 0, false, false);
            world->meddle = cases[i].meddle;
            world->meddle_at = at;
            kedge_status status = transfer_try_export(world, &notes, &text, &error);
            ended = world->meddle != NULL;
            world_disarm(world);
            if (i == 0) assert_int_equal(status, KEDGE_OK);
            if (status == KEDGE_OK) {
                transfer_must_import(world, &copy, &text);
                transfer_check(world, &text);
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
        OVER_MEMORY(test_the_line_that_is_damaged_is_named),
        OVER_MEMORY(test_an_export_of_a_newer_format_is_told),
        OVER_MEMORY(test_a_damaged_project_is_not_exported),
        cmocka_unit_test(test_an_export_is_whole_or_fails_whatever_happens_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
