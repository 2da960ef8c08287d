/* Large collections: checkpoints, chunks, maps, changes between versions, what is cut and what is
 * refused. */
#include "tests/backend/world.h"

#include "backend/versioned/model/layout.h"
#include "backend/versioned/model/map.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static push_builder builder;

static void fill(test_world *world, int64_t id, int64_t from, int64_t count)
{
    char args[64];
    kedge_push_result result = {0};
    snprintf(args, sizeof args, "{\"from\":%lld,\"count\":%lld}", (long long)from,
             (long long)count);
    push_begin(&builder);
    push_add_call(&builder, "c1", id, "test.fill", args);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

static size_t count_blobs(test_world *world, const char *folder)
{
    char prefix[64];
    kedge_blob_list list = {0};
    size_t count = 0;
    char after[400] = "";
    bool more = true;
    snprintf(prefix, sizeof prefix, "acme/projects/notes/%s/", folder);
    while (more) {
        const kedge_blobs *blobs = &world->store_blobs;
        assert_int_equal(blobs->vtable->list(blobs->self, kedge_bytes_of(prefix),
                                             kedge_bytes_of(after), 1000, &list, NULL),
                         KEDGE_OK);
        count += list.count;
        more = list.more;
        if (list.count > 0) {
            snprintf(after, sizeof after, "%s", list.blobs[list.count - 1].key);
        }
        kedge_blob_list_free(&list);
    }
    return count;
}

static void index_project(test_world *world)
{
    kedge_error error = {0};
    if (kedge_processor_index(NOTES(world), &error) != KEDGE_OK) {
        fail_msg("index: %s", error.message);
    }
}

static void test_a_hundred_thousand_items_are_loaded_from_a_checkpoint(void **state)
{
    test_world *world = *state;
    const kedge_version *head = NULL;
    kedge_state *loaded = NULL;
    kedge_entry entry;
    for (int i = 0; i < 10; i++)
        fill(world, i + 1, i * 10000, 10000);
    index_project(world);
    size_t chunks = count_blobs(world, "chunks");
    assert_true(chunks > 50);
    world_restart(world);
    atomic_store(&world->calls, 0);
    assert_int_equal(kedge_version_load(NOTES(world), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(head->collections[0].items, 100000);
    assert_int_equal(kedge_state_open(NOTES(world), head, &loaded, NULL), KEDGE_OK);
    assert_int_equal(
        kedge_state_find(loaded, KEDGE_BYTES("items"), KEDGE_BYTES("item-00077777"), &entry, NULL),
        KEDGE_OK);
    /* The head, the root, its version's lineage, each chunk once: no version is folded. */
    assert_true(atomic_load(&world->calls) <= chunks + 6);
    kedge_state_close(loaded);
    kedge_version_release(head);
}

static void test_one_changed_item_costs_its_own_chunk(void **state)
{
    test_world *world = *state;
    fill(world, 1, 0, 10000);
    fill(world, 2, 10000, 10000);
    index_project(world);
    size_t before = count_blobs(world, "chunks");
    for (int i = 0; i < 1100; i++) {
        /* Always the same item, until a checkpoint is due again. */
        kedge_push_result result = {0};
        push_begin(&builder);
        push_add(&builder, "c1", 3 + i, "item-00005000", i);
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
    assert_true(world_count_records(world, "Collection#items#") > 1);
    size_t after = count_blobs(world, "chunks");
    size_t roots = world_count_records(world, "Collection#items#");
    assert_true(after > before);
    assert_true(after - before <= 2 * (roots - 1));
    world_check(world);
}

/* Each push changes 300 items all over a collection, and so nearly every chunk of it. */
static void push_all_over(test_world *world, int64_t *id, int pushes, uint64_t *seed)
{
    for (int i = 0; i < pushes; i++) {
        kedge_push_result result = {0};
        push_begin(&builder);
        for (int k = 0; k < 300; k++) {
            char item[32];
            snprintf(item, sizeof item, "item-%08u", world_random(seed) % 20000);
            push_add(&builder, "c1", (*id)++, item, i * 300 + k);
        }
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
        assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    }
}

static void test_a_checkpoint_waits_until_a_quarter_of_what_it_writes_has_changed(void **state)
{
    test_world *world = *state;
    uint64_t seed = 5;
    int64_t id = 3;
    fill(world, 1, 0, 10000);
    fill(world, 2, 10000, 10000);
    index_project(world);
    size_t roots = world_count_records(world, "Collection#items#");
    push_all_over(world, &id, 10, &seed); /* far above 256 KB of changes, far below a quarter */
    assert_int_equal(world_count_records(world, "Collection#items#"), roots);
    push_all_over(world, &id, 30, &seed);
    assert_true(world_count_records(world, "Collection#items#") > roots);
}

/* I5: the state at a version == checkpoint + tail == the fold of everything, at each version. */
static void test_checkpoint_and_tail_give_the_full_fold_at_every_version(void **state)
{
    test_world *world = *state;
    uint64_t seed = 7;
    for (int i = 1; i <= 160; i++) {
        char item[16];
        kedge_push_result result = {0};
        push_begin(&builder);
        snprintf(item, sizeof item, "i%u", world_random(&seed) % 60);
        if (world_random(&seed) % 4 == 0) {
            char args[64];
            snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"%s\"}", item);
            push_add_call(&builder, "c1", i, "kedge.delete", args);
        } else {
            push_add_large(&builder, "c1", i, item, i, world_random(&seed) % 9000);
        }
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
    assert_true(world_count_records(world, "Collection#items#") > 1);
    kedge_buffer *with = calloc(161, sizeof *with);
    assert_non_null(with);
    for (int i = 1; i <= 160; i += 3) {
        with[i] = kedge_buffer_make(&kedge_allocator_default);
        world_dump(world, i, &with[i]);
    }
    world_delete_derived(world);
    for (int i = 1; i <= 160; i += 3) {
        kedge_buffer without = kedge_buffer_make(&kedge_allocator_default);
        world_dump(world, i, &without);
        assert_string_equal(with[i].data, without.data);
        kedge_buffer_free(&without);
        kedge_buffer_free(&with[i]);
    }
    free(with);
    world_check(world);
}

/* ---- changes ---- */

static void check_changes(test_world *world, int64_t from, int64_t to)
{
    const kedge_version *version = NULL;
    const kedge_version *old_version = NULL;
    kedge_state *state = NULL;
    kedge_state *old_state = NULL;
    kedge_changes changes;
    kedge_error error = {0};
    assert_int_equal(kedge_version_load(NOTES(world), to, &version, &error), KEDGE_OK);
    assert_int_equal(kedge_version_load(NOTES(world), from, &old_version, &error), KEDGE_OK);
    assert_int_equal(kedge_state_open(NOTES(world), version, &state, &error), KEDGE_OK);
    assert_int_equal(kedge_state_open(NOTES(world), old_version, &old_state, &error), KEDGE_OK);
    assert_int_equal(kedge_state_changes(state, from, &changes, &error), KEDGE_OK);
    /* What is not among them is the same; what is, is as the new state has it; each key once, in
     * order. */
    for (size_t i = 0; i < changes.count; i++) {
        kedge_entry entry;
        if (i > 0) {
            int order = kedge_bytes_compare(changes.changes[i - 1].collection,
                                            changes.changes[i].collection);
            assert_true(order < 0 ||
                        (order == 0 && kedge_bytes_compare(changes.changes[i - 1].entry.id,
                                                           changes.changes[i].entry.id) < 0));
        }
        kedge_status status = kedge_state_find(state, changes.changes[i].collection,
                                               changes.changes[i].entry.id, &entry, &error);
        assert_int_equal(status, changes.changes[i].deleted ? KEDGE_NOT_FOUND : KEDGE_OK);
        if (status == KEDGE_OK) {
            assert_memory_equal(entry.hash, changes.changes[i].entry.hash, sizeof entry.hash);
        }
    }
    for (int k = 0; k < 30; k++) {
        char id[8];
        kedge_entry now;
        kedge_entry then;
        bool listed = false;
        snprintf(id, sizeof id, "i%d", k);
        kedge_status a =
            kedge_state_find(state, KEDGE_BYTES("items"), kedge_bytes_of(id), &now, &error);
        kedge_status b =
            kedge_state_find(old_state, KEDGE_BYTES("items"), kedge_bytes_of(id), &then, &error);
        for (size_t i = 0; i < changes.count; i++) {
            if (kedge_bytes_equal_text(changes.changes[i].entry.id, id)) listed = true;
        }
        bool same = a == b && (a != KEDGE_OK || memcmp(now.hash, then.hash, sizeof now.hash) == 0);
        assert_true(same || listed);
    }
    kedge_changes_free(&changes);
    kedge_state_close(state);
    kedge_state_close(old_state);
    kedge_version_release(version);
    kedge_version_release(old_version);
}

static void test_the_changes_between_versions_lead_from_one_to_the_other(void **state)
{
    test_world *world = *state;
    uint64_t seed = 3;
    for (int i = 1; i <= 100; i++) {
        char args[64];
        char item[8];
        kedge_push_result result = {0};
        push_begin(&builder);
        snprintf(item, sizeof item, "i%u", world_random(&seed) % 30);
        snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"%s\"}", item);
        if (world_random(&seed) % 3 == 0) {
            push_add_call(&builder, "c1", i, "kedge.delete", args);
        } else {
            push_add(&builder, "c1", i, item, i);
        }
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
    for (int i = 0; i < 40; i++) {
        int64_t from = 1 + world_random(&seed) % 100;
        int64_t to = 1 + world_random(&seed) % 100;
        check_changes(world, from < to ? from : to, from < to ? to : from);
    }
}

/* ---- what is cut ---- */

static void test_a_push_of_large_args_is_cut_into_versions_that_fit(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    /* A hundred puts of 90 KB, all of the same text but for its number: 9 MB of args. */
    push_begin(&builder);
    for (int i = 1; i <= 100; i++) {
        char item[8];
        snprintf(item, sizeof item, "i%d", i % 3);
        push_add_large(&builder, "c1", i, item, i % 3, 90000);
        /* Texts are reused, so that every third has the same args and digest. */
    }
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_true(result.version >= 2);
    assert_int_equal(world_lmid(world, "c1"), 100);
    world_check(world);
}

static void test_a_version_over_its_limit_moves_its_delta_and_args_to_blobs(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    const kedge_version *version = NULL;
    uint64_t seed = 11;
    push_begin(&builder);
    /* Random text hardly compresses: some 300 KB in the delta, and again in the args. */
    for (int i = 0; i < 500; i++) {
        char args[1024];
        int at =
            snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"i%d\",\"value\":\"", i);
        for (int k = 0; k < 800; k++) {
            args[at++] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
                [world_random(&seed) % 64];
        }
        snprintf(args + at, sizeof args - (size_t)at, "\"}");
        push_add_call(&builder, "c1", i + 1, "kedge.put", args);
    }
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.version, 1);
    assert_true(count_blobs(world, "versions") >= 1);
    assert_int_equal(kedge_version_load(NOTES(world), 1, &version, NULL), KEDGE_OK);
    assert_int_equal(version->mutation_count, 500);
    assert_true(kedge_bytes_equal(version->mutations[499].args, builder.mutations[499].args));
    kedge_version_release(version);
    world_check(world);
}

/* An unknown mutator's args may be anything. */
static const char *repeated_args(void)
{
    static char args[60000];
    memset(args, 'x', sizeof args);
    args[0] = args[sizeof args - 2] = '"';
    args[sizeof args - 1] = '\0';
    return args;
}

static bool has_attribute(test_world *world, int64_t number, const char *name)
{
    kedge_key partition = kedge_key_partition(&notes);
    kedge_key sort = kedge_key_version(number);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    const kedge_records *records = &world->store_records;
    kedge_record_set set = {0};
    assert_int_equal(records->vtable->get(records->self, &key, true, &set, NULL), KEDGE_OK);
    bool has = kedge_record_attribute(&set.records[0], name) != NULL;
    kedge_record_set_free(&set);
    return has;
}

static void test_large_args_leave_the_record_and_many_small_ones_stay(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    const kedge_version *version = NULL;
    push_begin(&builder);
    push_add_dense(&builder, "c1", 1, "a", 1, 20000);
    push_add(&builder, "c1", 2, "b", 2);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_true(has_attribute(world, 1, "args_parts"));
    assert_false(has_attribute(world, 1, "args"));
    assert_true(has_attribute(world, 1, "delta"));
    assert_int_equal(count_blobs(world, "versions"), 1);
    assert_int_equal(kedge_version_load(NOTES(world), 1, &version, NULL), KEDGE_OK);
    kedge_buffer canonical = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_json_canonical(builder.mutations[0].args, &canonical, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal(version->mutations[0].args, kedge_buffer_bytes(&canonical)));
    assert_true(kedge_bytes_equal(version->mutations[1].args, builder.mutations[1].args));
    kedge_buffer_free(&canonical);
    kedge_version_release(version);

    /* Together they pack into more than 8 KB; each of them is small. */
    push_begin(&builder);
    for (int i = 3; i < 60; i++)
        push_add_dense(&builder, "c1", i, "c", i, 900);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_true(has_attribute(world, 2, "args"));
    /* These are large, and pack into little. */
    push_begin(&builder);
    push_add_call(&builder, "c1", 60, "no.such.mutator", "{}");
    builder.mutations[0].args = kedge_bytes_of(repeated_args());
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_true(has_attribute(world, 3, "args"));
    assert_int_equal(count_blobs(world, "versions"), 1);
    world_check(world);
}

/* Pushes, index rows and reads of the state do not need them. */
static void test_lost_args_are_missed_by_those_alone_who_ask_for_them(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    kedge_error error = {0};
    const kedge_version *version = NULL;
    push_begin(&builder);
    push_add_dense(&builder, "c1", 1, "a", 1, 20000);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    world_remove_one_blob(world, "acme/projects/notes/versions/");
    world_restart(world);
    for (int i = 2; i <= 20; i++)
        assert_int_equal(world_put(world, "c1", i, "b", i), i);
    index_project(world);
    assert_int_equal(world_count_records(world, "Mutation#c1#"), 20);
    assert_int_equal(world_lmid(world, "c1"), 20);
    assert_string_equal(world_value(world, "b"), "{\"v\":20}");
    assert_int_equal(
        kedge_version_load_detail(NOTES(world), 1, KEDGE_VERSION_STATE, &version, &error),
        KEDGE_OK);
    assert_true(version->without_args);
    assert_int_equal(version->mutations[0].args.size, 0);
    assert_int_equal(version->change_count, 1);
    kedge_version_release(version);
    assert_int_equal(kedge_version_load(NOTES(world), 1, &version, &error), KEDGE_CORRUPT);
    assert_string_equal(error.code, "version-part-missing");
}

/* ---- limits ---- */

static void test_a_257th_collection_is_rejected(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    for (int i = 1; i <= 260; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"collection\":\"k%d\",\"id\":\"a\",\"value\":1}", i);
        push_add_call(&builder, "c1", i, "kedge.put", args);
    }
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    const kedge_version *version = NULL;
    assert_int_equal(kedge_version_load(NOTES(world), 0, &version, NULL), KEDGE_OK);
    assert_int_equal(version->collection_count, 256);
    const kedge_version_mutation *last = &version->mutations[version->mutation_count - 1];
    assert_int_equal(last->id, 260);
    assert_int_equal(last->outcome, KEDGE_MUTATION_REJECTED);
    assert_true(kedge_bytes_equal_text(last->code, "too-many-collections"));
    kedge_version_release(version);
    world_check(world);
}

static void test_declared_fields_are_kept_as_metadata(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "kedge.project",
                  "{\"kedge.meta\":{\"items\":[\"title\",\"none\"]}}");
    push_add_call(
        &builder, "c1", 2, "kedge.put",
        "{\"collection\":\"items\",\"id\":\"a\",\"value\":{\"body\":\"long\",\"title\":\"T\"}}");
    push_add_call(&builder, "c1", 3, "kedge.put",
                  "{\"collection\":\"other\",\"id\":\"a\",\"value\":{\"title\":\"T\"}}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    index_project(world);
    world_restart(world);
    const kedge_version *version = NULL;
    kedge_state *opened = NULL;
    kedge_entry entry;
    assert_int_equal(kedge_version_load(NOTES(world), 0, &version, NULL), KEDGE_OK);
    assert_int_equal(kedge_state_open(NOTES(world), version, &opened, NULL), KEDGE_OK);
    assert_int_equal(kedge_state_find(opened, KEDGE_BYTES("items"), KEDGE_BYTES("a"), &entry, NULL),
                     KEDGE_OK);
    assert_true(kedge_bytes_equal_text(entry.meta, "{\"title\":\"T\"}"));
    assert_int_equal(kedge_state_find(opened, KEDGE_BYTES("other"), KEDGE_BYTES("a"), &entry, NULL),
                     KEDGE_OK);
    assert_int_equal(entry.meta.size, 0);
    kedge_state_close(opened);
    kedge_version_release(version);
}

static kedge_status check_outcome(void *context, int64_t version,
                                  const kedge_version_mutation *mutation, kedge_error *error)
{
    (void)version;
    (void)error;
    bool too_large = mutation->id == 3 || mutation->id == 5;
    assert_int_equal(mutation->outcome,
                     too_large ? KEDGE_MUTATION_REJECTED : KEDGE_MUTATION_APPLIED);
    assert_true(kedge_bytes_equal_text(mutation->code, too_large ? "version-too-large" : ""));
    ++*(int *)context;
    return KEDGE_OK;
}

/* What was too large may have been the args. */
static void check_kept_args(test_world *world, int64_t number)
{
    const kedge_version *version = NULL;
    assert_int_equal(kedge_version_load(NOTES(world), number, &version, NULL), KEDGE_OK);
    for (size_t i = 0; i < version->mutation_count; i++) {
        const kedge_version_mutation *mutation = &version->mutations[i];
        assert_int_equal(mutation->outcome == KEDGE_MUTATION_REJECTED,
                         kedge_bytes_equal_text(mutation->args, "null"));
    }
    kedge_version_release(version);
}

static void test_a_mutation_that_no_transaction_holds_is_rejected_and_blocks_nothing(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    const kedge_version *head = NULL;
    int decided = 0;
    /* Metadata of 900 bytes an item: 3 MB at some 5,000 items. */
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "kedge.project", "{\"kedge.meta\":{\"items\":[\"text\"]}}");
    push_add_call(&builder, "c1", 2, "test.scatter", "{\"count\":2000}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_true(world_count_records(world, "Collection#items#cv_000000000001#") > 1);
    push_begin(&builder);
    push_add_call(&builder, "c1", 3, "test.scatter", "{\"count\":5500}");
    push_add(&builder, "c1", 4, "a", 4);
    push_add_call(&builder, "c1", 5, "test.scatter", "{\"count\":5501}");
    push_add(&builder, "c1", 6, "b", 6);
    push_add(&builder, "c2", 1, "c", 1);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
        assert_int_equal(result.problem, KEDGE_PUSH_FINE);
        assert_int_equal(world_lmid(world, "c1"), 6);
        assert_int_equal(world_lmid(world, "c2"), 1);
        assert_int_equal(world_head(world), result.version);
        assert_true(result.version <= 6);
    }
    assert_string_equal(world_value(world, "a"), "{\"v\":4}");
    assert_string_equal(world_value(world, "c"), "{\"v\":1}");
    assert_string_equal(world_value(world, "item-00003000"), "absent");
    assert_int_equal(kedge_version_load(NOTES(world), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(kedge_client_mutations(NOTES(world), head, KEDGE_BYTES("c1"), 3, 6, 10,
                                            check_outcome, &decided, NULL, NULL),
                     KEDGE_OK);
    assert_int_equal(decided, 4);
    for (int64_t number = 2; number <= head->number; number++)
        check_kept_args(world, number);
    kedge_version_release(head);
    world_check(world);
}

/* ---- the map ---- */

static void test_a_map_gives_what_was_put_and_leaves_older_ones_alone(void **state)
{
    (void)state;
    enum { KEYS = 300, STEPS = 4000 };
    const kedge_allocator *allocator = &kedge_allocator_default;
    kedge_map map = {0};
    kedge_map older = {0};
    bool present[KEYS] = {false};
    bool was[KEYS] = {false};
    size_t count = 0;
    uint64_t seed = 5;
    for (int step = 0; step < STEPS; step++) {
        uint32_t key = world_random(&seed) % KEYS;
        char id[8];
        kedge_entry entry = {0};
        snprintf(id, sizeof id, "%04u", key);
        entry.id = kedge_bytes_of(id);
        if (world_random(&seed) % 2 == 0) {
            kedge_item *item = kedge_item_new(allocator, &entry, false);
            assert_true(kedge_map_put(allocator, &map, item));
            kedge_item_release(allocator, item);
            present[key] = true;
        } else {
            assert_true(kedge_map_remove(allocator, &map, entry.id));
            present[key] = false;
        }
        if (step == STEPS / 2) {
            older = kedge_map_share(&map);
            memcpy(was, present, sizeof was);
        }
    }
    for (int i = 0; i < KEYS; i++)
        count += present[i] ? 1 : 0;
    assert_int_equal(map.count, count);
    for (uint32_t i = 0; i < KEYS; i++) {
        char id[8];
        snprintf(id, sizeof id, "%04u", i);
        assert_int_equal(kedge_map_find(&map, kedge_bytes_of(id)) != NULL, present[i]);
        assert_int_equal(kedge_map_find(&older, kedge_bytes_of(id)) != NULL, was[i]);
    }
    kedge_map_free(allocator, &map);
    kedge_map_free(allocator, &older);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_SQLITE(test_a_hundred_thousand_items_are_loaded_from_a_checkpoint),
        OVER_MEMORY(test_one_changed_item_costs_its_own_chunk),
        OVER_MEMORY(test_a_checkpoint_waits_until_a_quarter_of_what_it_writes_has_changed),
        OVER_ALL(test_checkpoint_and_tail_give_the_full_fold_at_every_version),
        OVER_ALL(test_the_changes_between_versions_lead_from_one_to_the_other),
        OVER_BOTH(test_a_push_of_large_args_is_cut_into_versions_that_fit),
        OVER_BOTH(test_a_version_over_its_limit_moves_its_delta_and_args_to_blobs),
        OVER_BOTH(test_large_args_leave_the_record_and_many_small_ones_stay),
        OVER_BOTH(test_lost_args_are_missed_by_those_alone_who_ask_for_them),
        OVER_MEMORY(test_a_257th_collection_is_rejected),
        OVER_ALL(test_declared_fields_are_kept_as_metadata),
        OVER_SEED(test_a_mutation_that_no_transaction_holds_is_rejected_and_blocks_nothing),
        cmocka_unit_test(test_a_map_gives_what_was_put_and_leaves_older_ones_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
