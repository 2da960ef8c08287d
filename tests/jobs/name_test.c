/* Forks and imports that want the same name: one of them has it, whole, and the other is told. */
#include "tests/jobs/transfer_world.h"

#include "backend/api/api.h"
#include "backend/versioned/projects/fork.h"
#include "tests/support/project.h"

#include <string.h>

#define TAKEN 4 /* the port call of an import that takes the name */

static const kedge_buffer *exported; /* that is imported as the copy */

static kedge_status fork_copy(test_world *world, bool *created, kedge_error *error)
{
    kedge_fork fork = {.done = false};
    kedge_status status = kedge_fork_project(NOTES(world), world_head(world),
                                             HANDLE(world->backend, &copy), &fork, error);
    *created = status == KEDGE_OK && fork.created;
    return status;
}

static bool is_there(test_world *world)
{
    const kedge_version *version = NULL;
    kedge_status status = kedge_version_load(HANDLE(world->backend, &copy), 0, &version, NULL);
    kedge_version_release(status == KEDGE_OK ? version : NULL);
    return status == KEDGE_OK;
}

static void check_fork(test_world *world)
{
    const kedge_version *first = NULL;
    assert_string_equal(jobs_findings(world, &copy), "");
    assert_int_equal(kedge_version_load(HANDLE(world->backend, &copy), 1, &first, NULL), KEDGE_OK);
    assert_true(first->forked.size > 0);
    assert_int_equal(first->mutation_count, 0);
    kedge_version_release(first);
}

/* ---- one after the other ---- */

static void test_a_name_that_is_imported_under_is_not_free_for_a_fork(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    bool created = false;
    transfer_tell(world, 20);
    transfer_export(world, &notes, &text);
    for (uint64_t at = TAKEN + 1; at < TAKEN + 13; at += 3) {
        transfer_break_off(world, &text, at);
        assert_int_equal(fork_copy(world, &created, &error), KEDGE_CONFLICT);
        assert_string_equal(error.code, "import-under-way");
        assert_false(is_there(world));
    }
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
    assert_int_equal(fork_copy(world, &created, &error), KEDGE_CONFLICT);
    assert_string_equal(error.code, "project-exists");
    kedge_buffer_free(&text);
}

static void test_a_name_that_is_discarded_is_free_for_a_fork(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    bool created = false;
    transfer_tell(world, 20);
    transfer_export(world, &notes, &text);
    transfer_break_off(world, &text, 30);
    assert_int_equal(kedge_import_discard(HANDLE(world->backend, &copy), &error), KEDGE_OK);
    assert_int_equal(fork_copy(world, &created, &error), KEDGE_OK);
    assert_true(created);
    check_fork(world);
    kedge_buffer_free(&text);
}

/* ---- one in the middle of the other ---- */

/* What the one in the middle ended with. */
static struct {
    bool created;
    kedge_status status;
} meanwhile;

static kedge_backend *enter(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = world_new_backend(world);
    return own;
}

static void leave(test_world *world, kedge_backend *own)
{
    kedge_backend_free(world->backend);
    world->backend = own;
}

static void fork_of_another(test_world *world)
{
    kedge_backend *own = enter(world);
    meanwhile.status = fork_copy(world, &meanwhile.created, NULL);
    leave(world, own);
}

static void import_of_another(test_world *world)
{
    kedge_import_result result;
    kedge_backend *own = enter(world);
    meanwhile.status = transfer_import(world, &copy, kedge_buffer_bytes(exported), &result, NULL);
    meanwhile.created = meanwhile.status == KEDGE_OK && result.created;
    leave(world, own);
}

/* An import that takes the name and is broken off: the lines in front of one, and then none. */
static void import_of_another_until(test_world *world, const char *line)
{
    kedge_import_result result;
    kedge_backend *own = enter(world);
    const char *half = strstr(exported->data, line);
    assert_non_null(half);
    kedge_bytes lines = {exported->data, (size_t)(half - exported->data) + 1};
    meanwhile.status = transfer_import(world, &copy, lines, &result, NULL);
    meanwhile.created = false;
    leave(world, own);
}

static void begun_import_of_another(test_world *world)
{
    import_of_another_until(world, "\n");
}

static void half_import_of_another(test_world *world)
{
    import_of_another_until(world, "\n{\"version\":3,");
}

typedef struct race {
    test_world *world;
    kedge_buffer text;
    void *made;
} race;

static test_world *begin_race(race *run, void (*meddle)(test_world *), uint64_t at)
{
    run->text = kedge_buffer_make(&kedge_allocator_default);
    world_setup_memory(&run->made);
    test_world *world = run->made;
    transfer_tell(world, 12);
    transfer_export(world, &notes, &run->text);
    exported = &run->text;
    world_restart(world);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    world->meddle = meddle;
    world->meddle_at = at;
    meanwhile.created = false;
    return world;
}

/* Whether the race went to its end without the one in the middle. */
static bool end_race(race *run)
{
    test_world *world = run->made;
    bool ended = world->meddle != NULL;
    world_disarm(world);
    kedge_buffer_free(&run->text);
    world_teardown(&run->made);
    return ended;
}

static void
test_a_fork_between_any_two_calls_of_an_import_is_not_taken_for_its_versions(void **state)
{
    (void)state;
    bool ended = false;
    int forks = 0;
    for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
        race run = {0};
        kedge_import_result result;
        test_world *world = begin_race(&run, fork_of_another, at);
        kedge_status status =
            transfer_import(world, &copy, kedge_buffer_bytes(&run.text), &result, NULL);
        assert_int_not_equal(status == KEDGE_OK, meanwhile.created);
        if (status == KEDGE_OK) {
            transfer_check(world, &run.text);
        } else {
            check_fork(world);
            forks++;
        }
        ended = end_race(&run);
    }
    assert_true(forks > 0);
}

static void test_an_import_between_any_two_calls_of_a_fork_takes_no_half_of_it(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {import_of_another, begun_import_of_another,
                                       half_import_of_another};
    for (size_t i = 0; i < 3; i++) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            race run = {0};
            bool created = false;
            kedge_error error = {0};
            test_world *world = begin_race(&run, meddles[i], at);
            kedge_status status = fork_copy(world, &created, &error);
            if (status == KEDGE_OK) {
                assert_true(created);
                assert_false(meanwhile.created);
                check_fork(world);
            } else {
                assert_int_equal(status, KEDGE_CONFLICT);
                if (i > 0) assert_false(is_there(world));
                if (i > 0) assert_string_equal(error.code, "import-under-way");
                transfer_must_import(world, &copy, &run.text);
                transfer_check(world, &run.text);
            }
            ended = end_race(&run);
        }
    }
}

#define STEP (WORLD_STRIDE == 1 ? 1 : 4) /* a fork has few port calls */

/* How many port calls of the fork lie between an import and its discard. */
static uint64_t calls_between;

static void discard_of_another(test_world *world)
{
    kedge_backend *own = enter(world);
    meanwhile.status = kedge_import_discard(HANDLE(world->backend, &copy), NULL);
    leave(world, own);
}

static void import_of_another_and_then_discard(test_world *world)
{
    half_import_of_another(world);
    world->meddle = discard_of_another;
    world->meddle_at = atomic_load(&world->calls) + calls_between;
}

/* The bodies that the import brings may be met by the fork, and go with the discard. */
static void test_a_fork_does_not_rely_on_what_is_discarded_while_it_is_made(void **state)
{
    (void)state;
    bool ended = false;
    int64_t discarded = 0;
    for (uint64_t at = 1; !ended; at += STEP) {
        bool both = true;
        for (calls_between = 1; both && !ended; calls_between += STEP) {
            race run = {0};
            bool created = false;
            kedge_error error = {0};
            test_world *world = begin_race(&run, import_of_another_and_then_discard, at);
            kedge_status status = fork_copy(world, &created, &error);
            ended = world->meddle == import_of_another_and_then_discard;
            both = !ended && world->meddle == NULL;
            world_disarm(world);
            if (both && status != KEDGE_OK) discarded++;
            if (status != KEDGE_OK) {
                kedge_import_discard(HANDLE(world->backend, &copy), NULL);
                assert_int_equal(fork_copy(world, &created, &error), KEDGE_OK);
            }
            check_fork(world);
            end_race(&run);
        }
    }
    assert_true(discarded * STEP * STEP > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_name_that_is_imported_under_is_not_free_for_a_fork),
        OVER_BOTH(test_a_name_that_is_discarded_is_free_for_a_fork),
        cmocka_unit_test(
            test_a_fork_between_any_two_calls_of_an_import_is_not_taken_for_its_versions),
        cmocka_unit_test(test_an_import_between_any_two_calls_of_a_fork_takes_no_half_of_it),
        cmocka_unit_test(test_a_fork_does_not_rely_on_what_is_discarded_while_it_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
