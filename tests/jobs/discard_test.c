/* Discards beside the import that they discard, and beside each other: each is stopped in front of
 * any of its port calls while others go on. */
#include "tests/jobs/transfer_world.h"

#include "backend/api/api.h"
#include "backend/memory/memory_ports.h"
#include "tests/backend/project_records.h"
#include "tests/jobs/process.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

#define BODIES    4
#define MUTATIONS 14
#define TAKEN     4 /* the port call of an import that takes the name */

/* ---- processes ---- */

static kedge_status import_copy(const jobs_process *own)
{
    kedge_import_result result;
    return transfer_import_by(HANDLE(own->backend, &copy), kedge_buffer_bytes(own->lines), &result,
                              NULL);
}

static kedge_status discard_copy(const jobs_process *own)
{
    return kedge_import_discard(HANDLE(own->backend, &copy), NULL);
}

/* ---- what is left ---- */

static bool is_there(test_world *world)
{
    const kedge_version *version = NULL;
    kedge_status status = kedge_version_load(HANDLE(world->backend, &copy), 0, &version, NULL);
    if (status == KEDGE_OK) kedge_version_release(version);
    if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NOT_FOUND);
    return status == KEDGE_OK;
}

static size_t count(test_world *world, const char *prefix)
{
    return project_records_count(&world->store_records, &copy, prefix);
}

typedef struct scene {
    void *made;
    kedge_buffer text;
    kedge_buffer other; /* another export of the same */
} scene;

/* What each meeting begins with a copy of. In the second one an import is under way and has put
 * some versions. */
static scene prepared[2];

static void push_bodies(test_world *world)
{
    static push_builder builder;
    kedge_push_result result = {0};
    for (int i = 0; i < BODIES; i++) {
        char item[16];
        snprintf(item, sizeof item, "body%d", i);
        push_begin(&builder);
        push_add_large(&builder, "bodies", i + 1, item, i, 9000);
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
}

static void prepare(scene *set, bool begun)
{
    set->text = kedge_buffer_make(&kedge_allocator_default);
    set->other = kedge_buffer_make(&kedge_allocator_default);
    world_setup_memory(&set->made);
    test_world *world = set->made;
    push_bodies(world);
    transfer_tell(world, MUTATIONS);
    transfer_retain(world, 5);
    transfer_export(world, &notes, &set->text);
    transfer_export(world, &notes, &set->other);
    world_restart(world);
    if (begun) transfer_break_off(world, &set->text, 22);
}

static int prepare_all(void **state)
{
    (void)state;
    for (int begun = 0; begun < 2; begun++)
        prepare(&prepared[begun], begun == 1);
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    for (int begun = 0; begun < 2; begun++) {
        kedge_buffer_free(&prepared[begun].text);
        kedge_buffer_free(&prepared[begun].other);
        world_teardown(&prepared[begun].made);
    }
    return 0;
}

static test_world *copy_of(const scene *set)
{
    void *made = NULL;
    const test_world *from = set->made;
    world_setup_memory(&made);
    test_world *world = made;
    assert_int_equal(kedge_memory_records_copy(&from->store_records, &world->store_records, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_memory_blobs_copy(&from->store_blobs, &world->store_blobs, NULL),
                     KEDGE_OK);
    world_restart(world);
    return world;
}

static void strike(test_world *world)
{
    void *made = world;
    world_teardown(&made);
}

/* ---- an import and its discard ---- */

/* The import is stopped in front of call `k`, then the discard in front of call `j`; then the
 * import goes to its end, and the discard to its. */
static void meet(bool begun, int64_t k, int64_t j, bool *import_ended, bool *discard_ended)
{
    jobs_process import;
    jobs_process discard;
    const scene *set = &prepared[begun];
    test_world *world = copy_of(set);
    *import_ended = !process_start(&import, world, import_copy, &set->text, k);
    *discard_ended = !process_start(&discard, world, discard_copy, NULL, j);
    process_end(&import);
    bool seen = is_there(world);
    assert_int_equal(seen, import.status == KEDGE_OK);
    process_end(&discard);
    assert_int_equal(seen, is_there(world));
    if (seen) {
        transfer_check(world, &set->text);
    } else {
        kedge_import_discard(HANDLE(world->backend, &copy), NULL);
        assert_int_equal(count(world, "ProjectVersion#"), 0);
        assert_int_equal(count(world, "Retention"), 0);
        transfer_must_import(world, &copy, &set->other);
        transfer_check(world, &set->other);
    }
    strike(world);
}

static void test_an_import_that_goes_on_in_a_discard_makes_no_half_project(void **state)
{
    (void)state;
    for (int begun = 0; begun < 2; begun++) {
        bool import_ended = false;
        int64_t most = 0;
        int64_t k = begun ? 1 : TAKEN + 1;
        for (; !import_ended; k += SAMPLING_FEWER) {
            bool discard_ended = false;
            int64_t j = 1;
            for (; !discard_ended; j++)
                meet(begun, k, j, &import_ended, &discard_ended);
            most = j > most ? j : most;
        }
        assert_true(k > 20 && most > 10);
    }
}

/* ---- two discards ---- */

static size_t count_blobs(test_world *world)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    kedge_bytes none = {NULL, 0};
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/projects/copy/"), none,
                                         1000, &list, NULL),
                     KEDGE_OK);
    size_t found = list.count;
    kedge_blob_list_free(&list);
    return found;
}

/* One is stopped in front of call `j`, another one ends, and the name is imported under anew. The
 * first removes nothing of that, but for one blob when it stood in front of its removal. */
static bool sleep_and_wake(int64_t j, size_t *lost)
{
    jobs_process sleeper;
    const scene *set = &prepared[true];
    test_world *world = copy_of(set);
    bool ended = !process_start(&sleeper, world, discard_copy, NULL, j);
    if (ended) {
        assert_int_equal(sleeper.status, KEDGE_OK);
    } else {
        kedge_import_discard(HANDLE(world->backend, &copy), NULL);
    }
    transfer_must_import(world, &copy, &set->other);
    size_t before = count_blobs(world);
    process_end(&sleeper);
    size_t gone = before - count_blobs(world);
    assert_true(gone <= 1);
    if (gone == 0) transfer_check(world, &set->other);
    *lost += gone;
    strike(world);
    return ended;
}

static void test_a_discard_that_slept_removes_nothing_of_the_next_import(void **state)
{
    (void)state;
    size_t lost = 0;
    int64_t j = 1;
    while (!sleep_and_wake(j, &lost))
        j++;
    assert_true(j > 12);
    /* Each removal has a look at the name in front of it. */
    assert_true(2 * (int64_t)lost < j);
}

/* ---- what a discard costs ---- */

#define LARGE       6 /* versions */
#define LARGE_ITEMS 150
#define LARGE_BYTES 100000
#define BYTES_MAX   131072

static void push_large_versions(test_world *world)
{
    static push_builder builder;
    for (int i = 1; i <= LARGE; i++) {
        char args[32];
        kedge_push_result result = {0};
        snprintf(args, sizeof args, "{\"count\":%d}", LARGE_ITEMS + i);
        push_begin(&builder);
        push_add_call(&builder, "large", i, "test.scatter", args);
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
}

static void test_large_records_are_not_deleted_in_one_transaction(void **state)
{
    (void)state;
    void *made = NULL;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_import_result result;
    world_setup_memory(&made);
    test_world *world = made;
    push_large_versions(world);
    transfer_export(world, &notes, &text);
    kedge_bytes half = {text.data, (size_t)(strstr(text.data, "{\"end\"") - text.data)};
    assert_int_not_equal(transfer_import(world, &copy, half, &result, NULL), KEDGE_OK);
    assert_true(world_largest_record(world, &copy) > LARGE_BYTES);
    world->weighs = true;
    assert_int_equal(kedge_import_discard(HANDLE(world->backend, &copy), NULL), KEDGE_OK);
    world->weighs = false;
    assert_int_equal(count(world, "ProjectVersion#"), 0);
    assert_true(world->weight_bytes_max < BYTES_MAX);
    kedge_buffer_free(&text);
    world_teardown(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_import_that_goes_on_in_a_discard_makes_no_half_project),
        cmocka_unit_test(test_a_discard_that_slept_removes_nothing_of_the_next_import),
        cmocka_unit_test(test_large_records_are_not_deleted_in_one_transaction),
    };
    return cmocka_run_group_tests(tests, prepare_all, free_all);
}
