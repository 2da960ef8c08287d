/* Index rows and checkpoints are derived: whatever becomes of them, no response changes. */
#include "tests/backend/world.h"

#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static push_builder builder;

/* ---- a random story ---- */

typedef struct story {
    uint64_t seed;
    int64_t lmid[4];
    char responses[20000]; /* what each push was answered */
    size_t response_size;
} story;

static const char *const client_names[] = {"c0", "c1", "c2", "c3"};

static void add_random(story *told, int client, int64_t id)
{
    const char *name = client_names[client];
    char item[16];
    uint32_t kind = world_random(&told->seed) % 12;
    int value = (int)(world_random(&told->seed) % 1000);
    snprintf(item, sizeof item, "i%u", world_random(&told->seed) % 40);
    char args[128];
    if (kind == 0) {
        snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"%s\"}", item);
        push_add_call(&builder, name, id, "kedge.delete", args);
    } else if (kind == 1) {
        push_add_dense(&builder, name, id, item, value, 12000);
    } else if (kind == 2) {
        push_add_call(&builder, name, id, "no.such.mutator", "{}");
    } else if (kind == 3) {
        snprintf(args, sizeof args, "{\"name\":\"n%d\"}", value);
        push_add_call(&builder, name, id, "kedge.project", args);
    } else if (kind == 4) {
        snprintf(args, sizeof args, "{\"collection\":\"other\",\"id\":\"%s\",\"value\":%d}", item,
                 value);
        push_add_call(&builder, name, id, "kedge.put", args);
    } else {
        push_add(&builder, name, id, item, value);
    }
}

/* One push: mostly in order; sometimes again from earlier, sometimes with a gap, or another
 * mutation under a decided id. */
static void push_random(test_world *world, story *told)
{
    int client = (int)(world_random(&told->seed) % 4);
    uint32_t kind = world_random(&told->seed) % 10;
    uint32_t count = 1 + world_random(&told->seed) % 3;
    int64_t first = told->lmid[client] + 1;
    kedge_push_result result = {0};
    if (kind == 0) first += 2;
    if (kind == 1 && first > 3) first -= 2;
    push_begin(&builder);
    for (uint32_t i = 0; i < count; i++)
        add_random(told, client, first + i);
    kedge_status status = push_send(&builder, world->backend, &ann, &result);
    assert_int_equal(status, KEDGE_OK);
    told->lmid[client] = world_lmid(world, client_names[client]);
    size_t left = sizeof told->responses - told->response_size;
    int size =
        snprintf(told->responses + told->response_size, left, "%lld:%d:%lld ",
                 (long long)result.version, (int)result.problem, (long long)told->lmid[client]);
    assert_true(size > 0 && (size_t)size < left);
    told->response_size += (size_t)size;
}

static void run_story(test_world *world, story *told, uint64_t seed, int pushes,
                      void (*between)(test_world *, int))
{
    memset(told, 0, sizeof *told);
    told->seed = seed;
    for (int i = 0; i < pushes; i++) {
        push_random(world, told);
        if (between != NULL) between(world, i);
    }
    world_check(world);
}

static void delete_derived(test_world *world, int i)
{
    world_delete_derived(world);
    if (i % 3 == 0) world_restart(world);
}

static void index_all(test_world *world, int i)
{
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    if (i % 2 == 0) world_restart(world);
}

static void index_and_delete(test_world *world, int i)
{
    if (i % 4 == 1) index_all(world, i);
    if (i % 7 == 2) delete_derived(world, i);
}

static void compare_worlds(int (*setup_a)(void **), int (*setup_b)(void **), int pushes,
                           void (*between)(test_world *, int))
{
    for (uint64_t seed = 1; seed <= STORES_SEEDS; seed++) {
        void *a = NULL;
        void *b = NULL;
        static story told_a;
        static story told_b;
        kedge_buffer dump_a = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer dump_b = kedge_buffer_make(&kedge_allocator_default);
        setup_a(&a);
        setup_b(&b);
        run_story(a, &told_a, seed, pushes, NULL);
        run_story(b, &told_b, seed, pushes, between);
        assert_string_equal(told_a.responses, told_b.responses);
        world_dump(a, 0, &dump_a);
        world_dump(b, 0, &dump_b);
        assert_true(dump_a.size > 100);
        assert_string_equal(dump_a.data, dump_b.data);
        kedge_buffer_free(&dump_a);
        kedge_buffer_free(&dump_b);
        world_teardown(&a);
        world_teardown(&b);
    }
}

static void test_deleting_all_rows_and_checkpoints_between_pushes_changes_no_answer(void **state)
{
    (void)state;
    compare_worlds(world_setup_memory, world_setup_memory, 90, delete_derived);
    compare_worlds(world_setup_memory, world_setup_memory, 90, index_and_delete);
}

static void test_indexing_after_every_push_changes_no_answer(void **state)
{
    (void)state;
    compare_worlds(world_setup_memory, world_setup_memory, 60, index_all);
}

static void test_both_cadences_give_the_same_answers(void **state)
{
    (void)state;
    compare_worlds(world_setup_memory, world_setup_seed, 60, NULL);
    compare_worlds(world_setup_memory, world_setup_seed, 60, delete_derived);
}

static void test_sqlite_and_memory_give_the_same_answers(void **state)
{
    (void)state;
    compare_worlds(world_setup_memory, world_setup_sqlite, 60, NULL);
}

static void change_cadence(test_world *world, int i)
{
    world->cadence = i % 5 == 4 ? KEDGE_CADENCE_SEED : KEDGE_CADENCE_COMPACT;
    world_restart(world);
}

static void test_a_project_may_change_its_cadence_at_any_time(void **state)
{
    (void)state;
    compare_worlds(world_setup_memory, world_setup_memory, 60, change_cadence);
}

/* ---- a crash while rows are made again ---- */

#define MANY_CLIENTS 60 /* of one version; they have more rows than one transaction holds */

static void add_many_clients(void)
{
    static char names[MANY_CLIENTS][8];
    push_begin(&builder);
    for (int i = 0; i < MANY_CLIENTS; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        push_add(&builder, names[i], 1, names[i], i);
    }
}

/* The rows of the first version are made last, in several transactions. */
static void test_a_crash_between_the_rows_of_the_first_version_is_noticed(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    add_many_clients();
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(world_head(world), 1);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "own", 1, "own", 1);
    bool met = true;
    for (uint64_t at = 1; met; at++) {
        world_delete_derived(world);
        world_restart(world);
        world_arm(world, WORLD_FAULT_BEFORE, at, true, true);
        add_many_clients();
        met = push_send(&builder, world->backend, &ann, &result) != KEDGE_OK;
        world_disarm(world);
        world_restart(world);
        add_many_clients();
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
        assert_int_equal(result.problem, KEDGE_PUSH_FINE);
        assert_int_equal(world_head(world), 2);
    }
    world_check(world);
}

/* ---- what a pinned version tells ---- */

static int64_t lmid_at(kedge_backend *backend, const kedge_version *version, const char *client)
{
    kedge_client_state found;
    kedge_error error = {0};
    if (kedge_client_load(HANDLE(backend, &notes), version, kedge_bytes_of(client), &found,
                          &error) != KEDGE_OK) {
        fail_msg("client: %s", error.message);
    }
    return found.lmid;
}

static void test_the_lmid_at_a_pinned_version_is_of_that_version(void **state)
{
    test_world *world = *state;
    for (int i = 1; i <= 50; i++)
        world_put(world, i % 2 == 0 ? "c2" : "c1", (i + 1) / 2, "a", i);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_restart(world);
    for (int64_t i = 1; i <= 50; i++) {
        const kedge_version *version = NULL;
        assert_int_equal(kedge_version_load(NOTES(world), i, &version, NULL), KEDGE_OK);
        assert_int_equal(lmid_at(world->backend, version, "c1"), (i + 1) / 2);
        assert_int_equal(lmid_at(world->backend, version, "c2"), i / 2);
        assert_int_equal(lmid_at(world->backend, version, "c3"), 0);
        kedge_version_release(version);
    }
}

static kedge_status count_up(void *context, int64_t version, const kedge_version_mutation *mutation,
                             kedge_error *error)
{
    (void)error;
    int64_t *last = context;
    assert_int_equal(mutation->id, *last + 1);
    assert_int_equal(version, mutation->id);
    assert_int_equal(mutation->outcome,
                     mutation->id % 7 == 0 ? KEDGE_MUTATION_REJECTED : KEDGE_MUTATION_APPLIED);
    if (mutation->id % 7 == 0) {
        assert_true(kedge_bytes_equal_text(mutation->code, "mutator-unknown"));
        assert_true(mutation->message.size > 0);
    }
    *last = mutation->id;
    return KEDGE_OK;
}

static void test_outcomes_come_in_order_from_rows_and_from_recent_versions(void **state)
{
    test_world *world = *state;
    const kedge_version *head = NULL;
    for (int i = 1; i <= 45; i++) {
        kedge_push_result result = {0};
        push_begin(&builder);
        if (i % 7 == 0) {
            push_add_call(&builder, "c1", i, "no.such.mutator", "{}");
        } else {
            push_add(&builder, "c1", i, "a", i);
        }
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
    assert_int_equal(kedge_version_load(NOTES(world), 0, &head, NULL), KEDGE_OK);
    for (int64_t from = 1; from <= 45; from += 4) {
        int64_t last = from - 1;
        int64_t next = -1;
        assert_int_equal(kedge_client_mutations(NOTES(world), head, KEDGE_BYTES("c1"), from, 1000,
                                                10, count_up, &last, &next, NULL),
                         KEDGE_OK);
        assert_int_equal(last, from + 9 < 45 ? from + 9 : 45);
        assert_int_equal(next, last < 45 ? last + 1 : 0);
    }
    kedge_version_release(head);
}

typedef struct listed {
    char text[1000];
    size_t size;
} listed;

static kedge_status list_client(void *context, kedge_bytes client, int64_t lmid, kedge_error *error)
{
    (void)error;
    listed *list = context;
    list->size += (size_t)snprintf(list->text + list->size, sizeof list->text - list->size,
                                   "%.*s=%lld ", (int)client.size, client.data, (long long)lmid);
    return KEDGE_OK;
}

static void check_group(test_world *world, int64_t at, int64_t since, const char *expected)
{
    const kedge_version *version = NULL;
    listed list = {.size = 0};
    assert_int_equal(kedge_version_load(NOTES(world), at, &version, NULL), KEDGE_OK);
    assert_int_equal(kedge_group_clients(NOTES(world), version, KEDGE_BYTES("g1"), since,
                                         list_client, &list, NULL),
                     KEDGE_OK);
    assert_string_equal(list.text, expected);
    kedge_version_release(version);
}

static void test_the_clients_of_a_group_since_a_version(void **state)
{
    test_world *world = *state;
    world_put(world, "c2", 1, "a", 1);
    world_put(world, "c1", 1, "a", 2);
    for (int i = 1; i <= 30; i++)
        world_put(world, "c3", i, "a", i);
    world_put(world, "c1", 2, "a", 3);
    for (int round = 0; round < 3; round++) {
        check_group(world, 0, 0, "c1=2 c2=1 c3=30 ");
        check_group(world, 0, 1, "c1=2 c3=30 ");
        check_group(world, 0, 32, "c1=2 ");
        check_group(world, 0, 33, "");
        check_group(world, 3, 0, "c1=1 c2=1 c3=1 ");
        check_group(world, 3, 2, "c3=1 ");
        if (round == 0) assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
        if (round == 1) world_delete_derived(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deleting_all_rows_and_checkpoints_between_pushes_changes_no_answer),
        cmocka_unit_test(test_indexing_after_every_push_changes_no_answer),
        cmocka_unit_test(test_both_cadences_give_the_same_answers),
        cmocka_unit_test(test_sqlite_and_memory_give_the_same_answers),
        cmocka_unit_test(test_a_project_may_change_its_cadence_at_any_time),
        OVER_ALL(test_the_lmid_at_a_pinned_version_is_of_that_version),
        OVER_MEMORY(test_a_crash_between_the_rows_of_the_first_version_is_noticed),
        OVER_ALL(test_outcomes_come_in_order_from_rows_and_from_recent_versions),
        OVER_ALL(test_the_clients_of_a_group_since_a_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
