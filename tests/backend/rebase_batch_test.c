/* Rebases of batches: the mutators that one needs stand in its args. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "backend/versioned/projects/rebase.h"
#include "tests/support/project.h"

#include <string.h>

static const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};

static push_builder builder;

static void push_batch(test_world *world)
{
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "kedge.batch",
                  "{\"mutations\":[{\"args\":{\"collection\":\"items\",\"id\":\"x\","
                  "\"value\":1},\"name\":\"kedge.put\"},{\"args\":{\"count\":3,\"from\":0},"
                  "\"name\":\"test.fill\"}]}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.version, 1);
}

static kedge_status count_applied(void *context, const kedge_rebase_outcome *outcome,
                                  kedge_error *error)
{
    (void)error;
    if (outcome->decided->outcome == KEDGE_MUTATION_APPLIED) ++*(int *)context;
    return KEDGE_OK;
}

static kedge_status rebase(test_world *world, int *applied, kedge_error *error)
{
    kedge_project from = kedge_project_of(world->backend, &notes);
    kedge_project to = kedge_project_of(world->backend, &copy);
    const kedge_rebase_job job = {.from = &from,
                                  .to = &to,
                                  .from_version = 1,
                                  .to_version = 1,
                                  .job = KEDGE_BYTES("j1"),
                                  .role = "admin"};
    kedge_rebase_place next;
    int64_t version = 0;
    *applied = 0;
    return kedge_rebase_run(&job, count_applied, applied, &next, &version, error);
}

static int64_t head_of_copy(test_world *world)
{
    const kedge_version *head = NULL;
    assert_int_equal(kedge_version_load(HANDLE(world->backend, &copy), 0, &head, NULL), KEDGE_OK);
    int64_t number = head->number;
    kedge_version_release(head);
    return number;
}

/* What the source has applied would be rejected for good. */
static void test_a_batch_is_not_rejected_because_the_backend_lacks_a_mutator_of_it(void **state)
{
    test_world *world = *state;
    kedge_error error = {0};
    kedge_registry *full = world->registry;
    kedge_registry *bare = NULL;
    bool created;
    int64_t created_ms;
    int applied;
    push_batch(world);
    assert_int_equal(
        kedge_project_create(HANDLE(world->backend, &copy), &created, &created_ms, NULL), KEDGE_OK);
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, NULL, 0, &bare, NULL), KEDGE_OK);
    world->registry = bare;
    world_restart(world);
    assert_int_equal(rebase(world, &applied, &error), KEDGE_CONFLICT);
    assert_string_equal(error.code, "mutator-unknown");
    assert_non_null(strstr(error.message, "\"test.fill\""));
    assert_int_equal(head_of_copy(world), 0);
    world->registry = full;
    world_restart(world);
    assert_int_equal(rebase(world, &applied, &error), KEDGE_OK);
    assert_int_equal(applied, 1);
    kedge_registry_free(bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_MEMORY(test_a_batch_is_not_rejected_because_the_backend_lacks_a_mutator_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
