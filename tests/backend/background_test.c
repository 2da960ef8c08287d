/* Work that no response waits for: when it fails, the response is as without it, nothing is lost,
 * and the failure is told. */
#include "tests/backend/world.h"

#include "backend/versioned/projects/fork.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

#define ITEMS 3000 /* of 150 bytes: a checkpoint is due */

static const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};
static push_builder builder;

/* What the option `failed` was told. */
static size_t failures[KEDGE_BACKGROUND_WORKS];
static char project[64];
static kedge_error reason;

static void note_failure(void *context, const kedge_background_failure *failure)
{
    (void)context;
    failures[failure->work]++;
    snprintf(project, sizeof project, "%.*s", (int)failure->project.size, failure->project.data);
    reason = *failure->error;
}

static void listen(test_world *world, kedge_backend_options *options)
{
    (void)world;
    options->failed = note_failure;
}

static size_t all_failures(void)
{
    size_t all = 0;
    for (size_t i = 0; i < KEDGE_BACKGROUND_WORKS; i++)
        all += failures[i];
    return all;
}

static test_world *begin(void **state)
{
    test_world *world = *state;
    memset(failures, 0, sizeof failures);
    project[0] = '\0';
    world->tune = listen;
    world_restart(world);
    return world;
}

/* ---- after a commit ---- */

static void test_a_push_is_answered_when_its_index_rows_fail_and_the_failure_is_told(void **state)
{
    test_world *world = begin(state);
    int64_t id = 0;
    /* The first write of a push is its commit: those after it are the rows, once they are due. */
    while (all_failures() == 0) {
        world_arm(world, WORLD_FAULT_BEFORE, 2, true, true);
        id++;
        assert_int_equal(world_put(world, "c1", id, "a", (int)id), id);
        world_disarm(world);
        assert_true(id < 100);
    }
    assert_int_equal(failures[KEDGE_BACKGROUND_INDEX_ROWS], 1);
    assert_int_equal(all_failures(), 1);
    assert_string_equal(project, "notes");
    assert_int_equal(reason.status, KEDGE_UNAVAILABLE);
    assert_int_equal(world_put(world, "c1", id + 1, "a", 7), id + 1);
    assert_int_equal(all_failures(), 1);
    world_check(world);
}

static void fill(test_world *world)
{
    char args[64];
    kedge_push_result result = {0};
    snprintf(args, sizeof args, "{\"from\":0,\"count\":%d}", ITEMS);
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "test.fill", args);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(result.version, 1);
}

static void test_a_push_is_answered_when_its_checkpoint_fails_and_the_failure_is_told(void **state)
{
    test_world *world = begin(state);
    world->blobs_away = true; /* where the chunks of a checkpoint go */
    fill(world);
    world->blobs_away = false;
    assert_int_equal(failures[KEDGE_BACKGROUND_CHECKPOINTS], 1);
    assert_int_equal(all_failures(), 1);
    assert_string_equal(project, "notes");
    assert_int_equal(world_put(world, "c1", 2, "a", 2), 2);
    assert_int_equal(all_failures(), 1);
    world_check(world);
}

/* ---- after a read ---- */

static void remove_a_chunk(test_world *world)
{
    const kedge_bytes chunks = KEDGE_BYTES("acme/projects/notes/chunks/");
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    assert_int_equal(
        blobs->vtable->list(blobs->self, chunks, (kedge_bytes){NULL, 0}, 1, &list, NULL), KEDGE_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(blobs->vtable->remove(blobs->self, kedge_bytes_of(list.blobs[0].key), NULL),
                     KEDGE_OK);
    kedge_blob_list_free(&list);
}

static void test_a_checkpoint_that_cannot_be_read_is_passed_over_and_told(void **state)
{
    test_world *world = begin(state);
    fill(world);
    remove_a_chunk(world);
    world_restart(world);
    assert_int_equal(world_put(world, "c1", 2, "a", 2), 2);
    assert_true(failures[KEDGE_BACKGROUND_CHECKPOINT_READS] > 0);
    assert_int_equal(all_failures(), failures[KEDGE_BACKGROUND_CHECKPOINT_READS]);
    assert_string_equal(project, "notes");
    assert_int_equal(reason.status, KEDGE_CORRUPT);
    world_check(world);
}

/* ---- a fork ---- */

static bool fork_with_fault(int (*setup)(void **), uint64_t at, size_t *told)
{
    void *state = NULL;
    kedge_fork fork = {.done = false};
    setup(&state);
    test_world *world = begin(&state);
    fill(world);
    assert_int_equal(all_failures(), 0);
    world_arm(world, WORLD_FAULT_BEFORE, at, true, false);
    kedge_status status =
        kedge_fork_project(NOTES(world), 1, HANDLE(world->backend, &copy), &fork, NULL);
    bool failed = world->faults > 0;
    world_disarm(world);
    if (status == KEDGE_OK && failed) {
        assert_true(fork.done);
        assert_int_equal(failures[KEDGE_BACKGROUND_FORK_CHECKPOINTS], 1);
        assert_string_equal(project, "copy");
        assert_int_equal(reason.status, KEDGE_UNAVAILABLE);
        world_check_project(world, &copy);
        ++*told;
    }
    assert_int_equal(all_failures(), status == KEDGE_OK && failed ? 1 : 0);
    world_teardown(&state);
    return failed;
}

static void test_a_fork_that_ends_well_in_spite_of_a_fault_tells_of_its_checkpoints(void **state)
{
    (void)state;
    size_t told = 0;
    uint64_t at = 1;
    while (fork_with_fault(world_setup_memory, at, &told))
        at++;
    assert_true(told > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_push_is_answered_when_its_index_rows_fail_and_the_failure_is_told),
        OVER_BOTH(test_a_push_is_answered_when_its_checkpoint_fails_and_the_failure_is_told),
        OVER_BOTH(test_a_checkpoint_that_cannot_be_read_is_passed_over_and_told),
        cmocka_unit_test(test_a_fork_that_ends_well_in_spite_of_a_fault_tells_of_its_checkpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
