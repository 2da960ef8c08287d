/* Repair: what copies still have is written again, and what is lost for good is named. */
#include "tests/jobs/transfer_world.h"

#include "backend/api/api.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/fork.h"
#include "backend/versioned/projects/organizations.h"
#include "backend/versioned/projects/redeliver.h"
#include "backend/versioned/state/state_internal.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static push_builder builder;
static kept_lines kept;
static kedge_verify_summary summary;

static void push(test_world *world)
{
    kedge_push_result result = {0};
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

/* {"v":value,"text":"xxx…"}, in blobs. */
static void put_large(test_world *world, int64_t id, const char *item, int value)
{
    push_begin(&builder);
    push_add_large(&builder, "c1", id, item, value, 9000);
    push(world);
}

/* The body of such an item, and of that of test.large. For the caller to free. */
static char *large_body(int value)
{
    char *text = malloc(9100);
    assert_non_null(text);
    int at = snprintf(text, 9100, "{\"text\":\"");
    memset(text + at, 'x', 9000);
    snprintf(text + at + 9000, 64, "\",\"v\":%d}", value);
    return text;
}

static char *body_of_test_large(void)
{
    char *text = calloc(1, 20001);
    assert_non_null(text);
    memset(text, 'x', 20000);
    text[0] = text[19999] = '"';
    return text;
}

/* Many items, with a checkpoint in chunks. */
static void scatter(test_world *world)
{
    push_begin(&builder);
    push_add_call(&builder, "filler", 1, "test.scatter", "{\"count\":1200}");
    push(world);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
}

/* The lines stay until the next repair. */
static void repair(test_world *world, const kedge_project_ref *ref, int findings, int repaired,
                   int lost)
{
    kedge_error error = {0};
    lines_end(&kept);
    lines_begin(&kept);
    kedge_backend *backend = world_new_backend(world);
    assert_int_equal(kedge_repair_project(HANDLE(backend, ref), &kept.lines, &summary, &error),
                     KEDGE_OK);
    kedge_backend_free(backend);
    print_message("%s", kept.text.data);
    assert_int_equal(summary.findings, findings);
    assert_int_equal(summary.repaired, repaired);
    assert_int_equal(summary.lost, lost);
}

static void lose_body(test_world *world, const kedge_project_ref *ref, const char *collection,
                      const char *text, const char *other)
{
    const kedge_blobs *blobs = &world->store_blobs;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(kedge_bytes_of(text), hash);
    kedge_key key = kedge_key_body(ref, kedge_bytes_of(collection), hash);
    assert_int_equal(blobs->vtable->remove(blobs->self, kedge_key_bytes(&key), NULL), KEDGE_OK);
    if (other == NULL) return;
    assert_int_equal(blobs->vtable->put_if_absent(blobs->self, kedge_key_bytes(&key),
                                                  kedge_bytes_of(other), NULL),
                     KEDGE_OK);
}

static void test_a_sound_project_is_left_alone(void **state)
{
    test_world *world = *state;
    jobs_story story;
    kedge_buffer before = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    story_begin(&story, 5);
    story_tell(&story, world, 40);
    scatter(world);
    world_dump(world, world_head(world), &before);
    unsigned long long writes = atomic_load(&world->writes);
    repair(world, &notes, 0, 0, 0);
    assert_int_equal(atomic_load(&world->writes), writes);
    world_dump(world, world_head(world), &after);
    assert_string_equal(before.data, after.data);
    assert_non_null(strstr(kept.text.data, "\"repaired\":0,\"lost\":0}"));
    kedge_buffer_free(&before);
    kedge_buffer_free(&after);
}

/* A put has the value in its args. */
static void test_a_body_that_is_gone_or_damaged_comes_back_from_the_args(void **state)
{
    test_world *world = *state;
    put_large(world, 1, "a", 1);
    put_large(world, 2, "b", 2);
    char *one = large_body(1);
    char *two = large_body(2);
    lose_body(world, &notes, "items", one, NULL);
    lose_body(world, &notes, "items", two, "no gzip at all");
    repair(world, &notes, 2, 2, 0);
    assert_non_null(strstr(kept.text.data, "\"repaired\":\"item-body\",\"version\":1,"));
    assert_non_null(strstr(kept.text.data, "\"from\":\"the args of a mutation of version 1\""));
    jobs_check(world);
    world_restart(world);
    repair(world, &notes, 0, 0, 0);
    free(one);
    free(two);
}

static void push_call(test_world *world, int64_t id, const char *name, const char *args)
{
    push_begin(&builder);
    push_add_call(&builder, "c1", id, name, args);
    push(world);
}

/* ---- delivering again ---- */

/* The keys that the version changes, "c/a c/b ", when no mutation is in it; otherwise a word that
 * tells so. */
static const char *delivered(test_world *world, int64_t number)
{
    static char keys[256];
    const kedge_version *version = NULL;
    kedge_backend *backend = world_new_backend(world);
    keys[0] = '\0';
    assert_int_equal(kedge_version_load(HANDLE(backend, &notes), number, &version, NULL), KEDGE_OK);
    for (size_t i = 0; i < version->change_count; i++) {
        const kedge_version_change *change = &version->changes[i];
        size_t at = strlen(keys);
        assert_false(change->deleted);
        (void)snprintf(keys + at, sizeof keys - at, "%.*s/%.*s ", (int)change->collection.size,
                       change->collection.data, (int)change->entry.id.size, change->entry.id.data);
    }
    if (version->mutation_count > 0 || version->run_count > 0)
        (void)snprintf(keys, sizeof keys, "pushed");
    kedge_version_release(version);
    kedge_backend_free(backend);
    return keys;
}

static void test_items_whose_body_came_back_stand_in_one_more_version_as_they_were(void **state)
{
    test_world *world = *state;
    kedge_buffer before = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    put_large(world, 1, "a", 1);
    put_large(world, 2, "b", 2);
    put_large(world, 3, "c", 1);
    world_dump(world, 3, &before);
    char *one = large_body(1);
    lose_body(world, &notes, "items", one, NULL);
    repair(world, &notes, 1, 1, 0);
    assert_non_null(strstr(kept.text.data, "{\"delivered\":2,\"version\":4}"));
    assert_int_equal(world_head(world), 4);
    assert_string_equal(delivered(world, 4), "items/a items/c ");
    world_dump(world, 4, &after);
    assert_string_equal(before.data, after.data);
    assert_int_equal(world_count_records(world, "Repaired#"), 0);
    jobs_check(world);
    world_check(world);
    repair(world, &notes, 0, 0, 0);
    assert_null(strstr(kept.text.data, "delivered"));
    assert_int_equal(world_head(world), 4);
    world_put(world, "c1", 4, "d", 4);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    jobs_check(world);
    kedge_buffer_free(&before);
    kedge_buffer_free(&after);
    free(one);
}

static void test_a_version_that_delivers_again_is_exported_as_any_other(void **state)
{
    test_world *world = *state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    put_large(world, 1, "a", 1);
    put_large(world, 2, "b", 2);
    char *one = large_body(1);
    lose_body(world, &notes, "items", one, NULL);
    repair(world, &notes, 1, 1, 0);
    transfer_export(world, &notes, &text);
    transfer_must_import(world, &copy, &text);
    transfer_check(world, &text);
    transfer_retain(world, 1);
    jobs_check(world);
    kedge_buffer_free(&text);
    free(one);
}

static void test_a_body_that_no_item_has_any_more_delivers_nothing(void **state)
{
    test_world *world = *state;
    put_large(world, 1, "a", 1);
    put_large(world, 2, "a", 2);
    char *one = large_body(1);
    lose_body(world, &notes, "items", one, NULL);
    repair(world, &notes, 1, 1, 0);
    assert_int_equal(world_head(world), 2);
    assert_int_equal(world_count_records(world, "Repaired#"), 0);
    jobs_check(world);
    free(one);
}

/* The items of test.scatter have a body each, and are more than a version delivers. */
static kedge_redelivery *bodies_of_all(test_world *world, size_t *count)
{
    kedge_state *head = NULL;
    kedge_entry entry;
    kedge_redelivery *bodies = calloc(4096, sizeof *bodies);
    assert_non_null(bodies);
    *count = 0;
    assert_int_equal(kedge_state_open_newest(NOTES(world), &head, NULL), KEDGE_OK);
    kedge_status status =
        kedge_state_next(head, KEDGE_BYTES("items"), true, KEDGE_BYTES(""), &entry, NULL);
    while (status == KEDGE_OK) {
        assert_true(*count < 4096);
        bodies[*count].collection = KEDGE_BYTES("items");
        memcpy(bodies[(*count)++].hash, entry.hash, sizeof entry.hash);
        status = kedge_state_next(head, KEDGE_BYTES("items"), false, entry.id, &entry, NULL);
    }
    assert_int_equal(status, KEDGE_DONE);
    kedge_state_close(head);
    return bodies;
}

static int64_t items_delivered;

static kedge_status count_delivered(void *context, int64_t version, int64_t items,
                                    kedge_error *error)
{
    int *versions = context;
    assert_true(version > 0 && items <= 1000);
    (void)error;
    items_delivered += items;
    ++*versions;
    return KEDGE_OK;
}

static void test_many_items_are_delivered_by_as_many_versions_as_they_need(void **state)
{
    test_world *world = *state;
    size_t count = 0;
    int versions = 0;
    scatter(world);
    kedge_redelivery *bodies = bodies_of_all(world, &count);
    assert_true(count > 1000);
    items_delivered = 0;
    assert_int_equal(
        kedge_processor_redeliver(NOTES(world), bodies, count, count_delivered, &versions, NULL),
        KEDGE_OK);
    assert_int_equal(versions, 2);
    assert_int_equal(items_delivered, count);
    assert_int_equal(world_head(world), 3);
    jobs_check(world);
    free(bodies);
}

/* Another process: it pushes between two calls of this one. */
static void push_meanwhile(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, "c2", world_lmid(world, "c2") + 1, "b", 7);
    assert_int_equal(push_send(&builder, other, &ann, &result), KEDGE_OK);
    kedge_backend_free(other);
}

/* Wherever a push comes between, it stays, and what it has written is not taken back. */
static void test_a_push_that_comes_in_between_wins_its_version(void **state)
{
    test_world *world = *state;
    kedge_redelivery body = {.collection = KEDGE_BYTES("items")};
    int64_t id = 1;
    bool met = true;
    kedge_sha256(KEDGE_BYTES("{\"v\":3}"), body.hash);
    for (uint64_t at = 1; met; at++) {
        int versions = 0;
        world_put(world, "c1", id++, "a", 3);
        world_put(world, "c1", id++, "b", 3);
        int64_t head = world_head(world);
        world_restart(world);
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle = push_meanwhile;
        world->meddle_at = at;
        assert_int_equal(
            kedge_processor_redeliver(NOTES(world), &body, 1, count_delivered, &versions, NULL),
            KEDGE_OK);
        met = world->meddle == NULL;
        world->meddle = NULL;
        assert_int_equal(versions, 1);
        assert_true(world_head(world) > head);
        jobs_check(world);
        if (met) assert_string_equal(world_value(world, "b"), "{\"v\":7}");
        assert_string_equal(world_value(world, "a"), "{\"v\":3}");
        world_put(world, "c1", id++, "a", 4);
        world_put(world, "c1", id++, "b", 4);
    }
    assert_true(world->pauses > 0); /* a version was lost to the push, and another one made */
}

/* The args of the mutation do not have the value, and neither does anything else. */
static void test_what_has_no_copy_is_named_with_its_item_and_versions(void **state)
{
    test_world *world = *state;
    push_call(world, 1, "test.large", "{}");
    push_call(world, 2, "kedge.delete", "{\"collection\":\"items\",\"id\":\"large\"}");
    push_call(world, 3, "test.large", "{}");
    world_remove_one_blob(world, "acme/projects/notes/items/");
    repair(world, &notes, 1, 0, 1);
    assert_non_null(strstr(kept.text.data, "{\"lost\":\"item-body\",\"collection\":\"items\","
                                           "\"id\":\"large\",\"version\":1,\"newest\":true,"));
    assert_non_null(strstr(kept.text.data, "\"id\":\"large\",\"version\":3,\"newest\":true,"));
    world_put(world, "c2", 1, "large", 7);
    repair(world, &notes, 1, 0, 1);
    assert_non_null(strstr(kept.text.data, "\"id\":\"large\",\"version\":3,\"newest\":false,"));
}

static void test_a_small_body_that_is_damaged_in_its_version_comes_back(void **state)
{
    test_world *world = *state;
    char delta[256];
    char hex[KEDGE_SHA256_HEX];
    for (int i = 1; i <= 3; i++)
        world_put(world, "c1", i, "a", i);
    world_put(world, "c1", 4, "b", 4);
    kedge_sha256_hex(KEDGE_BYTES("{\"v\":4}"), hex);
    snprintf(delta, sizeof delta, "{\"items\":{\"b\":{\"hash\":\"%s\",\"body\":{\"w\":444}}}}",
             hex);
    damage_text(world, "ProjectVersion#pv_000000000004", "delta", delta);
    world_restart(world);
    repair(world, &notes, 1, 1, 0);
    jobs_check(world);
    assert_string_equal(world_value(world, "b"), "{\"v\":4}");
}

static void test_a_body_comes_back_from_another_collection(void **state)
{
    test_world *world = *state;
    const kedge_blobs *blobs = &world->store_blobs;
    uint8_t hash[KEDGE_SHA256_SIZE];
    push_call(world, 1, "test.large", "{}");
    push_call(world, 2, "kedge.put", "{\"collection\":\"other\",\"id\":\"x\",\"value\":1}");
    char *value = body_of_test_large();
    kedge_sha256(kedge_bytes_of(value), hash);
    kedge_key from = kedge_key_body(&notes, KEDGE_BYTES("items"), hash);
    kedge_key to = kedge_key_body(&notes, KEDGE_BYTES("other"), hash);
    kedge_buffer stored = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(blobs->vtable->get(blobs->self, kedge_key_bytes(&from), &stored, NULL),
                     KEDGE_OK);
    assert_int_equal(blobs->vtable->put_if_absent(blobs->self, kedge_key_bytes(&to),
                                                  kedge_buffer_bytes(&stored), NULL),
                     KEDGE_OK);
    lose_body(world, &notes, "items", value, NULL);
    repair(world, &notes, 1, 1, 0);
    assert_non_null(strstr(kept.text.data, "the collection \\\"other\\\" of the project notes"));
    jobs_check(world);
    kedge_buffer_free(&stored);
    free(value);
}

static void test_a_fork_gets_its_bodies_from_its_source(void **state)
{
    test_world *world = *state;
    kedge_project_ref forked = {KEDGE_BYTES("acme"), KEDGE_BYTES("forked")};
    kedge_fork fork = {.done = false};
    put_large(world, 1, "a", 1);
    char *value = large_body(1);
    assert_int_equal(kedge_fork_project(NOTES(world), world_head(world),
                                        HANDLE(world->backend, &forked), &fork, NULL),
                     KEDGE_OK);
    lose_body(world, &forked, "items", value, NULL);
    repair(world, &forked, 1, 1, 0);
    assert_non_null(strstr(kept.text.data, "of the project notes"));
    assert_string_equal(jobs_findings(world, &forked), "");
    free(value);
}

static void test_checkpoints_are_made_again_from_the_versions(void **state)
{
    test_world *world = *state;
    scatter(world);
    world_remove_one_blob(world, "acme/projects/notes/chunks/");
    repair(world, &notes, 1, 1, 0);
    assert_non_null(strstr(kept.text.data, "\"repaired\":\"checkpoint\""));
    jobs_check(world);
    damage_blob(world, "acme/projects/notes/chunks/", "{\"other\":1}");
    repair(world, &notes, 1, 1, 0);
    jobs_check(world);
    damage_number(world, "Collection#items#", "items", 3);
    repair(world, &notes, 1, 1, 0);
    jobs_check(world);
}

static void test_rows_are_made_again_from_the_versions(void **state)
{
    test_world *world = *state;
    for (int i = 1; i <= 4; i++)
        world_put(world, "c1", i, "a", i);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    damage_number(world, "Mutation#c1#0000000000000002", "last", 77);
    damage_delete(world, "Mutation#c1#0000000000000003");
    damage_delete(world, "Group#");
    world_put(world, "c1", 5, "a", 5);
    repair(world, &notes, 3, 3, 0);
    assert_non_null(strstr(kept.text.data, "\"repaired\":\"row\""));
    jobs_check(world);
}

/* Nothing says what it was: it stays a finding, and everything else is repaired. */
static void test_a_version_that_is_gone_stays_a_finding(void **state)
{
    test_world *world = *state;
    put_large(world, 1, "a", 1);
    put_large(world, 2, "b", 2);
    put_large(world, 3, "c", 3);
    char *value = large_body(3);
    lose_body(world, &notes, "items", value, NULL);
    damage_delete(world, "ProjectVersion#pv_000000000002");
    repair(world, &notes, 2, 1, 0);
    assert_string_equal(jobs_findings(world, &notes), "version-missing");
    free(value);
}

/* Of a crash at any call: the next run finishes what this one has begun, also when it finds nothing
 * lost any more. */
static void test_a_repair_that_is_broken_off_is_finished_by_the_next_run(void **state)
{
    test_world *world = *state;
    kedge_error error = {0};
    bool ended = false;
    int64_t id = 1;
    for (uint64_t at = 1; !ended; at++, id++) {
        put_large(world, id, "a", (int)id);
        int64_t head = world_head(world);
        char *value = large_body((int)id);
        lose_body(world, &notes, "items", value, NULL);
        free(value);
        lines_end(&kept);
        lines_begin(&kept);
        world_restart(world);
        world_arm(world, WORLD_FAULT_BEFORE, at, true, true);
        kedge_status status = kedge_repair_project(NOTES(world), &kept.lines, &summary, &error);
        ended = world->faults == 0;
        world_disarm(world);
        assert_true(status == KEDGE_OK || status == KEDGE_UNAVAILABLE);
        world_restart(world);
        assert_int_equal(kedge_repair_project(NOTES(world), &kept.lines, &summary, &error),
                         KEDGE_OK);
        assert_int_equal(summary.findings, summary.repaired);
        assert_true(world_head(world) > head);
        assert_string_equal(delivered(world, world_head(world)), "items/a ");
        assert_int_equal(world_count_records(world, "Repaired#"), 0);
        jobs_check(world);
    }
}

/* One call fails: what is after the commit is tried again, and what is not ends the run. */
static void test_a_store_that_does_not_answer_leaves_the_rest_to_the_next_run(void **state)
{
    test_world *world = *state;
    kedge_error error = {0};
    bool ended = false;
    int64_t id = 1;
    for (uint64_t at = 1; !ended; at += 1 + at / 4, id++) {
        put_large(world, id, "a", (int)id);
        char *value = large_body((int)id);
        lose_body(world, &notes, "items", value, NULL);
        free(value);
        lines_end(&kept);
        lines_begin(&kept);
        world_restart(world);
        world_arm(world, WORLD_FAULT_BEFORE, at, false, false);
        kedge_status status = kedge_repair_project(NOTES(world), &kept.lines, &summary, &error);
        ended = world->faults == 0;
        world_disarm(world);
        assert_true(status == KEDGE_OK || (!ended && status == KEDGE_UNAVAILABLE));
        if (status != KEDGE_OK) {
            assert_int_equal(kedge_repair_project(NOTES(world), &kept.lines, &summary, &error),
                             KEDGE_OK);
        }
        assert_int_equal(summary.findings, summary.repaired);
        assert_string_equal(delivered(world, world_head(world)), "items/a ");
        jobs_check(world);
    }
}

/* As in stores that were made before organizations had markers. */
static void test_an_organization_that_is_not_listed_is_listed_again(void **state)
{
    test_world *world = *state;
    const kedge_records *records = &world->store_records;
    kedge_organization_marker marker;
    bool marked = false;
    world_put(world, "c1", 1, "a", 1);
    kedge_record_write write = kedge_organization_mark(notes.organization, "", &marker);
    write.kind = KEDGE_WRITE_DELETE;
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    assert_string_equal(jobs_findings(world, &notes), "organization-unlisted");
    repair(world, &notes, 1, 1, 0);
    assert_non_null(strstr(kept.text.data, "\"repaired\":\"organization\","));
    assert_int_equal(kedge_organization_is_marked(NOTES(world), &marked, NULL), KEDGE_OK);
    assert_true(marked);
    jobs_check(world);
}

static int end_lines(void **state)
{
    (void)state;
    lines_end(&kept);
    return 0;
}

static int begin_lines(void **state)
{
    (void)state;
    lines_begin(&kept);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_sound_project_is_left_alone),
        OVER_ALL(test_a_body_that_is_gone_or_damaged_comes_back_from_the_args),
        OVER_ALL(test_items_whose_body_came_back_stand_in_one_more_version_as_they_were),
        OVER_MEMORY(test_a_version_that_delivers_again_is_exported_as_any_other),
        OVER_MEMORY(test_a_body_that_no_item_has_any_more_delivers_nothing),
        OVER_MEMORY(test_many_items_are_delivered_by_as_many_versions_as_they_need),
        OVER_ALL(test_a_push_that_comes_in_between_wins_its_version),
        OVER_MEMORY(test_what_has_no_copy_is_named_with_its_item_and_versions),
        OVER_MEMORY(test_a_small_body_that_is_damaged_in_its_version_comes_back),
        OVER_MEMORY(test_a_body_comes_back_from_another_collection),
        OVER_MEMORY(test_a_fork_gets_its_bodies_from_its_source),
        OVER_MEMORY(test_checkpoints_are_made_again_from_the_versions),
        OVER_MEMORY(test_rows_are_made_again_from_the_versions),
        OVER_BOTH(test_an_organization_that_is_not_listed_is_listed_again),
        OVER_MEMORY(test_a_version_that_is_gone_stays_a_finding),
        OVER_MEMORY(test_a_repair_that_is_broken_off_is_finished_by_the_next_run),
        OVER_MEMORY(test_a_store_that_does_not_answer_leaves_the_rest_to_the_next_run),
    };
    return cmocka_run_group_tests(tests, begin_lines, end_lines);
}
