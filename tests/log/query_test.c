/* Queries of any place, up and down; metadata; bodies that are blobs. */
#include "tests/log/log_world.h"

#include "backend/log/body.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kedge_backend *other;

/* Three segments: 0 to 3, 4 to 6, 7 to 8. */
static const kedge_log *three_segments(test_world *world)
{
    const kedge_log *log = journal_new(world);
    log_add(log, "1");
    log_add(log, "2");
    log_snap(log, 1, "s1");
    log_roll(log);
    log_add(log, "5");
    log_snap(log, 4, "s4");
    log_roll(log);
    log_add(log, "8");
    return log;
}

static const char *query(const kedge_log *log, kedge_log_from from, int64_t number, bool down,
                         uint32_t limit)
{
    kedge_log_reader reader;
    kedge_error error = {0};
    if (kedge_log_query(log, from, number, down, &reader, &error) != KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
    return log_text(&reader, limit, true);
}

#define UP_TO_3     "0@0.0 Snapshot|1@0.1 set 1|2@0.2 set 2|3@0.3 End Segment"
#define FROM_4_TO_8 "4@1.0 Snapshot|5@1.1 set 5|6@1.2 End Segment|7@2.0 Snapshot|8@2.1 set 8"

static void test_a_query_starts_at_the_start_the_snapshot_the_end_or_a_number(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    for (uint32_t limit = 1; limit < 6; limit++) {
        assert_string_equal(query(log, KEDGE_LOG_FROM_START, 0, false, limit),
                            UP_TO_3 "|" FROM_4_TO_8);
        assert_string_equal(query(log, KEDGE_LOG_FROM_NUMBER, 4, false, limit), FROM_4_TO_8);
        assert_string_equal(query(log, KEDGE_LOG_FROM_NUMBER, 6, false, limit),
                            "6@1.2 End Segment|7@2.0 Snapshot|8@2.1 set 8");
        assert_string_equal(query(log, KEDGE_LOG_FROM_SNAPSHOT, 0, false, limit), FROM_4_TO_8);
    }
    assert_string_equal(query(log, KEDGE_LOG_FROM_END, 0, false, 5), "8@2.1 set 8");
    assert_string_equal(query(log, KEDGE_LOG_FROM_NUMBER, 9, false, 5), "");
    assert_string_equal(query(log, KEDGE_LOG_FROM_NUMBER, 99, false, 5), "");
}

static void test_a_query_goes_down_to_the_start(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    for (uint32_t limit = 1; limit < 6; limit++) {
        assert_string_equal(query(log, KEDGE_LOG_FROM_END, 0, true, limit),
                            "8@2.1 set 8|7@2.0 Snapshot|6@1.2 End Segment|5@1.1 set 5|"
                            "4@1.0 Snapshot|3@0.3 End Segment|2@0.2 set 2|1@0.1 set 1|"
                            "0@0.0 Snapshot");
        assert_string_equal(query(log, KEDGE_LOG_FROM_NUMBER, 4, true, limit),
                            "4@1.0 Snapshot|3@0.3 End Segment|2@0.2 set 2|1@0.1 set 1|"
                            "0@0.0 Snapshot");
    }
    assert_string_equal(query(log, KEDGE_LOG_FROM_NUMBER, 99, true, 9),
                        query(log, KEDGE_LOG_FROM_END, 0, true, 9));
    assert_string_equal(query(log, KEDGE_LOG_FROM_START, 0, true, 9), "0@0.0 Snapshot");
}

static void test_any_number_is_found_among_many_segments(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    for (int i = 0; i < 9; i++) {
        for (int k = 0; k < i % 3; k++)
            log_add(log, "1");
        log_snap(log, log_segment(log, i).first, "s");
        log_roll(log);
    }
    kedge_log_summary summary = {.snapshot_entry =
                                     kedge_log_page_make(world->environment.allocator)};
    assert_int_equal(kedge_log_summarize(log, true, &summary, NULL), KEDGE_OK);
    assert_int_equal(summary.segment, 9);
    for (int64_t number = 0; number < summary.next; number++) {
        char start[24];
        snprintf(start, sizeof start, "%lld@", (long long)number);
        const char *text = query(log, KEDGE_LOG_FROM_NUMBER, number, false, 3);
        assert_true(strncmp(text, start, strlen(start)) == 0);
        assert_null(strchr(text, '!'));
        text = query(log, KEDGE_LOG_FROM_NUMBER, number, true, 3);
        assert_true(strncmp(text, start, strlen(start)) == 0);
        assert_null(strchr(text, '!'));
    }
    kedge_log_page_free(&summary.snapshot_entry);
}

static void test_a_stale_read_in_the_middle_of_a_log_leaves_no_gap(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    world_lag(world);
    for (int i = 1; i < 4; i++)
        log_add(log, "1");
    log_snap(log, 2, "s2");
    log_roll(log);
    log_add(log, "6");
    assert_string_equal(query(log, KEDGE_LOG_FROM_START, 0, false, 100),
                        "0@0.0 Snapshot|1@0.1 set 1|2@0.2 set 1|3@0.3 set 1|4@0.4 End Segment|"
                        "5@1.0 Snapshot|6@1.1 set 6");
    assert_string_equal(query(log, KEDGE_LOG_FROM_END, 0, true, 100),
                        "6@1.1 set 6|5@1.0 Snapshot|4@0.4 End Segment|3@0.3 set 1|2@0.2 set 1|"
                        "1@0.1 set 1|0@0.0 Snapshot");
}

static void test_a_reader_that_knows_types_stops_at_others(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    const kedge_log_type types[] = {{KEDGE_BYTES("set"), 1}};
    kedge_log_reader reader;
    kedge_log_append_result result;
    kedge_log_append_request request = {
        .type = KEDGE_BYTES("set"), .version = 2, .expected = KEDGE_LOG_AT_END, .since = -1};
    log_add(log, "1");
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_START, 0, false, &reader, NULL), KEDGE_OK);
    reader.types = types;
    reader.type_count = 1;
    assert_string_equal(log_text(&reader, 10, false), "0 Snapshot|1 set 1|!log-type-unknown");
    assert_string_equal(log_error_message(),
                        "the log journal has at segment 0, entry 2, version 2 of the type set, "
                        "which the reader does not know");
}

/* ---- metadata ---- */

static kedge_log_page one(test_world *world, const kedge_log *log, int64_t number)
{
    kedge_log_reader reader;
    kedge_log_page page = kedge_log_page_make(world->environment.allocator);
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, number, false, &reader, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_log_read(&reader, 1, &page, NULL), KEDGE_OK);
    assert_int_equal(page.count, 1);
    return page;
}

static void test_metadata_of_an_entry_is_set_and_taken_away(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    kedge_log_metadata metadata = {.history = KEDGE_BYTES("h"), .pending = KEDGE_BYTES("w7")};
    assert_int_equal(kedge_log_set_metadata(log, 5, &metadata, NULL), KEDGE_OK);
    kedge_log_page page = one(world, log, 5);
    assert_string_equal(page.entries[0].history.data, "h");
    assert_string_equal(page.entries[0].pending.data, "w7");
    assert_int_equal(page.entries[0].snapshot.size, 0);
    assert_int_equal(page.entries[0].revision, 1);
    kedge_log_page_free(&page);
    metadata = (kedge_log_metadata){.snapshot = KEDGE_BYTES("s5"), .pending = KEDGE_BYTES("")};
    assert_int_equal(kedge_log_set_metadata(log, 5, &metadata, NULL), KEDGE_OK);
    page = one(world, log, 5);
    assert_string_equal(page.entries[0].history.data, "h");
    assert_string_equal(page.entries[0].snapshot.data, "s5");
    assert_int_equal(page.entries[0].pending.size, 0);
    kedge_log_page_free(&page);
    assert_int_equal(log_segment(log, 1).last_snapshot, 1);
}

static void test_last_snapshot_only_moves_forward(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    for (int i = 1; i <= 5; i++)
        log_add(log, "1");
    log_snap(log, 3, "s3");
    log_snap(log, 2, "s2");
    assert_int_equal(log_segment(log, 0).last_snapshot, 3);
    log_snap(log, 5, "s5");
    assert_int_equal(log_segment(log, 0).last_snapshot, 5);
    log_snap(log, 5, "s5 again");
    kedge_log_metadata none = {.snapshot = KEDGE_BYTES("")};
    kedge_error error = {0};
    assert_int_equal(kedge_log_set_metadata(log, 5, &none, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(log_loaded(log), "5 set 1");
}

static void test_metadata_is_refused_for_no_entry_and_over_its_size(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_error error = {0};
    static char large[KEDGE_LOG_METADATA_BYTES_MAX + 1];
    memset(large, 'x', sizeof large);
    kedge_log_metadata metadata = {.history = KEDGE_BYTES("h")};
    assert_int_equal(kedge_log_set_metadata(log, 1, &metadata, &error), KEDGE_NOT_FOUND);
    assert_string_equal(error.code, "log-entry-not-found");
    metadata.history = (kedge_bytes){large, sizeof large};
    assert_int_equal(kedge_log_set_metadata(log, 0, &metadata, &error), KEDGE_LIMIT_EXCEEDED);
    metadata.history = KEDGE_BYTES("\xff");
    assert_int_equal(kedge_log_set_metadata(log, 0, &metadata, &error), KEDGE_INVALID_ARGUMENT);
}

static char raced[8];

static void snap_elsewhere(test_world *world)
{
    kedge_backend *own = world->backend;
    world->backend = other;
    log_snap(log_named(world, raced), 4, "s4");
    world->backend = own;
}

static void test_snapshots_that_race_leave_the_later_one(void **state)
{
    test_world *world = *state;
    bool created;
    other = world_new_backend(world);
    for (uint64_t at = 1; at <= 3; at++) {
        snprintf(raced, sizeof raced, "log%d", (int)at);
        const kedge_log *log = log_named(world, raced);
        assert_int_equal(kedge_log_create(log, &created, NULL), KEDGE_OK);
        for (int i = 1; i <= 5; i++)
            log_add(log, "1");
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle_at = at;
        world->meddle = snap_elsewhere;
        log_snap(log, 2, "s2");
        assert_int_equal(log_segment(log, 0).last_snapshot, 4);
        assert_null(world->meddle);
    }
    kedge_backend_free(other);
}

static void test_metadata_survives_any_fault(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    for (int i = 1; i <= 12; i++)
        log_add(log, "1");
    for (uint64_t at = 1; at <= 12; at++) {
        world_arm(world, at % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, (at + 1) / 2, false,
                  false);
        log_snap(log, (int64_t)at, "s");
        assert_true(at > 6 || world->faults == 1);
        world_disarm(world);
        assert_int_equal(log_segment(log, 0).last_snapshot, at);
    }
}

/* ---- bodies ---- */

static const char *large_body(void)
{
    static char text[20001];
    memset(text, 'x', sizeof text - 1);
    text[0] = text[sizeof text - 2] = '"';
    return text;
}

static size_t count_blobs(test_world *world, bool tagged_only)
{
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &world->store_blobs;
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/logs/notes/journal/"),
                                         (kedge_bytes){NULL, 0}, 1000, &list, NULL),
                     KEDGE_OK);
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        kedge_buffer value = kedge_buffer_make(world->environment.allocator);
        bool tagged =
            blobs->vtable->get_tag(blobs->self, kedge_bytes_of(list.blobs[i].key),
                                   KEDGE_BYTES(KEDGE_BLOB_DISCARD_TAG), &value, NULL) == KEDGE_OK;
        if (tagged || !tagged_only) count++;
        kedge_buffer_free(&value);
    }
    kedge_blob_list_free(&list);
    return count;
}

static void assert_body_is(test_world *world, const kedge_log *log, int64_t number,
                           const char *expected)
{
    kedge_log_page page = one(world, log, number);
    kedge_buffer body = kedge_buffer_make(world->environment.allocator);
    kedge_error error = {0};
    if (kedge_log_read_body(log, &page.entries[0], &body, &error) != KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
    assert_true(kedge_bytes_equal_text(kedge_buffer_bytes(&body), expected));
    kedge_buffer_free(&body);
    kedge_log_page_free(&page);
}

static void test_a_large_body_is_a_blob_without_a_tag(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_add(log, large_body());
    assert_string_equal(log_all(log), "0 Snapshot|1 set (external)");
    assert_int_equal(count_blobs(world, false), 1);
    assert_int_equal(count_blobs(world, true), 0);
    assert_body_is(world, log, 1, large_body());
    log_add(log, "\"small\"");
    assert_body_is(world, log, 2, "\"small\"");
}

static void small_inline(test_world *world, kedge_backend_options *options)
{
    (void)world;
    options->log_inline_bytes = 10;
}

static void test_the_size_of_a_blob_is_an_option(void **state)
{
    test_world *world = *state;
    world->tune = small_inline;
    world_restart(world);
    const kedge_log *log = journal_new(world);
    log_add(log, "\"12345678\"");
    log_add(log, "\"123456789\"");
    assert_string_equal(log_all(log), "0 Snapshot|1 set \"12345678\"|2 set (external)");
}

static void test_a_conflict_leaves_no_blob(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    log_add(log, "1");
    assert_int_equal(log_add_at(log, 1, large_body(), &result, NULL), KEDGE_OK);
    assert_true(result.conflict);
    assert_int_equal(count_blobs(world, false), 0);
}

/* Everything stops at a call; what is left is either whole, or tagged for the lifecycle. */
static void test_a_crash_leaves_a_body_that_is_read_or_discarded(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    size_t committed = 0;
    for (uint64_t at = 1; at <= 12; at++) {
        world_fault fault = at % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER;
        world_arm(world, fault, (at + 1) / 2, true, false);
        (void)log_add_at(log, KEDGE_LOG_AT_END, large_body(), &result, NULL);
        world_disarm(world);
        kedge_log_summary summary = {.snapshot_entry =
                                         kedge_log_page_make(world->environment.allocator)};
        assert_int_equal(kedge_log_summarize(log, true, &summary, NULL), KEDGE_OK);
        committed = (size_t)summary.next - 1;
        for (int64_t number = 1; number < summary.next; number++)
            assert_body_is(world, log, number, large_body());
    }
    assert_true(committed >= 2);
    /* What was read lost its tag; the others are the lifecycle's. */
    assert_true(count_blobs(world, true) > 0);
    assert_int_equal(count_blobs(world, true), count_blobs(world, false) - committed);
}

static void test_a_reader_removes_the_tag_of_a_committed_body(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    world_arm(world, WORLD_FAULT_BEFORE, 5, false, false); /* the removal of the tag */
    assert_int_equal(log_add_at(log, KEDGE_LOG_AT_END, large_body(), &result, NULL), KEDGE_OK);
    world_disarm(world);
    assert_int_equal(world->faults, 1);
    assert_int_equal(count_blobs(world, true), 1);
    assert_body_is(world, log, 1, large_body());
    assert_int_equal(count_blobs(world, true), 0);
    assert_body_is(world, log, 1, large_body());
}

/* The first one ended before it removed the tag. Whoever repeats the append is told that the entry
 * is there, and nobody else may ever look at it. */
static void test_a_repeated_append_removes_the_tag_of_its_body(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = KEDGE_BYTES("set"),
                                              .version = 1,
                                              .body = kedge_bytes_of(large_body()),
                                              .expected = 1,
                                              .id = {7},
                                              .since = -1};
    world_arm(world, WORLD_FAULT_BEFORE, 5, true, false); /* from the removal of the tag on */
    (void)kedge_log_append(log, &request, &result, NULL);
    world_disarm(world);
    assert_int_equal(count_blobs(world, true), 1);
    world_restart(world);
    log = journal(world);
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    assert_true(result.before);
    assert_int_equal(count_blobs(world, false), 1);
    assert_int_equal(count_blobs(world, true), 0);
}

#ifdef KEDGE_TEST_S3
#define LIFECYCLE_POLLS 2400 /* of 250 ms; a day of the engine's lifecycle lasts five seconds */

/* The bucket has the rules of kedge_s3_create. */
static void test_the_lifecycle_deletes_an_abandoned_body_and_no_other(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    assert_int_equal(log_add_at(log, KEDGE_LOG_AT_END, large_body(), &result, NULL), KEDGE_OK);
    kedge_log_body_name abandoned;
    assert_int_equal(kedge_log_body_write(log, kedge_bytes_of(large_body()), &abandoned, NULL),
                     KEDGE_OK);
    assert_int_equal(count_blobs(world, false), 2);
    assert_int_equal(count_blobs(world, true), 1);
    int polls = 0;
    while (count_blobs(world, true) > 0 && polls++ < LIFECYCLE_POLLS)
        poll(NULL, 0, 250);
    assert_int_equal(count_blobs(world, false), 1);
    assert_body_is(world, log, 1, large_body());
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_query_starts_at_the_start_the_snapshot_the_end_or_a_number),
        OVER_BOTH(test_a_query_goes_down_to_the_start),
        OVER_BOTH(test_any_number_is_found_among_many_segments),
        OVER_REPLICA(test_a_stale_read_in_the_middle_of_a_log_leaves_no_gap),
        OVER_MEMORY(test_a_reader_that_knows_types_stops_at_others),
        OVER_BOTH(test_metadata_of_an_entry_is_set_and_taken_away),
        OVER_BOTH(test_last_snapshot_only_moves_forward),
        OVER_MEMORY(test_metadata_is_refused_for_no_entry_and_over_its_size),
        OVER_BOTH(test_snapshots_that_race_leave_the_later_one),
        OVER_BOTH(test_metadata_survives_any_fault),
        OVER_BOTH(test_a_large_body_is_a_blob_without_a_tag),
        OVER_MEMORY(test_the_size_of_a_blob_is_an_option),
        OVER_BOTH(test_a_conflict_leaves_no_blob),
        OVER_BOTH(test_a_crash_leaves_a_body_that_is_read_or_discarded),
        OVER_BOTH(test_a_reader_removes_the_tag_of_a_committed_body),
        OVER_BOTH(test_a_repeated_append_removes_the_tag_of_its_body),
#ifdef KEDGE_TEST_S3
        OVER_BOTH(test_the_lifecycle_deletes_an_abandoned_body_and_no_other),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
