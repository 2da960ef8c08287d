/* Copies of a client: retiring, origins. Another lineage: rows and checkpoints of a past that is
 * gone. */
#include "tests/backend/world.h"

#include "backend/versioned/model/layout.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static push_builder builder;

static kedge_status retire(test_world *world, const kedge_identity *who, const char *group,
                           const char *client, int64_t *version)
{
    const kedge_version *at = NULL;
    kedge_error error = {0};
    kedge_status status = kedge_processor_retire(NOTES(world), who, kedge_bytes_of(group),
                                                 kedge_bytes_of(client), &at, &error);
    if (status == KEDGE_OK) {
        kedge_client_state client_state;
        *version = at->number;
        assert_int_equal(
            kedge_client_load(NOTES(world), at, kedge_bytes_of(client), &client_state, &error),
            KEDGE_OK);
        assert_true(client_state.known && client_state.retired);
        kedge_version_release(at);
    }
    return status;
}

/* ---- retiring ---- */

static void test_a_retired_client_pushes_nothing_more(void **state)
{
    test_world *world = *state;
    int64_t version = 0;
    world_put(world, "c1", 1, "a", 1);
    assert_int_equal(retire(world, &ann, "g1", "c1", &version), KEDGE_OK);
    assert_int_equal(version, 2);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(world_try(world, "c1", 2, "a", 2), KEDGE_PUSH_RETIRED);
        assert_int_equal(world_try(world, "c1", 1, "a", 1), KEDGE_PUSH_RETIRED);
        assert_int_equal(world_lmid(world, "c1"), 1);
        /* The same from index rows, and again after they were deleted. */
        if (round == 0) {
            assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
            world_put(world, "c2", 1, "b", 1);
        } else {
            world_delete_derived(world);
        }
        world_restart(world);
    }
}

static void test_retiring_again_makes_no_version(void **state)
{
    test_world *world = *state;
    int64_t version = 0;
    world_put(world, "c1", 1, "a", 1);
    assert_int_equal(retire(world, &ann, "g1", "c1", &version), KEDGE_OK);
    assert_int_equal(retire(world, &ann, "g1", "c1", &version), KEDGE_OK);
    assert_int_equal(world_head(world), 2);
}

static void test_a_client_that_was_never_seen_is_retired_and_stays_so(void **state)
{
    test_world *world = *state;
    int64_t version = 0;
    assert_int_equal(retire(world, &ann, "g1", "c9", &version), KEDGE_OK);
    assert_int_equal(version, 1);
    assert_int_equal(world_try(world, "c9", 1, "a", 1), KEDGE_PUSH_RETIRED);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "c1", 1, "a", 1);
    world_restart(world);
    assert_int_equal(world_try(world, "c9", 1, "a", 1), KEDGE_PUSH_RETIRED);
}

static void test_nobody_else_retires_a_client(void **state)
{
    test_world *world = *state;
    int64_t version = 0;
    world_put(world, "c1", 1, "a", 1);
    assert_int_equal(retire(world, &bob, "g1", "c1", &version), KEDGE_NOT_FOUND);
    assert_int_equal(retire(world, &ann, "g2", "c1", &version), KEDGE_NOT_FOUND);
    assert_int_equal(world_put(world, "c1", 2, "a", 2), 2);
}

/* ---- origins ---- */

static kedge_mutation_outcome outcome_of(test_world *world, const char *client, int64_t id);

static kedge_status keep_outcome(void *context, int64_t version,
                                 const kedge_version_mutation *mutation, kedge_error *error)
{
    (void)version;
    (void)error;
    *(kedge_mutation_outcome *)context = mutation->outcome;
    return KEDGE_OK;
}

static kedge_mutation_outcome outcome_of(test_world *world, const char *client, int64_t id)
{
    const kedge_version *head = NULL;
    kedge_mutation_outcome outcome = KEDGE_MUTATION_REJECTED;
    assert_int_equal(kedge_version_load(NOTES(world), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(kedge_client_mutations(NOTES(world), head, kedge_bytes_of(client), id, id, 1,
                                            keep_outcome, &outcome, NULL, NULL),
                     KEDGE_OK);
    kedge_version_release(head);
    return outcome;
}

static void put_with_origin(test_world *world, const char *client, int64_t id, const char *item,
                            int value, const char *origin, int64_t origin_id)
{
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, client, id, item, value);
    push_set_origin(&builder, origin, origin_id);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

static void test_the_clients_of_the_backend_itself_are_nobody_elses(void **state)
{
    test_world *world = *state;
    int64_t version = 0;
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, "rebase-job1", 1, "a", 1);
    push_add(&builder, "c1", 1, "b", 2);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_CLIENT_FOREIGN);
    assert_int_equal(world_lmid(world, "rebase-job1"), 0);
    assert_string_equal(world_value(world, "a"), "absent");
    assert_int_equal(world_lmid(world, "c1"), 1);
    assert_int_equal(retire(world, &ann, "g1", "rebase-job1", &version), KEDGE_NOT_FOUND);
    assert_int_equal(world_head(world), 1);
    /* A client may call itself something like it. */
    world_put(world, "rebase", 1, "a", 1);
    world_check(world);
}

static void test_a_mutation_that_was_applied_under_its_origin_is_a_duplicate(void **state)
{
    test_world *world = *state;
    int64_t version = 0;
    world_put(world, "c1", 1, "a", 1);
    world_put(world, "c1", 2, "a", 2);
    world_put(world, "c3", 1, "a", 3);
    assert_int_equal(retire(world, &ann, "g1", "c1", &version), KEDGE_OK);
    put_with_origin(world, "c2", 1, "a", 2, "c1", 2);
    assert_int_equal(outcome_of(world, "c2", 1), KEDGE_MUTATION_DUPLICATE);
    assert_string_equal(world_value(world, "a"), "{\"v\":3}");
    assert_int_equal(world_lmid(world, "c2"), 1);
    world_check(world);
}

static void test_an_origin_that_was_never_decided_is_applied_once(void **state)
{
    test_world *world = *state;
    world_put(world, "c1", 1, "a", 1);
    put_with_origin(world, "c2", 1, "a", 2, "c1", 2);
    assert_int_equal(outcome_of(world, "c2", 1), KEDGE_MUTATION_APPLIED);
    world_put(world, "c9", 1, "a", 9);
    for (int i = 0; i < 3; i++) {
        char twin[8];
        snprintf(twin, sizeof twin, "t%d", i);
        put_with_origin(world, twin, 1, "a", 2, "c1", 2);
        assert_int_equal(outcome_of(world, twin, 1), KEDGE_MUTATION_DUPLICATE);
        if (i == 0) world_restart(world);
        if (i == 1) world_delete_derived(world);
    }
    assert_string_equal(world_value(world, "a"), "{\"v\":9}");
}

static void test_two_twins_may_renumber_different_mutations_of_one_id(void **state)
{
    test_world *world = *state;
    world_put(world, "c1", 1, "a", 1);
    put_with_origin(world, "c2", 1, "b", 2, "c1", 2);
    put_with_origin(world, "c3", 1, "c", 3, "c1", 2);
    assert_int_equal(outcome_of(world, "c2", 1), KEDGE_MUTATION_APPLIED);
    assert_int_equal(outcome_of(world, "c3", 1), KEDGE_MUTATION_APPLIED);
    assert_string_equal(world_value(world, "b"), "{\"v\":2}");
    assert_string_equal(world_value(world, "c"), "{\"v\":3}");
}

static void test_one_push_with_an_origin_twice_applies_it_once(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_call(&builder, "c2", 1, "kedge.patch",
                  "{\"collection\":\"items\",\"id\":\"n\",\"patch\":[]}");
    push_set_origin(&builder, "c1", 1);
    push_add(&builder, "c2", 2, "a", 5);
    push_set_origin(&builder, "c1", 2);
    push_add(&builder, "c3", 1, "a", 6);
    push_add(&builder, "c3", 2, "a", 5);
    push_set_origin(&builder, "c1", 2);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(outcome_of(world, "c2", 1), KEDGE_MUTATION_REJECTED);
    assert_int_equal(outcome_of(world, "c2", 2), KEDGE_MUTATION_APPLIED);
    assert_int_equal(outcome_of(world, "c3", 2), KEDGE_MUTATION_DUPLICATE);
    assert_string_equal(world_value(world, "a"), "{\"v\":6}");
}

static void reject(test_world *world, const char *client, int64_t id, const char *origin)
{
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_call(&builder, client, id, "kedge.patch",
                  "{\"collection\":\"items\",\"id\":\"n\",\"patch\":[]}");
    if (origin != NULL) push_set_origin(&builder, origin, 1);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

static kedge_status expect_reason(void *context, int64_t version,
                                  const kedge_version_mutation *mutation, kedge_error *error)
{
    (void)version;
    (void)error;
    int *seen = context;
    assert_int_equal(mutation->outcome, KEDGE_MUTATION_DUPLICATE);
    assert_true(kedge_bytes_equal_text(mutation->code, "item-not-found"));
    assert_true(mutation->message.size > 0);
    ++*seen;
    return KEDGE_OK;
}

static void assert_refused_before(test_world *world, const char *client, int64_t id)
{
    const kedge_version *head = NULL;
    int seen = 0;
    assert_int_equal(kedge_version_load(NOTES(world), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(kedge_client_mutations(NOTES(world), head, kedge_bytes_of(client), id, id, 1,
                                            expect_reason, &seen, NULL, NULL),
                     KEDGE_OK);
    assert_int_equal(seen, 1);
    kedge_version_release(head);
}

/* Otherwise the copy that brings it would take it for applied, and nobody would be told. */
static void test_a_duplicate_of_a_rejection_has_its_reason(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    reject(world, "c1", 1, NULL);
    reject(world, "c2", 1, "c1"); /* decided under its own name */
    assert_refused_before(world, "c2", 1);
    reject(world, "c4", 1, "c3"); /* decided here */
    assert_int_equal(outcome_of(world, "c4", 1), KEDGE_MUTATION_REJECTED);
    reject(world, "c5", 1, "c3"); /* decided under an origin */
    assert_refused_before(world, "c5", 1);
    push_begin(&builder);
    for (int id = 1; id <= 2; id++) { /* in one push */
        push_add_call(&builder, id == 1 ? "c7" : "c8", 1, "kedge.patch",
                      "{\"collection\":\"items\",\"id\":\"n\",\"patch\":[]}");
        push_set_origin(&builder, "c6", 1);
    }
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(outcome_of(world, "c7", 1), KEDGE_MUTATION_REJECTED);
    assert_refused_before(world, "c8", 1);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_restart(world);
    assert_refused_before(world, "c2", 1);
    world_delete_derived(world);
    world_restart(world);
    assert_refused_before(world, "c5", 1);
    assert_refused_before(world, "c8", 1);
    world_check(world);
}

static void test_a_duplicate_in_a_later_slice_has_the_reason_too(void **state)
{
    static char clients[140][8]; /* more than one version takes */
    test_world *world = *state;
    kedge_push_result result = {0};
    static const char *const copies[] = {"r7", "r8", "r9"};
    push_begin(&builder);
    for (int copy = 0; copy < 3; copy++) {
        push_add_call(&builder, copies[copy], 1, "kedge.patch",
                      "{\"collection\":\"items\",\"id\":\"n\",\"patch\":[]}");
        push_set_origin(&builder, "r6", 1);
        for (size_t i = 0; copy == 0 && i < sizeof clients / sizeof clients[0]; i++) {
            snprintf(clients[i], sizeof clients[i], "f%zu", i);
            push_add_call(&builder, clients[i], 1, "kedge.noop", "null");
        }
    }
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_true(world_head(world) > 2);
    assert_int_equal(outcome_of(world, "r7", 1), KEDGE_MUTATION_REJECTED);
    assert_refused_before(world, "r8", 1);
    assert_refused_before(world, "r9", 1);
    world_check(world);
}

/* After a restore that forgot that c1 was retired: its renumbered mutation comes first, then a
 * folder from before the renumbering pushes it under its first name. A client of its own has the
 * group of its name. */
static void test_the_client_of_an_origin_is_retired_with_it(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    builder.sender.group = KEDGE_BYTES("c2");
    push_add(&builder, "c2", 1, "a", 1);
    push_set_origin(&builder, "c1", 1);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    push_begin(&builder);
    builder.sender.group = KEDGE_BYTES("c1");
    push_add(&builder, "c1", 1, "a", 1);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_RETIRED);
    assert_int_equal(world_lmid(world, "c1"), 0);
}

/* ---- another lineage ---- */

/* What a restore of the version records alone leaves: those above `keep` are gone, all else is
 * there. */
static void forget_versions_above(test_world *world, int64_t keep)
{
    kedge_key partition = kedge_key_partition(&notes);
    const kedge_records *records = &world->store_records;
    for (int64_t number = world_head(world); number > keep; number--) {
        kedge_key sort = kedge_key_version(number);
        kedge_record_write write = {
            .kind = KEDGE_WRITE_DELETE,
            .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)}}};
        assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    }
    world_restart(world);
}

static void test_rows_of_another_lineage_are_ignored_and_replaced(void **state)
{
    test_world *world = *state;
    for (int i = 1; i <= 30; i++)
        world_put(world, "c1", i, "a", i);
    world_put(world, "c2", 1, "b", 1);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    forget_versions_above(world, 10);
    assert_int_equal(world_lmid(world, "c1"), 10);
    assert_int_equal(world_lmid(world, "c2"), 0);
    /* Other mutations under the ids that the lost versions had decided. */
    for (int i = 11; i <= 40; i++) {
        assert_int_equal(world_put(world, "c1", i, "a", i + 1000), i);
        assert_int_equal(world_lmid(world, "c1"), i);
    }
    assert_int_equal(world_put(world, "c2", 1, "b", 2), 41);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_restart(world);
    assert_int_equal(world_put(world, "c1", 20, "a", 1020), 41);
    assert_int_equal(world_try(world, "c1", 20, "a", 20), KEDGE_PUSH_MISMATCH);
    world_check(world);
}

static void test_checkpoints_of_another_lineage_are_ignored(void **state)
{
    test_world *world = *state;
    for (int i = 1; i <= 80; i++) {
        char item[16];
        snprintf(item, sizeof item, "i%d", i);
        world_put(world, "c1", i, item, i);
    }
    assert_true(world_count_records(world, "Collection#items#") > 0);
    forget_versions_above(world, 50);
    assert_string_equal(world_value(world, "i50"), "{\"v\":50}");
    assert_string_equal(world_value(world, "i51"), "absent");
    for (int i = 51; i <= 90; i++)
        world_put(world, "c1", i, "x", i);
    world_restart(world);
    assert_string_equal(world_value(world, "i60"), "absent");
    assert_string_equal(world_value(world, "x"), "{\"v\":90}");
    world_check(world);
}

/* Blobs alone were restored: chunks of the newest checkpoint are missing. */
static void test_a_checkpoint_without_its_chunks_is_passed_over(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    kedge_blob_list list = {0};
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "test.fill", "{\"from\":0,\"count\":3000}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_bytes prefix = KEDGE_BYTES("acme/projects/notes/chunks/");
    assert_int_equal(
        blobs->vtable->list(blobs->self, prefix, (kedge_bytes){NULL, 0}, 1000, &list, NULL),
        KEDGE_OK);
    assert_true(list.count > 1);
    size_t chunks = list.count;
    assert_int_equal(blobs->vtable->remove(blobs->self, kedge_bytes_of(list.blobs[1].key), NULL),
                     KEDGE_OK);
    kedge_blob_list_free(&list);
    world_restart(world);
    world_put(world, "c1", 2, "a", 1);
    world_check(world);
    /* The next checkpoint puts what is missing. */
    assert_int_equal(
        blobs->vtable->list(blobs->self, prefix, (kedge_bytes){NULL, 0}, 1000, &list, NULL),
        KEDGE_OK);
    assert_true(list.count >= chunks);
    kedge_blob_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_a_retired_client_pushes_nothing_more),
        OVER_ALL(test_retiring_again_makes_no_version),
        OVER_ALL(test_a_client_that_was_never_seen_is_retired_and_stays_so),
        OVER_ALL(test_nobody_else_retires_a_client),
        OVER_ALL(test_the_clients_of_the_backend_itself_are_nobody_elses),
        OVER_ALL(test_a_mutation_that_was_applied_under_its_origin_is_a_duplicate),
        OVER_ALL(test_an_origin_that_was_never_decided_is_applied_once),
        OVER_ALL(test_two_twins_may_renumber_different_mutations_of_one_id),
        OVER_ALL(test_one_push_with_an_origin_twice_applies_it_once),
        OVER_ALL(test_a_duplicate_of_a_rejection_has_its_reason),
        OVER_ALL(test_a_duplicate_in_a_later_slice_has_the_reason_too),
        OVER_ALL(test_the_client_of_an_origin_is_retired_with_it),
        OVER_ALL(test_rows_of_another_lineage_are_ignored_and_replaced),
        OVER_ALL(test_checkpoints_of_another_lineage_are_ignored),
        OVER_BOTH(test_a_checkpoint_without_its_chunks_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
