/* What stays bounded: the time that a push takes, the memory of long histories and large responses,
 * and what the texts of a version may grow to. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "backend/base/backend.h"
#include "backend/base/packed.h"
#include "backend/versioned/state/cache.h"
#include "backend/versioned/state/state_internal.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static push_builder builder;

static void fill(test_world *world, const char *client, int64_t id, int64_t from, int64_t count)
{
    char args[64];
    kedge_push_result result = {0};
    snprintf(args, sizeof args, "{\"from\":%lld,\"count\":%lld}", (long long)from,
             (long long)count);
    push_begin(&builder);
    push_add_call(&builder, client, id, "test.fill", args);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

/* ---- checkpoints after the response ---- */

typedef struct later_work {
    void (*run)(void *argument);
    void *argument;
    size_t taken;
    bool refuse;
} later_work;

static later_work later;

static bool take_later(void *context, void (*run)(void *argument), void *argument)
{
    later_work *work = context;
    if (work->refuse) return false;
    work->run = run;
    work->argument = argument;
    work->taken++;
    return true;
}

static void tune_later(test_world *world, kedge_backend_options *options)
{
    (void)world;
    options->later = take_later;
    options->later_context = &later;
}

static void test_a_push_does_not_wait_for_checkpoints(void **state)
{
    test_world *world = *state;
    later = (later_work){.taken = 0};
    world->tune = tune_later;
    world_restart(world);
    fill(world, "c1", 1, 0, 4000);
    assert_int_equal(later.taken, 1);
    assert_int_equal(world_count_records(world, "Collection#items#"), 0);
    /* Still due, and on its way. */
    world_put(world, "c1", 2, "item-00000001", 2);
    world_put(world, "c1", 3, "item-00000002", 3);
    assert_int_equal(later.taken, 1);
    later.run(later.argument);
    assert_int_equal(world_count_records(world, "Collection#items#"), 1);
    /* The head, which is younger than the checkpoint's version, knows of it. */
    world_put(world, "c1", 4, "item-00000003", 4);
    assert_int_equal(later.taken, 1);
    world_check(world);
}

static void test_checkpoints_that_nobody_takes_are_written_at_once(void **state)
{
    test_world *world = *state;
    later = (later_work){.refuse = true};
    world->tune = tune_later;
    world_restart(world);
    fill(world, "c1", 1, 0, 4000);
    assert_int_equal(world_count_records(world, "Collection#items#"), 1);
    fill(world, "c1", 2, 4000, 4000);
    assert_int_equal(world_count_records(world, "Collection#items#"), 2);
    world_check(world);
}

/* ---- origins ---- */

/* Two mutations of each of many old clients, under new names. */
static void add_renumbered(int from, int to)
{
    push_begin(&builder);
    static char origins[100][16];
    for (int i = from; i < to; i++) {
        char *origin = origins[i / 2];
        snprintf(origin, sizeof origins[0], "o%d", i / 2);
        push_add(&builder, "c1", i + 1, "a", i);
        push_set_origin(&builder, origin, i % 2 + 1);
    }
}

/* Each client of an origin may cost a version of its own. */
static void test_a_push_with_origins_of_many_clients_is_decided_in_parts(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    add_renumbered(0, 200);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(result.taken, 128);
    assert_int_equal(world_lmid(world, "c1"), 128);
    assert_true(world_head(world) <= 64 + 2);
    /* What was not looked at left nothing: none of its clients was retired, in a
     * group of its own. */
    assert_int_equal(world_try(world, "o63", 1, "b", 1), KEDGE_PUSH_CLIENT_FOREIGN);
    assert_int_equal(world_try(world, "o64", 1, "b", 1), KEDGE_PUSH_FINE);
    add_renumbered(128, 200);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.taken, 72);
    assert_int_equal(world_lmid(world, "c1"), 200);
    world_check(world);
}

/* ---- long histories ---- */

static kedge_status changes_from(test_world *world, int64_t from, size_t *count)
{
    const kedge_version *head = NULL;
    kedge_state *state = NULL;
    kedge_changes changes = {0};
    assert_int_equal(kedge_version_load(NOTES(world), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(kedge_state_open(NOTES(world), head, &state, NULL), KEDGE_OK);
    kedge_status status = kedge_state_changes(state, from, &changes, NULL);
    *count = changes.count;
    kedge_changes_free(&changes);
    kedge_state_close(state);
    kedge_version_release(head);
    return status;
}

/* 300 bytes an item in memory: a hundred thousand are within the bound, a fifth more is not. */
static void test_a_difference_over_its_bound_is_told_as_one_that_is_gone(void **state)
{
    test_world *world = *state;
    size_t count = 0;
    for (int i = 0; i < 13; i++)
        fill(world, "c1", i + 1, i * 10000, 10000);
    assert_int_equal(changes_from(world, 1, &count), KEDGE_NOT_FOUND);
    assert_int_equal(changes_from(world, 3, &count), KEDGE_OK);
    assert_int_equal(count, 100000);
}

static void test_old_states_of_a_project_do_not_pile_up(void **state)
{
    test_world *world = *state;
    size_t largest = 0;
    for (int i = 0; i < 8; i++)
        fill(world, "c1", i + 1, 0, 2000 + i);
    world->cache_bytes = 100000;
    world_restart(world);
    for (int64_t number = 8; number > 0; number--) {
        const kedge_version *version = NULL;
        kedge_state *opened = NULL;
        kedge_entry entry;
        assert_int_equal(kedge_version_load(NOTES(world), number, &version, NULL), KEDGE_OK);
        assert_int_equal(kedge_state_open(NOTES(world), version, &opened, NULL), KEDGE_OK);
        assert_int_equal(kedge_state_find(opened, KEDGE_BYTES("items"),
                                          KEDGE_BYTES("item-00000001"), &entry, NULL),
                         KEDGE_OK);
        if (kedge_state_bytes(opened) > largest) largest = kedge_state_bytes(opened);
        kedge_cache_add(world->backend->cache, &notes, opened, false);
        kedge_state_close(opened);
        kedge_version_release(version);
    }
    assert_true(world->backend->cache->bytes <= 2 * largest + 4096);
}

/* ---- large versions ---- */

/* Random text of 480 KB, which goes to a blob of its own. */
static void push_large_args(test_world *world, int64_t id, uint64_t *seed)
{
    static char args[480003];
    kedge_push_result result = {0};
    for (size_t i = 1; i < 480001; i++)
        args[i] =
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[world_random(seed) %
                                                                               64];
    args[0] = args[480001] = '"';
    push_begin(&builder);
    push_add_call(&builder, "c1", id, "kedge.noop", "{}");
    builder.mutations[0].args = (kedge_bytes){args, 480002};
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

/* Each version record and each blob is one call; the response is full after nine versions. */
static void test_a_list_of_large_versions_reads_few_more_than_it_shows(void **state)
{
    test_world *world = *state;
    uint64_t seed = 5;
    for (int i = 1; i <= 40; i++)
        push_large_args(world, i, &seed);
    kedge_api_request request = {.method = KEDGE_BYTES("GET"),
                                 .path = KEDGE_BYTES("/v1/orgs/acme/projects/notes/versions"),
                                 .identity = &ann};
    kedge_api_response response = {.body = kedge_buffer_make(&kedge_allocator_default)};
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    kedge_backend_handle(world->backend, &request, &response);
    assert_int_equal(response.status, 200);
    assert_true(response.body.size > 4000000 && response.body.size < 5000000);
    assert_true(atomic_load(&world->calls) <= 24);
    kedge_buffer_free(&response.body);
}

static void test_a_new_client_does_not_read_all_of_the_first_version(void **state)
{
    test_world *world = *state;
    uint64_t seed = 6;
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &world->store_blobs;
    push_large_args(world, 1, &seed);
    for (int i = 2; i < 70; i++)
        world_put(world, "c1", i, "a", i);
    world_restart(world);
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/projects/notes/versions/"),
                                         KEDGE_BYTES(""), 10, &list, NULL),
                     KEDGE_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(blobs->vtable->remove(blobs->self, kedge_bytes_of(list.blobs[0].key), NULL),
                     KEDGE_OK);
    kedge_blob_list_free(&list);
    assert_int_equal(world_put(world, "c2", 1, "b", 1), 70);
}

/* The delta of a mutation that changes 10,000 items of 8 KB each must be readable again. */
static void test_what_is_packed_can_be_unpacked_at_any_size_that_a_version_may_have(void **state)
{
    (void)state;
    size_t size = 130000000;
    char *plain = malloc(size);
    kedge_arena arena = kedge_arena_make(&kedge_allocator_default);
    kedge_attribute packed;
    kedge_bytes text;
    assert_non_null(plain);
    memset(plain, ' ', size);
    assert_int_equal(kedge_pack("delta", (kedge_bytes){plain, size}, &arena, &packed, NULL),
                     KEDGE_OK);
    assert_true(packed.bytes.size < KEDGE_VERSION_BYTES_MAX);
    assert_int_equal(kedge_unpack(&packed, &arena, &text, NULL), KEDGE_OK);
    assert_int_equal(text.size, size);
    kedge_arena_free(&arena);
    free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_MEMORY(test_a_push_does_not_wait_for_checkpoints),
        OVER_MEMORY(test_checkpoints_that_nobody_takes_are_written_at_once),
        OVER_MEMORY(test_a_difference_over_its_bound_is_told_as_one_that_is_gone),
        OVER_ALL(test_a_push_with_origins_of_many_clients_is_decided_in_parts),
        OVER_MEMORY(test_old_states_of_a_project_do_not_pile_up),
        OVER_MEMORY(test_a_list_of_large_versions_reads_few_more_than_it_shows),
        OVER_MEMORY(test_a_new_client_does_not_read_all_of_the_first_version),
        cmocka_unit_test(test_what_is_packed_can_be_unpacked_at_any_size_that_a_version_may_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
