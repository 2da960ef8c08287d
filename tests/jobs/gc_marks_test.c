/* Marks of garbage collection: whoever changes one knows it by its state. */
#include "tests/jobs/jobs_world.h"

#include "backend/versioned/versions/blob.h"
#include "tests/support/project.h"

#include <string.h>

#define BLOB                                                                                       \
    "acme/projects/notes/items/"                                                                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.json.gz"

static kedge_key key_of_mark(void)
{
    kedge_key key;
    assert_true(kedge_garbage_key(&notes, KEDGE_BYTES(BLOB), &key));
    return key;
}

static kedge_status find(test_world *world)
{
    kedge_key key = key_of_mark();
    return kedge_garbage_put(NOTES(world), &key, NULL, NULL);
}

static kedge_garbage_mark read_mark(test_world *world)
{
    kedge_key key = key_of_mark(), partition = kedge_key_partition(&notes);
    const kedge_record_key at = {kedge_key_bytes(&partition), kedge_key_bytes(&key)};
    const kedge_records *records = &world->store_records;
    kedge_record_set set = {0};
    kedge_garbage_mark mark;
    assert_int_equal(records->vtable->get(records->self, &at, true, &set, NULL), KEDGE_OK);
    assert_true(kedge_garbage_read(&set.records[0], &mark));
    kedge_record_set_free(&set);
    return mark;
}

static kedge_status keep(test_world *world, bool *kept)
{
    return kedge_garbage_keep(NOTES(world), KEDGE_BYTES(BLOB), kept, NULL);
}

static void assert_kept(test_world *world, bool expected)
{
    bool kept = !expected;
    assert_int_equal(keep(world, &kept), KEDGE_OK);
    assert_int_equal(kept, expected);
}

/* A writer relies on the blob since it took the first mark away, and has not committed yet. */
static void test_a_late_collector_does_not_take_a_new_mark_for_the_old_one(void **state)
{
    test_world *world = *state;
    kedge_key key = key_of_mark();
    assert_int_equal(find(world), KEDGE_OK);
    kedge_garbage_mark before = read_mark(world);
    assert_kept(world, true);
    assert_int_equal(find(world), KEDGE_OK); /* another collector */
    kedge_garbage_mark after = read_mark(world);
    assert_int_equal(kedge_garbage_claim(NOTES(world), &before, NULL), KEDGE_CONFLICT);
    assert_int_equal(kedge_garbage_delete(NOTES(world), &before, NULL), KEDGE_CONFLICT);
    assert_int_equal(kedge_garbage_put(NOTES(world), &key, &before, NULL), KEDGE_CONFLICT);
    assert_string_equal(read_mark(world).state, after.state);
    assert_int_equal(kedge_garbage_claim(NOTES(world), &after, NULL), KEDGE_OK);
    assert_false(kedge_garbage_is_found(&after));
    assert_string_equal(read_mark(world).state, after.state);
}

static void test_of_a_writer_and_a_collector_one_gets_the_mark(void **state)
{
    test_world *world = *state;
    bool kept = true;
    assert_int_equal(find(world), KEDGE_OK);
    assert_int_equal(find(world), KEDGE_CONFLICT);
    kedge_garbage_mark mark = read_mark(world), late = mark;
    assert_true(kedge_garbage_is_found(&mark));
    assert_int_equal(kedge_garbage_claim(NOTES(world), &mark, NULL), KEDGE_OK);
    assert_int_equal(kedge_garbage_claim(NOTES(world), &late, NULL), KEDGE_CONFLICT);
    assert_int_equal(keep(world, &kept), KEDGE_UNAVAILABLE);
    assert_false(kept);
    assert_int_equal(kedge_garbage_delete(NOTES(world), &mark, NULL), KEDGE_OK);
    assert_kept(world, false);
}

/* As marks were before they had tokens. */
static void test_a_mark_without_a_token_is_found_as_well(void **state)
{
    test_world *world = *state;
    assert_int_equal(find(world), KEDGE_OK);
    damage_text(world, "Garbage#", "state", "found");
    kedge_garbage_mark mark = read_mark(world);
    assert_true(kedge_garbage_is_found(&mark));
    assert_kept(world, true);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup_memory, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_a_late_collector_does_not_take_a_new_mark_for_the_old_one),
        IN_WORLD(test_of_a_writer_and_a_collector_one_gets_the_mark),
        IN_WORLD(test_a_mark_without_a_token_is_found_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
