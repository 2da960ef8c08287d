/* Snapshots of log projects: what a replay of all entries gives, in chunks that are reused. */
#include "tests/logged/logged_world.h"

#include "backend/log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static push_builder builder;

static void push_fill(test_world *world, const char *client, int64_t id, int from, int count)
{
    char args[64];
    kedge_push_result result = {0};
    snprintf(args, sizeof args, "{\"count\":%d,\"from\":%d}", count, from);
    push_begin(&builder);
    push_add_call(&builder, client, id, "test.fill", args);
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

static void read_id(test_world *world, int64_t number, char id[KEDGE_SHA256_HEX])
{
    kedge_logged_reader reader;
    kedge_logged_entry entry;
    assert_int_equal(kedge_logged_reader_open(sheet(world), number, false, 1, &reader, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_logged_read(&reader, &entry, NULL), KEDGE_OK);
    memcpy(id, entry.snapshot, KEDGE_SHA256_HEX);
    kedge_version_release(entry.version);
    kedge_logged_reader_close(&reader);
}

static size_t count_blobs(test_world *world, const char *prefix)
{
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &world->store_blobs;
    assert_int_equal(blobs->vtable->list(blobs->self, kedge_bytes_of(prefix), KEDGE_BYTES(""), 1000,
                                         &list, NULL),
                     KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}

static size_t count_chunks(test_world *world)
{
    return count_blobs(world, "acme/projects/sheet/chunks/");
}

/* ---- what it holds ---- */

static void test_a_snapshot_is_what_all_entries_give(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    sheet_new(world);
    for (int i = 1; i <= STORY_PUSHES; i++) {
        assert_int_equal(sheet_story(world->backend, i, &result), KEDGE_OK);
        if (i % 5 == 0) assert_int_equal(sheet_snap(world), sheet_head(world));
        if (i % 7 == 0) world_restart(world);
    }
    assert_int_equal(sheet_check(world), STORY_PUSHES / 5);
}

/* Inside the object it stands one level deeper than args may be. */
static void test_a_snapshot_has_a_project_record_of_any_depth(void **state)
{
    test_world *world = *state;
    enum { DEEPEST = KEDGE_LIMIT_JSON_DEPTH - 1 };
    char arrays[2 * DEEPEST + 1] = "", args[sizeof arrays + 16];
    kedge_push_result result = {0};
    kedge_logged_snapshot snapshot;
    kedge_error error = {0};
    sheet_new(world);
    memset(arrays, '[', DEEPEST);
    memset(arrays + DEEPEST, ']', DEEPEST);
    snprintf(args, sizeof args, "{\"a\":%s}", arrays);
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "kedge.project", args);
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
    if (kedge_logged_snapshot_open(sheet(world), sheet_snap(world), &snapshot, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    kedge_bytes record = kedge_state_version(snapshot.state)->project_record;
    assert_true(kedge_bytes_equal_text(record, args));
    kedge_logged_snapshot_close(&snapshot);
}

static void test_a_log_without_mutations_has_no_snapshot(void **state)
{
    test_world *world = *state;
    int64_t number = -1;
    int64_t last = 7;
    bool made = true;
    sheet_new(world);
    assert_int_equal(kedge_logged_snapshot_make(sheet(world), &number, &made, NULL), KEDGE_OK);
    assert_false(made);
    assert_int_equal(kedge_logged_last_snapshot(sheet(world), &last, NULL), KEDGE_OK);
    assert_int_equal(last, -1);
}

/* Random pushes, snapshots, segments and restarts; the same for the same seed. */
static void test_any_snapshot_and_its_tail_are_the_full_replay(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        void *opened = NULL;
        uint64_t random = seed;
        kedge_push_result result = {0};
        world_setup_memory(&opened);
        test_world *world = opened;
        sheet_new(world);
        int pushed = 0;
        for (int step = 0; step < 60; step++) {
            uint32_t draw = world_random(&random) % 12;
            if (draw == 0) {
                sheet_snap(world);
            } else if (draw == 1) {
                kedge_log log = kedge_logged_log(sheet(world));
                kedge_log_place first;
                (void)kedge_log_new_segment(&log, &first, NULL); /* without a snapshot: not yet */
            } else if (draw == 2) {
                world_restart(world);
            } else {
                int i = draw == 3 && pushed > 0
                            ? 1 + (int)(world_random(&random) % (uint32_t)pushed)
                            : ++pushed;
                assert_int_equal(sheet_story(world->backend, i, &result), KEDGE_OK);
                assert_int_equal(result.problem, KEDGE_PUSH_FINE);
            }
        }
        sheet_snap(world);
        assert_true(sheet_check(world) >= 1);
        assert_int_equal(sheet_lmid(world, "c1"), pushed);
        world_teardown(&opened);
    }
}

/* ---- how it is made ---- */

static void test_twice_gives_the_same_object(void **state)
{
    test_world *world = *state;
    char first[KEDGE_SHA256_HEX];
    char again[KEDGE_SHA256_HEX];
    bool made = true;
    int64_t number;
    kedge_push_result result = {0};
    sheet_new(world);
    for (int i = 1; i <= 12; i++)
        assert_int_equal(sheet_story(world->backend, i, &result), KEDGE_OK);
    assert_int_equal(sheet_snap(world), 12);
    read_id(world, 12, first);
    assert_int_equal(kedge_logged_snapshot_make(sheet(world), &number, &made, NULL), KEDGE_OK);
    assert_false(made);
    world_restart(world);
    assert_int_equal(kedge_logged_snapshot_build(sheet(world), 12, again, NULL), KEDGE_OK);
    assert_string_equal(first, again);
    sheet_put(world, "c3", 1, "z", 1);
    sheet_snap(world);
    assert_int_equal(kedge_logged_snapshot_build(sheet(world), 12, again, NULL), KEDGE_OK);
    assert_string_equal(first, again);
    sheet_check(world);
}

static void test_pieces_give_the_same_object(void **state)
{
    test_world *world = *state;
    char whole[KEDGE_SHA256_HEX];
    kedge_push_result result = {0};
    sheet_new(world);
    for (int i = 1; i <= 14; i++) {
        assert_int_equal(sheet_story(world->backend, i, &result), KEDGE_OK);
        if (i == 2) sheet_snap(world);
    }
    assert_int_equal(kedge_logged_snapshot_build(sheet(world), 13, whole, NULL), KEDGE_OK);
    kedge_logged_piece piece = {.number = -1};
    int64_t last;
    assert_int_equal(kedge_logged_last_snapshot(sheet(world), &last, NULL), KEDGE_OK);
    for (int64_t end = last + 4; piece.number < 13; end += 4) {
        world_restart(world);
        assert_int_equal(kedge_logged_snapshot_piece(sheet(world), 13, 4, &piece, NULL), KEDGE_OK);
        assert_int_equal(piece.number, end < 13 ? end : 13);
    }
    assert_string_equal(piece.id, whole);
    /* One whose object is gone is none to go on with: it begins again. */
    piece = (kedge_logged_piece){.number = 9, .id = "0"};
    assert_int_equal(kedge_logged_snapshot_piece(sheet(world), 13, 4, &piece, NULL), KEDGE_OK);
    assert_int_equal(piece.number, last + 4);
}

static void test_chunks_that_did_not_change_are_reused(void **state)
{
    test_world *world = *state;
    sheet_new(world);
    push_fill(world, "c1", 1, 0, 9000);
    push_fill(world, "c1", 2, 9000, 9000);
    sheet_snap(world);
    size_t chunks = count_chunks(world);
    assert_true(chunks >= 10);
    world_restart(world);
    sheet_put(world, "c1", 3, "item-00000777", 7);
    sheet_snap(world);
    assert_true(count_chunks(world) > chunks && count_chunks(world) <= chunks + 3);
    assert_int_equal(sheet_check(world), 2);
}

static void test_a_snapshot_is_due_behind_many_entries(void **state)
{
    test_world *world = *state;
    int64_t last = -1;
    sheet_new(world);
    for (int id = 1; id <= 1050; id++)
        sheet_put(world, "c1", id, "a", id);
    assert_int_equal(kedge_logged_last_snapshot(sheet(world), &last, NULL), KEDGE_OK);
    assert_int_equal(last, 1024);
    assert_int_equal(sheet_check(world), 1);
}

static void test_a_mutator_that_is_missing_makes_no_snapshot(void **state)
{
    test_world *world = *state;
    kedge_error error = {0};
    kedge_push_result result = {0};
    int64_t number;
    int64_t last = 7;
    bool made;
    sheet_new(world);
    push_begin(&builder);
    push_add_call(&builder, "c1", 1, "test.large", "null");
    builder.mutations[0].mutator = 2;
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
    assert_int_equal(kedge_logged_snapshot_make(sheet(world), &number, &made, &error),
                     KEDGE_UNSUPPORTED);
    assert_string_equal(error.code, "update-required");
    assert_non_null(strstr(error.message, "test.large"));
    assert_int_equal(kedge_logged_last_snapshot(sheet(world), &last, NULL), KEDGE_OK);
    assert_int_equal(last, -1);
}

static void test_a_snapshot_without_its_object_is_told(void **state)
{
    test_world *world = *state;
    kedge_error error = {0};
    kedge_logged_snapshot snapshot;
    sheet_new(world);
    sheet_put(world, "c1", 1, "a", 1);
    assert_int_equal(sheet_snap(world), 1);
    world_remove_one_blob(world, "acme/projects/sheet/versions/");
    assert_int_equal(kedge_logged_snapshot_open(sheet(world), 1, &snapshot, &error), KEDGE_CORRUPT);
    assert_string_equal(error.code, "snapshot-missing");
    assert_int_equal(kedge_logged_snapshot_open(sheet(world), 0, &snapshot, &error),
                     KEDGE_NOT_FOUND);
    assert_int_equal(sheet_put(world, "c1", 2, "a", 2), 2);
}

/* ---- made again ---- */

static void write_story(test_world *world, int from, int to)
{
    kedge_push_result result = {0};
    for (int i = from; i <= to; i++)
        assert_int_equal(sheet_story(world->backend, i, &result), KEDGE_OK);
}

static void test_a_snapshot_that_is_gone_is_made_again_from_the_entries(void **state)
{
    test_world *world = *state;
    static const char *const lost[] = {"acme/projects/sheet/versions/",
                                       "acme/projects/sheet/chunks/"};
    char whole[KEDGE_SHA256_HEX], id[KEDGE_SHA256_HEX];
    int64_t number = 2;
    sheet_new(world);
    push_fill(world, "c1", 1, 0, 9000);
    sheet_put(world, "c1", 2, "a", 2);
    assert_int_equal(kedge_logged_snapshot_build(sheet(world), 2, whole, NULL), KEDGE_OK);
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        assert_int_equal(sheet_snap(world), number);
        assert_true(count_blobs(world, lost[i]) > 0);
        while (count_blobs(world, lost[i]) > 0)
            world_remove_one_blob(world, lost[i]);
        world_restart(world);
        number = sheet_put(world, "c1", number + 1, "item-00000777", 7);
    }
    assert_int_equal(sheet_snap(world), number);
    world_restart(world);
    kedge_logged_snapshot snapshot;
    kedge_entry entry;
    assert_int_equal(kedge_logged_snapshot_open(sheet(world), number, &snapshot, NULL), KEDGE_OK);
    assert_int_equal(kedge_state_find(snapshot.state, KEDGE_BYTES("items"),
                                      KEDGE_BYTES("item-00000777"), &entry, NULL),
                     KEDGE_OK);
    kedge_logged_snapshot_close(&snapshot);
    assert_int_equal(kedge_logged_snapshot_build(sheet(world), 2, id, NULL), KEDGE_OK);
    assert_string_equal(id, whole);
}

static void test_the_snapshot_of_the_last_entry_is_made_again_when_its_object_is_gone(void **state)
{
    test_world *world = *state;
    char id[KEDGE_SHA256_HEX], again[KEDGE_SHA256_HEX];
    sheet_new(world);
    write_story(world, 1, 5);
    int64_t number = sheet_snap(world);
    read_id(world, number, id);
    world_remove_one_blob(world, "acme/projects/sheet/versions/");
    world_restart(world);
    assert_int_equal(sheet_snap(world), number);
    read_id(world, number, again);
    assert_string_equal(id, again);
    assert_int_equal(sheet_check(world), 1);
}

/* Two servers have found the damage. The slower one discards it when the other one has mended it,
 * with and without a mark in between. The same entries give the same id. */
static void test_a_snapshot_that_was_made_again_is_not_discarded(void **state)
{
    test_world *world = *state;
    char id[KEDGE_SHA256_HEX], found[KEDGE_SHA256_HEX];
    sheet_new(world);
    write_story(world, 1, 5);
    int64_t number = sheet_snap(world);
    read_id(world, number, id);
    for (int marked = 0; marked <= 1; marked++) {
        kedge_logged_snapshot slower, faster;
        assert_int_equal(kedge_logged_snapshot_open(sheet(world), number, &slower, NULL), KEDGE_OK);
        assert_int_equal(kedge_logged_snapshot_open(sheet(world), number, &faster, NULL), KEDGE_OK);
        world_remove_one_blob(world, "acme/projects/sheet/versions/");
        if (marked) {
            assert_int_equal(kedge_logged_snapshot_discard(&faster, NULL), KEDGE_OK);
            read_id(world, number, found);
            assert_string_not_equal(id, found);
        }
        assert_int_equal(sheet_snap(world), number);
        assert_int_equal(kedge_logged_snapshot_discard(&slower, NULL), KEDGE_OK);
        read_id(world, number, found);
        assert_string_equal(id, found);
        kedge_logged_snapshot_close(&slower);
        kedge_logged_snapshot_close(&faster);
    }
    assert_int_equal(sheet_check(world), 1);
}

static void test_pieces_behind_a_snapshot_that_is_gone_go_on_to_the_end(void **state)
{
    test_world *world = *state;
    char whole[KEDGE_SHA256_HEX];
    uint8_t expected[KEDGE_SHA256_SIZE], hash[KEDGE_SHA256_SIZE];
    kedge_logged_piece piece = {.number = -1};
    sheet_new(world);
    write_story(world, 1, 14);
    assert_int_equal(kedge_logged_snapshot_build(sheet(world), 14, whole, NULL), KEDGE_OK);
    kedge_log log = kedge_logged_log(sheet(world));
    const kedge_log_metadata metadata = {
        .snapshot =
            KEDGE_BYTES("00000000000000000000000000000000000000000000000000000000000000aa")};
    assert_int_equal(kedge_log_set_metadata(&log, 9, &metadata, NULL), KEDGE_OK);
    for (int64_t end = 4; piece.number < 14; end += 4) {
        world_restart(world);
        assert_int_equal(kedge_logged_snapshot_piece(sheet(world), 14, 4, &piece, NULL), KEDGE_OK);
        assert_int_equal(piece.number, end < 14 ? end : 14);
    }
    assert_int_equal(kedge_logged_snapshot_hash(sheet(world), whole, expected, NULL), KEDGE_OK);
    assert_int_equal(kedge_logged_snapshot_hash(sheet(world), piece.id, hash, NULL), KEDGE_OK);
    assert_memory_equal(hash, expected, sizeof hash);
}

/* ---- entries that are gone ---- */

/* No request may truncate the log of a project: somebody did it by other means. The head is an
 * entry of the log itself, with a snapshot. */
static void truncate_behind_its_back(test_world *world)
{
    kedge_log_place first;
    sheet_new(world);
    for (int id = 1; id <= 3; id++)
        sheet_put(world, "c1", id, "a", id);
    sheet_snap(world);
    kedge_log log = kedge_logged_log(sheet(world));
    assert_int_equal(kedge_log_new_segment(&log, &first, NULL), KEDGE_OK);
    world_restart(world);
    assert_int_equal(sheet_snap(world), first.number);
    log = kedge_logged_log(sheet(world));
    assert_int_equal(kedge_log_truncate(&log, first.number, NULL), KEDGE_OK);
    world_restart(world);
}

static void test_behind_entries_that_are_gone_nothing_is_appended_twice(void **state)
{
    test_world *world = *state;
    kedge_push_result result = {0};
    truncate_behind_its_back(world);
    push_begin(&builder);
    push_add(&builder, "c1", 1, "a", 1);
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_CORRUPT);
}

static void test_entries_that_are_gone_are_not_left_out_of_a_snapshot(void **state)
{
    test_world *world = *state;
    kedge_logged_piece piece = {.number = -1};
    kedge_error error = {0};
    truncate_behind_its_back(world);
    while (count_blobs(world, "acme/projects/sheet/versions/") > 0)
        world_remove_one_blob(world, "acme/projects/sheet/versions/");
    assert_int_equal(kedge_logged_snapshot_piece(sheet(world), 5, 9, &piece, &error),
                     KEDGE_CORRUPT);
    assert_string_equal(error.code, "log-corrupt");
}

/* ---- slow and large ones ---- */

static int64_t slow_ms(void *context)
{
    static int64_t passed_ms;
    (void)context;
    return passed_ms += KEDGE_LOGGED_PIECE_MS / 3;
}

/* Each look at the clock takes a third of the time that a piece has. */
static void test_a_slow_replay_is_made_in_pieces(void **state)
{
    test_world *world = *state;
    char whole[KEDGE_SHA256_HEX];
    uint8_t expected[KEDGE_SHA256_SIZE], hash[KEDGE_SHA256_SIZE];
    kedge_logged_piece piece = {.number = -1};
    int pieces = 0;
    sheet_new(world);
    write_story(world, 1, 14);
    world->environment.monotonic_ms = slow_ms;
    for (; piece.number < 14; pieces++) {
        int64_t before = piece.number;
        assert_int_equal(kedge_logged_snapshot_piece(sheet(world), 14, 2000, &piece, NULL),
                         KEDGE_OK);
        assert_true(piece.number > before);
    }
    assert_in_range(pieces, 3, 14);
    assert_int_equal(kedge_logged_snapshot_build(sheet(world), 14, whole, NULL), KEDGE_OK);
    assert_int_equal(kedge_logged_snapshot_hash(sheet(world), whole, expected, NULL), KEDGE_OK);
    assert_int_equal(kedge_logged_snapshot_hash(sheet(world), piece.id, hash, NULL), KEDGE_OK);
    assert_memory_equal(hash, expected, sizeof hash);
}

#define PHOTO_BYTES ((size_t)7000000)
#define PHOTOS      (KEDGE_LOGGED_PIECE_BYTES / PHOTO_BYTES + 2)

static void push_photos(test_world *world)
{
    static char args[7000128];
    for (int id = 1; (size_t)id <= PHOTOS; id++) {
        kedge_push_result result = {0};
        int at = snprintf(args, sizeof args,
                          "{\"collection\":\"items\",\"id\":\"p%d\",\"value\":\"", id);
        memset(args + at, 'a' + id, PHOTO_BYTES);
        memcpy(args + at + PHOTO_BYTES, "\"}", 2);
        push_begin(&builder);
        push_add_call(&builder, "c1", id, "kedge.put", "{}");
        builder.mutations[0].digest[0] = (uint8_t)id;
        builder.mutations[0].args = (kedge_bytes){args, (size_t)at + PHOTO_BYTES + 2};
        assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
        assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    }
}

/* A piece ends when its changes are many bytes, however few its entries are. */
static void test_a_snapshot_of_large_changes_is_made_in_pieces(void **state)
{
    test_world *world = *state;
    kedge_logged_piece piece = {.number = -1};
    kedge_logged_snapshot snapshot;
    uint8_t hash[KEDGE_SHA256_SIZE];
    int pieces = 0;
    sheet_new(world);
    push_photos(world);
    int64_t head = sheet_head(world);
    for (; piece.number < head; pieces++) {
        int64_t before = piece.number;
        assert_int_equal(kedge_logged_snapshot_piece(sheet(world), head, 2000, &piece, NULL),
                         KEDGE_OK);
        assert_true(piece.number > before);
    }
    assert_int_equal(pieces, 2);
    assert_int_equal(kedge_logged_snapshot_hash(sheet(world), piece.id, hash, NULL), KEDGE_OK);
    assert_int_equal(sheet_snap(world), head);
    world_restart(world);
    assert_int_equal(kedge_logged_snapshot_open(sheet(world), head, &snapshot, NULL), KEDGE_OK);
    assert_memory_equal(snapshot.hash, hash, sizeof hash);
    assert_int_equal(kedge_logged_snapshot_check(&snapshot, NULL), KEDGE_OK);
    kedge_logged_snapshot_close(&snapshot);
    assert_int_equal(sheet_check(world), 1);
}

/* ---- two at once ---- */

static void make_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    static push_builder others;
    kedge_push_result result = {0};
    int64_t number;
    bool made;
    push_begin(&others);
    push_add(&others, "c9", 1, "a", 9);
    assert_int_equal(sheet_send(&others, other, &result), KEDGE_OK);
    assert_int_equal(kedge_logged_snapshot_make(sheet_of(other), &number, &made, NULL), KEDGE_OK);
    kedge_backend_free(other);
}

static void test_two_makers_harm_each_other_at_no_call(void **state)
{
    (void)state;
    bool ended = false;
    for (uint64_t at = 1; !ended; at++) {
        void *opened = NULL;
        kedge_push_result result = {0};
        world_setup_memory(&opened);
        test_world *world = opened;
        sheet_new(world);
        for (int i = 1; i <= 6; i++)
            assert_int_equal(sheet_story(world->backend, i, &result), KEDGE_OK);
        sheet_snap(world);
        for (int i = 7; i <= 12; i++)
            assert_int_equal(sheet_story(world->backend, i, &result), KEDGE_OK);
        world_restart(world);
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle = make_another;
        world->meddle_at = at;
        sheet_snap(world);
        ended = world->meddle != NULL;
        world_disarm(world);
        assert_true(sheet_check(world) >= 2);
        world_teardown(&opened);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_a_snapshot_is_what_all_entries_give),
        OVER_MEMORY(test_a_snapshot_has_a_project_record_of_any_depth),
        OVER_MEMORY(test_a_log_without_mutations_has_no_snapshot),
        cmocka_unit_test(test_any_snapshot_and_its_tail_are_the_full_replay),
        OVER_MEMORY(test_twice_gives_the_same_object),
        OVER_MEMORY(test_pieces_give_the_same_object),
        OVER_MEMORY(test_chunks_that_did_not_change_are_reused),
        OVER_MEMORY(test_a_snapshot_is_due_behind_many_entries),
        OVER_MEMORY(test_a_mutator_that_is_missing_makes_no_snapshot),
        OVER_MEMORY(test_a_snapshot_without_its_object_is_told),
        OVER_MEMORY(test_a_snapshot_that_is_gone_is_made_again_from_the_entries),
        OVER_MEMORY(test_the_snapshot_of_the_last_entry_is_made_again_when_its_object_is_gone),
        OVER_MEMORY(test_a_snapshot_that_was_made_again_is_not_discarded),
        OVER_MEMORY(test_pieces_behind_a_snapshot_that_is_gone_go_on_to_the_end),
        OVER_MEMORY(test_behind_entries_that_are_gone_nothing_is_appended_twice),
        OVER_MEMORY(test_entries_that_are_gone_are_not_left_out_of_a_snapshot),
        OVER_MEMORY(test_a_slow_replay_is_made_in_pieces),
        OVER_MEMORY(test_a_snapshot_of_large_changes_is_made_in_pieces),
        cmocka_unit_test(test_two_makers_harm_each_other_at_no_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
