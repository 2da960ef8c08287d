/* Create New Segment, Load and Update Loaded: their guards, both cases of segments, lost races,
 * stale reads, outcomes that nobody learns. */
#include "tests/log/log_world.h"

#include <stdio.h>
#include <string.h>

static kedge_backend *other;

static const char *updated(const kedge_log *log, int64_t last, bool *reload)
{
    kedge_log_reader reader = {.ended = true};
    kedge_error error = {0};
    if (kedge_log_update(log, last, &reader, reload, &error) != KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
    return log_text(&reader, 2, false);
}

#define assert_updates(log, last, reloads, text)                                                   \
    do {                                                                                           \
        bool reload_;                                                                              \
        assert_string_equal(updated(log, last, &reload_), text);                                   \
        assert_int_equal(reload_, reloads);                                                        \
    } while (0)

/* ---- new segments ---- */

static void test_a_segment_without_a_snapshot_is_not_ended(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_place place;
    kedge_error error = {0};
    log_add(log, "1");
    assert_int_equal(kedge_log_new_segment(log, &place, &error), KEDGE_REJECTED);
    assert_string_equal(error.code, "log-snapshot-missing");
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1");
    log_snap(log, 1, "s1");
    assert_int_equal(kedge_log_new_segment(log, &place, &error), KEDGE_OK);
    assert_int_equal(place.segment, 1);
    assert_int_equal(place.number, 3);
    assert_int_equal(kedge_log_new_segment(log, &place, &error), KEDGE_REJECTED);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|2 End Segment|3 Snapshot");
    assert_int_equal(log_segment(log, 1).first, 3);
}

static void test_a_snapshot_that_a_replica_does_not_know_yet_lets_the_segment_end(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_add(log, "1");
    world_lag(world);
    log_snap(log, 1, "s1");
    assert_int_equal(log_roll(log), 3);
}

static void append_elsewhere(test_world *world)
{
    (void)world;
    log_add(journal_of(other), "\"other\"");
}

static void roll_elsewhere(test_world *world)
{
    (void)world;
    log_roll(journal_of(other));
    log_snap(journal_of(other), log_segment(journal_of(other), 1).first, "s");
}

static void test_a_lost_race_at_any_call_ends_the_segment_behind_the_winner(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    other = world_new_backend(world);
    log_snap(log, 0, "s0");
    for (uint64_t at = 1; at <= 3; at++) {
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle_at = at;
        world->meddle = append_elsewhere;
        int64_t first = log_roll(log);
        assert_null(world->meddle);
        assert_int_equal(first, 3 * (int64_t)at);
        log_snap(log, first, "s");
    }
    assert_string_equal(log_all(log),
                        "0 Snapshot|1 set \"other\"|2 End Segment|3 Snapshot|4 set \"other\"|"
                        "5 End Segment|6 Snapshot|7 set \"other\"|8 End Segment|9 Snapshot");
    kedge_backend_free(other);
}

static void test_two_that_end_a_segment_make_two_segments_at_most(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    other = world_new_backend(world);
    log_snap(log, 0, "s0");
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    world->meddle_at = 3;
    world->meddle = roll_elsewhere;
    assert_int_equal(log_roll(log), 4);
    assert_string_equal(log_all(log),
                        "0 Snapshot|1 End Segment|2 Snapshot|3 End Segment|4 Snapshot");
    kedge_backend_free(other);
}

static void one_fault(test_world *world, world_fault fault, uint64_t at)
{
    char name[32];
    snprintf(name, sizeof name, "log%d.%d", (int)fault, (int)at);
    const kedge_log *log = log_named(world, name);
    bool created;
    kedge_log_place place = {.segment = 0};
    assert_int_equal(kedge_log_create(log, &created, NULL), KEDGE_OK);
    log_snap(log, 0, "s0");
    world_arm(world, fault, at, false, false);
    assert_int_equal(kedge_log_new_segment(log, &place, NULL), KEDGE_OK);
    world_disarm(world);
    assert_int_equal(place.segment, 1);
    assert_int_equal(place.number, 2);
    assert_string_equal(log_all(log), "0 Snapshot|1 End Segment|2 Snapshot");
}

static void test_a_segment_whose_end_was_not_learned_ends_once(void **state)
{
    test_world *world = *state;
    for (uint64_t at = 1; at <= 5; at++) {
        one_fault(world, WORLD_FAULT_BEFORE, at);
        one_fault(world, WORLD_FAULT_AFTER, at);
    }
}

/* ---- load ---- */

static void test_a_load_starts_at_the_last_snapshot(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    for (int i = 1; i <= 5; i++)
        log_add(log, "1");
    assert_string_equal(log_loaded(log), "1 set 1|2 set 1|3 set 1|4 set 1|5 set 1");
    log_snap(log, 3, "s3");
    assert_string_equal(log_loaded(log), "3 set 1|4 set 1|5 set 1");
    log_roll(log); /* the new segment has no snapshot: steps 4 and 5 */
    assert_string_equal(log_loaded(log), "3 set 1|4 set 1|5 set 1|6 End Segment");
    log_add(log, "2");
    assert_string_equal(log_loaded(log), "3 set 1|4 set 1|5 set 1|6 End Segment|8 set 2");
    log_snap(log, 7, "s7"); /* step 2 */
    assert_string_equal(log_loaded(log), "7 Snapshot|8 set 2");
}

static void test_a_load_reads_page_by_page(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    char expected[512] = "0 Snapshot";
    log_snap(log, 0, "s0");
    for (int i = 1; i <= 20; i++) {
        log_add(log, "1");
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "|%d set 1", i);
    }
    for (uint32_t limit = 1; limit <= 25; limit += 3) {
        kedge_log_reader reader;
        assert_int_equal(kedge_log_load(log, &reader, NULL), KEDGE_OK);
        assert_string_equal(log_text(&reader, limit, false), expected);
    }
}

static void test_a_load_over_a_stale_end_of_the_segment_before_has_no_gap(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_reader reader;
    log_add(log, "1");
    log_snap(log, 1, "s1");
    log_add(log, "2");
    world_lag(world); /* the replica has neither the end nor the new segment */
    log_roll(log);
    log_add(log, "3");
    assert_string_equal(log_loaded(log), "1 set 1|2 set 2");
    /* Here the segments are fresh, while entries are still stale. */
    world->stale = false;
    assert_int_equal(kedge_log_load(log, &reader, NULL), KEDGE_OK);
    world->stale = true;
    assert_string_equal(log_text(&reader, 100, false), "1 set 1|2 set 2|3 End Segment");
    world->stale = false;
    assert_string_equal(log_loaded(log), "1 set 1|2 set 2|3 End Segment|5 set 3");
}

static void test_stale_segments_are_read_again_before_a_log_is_corrupt(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_snap(log, 0, "s0");
    log_roll(log);
    kedge_log_segment before = log_segment(log, 0);
    kedge_log_segment without = before;
    without.last_snapshot = -1;
    log_put_segment(world, log, &without);
    world_lag(world);
    log_put_segment(world, log, &before);
    assert_string_equal(log_loaded(log), "0 Snapshot|1 End Segment");
}

static void test_two_segments_without_a_snapshot_are_corrupt(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_snap(log, 0, "s0");
    log_roll(log);
    log_add(log, "1");
    kedge_log_segment before = log_segment(log, 0);
    before.last_snapshot = -1;
    log_put_segment(world, log, &before);
    assert_string_equal(log_loaded(log), "log-corrupt");
    assert_string_equal(log_error_message(),
                        "the log journal is corrupt at segment 1: neither it nor the segment "
                        "before it has a snapshot");
    assert_string_equal(log_all(log), "0 Snapshot|1 End Segment|2 Snapshot|3 set 1");
}

/* ---- update ---- */

static void test_an_update_gives_what_follows_in_two_segments_and_else_reloads(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_add(log, "1");
    log_add(log, "2");
    assert_updates(log, 0, false, "1 set 1|2 set 2");
    assert_updates(log, 2, false, "");
    log_snap(log, 0, "s0");
    log_roll(log); /* 3, 4 */
    log_add(log, "5");
    assert_updates(log, 1, false, "2 set 2|3 End Segment|5 set 5");
    assert_updates(log, 2, false, "3 End Segment|5 set 5");
    assert_updates(log, 3, false, "5 set 5"); /* after the end of the segment before */
    assert_updates(log, 4, false, "5 set 5");
    assert_updates(log, 5, false, "");
    log_snap(log, 5, "s5");
    log_roll(log); /* 6, 7 */
    log_add(log, "8");
    assert_updates(log, 3, true, "5 set 5|6 End Segment|8 set 8");
    assert_updates(log, 4, false, "5 set 5|6 End Segment|8 set 8");
    log_snap(log, 7, "s7");
    assert_updates(log, 3, true, "7 Snapshot|8 set 8");
    assert_updates(log, 5, false, "6 End Segment|8 set 8");
}

static void test_an_update_from_a_stale_replica_gives_a_part_and_later_the_rest(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_add(log, "1");
    log_snap(log, 1, "s1");
    world_lag(world);
    log_add(log, "2");
    log_roll(log); /* 3, 4 */
    log_add(log, "5");
    assert_updates(log, 0, false, "1 set 1");
    assert_updates(log, 2, false, ""); /* it has seen more than the replica has */
    assert_updates(log, 5, false, "");
    world->stale = false;
    assert_updates(log, 1, false, "2 set 2|3 End Segment|5 set 5");
}

/* Gives no gap: who lacks entries that are truncated loads again. */
static void test_an_update_reloads_what_was_truncated(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    for (int i = 0; i < 5; i++)
        log_add(log, "1");
    log_snap(log, 4, "s4");
    assert_int_equal(kedge_log_truncate(log, 3, NULL), KEDGE_OK);
    assert_updates(log, 1, true, "4 set 1|5 set 1");
    assert_updates(log, 2, false, "3 set 1|4 set 1|5 set 1");
    log_roll(log); /* 6, 7 */
    assert_updates(log, 1, true, "4 set 1|5 set 1|6 End Segment");
    assert_updates(log, 2, false, "3 set 1|4 set 1|5 set 1|6 End Segment");
    log_add(log, "8");
    log_snap(log, 8, "s8");
    assert_int_equal(kedge_log_truncate(log, 8, NULL), KEDGE_OK);
    assert_updates(log, 5, true, "8 set 8");
    assert_updates(log, 6, false, "8 set 8"); /* 7 is the Snapshot entry of a segment */
}

static void test_a_truncation_that_a_replica_does_not_know_yet_makes_no_gap(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_add(log, "1");
    log_add(log, "2");
    log_add(log, "3");
    log_snap(log, 1, "s1");
    world_lag(world);
    log_snap(log, 3, "s3");
    assert_int_equal(kedge_log_truncate(log, 3, NULL), KEDGE_OK);
    kedge_log_reader reader;
    assert_int_equal(kedge_log_load(log, &reader, NULL), KEDGE_OK);
    reader.consistent = true;
    assert_string_equal(log_text(&reader, 2, false), "!unavailable");
    world->stale = false;
    assert_string_equal(log_loaded(log), "3 set 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_segment_without_a_snapshot_is_not_ended),
        OVER_REPLICA(test_a_snapshot_that_a_replica_does_not_know_yet_lets_the_segment_end),
        OVER_BOTH(test_a_lost_race_at_any_call_ends_the_segment_behind_the_winner),
        OVER_BOTH(test_two_that_end_a_segment_make_two_segments_at_most),
        OVER_BOTH(test_a_segment_whose_end_was_not_learned_ends_once),
        OVER_BOTH(test_a_load_starts_at_the_last_snapshot),
        OVER_BOTH(test_a_load_reads_page_by_page),
        OVER_REPLICA(test_a_load_over_a_stale_end_of_the_segment_before_has_no_gap),
        OVER_REPLICA(test_stale_segments_are_read_again_before_a_log_is_corrupt),
        OVER_BOTH(test_two_segments_without_a_snapshot_are_corrupt),
        OVER_BOTH(test_an_update_gives_what_follows_in_two_segments_and_else_reloads),
        OVER_REPLICA(test_an_update_from_a_stale_replica_gives_a_part_and_later_the_rest),
        OVER_BOTH(test_an_update_reloads_what_was_truncated),
        OVER_REPLICA(test_a_truncation_that_a_replica_does_not_know_yet_makes_no_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
