/* Pushes: versions, duplicates, gaps, mismatches, rejections, owners. */
#include "tests/backend/world.h"

#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

static push_builder builder;

static void test_pushes_make_versions_1_2_3(void **state)
{
    test_world *world = *state;
    assert_int_equal(world_put(world, "c1", 1, "a", 1), 1);
    assert_int_equal(world_put(world, "c1", 2, "a", 2), 2);
    assert_int_equal(world_put(world, "c2", 1, "b", 3), 3);
    assert_int_equal(world_head(world), 3);
    assert_string_equal(world_value(world, "a"), "{\"v\":2}");
    assert_string_equal(world_value(world, "b"), "{\"v\":3}");
    assert_int_equal(world_lmid(world, "c1"), 2);
    assert_int_equal(world_lmid(world, "c2"), 1);
    world_check(world);
}

static void test_one_push_makes_one_version(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    for (int i = 1; i <= 20; i++)
        push_add(&builder, "c1", i, "a", i);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.version, 1);
    assert_int_equal(world_lmid(world, "c1"), 20);
    assert_string_equal(world_value(world, "a"), "{\"v\":20}");
    world_check(world);
}

static void test_a_retry_of_the_same_push_makes_no_version(void **state)
{
    test_world *world = *state;
    assert_int_equal(world_put(world, "c1", 1, "a", 1), 1);
    assert_int_equal(world_put(world, "c1", 1, "a", 1), 1);
    world_restart(world);
    assert_int_equal(world_put(world, "c1", 1, "a", 1), 1);
    assert_int_equal(world_head(world), 1);
}

static void test_a_retry_with_something_new_applies_only_that(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    world_put(world, "c1", 1, "a", 1);
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    push_add(&builder, "c1", 2, "a", 2);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(result.version, 2);
    world_check(world);
}

static void test_a_gap_is_not_applied(void **state)
{
    test_world *world = *state;
    world_put(world, "c1", 1, "a", 1);
    assert_int_equal(world_try(world, "c1", 3, "a", 3), KEDGE_PUSH_GAP);
    assert_int_equal(world_head(world), 1);
    assert_int_equal(world_lmid(world, "c1"), 1);
}

static void test_behind_a_gap_nothing_of_the_client_is_applied_but_others_are(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    world_put(world, "c1", 1, "a", 1);
    push_begin(&builder);
    push_add(&builder, "c1", 3, "a", 3);
    push_add(&builder, "c1", 2, "a", 2);
    push_add(&builder, "c2", 1, "b", 1);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_GAP);
    assert_int_equal(world_lmid(world, "c1"), 1);
    assert_int_equal(world_lmid(world, "c2"), 1);
    assert_int_equal(world_head(world), 2);
}

static void test_the_same_id_with_another_mutation_is_a_mismatch(void **state)
{
    test_world *world = *state;
    world_put(world, "c1", 1, "a", 1);
    assert_int_equal(world_try(world, "c1", 1, "a", 2), KEDGE_PUSH_MISMATCH);
    assert_string_equal(world_value(world, "a"), "{\"v\":1}");
    assert_int_equal(world_head(world), 1);
}

static void test_one_push_with_two_mutations_under_one_id_is_a_mismatch(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    push_add(&builder, "c1", 1, "a", 1);
    push_add(&builder, "c1", 1, "a", 2);
    push_add(&builder, "c1", 2, "a", 3);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_MISMATCH);
    assert_int_equal(world_lmid(world, "c1"), 1);
    assert_string_equal(world_value(world, "a"), "{\"v\":1}");
}

static void test_an_unknown_client_must_start_with_1(void **state)
{
    test_world *world = *state;
    assert_int_equal(world_try(world, "c1", 2, "a", 1), KEDGE_PUSH_CLIENT_UNKNOWN);
    assert_int_equal(world_head(world), 0);
}

static kedge_mutation_outcome last_outcome(test_world *world, char *code, size_t code_size)
{
    const kedge_version *version = NULL;
    assert_int_equal(kedge_version_load(NOTES(world), 0, &version, NULL), KEDGE_OK);
    const kedge_version_mutation *mutation = &version->mutations[version->mutation_count - 1];
    kedge_mutation_outcome outcome = mutation->outcome;
    snprintf(code, code_size, "%.*s", (int)mutation->code.size,
             mutation->code.size == 0 ? "" : mutation->code.data);
    kedge_version_release(version);
    return outcome;
}

static void test_a_rejected_mutation_advances_and_blocks_nothing(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    char code[64];
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "no.such.mutator", "{}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(last_outcome(world, code, sizeof code), KEDGE_MUTATION_REJECTED);
    assert_string_equal(code, "mutator-unknown");
    assert_int_equal(world_lmid(world, "c1"), 1);
    assert_int_equal(world_put(world, "c1", 2, "a", 2), 2);
    /* Pushed again it stays what it was, and is no mismatch. */
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(world_head(world), 2);
}

/* Nothing of the client is lost: neither the edit that waits nor those after it are decided. */
static void test_a_mutation_that_waits_for_a_newer_server_is_not_decided(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    push_add_call(&builder, "c1", 2, "no.such.mutator", "{}");
    builder.mutations[1].waits = true;
    push_add(&builder, "c1", 3, "a", 3);
    push_add(&builder, "c2", 1, "b", 1);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_SERVER_OLD);
    assert_non_null(strstr(result.detail, "no.such.mutator"));
    assert_int_equal(world_lmid(world, "c1"), 1);
    assert_int_equal(world_lmid(world, "c2"), 1);

    /* A version that this server does not have, also in a batch. */
    push_begin(&builder);
    push_add(&builder, "c1", 2, "a", 2);
    builder.mutations[0].mutator = 2;
    builder.mutations[0].waits = true;
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_SERVER_OLD);
    push_begin(&builder);
    push_add_call(&builder, "c1", 2, "kedge.batch",
                  "{\"mutations\":[{\"args\":null,\"name\":\"no.such.part\"}]}");
    builder.mutations[0].args_are_canonical = true;
    builder.mutations[0].waits = true;
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_SERVER_OLD);
    assert_non_null(strstr(result.detail, "version 1 of \"no.such.part\""));
    assert_int_equal(world_lmid(world, "c1"), 1);
    world_check(world);
}

static void test_an_edit_of_a_newer_mutator_that_does_not_wait_is_rejected(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    char code[64];
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    builder.mutations[0].mutator = 2;
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    assert_int_equal(last_outcome(world, code, sizeof code), KEDGE_MUTATION_REJECTED);
    assert_string_equal(code, "server-too-old");

    /* So is a batch with such a part, whatever stands in front of it. */
    push_begin(&builder);
    push_add_call(&builder, "c1", 2, "kedge.batch",
                  "{\"mutations\":[{\"args\":null,\"name\":\"kedge.noop\"},"
                  "{\"args\":{\"collection\":\"items\",\"id\":\"b\",\"value\":1},"
                  "\"name\":\"kedge.put\",\"version\":2}]}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(last_outcome(world, code, sizeof code), KEDGE_MUTATION_REJECTED);
    assert_string_equal(code, "server-too-old");
    assert_string_equal(world_value(world, "b"), "absent");
}

static void test_an_invalid_mutation_is_rejected_with_its_code(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    char code[64];
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    builder.mutations[0].invalid_code = "mutation-not-ijson";
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(last_outcome(world, code, sizeof code), KEDGE_MUTATION_REJECTED);
    assert_string_equal(code, "mutation-not-ijson");
    assert_string_equal(world_value(world, "a"), "absent");
}

static void test_a_client_belongs_to_its_first_user_and_group(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    world_put(world, "c1", 1, "a", 1);
    push_begin(&builder);
    push_add(&builder, "c1", 2, "a", 2);
    assert_int_equal(push_send(&builder, world->backend, &bob, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_CLIENT_FOREIGN);
    builder.sender.group = KEDGE_BYTES("g2");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_CLIENT_FOREIGN);
    assert_int_equal(world_lmid(world, "c1"), 1);
    /* The same from index rows. */
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "c2", 1, "b", 1);
    world_restart(world);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_CLIENT_FOREIGN);
    assert_int_equal(world_put(world, "c1", 2, "a", 2), 3);
}

static void test_a_timestamp_beyond_what_json_holds_is_cut(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    push_add(&builder, "c1", 2, "a", 2);
    builder.mutations[0].timestamp_ms = INT64_MAX;
    builder.mutations[1].timestamp_ms = INT64_MIN;
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    world_restart(world);
    assert_int_equal(world_put(world, "c1", 3, "a", 3), 2);
    world_check(world);
}

/* ---- items that are larger than all that a version may change besides ---- */

#define LARGE_TEXT_BYTES 5000000

static void put_very_large(test_world *world, int64_t id, const char *item)
{
    kedge_push_result result = {0};
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&args, "{\"collection\":\"items\",\"id\":\"%s\",\"value\":{\"t\":\"",
                               item);
    for (size_t i = 0; i < LARGE_TEXT_BYTES; i++)
        kedge_buffer_append_byte(&args, 'x');
    kedge_buffer_append_text(&args, "\"}}");
    push_begin(&builder);
    push_add_call(&builder, "c1", id, "kedge.put", "");
    builder.mutations[0].args = kedge_buffer_bytes(&args);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    kedge_buffer_free(&args);
}

static void add_merge(int64_t id, const char *item, int value)
{
    char args[128];
    snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"%s\",\"patch\":{\"m%d\":%d}}",
             item, value % 7, value);
    push_add_call(&builder, "c1", id, "kedge.merge", args);
}

static void test_many_edits_of_one_item_are_one_version_however_large_it_is(void **state)
{
    enum { MERGES = 12 };
    test_world *world = *state;
    kedge_push_result result = {0};
    put_very_large(world, 1, "a");
    put_very_large(world, 2, "b");
    push_begin(&builder);
    for (int i = 0; i < MERGES; i++)
        add_merge(3 + i, "a", i);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(world_head(world), 3);
    for (int i = 0; i < MERGES; i++) {
        push_begin(&builder);
        add_merge(3 + MERGES + i, "b", i);
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
    assert_int_equal(world_head(world), 3 + MERGES);
    /* What the merges have set stands in front of the text. */
    static const char start[] =
        "{\"m0\":7,\"m1\":8,\"m2\":9,\"m3\":10,\"m4\":11,\"m5\":5,\"m6\":6,";
    assert_memory_equal(world_value(world, "a"), start, sizeof start - 1);
    assert_memory_equal(world_value(world, "b"), start, sizeof start - 1);
    world_check(world);
}

static void add_edit_of_any_kind(int64_t id, const char *item, int value)
{
    static const char *const names[] = {"kedge.merge", "kedge.patch", "kedge.text",
                                        "kedge.restore"};
    char args[256], key[64];
    snprintf(key, sizeof key, "\"collection\":\"items\",\"id\":\"%s\"", item);
    switch (value % 4) {
    case 0:
        snprintf(args, sizeof args, "{%s,\"patch\":{\"m\":%d}}", key, value);
        break;
    case 1:
        snprintf(args, sizeof args,
                 value == 1 ? "{%s,\"patch\":[{\"op\":\"add\",\"path\":\"/l\",\"value\":[%d]}]}"
                            : "{%s,\"patch\":[{\"op\":\"add\",\"path\":\"/l/-\",\"value\":%d}]}",
                 key, value);
        break;
    case 2:
        snprintf(args, sizeof args, "{%s,\"base\":\"\",\"path\":\"/s\",\"text\":\"w%d\"}", key,
                 value);
        break;
    default:
        snprintf(args, sizeof args,
                 "{\"changes\":[{%s,\"expected\":%d,\"path\":\"/m\",\"value\":%d}]}", key,
                 value - 3, value);
    }
    push_add_call(&builder, "c1", id, names[value % 4], args);
}

static void test_edits_of_every_kind_are_the_same_in_one_push_and_one_by_one(void **state)
{
    enum { EDITS = 12 };
    test_world *world = *state;
    kedge_push_result result = {0};
    put_very_large(world, 1, "a");
    put_very_large(world, 2, "b");
    push_begin(&builder);
    for (int i = 0; i < EDITS; i++)
        add_edit_of_any_kind(3 + i, "a", i);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(world_head(world), 3);
    for (int i = 0; i < EDITS; i++) {
        push_begin(&builder);
        add_edit_of_any_kind(3 + EDITS + i, "b", i);
        assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    }
    assert_int_equal(world_head(world), 3 + EDITS);
    static const char start[] = "{\"l\":[1,5,9],\"m\":11,\"s\":\"w2 w6 w10\",\"t\":\"xxx";
    assert_memory_equal(world_value(world, "a"), start, sizeof start - 1);
    assert_memory_equal(world_value(world, "b"), start, sizeof start - 1);
    world_check(world);
}

static void test_a_version_changes_four_mebibytes_besides_one_item(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    static const char *const items[] = {"a", "b", "c", "a"};
    for (int i = 0; i < 3; i++)
        put_very_large(world, 1 + i, items[i]);
    push_begin(&builder);
    for (int i = 0; i < 4; i++)
        add_merge(4 + i, items[i], i);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(world_head(world), 5); /* the first three have changed 15 MB */
    world_check(world);
}

/* Blobs alone were restored: a body is gone for good. */
static void test_a_mutation_that_reads_a_lost_body_is_rejected_and_a_put_heals(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    kedge_blob_list list = {0};
    char code[64];
    push_begin(&builder);
    push_add_large(&builder, "c1", 1, "a", 1, 20000);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    const kedge_blobs *blobs = &world->store_blobs;
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/projects/notes/items/"),
                                         (kedge_bytes){NULL, 0}, 10, &list, NULL),
                     KEDGE_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(blobs->vtable->remove(blobs->self, kedge_bytes_of(list.blobs[0].key), NULL),
                     KEDGE_OK);
    kedge_blob_list_free(&list);
    push_begin(&builder);
    push_add_call(&builder, "c1", 2, "kedge.merge",
                  "{\"collection\":\"items\",\"id\":\"a\",\"patch\":{\"w\":1}}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(last_outcome(world, code, sizeof code), KEDGE_MUTATION_REJECTED);
    assert_string_equal(code, "item-body-missing");
    assert_int_equal(world_put(world, "c1", 3, "a", 3), 3);
    world_check(world);
}

static void test_a_project_that_does_not_exist_is_not_found(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    kedge_error error = {0};
    kedge_project_ref other = {KEDGE_BYTES("acme"), KEDGE_BYTES("none")};
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    assert_int_equal(
        kedge_processor_push(HANDLE(world->backend, &other), &builder.push, &result, &error),
        KEDGE_NOT_FOUND);
    assert_string_equal(error.code, "project-not-found");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_pushes_make_versions_1_2_3),
        OVER_ALL(test_one_push_makes_one_version),
        OVER_ALL(test_a_retry_of_the_same_push_makes_no_version),
        OVER_ALL(test_a_retry_with_something_new_applies_only_that),
        OVER_ALL(test_a_gap_is_not_applied),
        OVER_ALL(test_behind_a_gap_nothing_of_the_client_is_applied_but_others_are),
        OVER_ALL(test_the_same_id_with_another_mutation_is_a_mismatch),
        OVER_ALL(test_one_push_with_two_mutations_under_one_id_is_a_mismatch),
        OVER_ALL(test_an_unknown_client_must_start_with_1),
        OVER_ALL(test_a_rejected_mutation_advances_and_blocks_nothing),
        OVER_ALL(test_a_mutation_that_waits_for_a_newer_server_is_not_decided),
        OVER_ALL(test_an_edit_of_a_newer_mutator_that_does_not_wait_is_rejected),
        OVER_ALL(test_an_invalid_mutation_is_rejected_with_its_code),
        OVER_ALL(test_a_client_belongs_to_its_first_user_and_group),
        OVER_ALL(test_a_timestamp_beyond_what_json_holds_is_cut),
        OVER_BOTH(test_many_edits_of_one_item_are_one_version_however_large_it_is),
        OVER_BOTH(test_edits_of_every_kind_are_the_same_in_one_push_and_one_by_one),
        OVER_BOTH(test_a_version_changes_four_mebibytes_besides_one_item),
        OVER_ALL(test_a_mutation_that_reads_a_lost_body_is_rejected_and_a_put_heals),
        OVER_BOTH(test_a_project_that_does_not_exist_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
