/* Items whose body is lost, and pushes that put the very value that they had: it counts, since it
 * gives the items their body again. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

#define BODIES "acme/projects/notes/items/"

static push_builder builder;

/* Mutation `id` of c1 puts an item whose body is in blobs, and the next one an item that stands in
 * the version itself, but in the seed cadence. Each time the same values. */
static int64_t put_both(test_world *world, int64_t id)
{
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_large(&builder, "c1", id, "large", 1, 20000);
    push_add(&builder, "c1", id + 1, "small", 2);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    return result.version;
}

/* The items that a version has changed: "large small ". */
static const char *changed(test_world *world, int64_t number)
{
    static char ids[256];
    const kedge_version *version = NULL;
    kedge_backend *backend = world_new_backend(world);
    ids[0] = '\0';
    assert_int_equal(kedge_version_load(HANDLE(backend, &notes), number, &version, NULL), KEDGE_OK);
    for (size_t i = 0; i < version->change_count; i++) {
        size_t at = strlen(ids);
        kedge_bytes id = version->changes[i].entry.id;
        (void)snprintf(ids + at, sizeof ids - at, "%.*s ", (int)id.size, id.data);
    }
    kedge_version_release(version);
    kedge_backend_free(backend);
    return ids;
}

static void lose_bodies(test_world *world, const char *other)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES(BODIES), (kedge_bytes){NULL, 0},
                                         10, &list, NULL),
                     KEDGE_OK);
    assert_true(list.count > 0);
    for (size_t i = 0; i < list.count; i++) {
        kedge_bytes key = kedge_bytes_of(list.blobs[i].key);
        assert_int_equal(blobs->vtable->remove(blobs->self, key, NULL), KEDGE_OK);
        if (other == NULL) continue;
        assert_int_equal(
            blobs->vtable->put_if_absent(blobs->self, key, kedge_bytes_of(other), NULL), KEDGE_OK);
    }
    kedge_blob_list_free(&list);
}

/* What of the two items was in blobs. */
static const char *in_blobs(const test_world *world)
{
    return world->cadence == KEDGE_CADENCE_SEED ? "large small " : "large ";
}

static void heal(test_world *world, const char *other)
{
    assert_int_equal(put_both(world, 1), 1);
    lose_bodies(world, other);
    world_restart(world);
    assert_int_equal(put_both(world, 3), 2);
    assert_string_equal(changed(world, 2), in_blobs(world));
    assert_true(strlen(world_value(world, "large")) > 4000);
    assert_string_equal(world_value(world, "small"), "{\"v\":2}");
    world_check(world);
    assert_int_equal(put_both(world, 5), 3);
    assert_string_equal(changed(world, 3), "");
}

static void test_a_put_of_the_same_value_gives_an_item_its_lost_body_again(void **state)
{
    heal(*state, NULL);
}

static void test_so_it_does_where_other_bytes_stand_in_the_place_of_the_body(void **state)
{
    heal(*state, "no gzip at all");
}

/* ---- somebody else ---- */

static void push_of_another(test_world *world)
{
    static push_builder others;
    kedge_push_result result = {0};
    kedge_backend *backend = world_new_backend(world);
    push_begin(&others);
    push_add(&others, "c2", 1, "other", 3);
    assert_int_equal(push_send(&others, backend, &ann, &result), KEDGE_OK);
    kedge_backend_free(backend);
}

/* A try that lost the race has put the body, so that the next one finds it. */
static void test_the_delta_has_the_item_whoever_commits_meanwhile(void **state)
{
    (void)state;
    bool ended = false;
    for (uint64_t at = 1; !ended; at++) {
        void *made = NULL;
        world_setup_memory(&made);
        test_world *world = made;
        put_both(world, 1);
        lose_bodies(world, NULL);
        world_restart(world);
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle = push_of_another;
        world->meddle_at = at;
        int64_t version = put_both(world, 3);
        ended = world->meddle != NULL;
        world_disarm(world);
        /* The other push may also have come behind this one's commit. */
        if (strcmp(changed(world, version), "large ") != 0)
            assert_string_equal(changed(world, version - 1), "large ");
        world_check(world);
        world_teardown(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_a_put_of_the_same_value_gives_an_item_its_lost_body_again),
        OVER_ALL(test_so_it_does_where_other_bytes_stand_in_the_place_of_the_body),
        cmocka_unit_test(test_the_delta_has_the_item_whoever_commits_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
