/* Verify: a sound project has no findings, and each damage is found and named. */
#include "tests/jobs/jobs_world.h"

#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/fork.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static push_builder builder;

/* Versions, rows, checkpoints in roots and in chunks, moved parts, origins, a retired client. */
static void make_all(test_world *world)
{
    jobs_story story;
    kedge_push_result result = {0};
    const kedge_version *at = NULL;
    story_begin(&story, 7);
    story_tell(&story, world, 40);
    push_begin(&builder);
    push_add_call(&builder, "filler", 1, "test.scatter", "{\"count\":1200}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(
        kedge_processor_retire(NOTES(world), &ann, KEDGE_BYTES("g1"), KEDGE_BYTES("c0"), &at, NULL),
        KEDGE_OK);
    kedge_version_release(at);
    push_begin(&builder);
    push_add(&builder, "c9", 1, "a", 1);
    push_set_origin(&builder, "c0", 100);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    world_put(world, "c9", 2, "b", 2);
}

/* ---- what is sound ---- */

static void test_a_sound_project_has_no_findings_at_any_moment(void **state)
{
    test_world *world = *state;
    jobs_story story;
    story_begin(&story, 3);
    jobs_check(world);
    for (int i = 0; i < 12; i++) {
        story_tell(&story, world, 5);
        if (i == 6) assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
        jobs_check(world);
    }
    world_delete_derived(world);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    jobs_check(world);
}

static void test_a_project_with_everything_in_it_is_sound(void **state)
{
    test_world *world = *state;
    make_all(world);
    jobs_check(world);
}

static void test_a_fork_is_sound(void **state)
{
    test_world *world = *state;
    kedge_project_ref copy = {KEDGE_BYTES("acme"), KEDGE_BYTES("copy")};
    kedge_fork fork = {.done = false};
    kedge_push_result result = {0};
    make_all(world);
    assert_int_equal(kedge_fork_project(NOTES(world), world_head(world),
                                        HANDLE(world->backend, &copy), &fork, NULL),
                     KEDGE_OK);
    assert_string_equal(jobs_findings(world, &copy), "");
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    assert_int_equal(
        kedge_processor_push(HANDLE(world->backend, &copy), &builder.push, &result, NULL),
        KEDGE_OK);
    assert_int_equal(kedge_processor_index(HANDLE(world->backend, &copy), NULL), KEDGE_OK);
    assert_string_equal(jobs_findings(world, &copy), "");
}

static void test_a_project_that_is_not_there_is_told(void **state)
{
    test_world *world = *state;
    kept_lines kept;
    kedge_verify_summary summary;
    kedge_error error = {0};
    kedge_project_ref none = {KEDGE_BYTES("acme"), KEDGE_BYTES("none")};
    lines_begin(&kept);
    assert_int_equal(
        kedge_verify_project(HANDLE(world->backend, &none), &kept.lines, &summary, &error),
        KEDGE_NOT_FOUND);
    assert_string_equal(error.code, "project-not-found");
    lines_end(&kept);
}

static void test_a_store_that_does_not_answer_is_no_finding(void **state)
{
    test_world *world = *state;
    bool ended = false;
    make_all(world);
    for (uint64_t at = 1; !ended; at += 1 + at / 4) {
        kept_lines kept;
        kedge_verify_summary summary;
        kedge_error error = {0};
        lines_begin(&kept);
        world_restart(world);
        world_arm(world, WORLD_FAULT_BEFORE, at, false, false);
        kedge_status status = kedge_verify_project(NOTES(world), &kept.lines, &summary, &error);
        ended = world->faults == 0;
        assert_int_equal(status, ended ? KEDGE_OK : KEDGE_UNAVAILABLE);
        assert_int_equal(summary.findings, 0);
        world_disarm(world);
        lines_end(&kept);
    }
}

static void test_a_row_that_another_zlib_has_compressed_is_no_finding(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    push_begin(&builder);
    for (int i = 1; i <= 40; i++)
        push_add(&builder, "c1", i, "a", i);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
    damage_nothing_but_bytes(world, "Mutation#c1#", "outcomes");
    jobs_check(world);
}

/* ---- damage ---- */

static void expect(test_world *world, const char *finding)
{
    const char *found = jobs_findings(world, &notes);
    if (strncmp(found, finding, strlen(finding)) != 0) fail_msg("%s, not %s", found, finding);
}

static void test_a_missing_body_is_found(void **state)
{
    make_all(*state);
    world_remove_one_blob(*state, "acme/projects/notes/items/");
    expect(*state, "item-body-missing");
}

static void test_a_body_of_another_content_is_found(void **state)
{
    make_all(*state);
    damage_blob(*state, "acme/projects/notes/items/", "{\"other\":1}");
    expect(*state, "item-body-damaged");
}

static void test_a_missing_version_is_found(void **state)
{
    make_all(*state);
    damage_delete(*state, "ProjectVersion#pv_000000000009");
    expect(*state, "version-missing");
}

static void test_missing_first_and_damaged_last_versions_are_found(void **state)
{
    char newest[64];
    make_all(*state);
    int64_t head = world_head(*state);
    damage_delete(*state, "ProjectVersion#pv_000000000001");
    expect(*state, "version-missing");
    snprintf(newest, sizeof newest, "ProjectVersion#pv_%012lld", (long long)head);
    damage_text(*state, newest, "lineage", "none");
    assert_non_null(strstr(jobs_findings(*state, &notes), "record-damaged"));
}

static void test_a_missing_or_damaged_part_of_a_version_is_found(void **state)
{
    make_all(*state);
    damage_blob(*state, "acme/projects/notes/versions/", "{}");
    expect(*state, "version-part-damaged");
    world_remove_one_blob(*state, "acme/projects/notes/versions/");
    expect(*state, "version-part-missing");
}

static void test_a_missing_chunk_is_found(void **state)
{
    make_all(*state);
    world_remove_one_blob(*state, "acme/projects/notes/chunks/");
    expect(*state, "checkpoint-damaged");
}

static void test_a_checkpoint_that_is_not_the_fold_is_found(void **state)
{
    test_world *world = *state;
    const kedge_version *head = NULL;
    make_all(world);
    world_put(world, "c9", 3, "b", 3);
    assert_int_equal(kedge_version_load(NOTES(world), 0, &head, NULL), KEDGE_OK);
    /* A root that has its lineage and one item too many or of another value. */
    const kedge_version_collection *items = &head->collections[0];
    kedge_key partition = kedge_key_partition(&notes);
    kedge_key sort = kedge_key_collection(items->name, items->number, 0);
    kedge_attribute attributes[] = {
        {"version", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, items->last},
        {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(head->lineage), 0},
        {"parts", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1},
        {"items", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1},
        {"map", KEDGE_ATTRIBUTE_TEXT,
         KEDGE_BYTES("{\"x\":{\"hash\":"
                     "\"0000000000000000000000000000000000000000000000000000000000000000\","
                     "\"body\":1}}"),
         0}};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_key_bytes(&partition), kedge_key_bytes(&sort)}, attributes, 5}};
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    kedge_version_release(head);
    expect(world, "checkpoint-wrong");
}

static void test_rows_that_are_missing_wrong_or_foreign_are_found(void **state)
{
    test_world *world = *state;
    make_all(world);
    damage_number(world, "Mutation#c1#", "last", 77);
    expect(world, "row-wrong");
    damage_delete(world, "Mutation#c1#");
    expect(world, "row-missing");
    assert_int_equal(kedge_processor_index(NOTES(world), NULL), KEDGE_OK);
}

static void put_row(test_world *world, const char *sort, int64_t version, const char *lineage)
{
    kedge_key partition = kedge_key_partition(&notes);
    kedge_attribute attributes[] = {{"version", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, version},
                                    {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(lineage), 0},
                                    {"group", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("g1"), 0},
                                    {"subject", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("ann"), 0},
                                    {"first", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1},
                                    {"last", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1},
                                    {"outcomes", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("[]"), 0}};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_key_bytes(&partition), kedge_bytes_of(sort)}, attributes, 7}};
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
}

static void test_a_row_of_another_lineage_is_found(void **state)
{
    make_all(*state);
    put_row(*state, "Mutation#cx#0000000000000001", 5, "0123456789abcdef0123456789abcdef");
    expect(*state, "row-foreign");
}

static void test_a_row_that_its_version_does_not_have_is_found(void **state)
{
    test_world *world = *state;
    const kedge_version *fifth = NULL;
    make_all(world);
    assert_int_equal(kedge_version_load(NOTES(world), 5, &fifth, NULL), KEDGE_OK);
    put_row(world, "Mutation#cx#0000000000000001", 5, fifth->lineage);
    expect(world, "row-foreign");
    put_row(world, "Mutation#cx#0000000000000001", 9999, fifth->lineage);
    expect(world, "row-foreign");
    kedge_version_release(fifth);
}

static void test_a_checkpoint_of_another_lineage_is_found(void **state)
{
    make_all(*state);
    damage_text(*state, "Collection#items#", "lineage", "0123456789abcdef0123456789abcdef");
    expect(*state, "checkpoint-foreign");
}

static void test_wrong_numbers_in_a_version_are_found(void **state)
{
    test_world *world = *state;
    for (int i = 1; i <= 6; i++)
        world_put(world, "c1", i, "a", i);
    jobs_check(world);
    damage_text(world, "ProjectVersion#pv_000000000003", "collections", "[[\"items\",3,3,2,2]]");
    expect(world, "collection-wrong");
    damage_text(world, "ProjectVersion#pv_000000000003", "collections", "[[\"items\",3,3,1,1]]");
    expect(world, "collection-wrong");
    damage_text(world, "ProjectVersion#pv_000000000003", "collections", "[]");
    expect(world, "collection-wrong");
    damage_text(world, "ProjectVersion#pv_000000000003", "collections", "[[\"items\",3,3,2,1]]");
    jobs_check(world);
    damage_text(world, "ProjectVersion#pv_000000000003", "delta",
                "{\"items\":{\"a\":{\"hash\":"
                "\"0000000000000000000000000000000000000000000000000000000000000000\","
                "\"body\":{\"v\":3}}}}");
    expect(world, "item-body-missing");
}

static void test_wrong_runs_in_a_version_are_found(void **state)
{
    test_world *world = *state;
    for (int i = 1; i <= 6; i++)
        world_put(world, "c1", i, "a", i);
    damage_text(world, "ProjectVersion#pv_000000000003", "recent", "[]");
    expect(world, "recent-wrong");
    damage_text(world, "ProjectVersion#pv_000000000003", "runs",
                "[[\"c1\",\"g1\",\"ann\",3,4,4,0]]");
    expect(world, "run-wrong");
}

static void test_a_missing_record_of_the_project_is_found(void **state)
{
    test_world *world = *state;
    world_put(world, "c1", 1, "a", 1);
    kedge_key partition = kedge_key_organization(notes.organization);
    kedge_key sort = kedge_key_project(notes.project);
    kedge_record_write write = {
        .kind = KEDGE_WRITE_DELETE,
        .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)}}};
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    expect(world, "project-record-missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_a_sound_project_has_no_findings_at_any_moment),
        OVER_BOTH(test_a_project_with_everything_in_it_is_sound),
        OVER_BOTH(test_a_fork_is_sound),
        OVER_MEMORY(test_a_project_that_is_not_there_is_told),
        OVER_MEMORY(test_a_store_that_does_not_answer_is_no_finding),
        OVER_MEMORY(test_a_row_that_another_zlib_has_compressed_is_no_finding),
        OVER_MEMORY(test_a_missing_body_is_found),
        OVER_MEMORY(test_a_body_of_another_content_is_found),
        OVER_MEMORY(test_a_missing_version_is_found),
        OVER_MEMORY(test_missing_first_and_damaged_last_versions_are_found),
        OVER_MEMORY(test_a_missing_or_damaged_part_of_a_version_is_found),
        OVER_MEMORY(test_a_missing_chunk_is_found),
        OVER_MEMORY(test_a_checkpoint_that_is_not_the_fold_is_found),
        OVER_MEMORY(test_rows_that_are_missing_wrong_or_foreign_are_found),
        OVER_MEMORY(test_a_row_of_another_lineage_is_found),
        OVER_MEMORY(test_a_row_that_its_version_does_not_have_is_found),
        OVER_MEMORY(test_a_checkpoint_of_another_lineage_is_found),
        OVER_MEMORY(test_wrong_numbers_in_a_version_are_found),
        OVER_MEMORY(test_wrong_runs_in_a_version_are_found),
        OVER_MEMORY(test_a_missing_record_of_the_project_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
