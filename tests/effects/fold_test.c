/* Snapshots that mutators make of an event log: in pieces and chunks, from the snapshot before,
 * by makers that end at any call; and what a truncation leaves of them. */
#include "tests/log/log_world.h"

#include "backend/effects/fold.h"
#include "backend/effects/fold_base.h"
#include "backend/effects/make.h"
#include "backend/log/body.h"
#include "backend/log/snapshot.h"
#include "backend/ports/deadline.h"
#include "common/json.h"
#include "mutate/replay.h"
#include "tests/support/failing_allocator.h"

#include <stdio.h>
#include <string.h>

#define WEEK_MS (1000LL * KEDGE_LOG_DISCARD_S)

/* ---- a log, and what its calls give by one transaction in memory ---- */

typedef struct model {
    kedge_overlay *state;
    kedge_tx *tx;
} model;

static model model_new(test_world *world)
{
    model made = {.state = kedge_overlay_new(world->environment.allocator)};
    assert_int_equal(kedge_tx_new(world->environment.allocator, world->registry, made.state,
                                  kedge_state_reader_empty, &made.tx, NULL),
                     KEDGE_OK);
    return made;
}

static void model_free(model *gone)
{
    kedge_tx_free(gone->tx);
    kedge_overlay_free(gone->state);
}

static void call(const kedge_log *log, model *beside, const char *name, const char *args)
{
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = kedge_bytes_of(name),
                                              .version = 1,
                                              .body = kedge_bytes_of(args),
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    const kedge_call made = {.name = kedge_bytes_of(name),
                             .args = kedge_bytes_of(args),
                             .caller = {.user = "", .role = "", .client = ""}};
    kedge_error error = {0};
    kedge_status status = kedge_tx_run(beside->tx, &made, &error);
    if (status != KEDGE_OK && status != KEDGE_REJECTED) fail_msg("%s", error.message);
}

/* A megabyte of items in some 30 calls. */
static void write_calls(const kedge_log *log, model *beside)
{
    char args[128];
    for (int i = 0; i < 12; i++) {
        snprintf(args, sizeof args, "{\"count\":500,\"from\":%d}", (i * 5 % 12) * 500);
        call(log, beside, "test.fill", args);
        snprintf(args, sizeof args,
                 "{\"by\":%d,\"collection\":\"numbers\",\"field\":\"n\",\"id\":\"a/\\\"%d\"}", i,
                 i % 3);
        call(log, beside, "kedge.increment", args);
    }
    call(log, beside, "test.count", "{}");
    call(log, beside, "kedge.project", "{\"name\":\"x\"}");
    call(log, beside, "kedge.put", "{\"collection\":\"/\"}"); /* it is refused */
    for (int i = 0; i < 700; i += 100) {
        snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"item-%08d\"}", i);
        call(log, beside, "kedge.delete", args);
    }
}

static kedge_log_place ask(const kedge_log *log)
{
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = KEDGE_BYTES(KEDGE_LOG_SNAPSHOT),
                                              .version = KEDGE_LOG_SYSTEM_VERSION,
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    return result.at;
}

/* ---- making and reading ---- */

static int make(const kedge_log *log, const kedge_log_place *at, int64_t entries_max)
{
    kedge_fold_piece piece = {.number = -1};
    kedge_error error = {0};
    int pieces = 0;
    while (piece.number < at->number) {
        if (kedge_effects_fold(log, at, entries_max, &piece, &error) != KEDGE_OK)
            fail_msg("%s: %s", error.code, error.message);
        pieces++;
    }
    log_snap(log, at->number, piece.id);
    return pieces;
}

/* Compares one item with the next one of the model. */
static void compare_item(const model *beside, kedge_overlay_entry *at, kedge_bytes collection,
                         kedge_bytes key, kedge_bytes value)
{
    kedge_buffer name = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer id = kedge_buffer_make(&kedge_allocator_default);
    const kedge_overlay_entry before = *at;
    bool more = kedge_overlay_next(beside->state, at->collection.data == NULL ? NULL : &before, at);
    while (more && at->deleted) {
        const kedge_overlay_entry deleted = *at;
        more = kedge_overlay_next(beside->state, &deleted, at);
    }
    assert_true(more);
    assert_true(kedge_json_to_text(collection, &name) && kedge_json_to_text(key, &id));
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&name), at->collection));
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&id), at->id));
    assert_true(kedge_bytes_equal(value, at->value));
    kedge_buffer_free(&name);
    kedge_buffer_free(&id);
}

static void compare_collections(const model *beside, kedge_overlay_entry *at,
                                kedge_bytes collections)
{
    kedge_bytes name, items, key, value;
    kedge_json_iterator each = kedge_json_iterate(collections);
    while (kedge_json_next_member(&each, &name, &items)) {
        kedge_json_iterator members = kedge_json_iterate(items);
        while (kedge_json_next_member(&members, &key, &value))
            compare_item(beside, at, name, key, value);
    }
    assert_false(each.failed);
}

static void compare_chunk(const kedge_log *log, const char *id, kedge_bytes row,
                          const model *beside, kedge_overlay_entry *at)
{
    char hash[KEDGE_SHA256_HEX];
    kedge_bytes field;
    kedge_json_iterator fields = kedge_json_iterate(row);
    kedge_buffer chunk = kedge_buffer_make(&kedge_allocator_default);
    assert_true(kedge_json_next_element(&fields, &field) &&
                kedge_json_to_chars(field, hash, sizeof hash));
    assert_int_equal(
        kedge_log_snapshot_read_part(log, kedge_bytes_of(id), kedge_bytes_of(hash), &chunk, NULL),
        KEDGE_OK);
    compare_collections(beside, at, kedge_buffer_bytes(&chunk));
    kedge_buffer_free(&chunk);
}

/* The snapshot has the items of the model, in order and no others. How many chunks there are. */
static int compare(const kedge_log *log, const kedge_log_place *place, const model *beside)
{
    char id[KEDGE_SHA256_HEX];
    kedge_bytes member, row;
    kedge_overlay_entry at = {0}, record;
    int chunks = 0;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_snapshot_id(log, place, id);
    assert_int_equal(kedge_log_snapshot_read(log, kedge_bytes_of(id), &text, NULL), KEDGE_OK);
    kedge_bytes none = {"", 0};
    if (kedge_overlay_get(beside->state, none, none, &record)) {
        assert_true(kedge_json_member(kedge_buffer_bytes(&text), "project", &member));
        assert_true(kedge_bytes_equal(member, record.value));
        at = record;
    }
    assert_true(kedge_json_member(kedge_buffer_bytes(&text), "collections", &member));
    compare_collections(beside, &at, member);
    assert_true(kedge_json_member(kedge_buffer_bytes(&text), "chunks", &member));
    kedge_json_iterator rows = kedge_json_iterate(member);
    for (; kedge_json_next_element(&rows, &row); chunks++)
        compare_chunk(log, id, row, beside, &at);
    const kedge_overlay_entry last = at;
    while (kedge_overlay_next(beside->state, &last, &at))
        assert_true(at.deleted);
    kedge_buffer_free(&text);
    return chunks;
}

/* The blobs of the world's snapshots. */
static size_t count_blobs(test_world *world)
{
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &world->store_blobs;
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/logs/notes/"),
                                         (kedge_bytes){NULL, 0}, 1000, &list, NULL),
                     KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}

/* ---- tests ---- */

static void test_a_snapshot_has_what_the_entries_give(void **state)
{
    model beside = model_new(*state);
    const kedge_log *log = journal_new(*state);
    write_calls(log, &beside);
    kedge_log_place first = ask(log);
    assert_int_equal(make(log, &first, 5), (int)(first.number / 5 + 1));
    int chunks = compare(log, &first, &beside);
    assert_true(chunks >= 3);
    assert_int_equal(count_blobs(*state), chunks + 1);

    call(log, &beside, "kedge.put", "{\"collection\":\"items\",\"id\":\"b\",\"value\":1}");
    call(log, &beside, "kedge.put", "{\"collection\":\"zebras\",\"id\":\"\",\"value\":2}");
    call(log, &beside, "kedge.delete", "{\"collection\":\"numbers\",\"id\":\"a/\\\"1\"}");
    call(log, &beside, "kedge.project", "{\"name\":\"y\"}");
    call(log, &beside, "test.count", "{}");
    kedge_log_place second = ask(log);
    assert_int_equal(make(log, &second, 1000), 1);
    compare(log, &second, &beside);
    model_free(&beside);
}

/* Appends once bounded a body only as it was sent, not as canonical JSON. */
static void test_an_entry_with_more_args_than_a_mutator_takes_changes_nothing(void **state)
{
    model beside = model_new(*state);
    const kedge_log *log = journal_new(*state);
    kedge_log_append_result result;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    call(log, &beside, "kedge.put", "{\"collection\":\"items\",\"id\":\"a\",\"value\":1}");
    kedge_buffer_append_text(&body, "{\"collection\":\"items\",\"id\":\"a\",\"value\":\"");
    while (body.size <= KEDGE_LIMIT_ARGS_BYTES)
        kedge_buffer_append_byte(&body, 'x');
    kedge_buffer_append_text(&body, "\"}");
    const kedge_log_append_request request = {.type = KEDGE_BYTES("kedge.put"),
                                              .version = 1,
                                              .body = kedge_buffer_bytes(&body),
                                              .body_bytes_max = KEDGE_LOG_STORED_BYTES_MAX,
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    call(log, &beside, "kedge.put", "{\"collection\":\"items\",\"id\":\"b\",\"value\":2}");
    kedge_log_place place = ask(log);
    make(log, &place, 1000);
    compare(log, &place, &beside);
    kedge_buffer_free(&body);
    model_free(&beside);
}

static void test_a_maker_that_ends_at_any_call_leaves_nothing_behind(void **state)
{
    test_world *world = *state;
    model beside = model_new(world);
    const kedge_log *log = journal_new(world);
    write_calls(log, &beside);
    kedge_log_place at = ask(log);
    size_t blobs = 0;
    uint64_t failed = 0;
    for (uint64_t point = 0;; point += 3 * WORLD_STRIDE) {
        kedge_fold_piece piece = {.number = -1};
        kedge_status status = KEDGE_OK;
        world_arm(world, point % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, point / 2 + 1,
                  true, false);
        while (status == KEDGE_OK && piece.number < at.number)
            status = kedge_effects_fold(log, &at, 10, &piece, NULL);
        world_disarm(world);
        /* The piece that it ended in was not saved. */
        while (piece.number < at.number)
            assert_int_equal(kedge_effects_fold(log, &at, 10, &piece, NULL), KEDGE_OK);
        if (blobs == 0) blobs = count_blobs(world);
        assert_int_equal(count_blobs(world), blobs);
        if (point % 7 == 0) compare(log, &at, &beside);
        /* All of it goes, for the next one. */
        assert_int_equal(kedge_log_snapshots_remove(log, at.number + 1, NULL), KEDGE_OK);
        assert_int_equal(count_blobs(world), 0);
        if (status == KEDGE_OK) break;
        failed++;
    }
    assert_true(failed > 10);
    model_free(&beside);
}

static void test_a_part_that_is_gone_lets_the_maker_begin_again(void **state)
{
    model beside = model_new(*state);
    const kedge_log *log = journal_new(*state);
    write_calls(log, &beside);
    kedge_log_place at = ask(log);
    kedge_fold_piece piece = {.number = -1};
    assert_int_equal(kedge_effects_fold(log, &at, 10, &piece, NULL), KEDGE_OK);
    assert_int_equal(piece.number, 9);
    memset(piece.id, '0', sizeof piece.id - 1);
    assert_int_equal(kedge_effects_fold(log, &at, 1000, &piece, NULL), KEDGE_OK);
    assert_int_equal(piece.number, at.number);
    compare(log, &at, &beside);
    model_free(&beside);
}

/* The blobs of an entry's snapshot whose keys go on after its id in this way: they get another
 * text. */
static void damage(test_world *world, const kedge_log *log, const kedge_log_place *at,
                   const char *behind)
{
    char id[KEDGE_SHA256_HEX], part[KEDGE_SHA256_HEX + 8];
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &world->store_blobs;
    int damaged = 0;
    kedge_snapshot_id(log, at, id);
    snprintf(part, sizeof part, "%s%s", id, behind);
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/logs/notes/"),
                                         (kedge_bytes){NULL, 0}, 1000, &list, NULL),
                     KEDGE_OK);
    for (size_t i = 0; i < list.count; i++) {
        kedge_bytes key = kedge_bytes_of(list.blobs[i].key);
        if (strstr(list.blobs[i].key, part) == NULL) continue;
        assert_int_equal(blobs->vtable->remove(blobs->self, key, NULL), KEDGE_OK);
        assert_int_equal(
            blobs->vtable->put_if_absent(blobs->self, key, KEDGE_BYTES("damaged"), NULL), KEDGE_OK);
        damaged++;
    }
    assert_true(damaged > 0);
    kedge_blob_list_free(&list);
}

static void test_a_damaged_snapshot_does_not_keep_the_next_one_from_being_made(void **state)
{
    model beside = model_new(*state);
    const kedge_log *log = journal_new(*state);
    write_calls(log, &beside);
    kedge_log_place first = ask(log), second = ask(log), third = ask(log);
    make(log, &first, 1000);
    damage(*state, log, &first, "/");
    make(log, &second, 1000);
    compare(log, &second, &beside);
    damage(*state, log, &second, ".");
    make(log, &third, 10);
    compare(log, &third, &beside);
    model_free(&beside);
}

/* Each piece runs what it can until the time is over, one entry at least, and the next goes on. */
static void test_a_piece_whose_time_is_over_ends_where_it_is(void **state)
{
    test_world *world = *state;
    model beside = model_new(world);
    const kedge_log *log = journal_new(world);
    kedge_fold_piece piece = {.number = -1};
    const kedge_deadline over = {
        .environment = &world->environment, .end_ms = INT64_MIN, .slice_end_ms = INT64_MAX};
    write_calls(log, &beside);
    kedge_log_place at = ask(log);
    kedge_deadline_set(&over);
    for (int64_t number = 0; number <= at.number; number++) {
        assert_int_equal(kedge_effects_fold(log, &at, 1000, &piece, NULL), KEDGE_OK);
        assert_int_equal(piece.number, number);
    }
    kedge_deadline_set(NULL);
    compare(log, &at, &beside);
    model_free(&beside);
}

static void test_a_damaged_snapshot_that_no_entry_has_yet_is_made_again(void **state)
{
    model beside = model_new(*state);
    const kedge_log *log = journal_new(*state);
    kedge_fold_piece piece = {.number = -1};
    write_calls(log, &beside);
    kedge_log_place at = ask(log);
    assert_int_equal(kedge_effects_fold(log, &at, 10, &piece, NULL), KEDGE_OK);
    damage(*state, log, &at, "/");
    for (int pieces = 0; piece.number < at.number; pieces++) {
        assert_true(pieces <= at.number / 10 + 1);
        assert_int_equal(kedge_effects_fold(log, &at, 10, &piece, NULL), KEDGE_OK);
    }
    compare(log, &at, &beside);
    damage(*state, log, &at, ".");
    make(log, &at, 10);
    compare(log, &at, &beside);
    model_free(&beside);
}

static void test_a_progress_that_is_damaged_is_begun_anew(void **state)
{
    static const char *const damaged[] = {"{", "?", "{}", "{\"number\":5}", "{\"id\":\"", "[1"};
    model beside = model_new(*state);
    const kedge_log *log = journal_new(*state);
    write_calls(log, &beside);
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        kedge_log_place at = ask(log);
        kedge_buffer progress = kedge_buffer_make(&kedge_allocator_default);
        kedge_error error = {0};
        bool complete = false;
        kedge_buffer_append_text(&progress, damaged[i]);
        if (kedge_effects_make(NULL, log, &at, &progress, &complete, &error) != KEDGE_OK)
            fail_msg("%s: %s: %s", damaged[i], error.code, error.message);
        assert_true(complete);
        compare(log, &at, &beside);
        kedge_buffer_free(&progress);
    }
    model_free(&beside);
}

static void test_a_truncation_removes_the_snapshots_in_front_of_it(void **state)
{
    model beside = model_new(*state);
    const kedge_log *log = journal_new(*state);
    write_calls(log, &beside);
    kedge_log_place first = ask(log), second = ask(log), third = ask(log);
    make(log, &first, 1000);
    make(log, &second, 1000);
    make(log, &third, 1000);
    size_t blobs = count_blobs(*state);
    assert_int_equal(blobs % 3, 0);
    assert_int_equal(kedge_log_truncate(log, second.number, NULL), KEDGE_OK);
    assert_int_equal(count_blobs(*state), blobs / 3 * 2);
    compare(log, &second, &beside);
    assert_int_equal(kedge_log_truncate(log, third.number, NULL), KEDGE_OK);
    assert_int_equal(count_blobs(*state), blobs / 3);
    compare(log, &third, &beside);
    model_free(&beside);
}

/* A later snapshot was there first, and what the next piece needs was truncated. */
static void test_a_maker_that_a_truncation_overtakes_leaves_no_entry_out(void **state)
{
    model beside = model_new(*state);
    const kedge_log *log = journal_new(*state);
    kedge_error error = {0};
    write_calls(log, &beside);
    kedge_log_place first = ask(log);
    kedge_fold_piece piece = {.number = -1};
    assert_int_equal(kedge_effects_fold(log, &first, 10, &piece, NULL), KEDGE_OK);
    assert_int_equal(piece.number, 9);
    kedge_log_place second = ask(log);
    make(log, &second, 1000);
    assert_int_equal(kedge_log_truncate(log, 20, NULL), KEDGE_OK);
    assert_int_equal(kedge_effects_fold(log, &first, 1000, &piece, &error), KEDGE_UNSUPPORTED);
    assert_string_equal(error.code, "snapshot-base-missing");
    compare(log, &second, &beside);
    model_free(&beside);
}

/* ---- without memory ---- */

typedef struct snapshot_of {
    const kedge_log *log;
    kedge_log_place place;
} snapshot_of;

static bool read_whole(const kedge_allocator *allocator, void *context)
{
    const snapshot_of *stored = context;
    kedge_project project = *stored->log->project;
    const kedge_log log = kedge_log_of(&project, stored->log->name);
    char id[KEDGE_SHA256_HEX];
    kedge_fold_place place = {0};
    kedge_overlay_entry item;
    kedge_error error = {0};
    project.allocator = allocator;
    kedge_snapshot_id(&log, &stored->place, id);
    kedge_fold_base base = kedge_fold_base_make(&log);
    kedge_status status = kedge_fold_base_open(&base, id, NULL, stored->place.number, &error);
    while (status == KEDGE_OK)
        status = kedge_fold_base_next(&base, &place, &item, &error);
    kedge_fold_base_free(&base);
    if (status != KEDGE_DONE) assert_int_equal(status, KEDGE_NO_MEMORY);
    return status == KEDGE_DONE;
}

static void test_a_snapshot_that_is_read_without_memory_is_not_damaged(void **state)
{
    test_world *world = *state;
    model beside = model_new(world);
    const kedge_log *log = journal_new(world);
    write_calls(log, &beside);
    snapshot_of stored = {log, ask(log)};
    make(log, &stored.place, 1000);
    assert_true(failing_allocator_try_every_call(read_whole, &stored, 500) > 20);
    model_free(&beside);
}

static int64_t later_ms(void *context)
{
    (void)context;
    return kedge_environment_system(NULL).now_ms(NULL) + WEEK_MS + 10000;
}

static void test_a_truncation_removes_old_parts_of_what_was_never_completed(void **state)
{
    test_world *world = *state;
    model beside = model_new(world);
    const kedge_log *log = journal_new(world);
    write_calls(log, &beside);
    kedge_log_place first = ask(log), second = ask(log);
    kedge_fold_piece piece = {.number = -1};
    make(log, &first, 1000);
    size_t blobs = count_blobs(world);
    assert_int_equal(kedge_effects_fold(log, &second, first.number + 1, &piece, NULL), KEDGE_OK);
    make(log, &second, 1000);
    kedge_log_place third = ask(log);
    call(log, &beside, "kedge.noop", "{}");
    kedge_log_place fourth = ask(log);
    piece.number = -1;
    assert_int_equal(kedge_effects_fold(log, &fourth, 1, &piece, NULL), KEDGE_OK);
    assert_int_equal(piece.number, third.number);
    assert_true(count_blobs(world) > 2 * blobs);
    assert_int_equal(kedge_log_truncate(log, second.number, NULL), KEDGE_OK);
    assert_true(count_blobs(world) > blobs); /* the parts are young */
    world->environment.now_ms = later_ms;
    assert_int_equal(kedge_log_truncate(log, second.number, NULL), KEDGE_OK);
    assert_int_equal(count_blobs(world), blobs);
    compare(log, &second, &beside);
    model_free(&beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_snapshot_has_what_the_entries_give),
        OVER_MEMORY(test_an_entry_with_more_args_than_a_mutator_takes_changes_nothing),
        OVER_MEMORY(test_a_maker_that_ends_at_any_call_leaves_nothing_behind),
        OVER_MEMORY(test_a_part_that_is_gone_lets_the_maker_begin_again),
        OVER_MEMORY(test_a_damaged_snapshot_does_not_keep_the_next_one_from_being_made),
        OVER_MEMORY(test_a_piece_whose_time_is_over_ends_where_it_is),
        OVER_MEMORY(test_a_damaged_snapshot_that_no_entry_has_yet_is_made_again),
        OVER_MEMORY(test_a_progress_that_is_damaged_is_begun_anew),
        OVER_BOTH(test_a_truncation_removes_the_snapshots_in_front_of_it),
        OVER_BOTH(test_a_maker_that_a_truncation_overtakes_leaves_no_entry_out),
        OVER_MEMORY(test_a_truncation_removes_old_parts_of_what_was_never_completed),
        OVER_MEMORY(test_a_snapshot_that_is_read_without_memory_is_not_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
