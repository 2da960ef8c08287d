/* Archives of segments, truncation, and reading over both. */
#include "tests/log/log_world.h"

#include "backend/log/archive.h"
#include "backend/log/body.h"
#include "tests/support/failing_allocator.h"

#include <stdio.h>
#include <string.h>

static const char *large_body(void)
{
    static char text[20001];
    memset(text, 'x', sizeof text - 1);
    text[0] = text[sizeof text - 2] = '"';
    return text;
}

/* Segments 0: 0 to 3, 1: 4 to 6, 2: 7 to 8. */
static const kedge_log *three_segments(test_world *world)
{
    const kedge_log *log = journal_new(world);
    log_add(log, "1");
    log_add(log, large_body());
    log_snap(log, 1, "s1");
    log_roll(log);
    log_add(log, "5");
    log_snap(log, 4, "s4");
    log_roll(log);
    log_add(log, "8");
    return log;
}

#define ALL                                                                                        \
    "0 Snapshot|1 set 1|2 set (external)|3 End Segment|4 Snapshot|5 set 5|6 End Segment|"          \
    "7 Snapshot|8 set 8"

static const char *down(const kedge_log *log, uint32_t limit)
{
    kedge_log_reader reader;
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_END, 0, true, &reader, NULL), KEDGE_OK);
    return log_text(&reader, limit, false);
}

static size_t count_entries(test_world *world, const kedge_log *log, int64_t segment)
{
    kedge_log_key partition = kedge_log_key_entries(log, segment);
    kedge_records_query query = {
        .partition = kedge_log_key_bytes(&partition), .limit = 1000, .consistent = true};
    kedge_record_set set = {0};
    assert_int_equal(
        world->store_records.vtable->query(world->store_records.self, &query, &set, NULL),
        KEDGE_OK);
    size_t count = set.count;
    kedge_record_set_free(&set);
    return count;
}

static size_t count_blobs(test_world *world)
{
    kedge_blob_list list = {0};
    assert_int_equal(world->store_blobs.vtable->list(world->store_blobs.self,
                                                     KEDGE_BYTES("acme/logs/notes/journal/"),
                                                     (kedge_bytes){NULL, 0}, 1000, &list, NULL),
                     KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}

static void archive(const kedge_log *log, int64_t segment, kedge_log_archived_entries entries)
{
    kedge_error error = {0};
    if (kedge_log_archive(log, segment, entries, 2000000000, &error) != KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
}

static void truncate_at(const kedge_log *log, int64_t before)
{
    kedge_error error = {0};
    if (kedge_log_truncate(log, before, &error) != KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
}

/* ---- archives ---- */

static void test_a_segment_that_a_load_needs_is_not_archived(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    kedge_error error = {0};
    assert_int_equal(kedge_log_archive(log, 2, KEDGE_LOG_KEEP, 0, &error), KEDGE_REJECTED);
    assert_string_equal(error.code, "log-segment-in-use");
    assert_int_equal(kedge_log_archive(log, 1, KEDGE_LOG_KEEP, 0, &error), KEDGE_REJECTED);
    archive(log, 0, KEDGE_LOG_DELETE);
    log_snap(log, 7, "s7");
    archive(log, 1, KEDGE_LOG_DELETE);
    assert_string_equal(log_all(log), ALL);
}

static void test_history_is_read_through_archives_both_ways(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    const char *before = down(log, 4);
    archive(log, 0, KEDGE_LOG_KEEP);
    assert_int_equal(count_entries(world, log, 0), 4);
    archive(log, 0, KEDGE_LOG_DELETE);
    assert_int_equal(count_entries(world, log, 0), 0);
    assert_true(log_segment(log, 0).archived);
    for (uint32_t limit = 1; limit < 6; limit++) {
        kedge_log_reader reader;
        assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_START, 0, false, &reader, NULL),
                         KEDGE_OK);
        assert_string_equal(log_text(&reader, limit, false), ALL);
        assert_string_equal(down(log, limit), before);
    }
    kedge_log_reader reader;
    kedge_log_page page = kedge_log_page_make(world->environment.allocator);
    kedge_buffer body = kedge_buffer_make(world->environment.allocator);
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, 1, false, &reader, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_log_read(&reader, 2, &page, NULL), KEDGE_OK);
    assert_int_equal(page.count, 2);
    assert_string_equal(page.entries[0].snapshot.data, "s1");
    assert_int_equal(kedge_log_read_body(log, &page.entries[1], &body, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal_text(kedge_buffer_bytes(&body), large_body()));
    kedge_buffer_free(&body);
    kedge_log_page_free(&page);
    assert_string_equal(log_loaded(log), "4 Snapshot|5 set 5|6 End Segment|8 set 8");
}

static void test_an_archive_of_several_parts_is_read(void **state)
{
    test_world *world = *state;
    static char body[200001];
    const kedge_log *log = journal_new(world);
    uint64_t seed = 1;
    for (size_t i = 1; i + 2 < sizeof body; i++)
        body[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEF"[world_random(&seed) % 42];
    body[0] = body[sizeof body - 2] = '"';
    world->tune = NULL;
    for (int i = 0; i < 45; i++) {
        kedge_log_entry entry = {.at = {.num = i + 1},
                                 .type = KEDGE_BYTES("set"),
                                 .version = 1,
                                 .id = {1, (uint8_t)i},
                                 .body = kedge_bytes_of(body)};
        log_put_entry(world, log, &entry);
    }
    log_snap(log, 0, "s0");
    log_roll(log);
    log_snap(log, 47, "s47");
    archive(log, 0, KEDGE_LOG_DELETE);
    assert_int_equal(count_blobs(world), 4); /* three parts and the root */
    kedge_log_reader reader;
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_START, 0, false, &reader, NULL), KEDGE_OK);
    const char *text = log_text(&reader, 7, false);
    assert_null(strchr(text, '!'));
    assert_non_null(strstr(text, "|46 End Segment|47 Snapshot"));
    assert_null(strchr(down(log, 9), '!'));
}

static void test_an_archived_entry_may_expire_instead(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    archive(log, 0, KEDGE_LOG_EXPIRE);
    assert_int_equal(count_entries(world, log, 0), 4);
    kedge_log_page page = kedge_log_page_make(world->environment.allocator);
    kedge_log_segment segment = log_segment(log, 0);
    assert_int_equal(kedge_log_entry_get(log, &segment, 1, &page, NULL), KEDGE_OK);
    assert_int_equal(page.entries[0].expires_s, 2000000000);
    kedge_log_page_free(&page);
    log_remove_entry(world, log, 0, 2); /* the store deletes them in any order */
    assert_string_equal(log_all(log), ALL);
    log_remove_entry(world, log, 0, 0);
    assert_string_equal(log_all(log), ALL);
    archive(log, 0, KEDGE_LOG_DELETE);
    assert_string_equal(log_all(log), ALL);
}

/* Another process has ended and archived the segment that this one takes for the newest. */
static void test_an_append_does_not_go_into_a_segment_that_expires(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_add(log, "1");
    log_add(log, "2");
    kedge_backend *other = world_new_backend(world);
    const kedge_log *elsewhere = journal_of(other);
    log_snap(elsewhere, 1, "s1");
    log_snap(elsewhere, log_roll(elsewhere), "s4");
    archive(elsewhere, 0, KEDGE_LOG_EXPIRE);
    log_remove_entry(world, log, 0, 3); /* the store deletes them in any order */
    assert_int_equal(log_add(log, "5"), 5);
    assert_string_equal(log_all(log),
                        "0 Snapshot|1 set 1|2 set 2|3 End Segment|4 Snapshot|5 set 5");
    kedge_backend_free(other);
}

static int64_t late_ms;
static const kedge_log *elsewhere;
static bool truncates;

static int64_t late_clock(void *context)
{
    (void)context;
    return late_ms;
}

/* What others do while a process is suspended: its place is taken, and free again. */
static void remove_the_segment(test_world *world)
{
    (void)world;
    log_add(elsewhere, "\"other\"");
    log_snap(elsewhere, 1, "s1");
    int64_t first = log_roll(elsewhere);
    log_snap(elsewhere, first, "s2");
    if (truncates)
        truncate_at(elsewhere, first);
    else
        archive(elsewhere, 0, KEDGE_LOG_DELETE);
    late_ms += 60000;
}

/* It is suspended in front of each call of an append. What is acknowledged is read. */
static void test_an_append_that_was_suspended_is_not_lost_in_a_segment_that_is_gone(void **state)
{
    test_world *world = *state;
    char name[8], wanted[64];
    world->environment.monotonic_ms = late_clock;
    kedge_backend *others = world_new_backend(world);
    for (int i = 0; i < 6; i++) {
        bool created;
        truncates = i % 2 == 1;
        snprintf(name, sizeof name, "late%d", i);
        kedge_backend *own = world->backend;
        world->backend = others;
        elsewhere = log_named(world, name);
        world->backend = own;
        assert_int_equal(kedge_log_create(elsewhere, &created, NULL), KEDGE_OK);
        log_add(elsewhere, "1");
        world_restart(world); /* without a hint: three calls */
        const kedge_log *log = log_named(world, name);
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle_at = (uint64_t)(i / 2 + 1);
        world->meddle = remove_the_segment;
        int64_t number = log_add(log, "\"own\"");
        assert_null(world->meddle);
        snprintf(wanted, sizeof wanted, "|%lld set \"own\"", (long long)number);
        const char *found = strstr(log_all(log), wanted);
        assert_non_null(found);
        assert_string_equal(found, wanted);
    }
    kedge_backend_free(others);
}

static void test_an_archive_that_is_damaged_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    archive(log, 0, KEDGE_LOG_DELETE);
    kedge_log_segment segment = log_segment(log, 0);
    kedge_log_key key = kedge_log_key_archive(log, segment.archive);
    const kedge_blobs *blobs = &world->store_blobs;
    blobs->vtable->remove(blobs->self, kedge_log_key_bytes(&key), NULL);
    assert_string_equal(log_all(log), "!log-corrupt");
    assert_non_null(strstr(log_error_message(), "the log journal is corrupt at segment 0"));
    assert_string_equal(log_loaded(log), "4 Snapshot|5 set 5|6 End Segment|8 set 8");
}

static bool read_archive(const kedge_allocator *allocator, void *context)
{
    kedge_project project = *((const kedge_log *)context)->project;
    const kedge_log log = kedge_log_of(&project, ((const kedge_log *)context)->name);
    const kedge_log_segment segment = log_segment(context, 0);
    kedge_log_archive_root root;
    kedge_log_archived archived;
    kedge_error error = {0};
    project.allocator = allocator;
    kedge_arena arena = kedge_arena_make(allocator);
    kedge_status status = kedge_log_archive_open(&log, &segment, &arena, &root, &error);
    if (status == KEDGE_OK)
        status = kedge_log_archive_read(&log, &root, 0, &arena, &archived, &error);
    kedge_arena_free(&arena);
    if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NO_MEMORY);
    return status == KEDGE_OK;
}

static void test_an_archive_that_is_read_without_memory_is_not_damaged(void **state)
{
    const kedge_log *log = three_segments(*state);
    archive(log, 0, KEDGE_LOG_DELETE);
    assert_true(failing_allocator_try_every_call(read_archive, (void *)log, 0) > 10);
}

static void test_the_metadata_of_an_archived_segment_stays(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    kedge_log_metadata metadata = {.history = KEDGE_BYTES("h")};
    kedge_error error = {0};
    archive(log, 0, KEDGE_LOG_DELETE);
    assert_int_equal(kedge_log_set_metadata(log, 1, &metadata, &error), KEDGE_REJECTED);
    assert_string_equal(error.code, "log-segment-archived");
}

static kedge_backend *other;
static bool was_set;

static void set_elsewhere(test_world *world)
{
    const kedge_log_metadata metadata = {.history = KEDGE_BYTES("h")};
    (void)world;
    was_set = kedge_log_set_metadata(journal_of(other), 1, &metadata, NULL) == KEDGE_OK;
}

static void archive_elsewhere(test_world *world)
{
    (void)world;
    archive(journal_of(other), 0, KEDGE_LOG_KEEP);
}

static void check_history(const kedge_log *log, bool set)
{
    kedge_log_reader reader;
    kedge_log_page page = kedge_log_page_make(log->project->allocator);
    archive(log, 0, KEDGE_LOG_DELETE);
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, 1, false, &reader, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_log_read(&reader, 1, &page, NULL), KEDGE_OK);
    assert_int_equal(page.entries[0].history.size, set ? 1 : 0);
    kedge_log_page_free(&page);
}

/* Each in the middle of the other: set, and archived with it; or refused. */
static void test_metadata_that_is_set_is_never_left_out_of_the_archive(void **state)
{
    (void)state;
    int set = 0, refused = 0;
    for (uint64_t at = 1; at <= 12; at++) {
        void *own = NULL;
        assert_int_equal(world_setup_memory(&own), 0);
        test_world *world = own;
        const kedge_log *log = three_segments(world);
        const kedge_log_metadata metadata = {.history = KEDGE_BYTES("h")};
        bool sets = at > 6;
        other = world_new_backend(world);
        was_set = false;
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle_at = sets ? at - 6 : at;
        world->meddle = sets ? archive_elsewhere : set_elsewhere;
        if (sets)
            was_set = kedge_log_set_metadata(log, 1, &metadata, NULL) == KEDGE_OK;
        else
            archive(log, 0, KEDGE_LOG_KEEP);
        world->meddle = NULL;
        check_history(log, was_set);
        was_set ? set++ : refused++;
        kedge_backend_free(other);
        world_teardown(&own);
    }
    assert_true(set > 4 && refused > 1);
}

static void test_an_archive_that_broke_off_is_finished(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    for (uint64_t at = 1; at <= 16; at++) {
        world_arm(world, at % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, at, true, false);
        (void)kedge_log_archive(log, 0, KEDGE_LOG_DELETE, 0, NULL);
        world_disarm(world);
        assert_string_equal(log_all(log), ALL);
    }
    archive(log, 0, KEDGE_LOG_DELETE);
    assert_int_equal(count_entries(world, log, 0), 0);
}

/* ---- truncation ---- */

static void test_a_truncation_stops_at_the_last_snapshot(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_error error = {0};
    log_add(log, "1");
    assert_int_equal(kedge_log_truncate(log, 1, &error), KEDGE_REJECTED);
    assert_string_equal(error.code, "log-truncate-too-far");
    log_snap(log, 1, "s1");
    assert_int_equal(kedge_log_truncate(log, 2, &error), KEDGE_REJECTED);
    truncate_at(log, 1);
    assert_string_equal(log_all(log), "1 set 1");
    assert_string_equal(log_loaded(log), "1 set 1");
    assert_int_equal(log_add(log, "2"), 2);
}

static void test_a_truncation_removes_entries_segments_bodies_and_archives(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    archive(log, 0, KEDGE_LOG_DELETE);
    log_snap(log, 8, "s8");
    truncate_at(log, 2);
    assert_string_equal(log_all(log), "2 set (external)|3 End Segment|4 Snapshot|5 set 5|"
                                      "6 End Segment|7 Snapshot|8 set 8");
    assert_string_equal(down(log, 3), "8 set 8|7 Snapshot|6 End Segment|5 set 5|4 Snapshot|"
                                      "3 End Segment|2 set (external)");
    truncate_at(log, 5);
    assert_string_equal(log_all(log), "5 set 5|6 End Segment|7 Snapshot|8 set 8");
    assert_int_equal(count_blobs(world), 0);
    truncate_at(log, 7);
    assert_string_equal(log_all(log), "7 Snapshot|8 set 8");
    truncate_at(log, 8);
    truncate_at(log, 3); /* it is truncated further already */
    assert_string_equal(log_all(log), "8 set 8");
    assert_string_equal(down(log, 3), "8 set 8");
    assert_int_equal(count_entries(world, log, 1), 0);
    assert_int_equal(count_entries(world, log, 2), 1);
    kedge_log_summary summary = {.snapshot_entry =
                                     kedge_log_page_make(world->environment.allocator)};
    assert_int_equal(kedge_log_summarize(log, true, &summary, NULL), KEDGE_OK);
    assert_int_equal(summary.first, 8);
    assert_int_equal(summary.next, 9);
    kedge_log_page_free(&summary.snapshot_entry);
}

static void test_a_truncation_that_broke_off_leaves_a_log_that_is_read(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    log_snap(log, 8, "s8");
    for (uint64_t at = 1; at <= 24; at++) {
        world_arm(world, at % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, 2 + at % 12, true,
                  false);
        (void)kedge_log_truncate(log, 7, NULL);
        world_disarm(world);
        const char *left = log_all(log);
        assert_null(strchr(left, '!'));
        assert_non_null(strstr(left, "7 Snapshot|8 set 8"));
        assert_null(strchr(down(log, 5), '!'));
    }
    truncate_at(log, 7);
    assert_string_equal(log_all(log), "7 Snapshot|8 set 8");
    assert_int_equal(count_entries(world, log, 0) + count_entries(world, log, 1), 0);
    assert_int_equal(count_blobs(world), 0);
}

static void test_a_reader_that_is_overtaken_by_a_truncation_goes_on_behind_it(void **state)
{
    test_world *world = *state;
    const kedge_log *log = three_segments(world);
    kedge_log_reader reader;
    log_snap(log, 8, "s8");
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_START, 0, false, &reader, NULL), KEDGE_OK);
    truncate_at(log, 7);
    assert_string_equal(log_text(&reader, 3, false), "7 Snapshot|8 set 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_segment_that_a_load_needs_is_not_archived),
        OVER_BOTH(test_history_is_read_through_archives_both_ways),
        OVER_MEMORY(test_an_archive_of_several_parts_is_read),
        OVER_BOTH(test_an_archived_entry_may_expire_instead),
        OVER_BOTH(test_an_append_does_not_go_into_a_segment_that_expires),
        OVER_BOTH(test_an_append_that_was_suspended_is_not_lost_in_a_segment_that_is_gone),
        OVER_BOTH(test_an_archive_that_is_damaged_is_told),
        OVER_MEMORY(test_an_archive_that_is_read_without_memory_is_not_damaged),
        OVER_MEMORY(test_the_metadata_of_an_archived_segment_stays),
        cmocka_unit_test(test_metadata_that_is_set_is_never_left_out_of_the_archive),
        OVER_BOTH(test_an_archive_that_broke_off_is_finished),
        OVER_BOTH(test_a_truncation_stops_at_the_last_snapshot),
        OVER_BOTH(test_a_truncation_removes_entries_segments_bodies_and_archives),
        OVER_BOTH(test_a_truncation_that_broke_off_leaves_a_log_that_is_read),
        OVER_BOTH(test_a_reader_that_is_overtaken_by_a_truncation_goes_on_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
