/* Create Log and Add Entry: places, lost races, stale reads, outcomes that nobody learns. */
#include "backend/log/commit.h"
#include "tests/log/log_world.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- keys ---- */

static void test_numbers_stand_in_the_order_of_their_keys_and_are_short(void **state)
{
    static const int64_t numbers[] = {0,
                                      1,
                                      9,
                                      63,
                                      64,
                                      4095,
                                      4096,
                                      262143,
                                      262144,
                                      1 << 30,
                                      INT64_C(1) << 48,
                                      KEDGE_LOG_NUMBER_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        kedge_log_key key = kedge_log_key_num(numbers[i]);
        int64_t read = -1;
        assert_true(kedge_log_key_read_num(kedge_log_key_bytes(&key), &read));
        assert_int_equal(read, numbers[i]);
        if (i == 0) continue;
        kedge_log_key before = kedge_log_key_num(numbers[i - 1]);
        assert_true(kedge_bytes_compare(kedge_log_key_bytes(&before), kedge_log_key_bytes(&key)) <
                    0);
    }
    assert_int_equal(kedge_log_key_num(63).size, 2);
    assert_int_equal(kedge_log_key_num(4095).size, 3);
    int64_t number;
    assert_false(kedge_log_key_read_num(KEDGE_BYTES(""), &number));
    assert_false(kedge_log_key_read_num(KEDGE_BYTES("1"), &number));
    assert_false(kedge_log_key_read_num(KEDGE_BYTES("0A"), &number));
    assert_false(kedge_log_key_read_num(KEDGE_BYTES("2-A"), &number)); /* not the shortest */
    assert_false(kedge_log_key_read_num(KEDGE_BYTES("1AA"), &number));
    assert_false(kedge_log_key_read_num(KEDGE_BYTES("1#"), &number));
    assert_false(kedge_log_key_read_num(KEDGE_BYTES("9zzzzzzzzz"), &number));
}

static void test_logs_of_other_names_have_other_keys(void **state)
{
    test_world *world = *state;
    kedge_log_key journal_key = kedge_log_key_segments(journal(world));
    kedge_log_key other_key = kedge_log_key_segments(log_named(world, "other"));
    assert_int_equal(journal_key.size, 24);
    assert_string_not_equal(journal_key.text, other_key.text);
    kedge_project_ref evil = {KEDGE_BYTES("evil"), KEDGE_BYTES("notes")};
    kedge_project project = kedge_project_of(world->backend, &evil);
    kedge_log stranger = kedge_log_of(&project, KEDGE_BYTES("journal"));
    assert_string_not_equal(journal_key.text, kedge_log_key_segments(&stranger).text);
}

/* ---- create ---- */

static void test_a_log_is_created_once_with_a_segment_and_its_snapshot_entry(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    bool created = true;
    assert_int_equal(kedge_log_create(log, &created, NULL), KEDGE_OK);
    assert_false(created);
    assert_string_equal(log_all(log), "0 Snapshot");
    kedge_log_segment segment = log_segment(log, 0);
    assert_int_equal(segment.last_snapshot, -1);
    assert_int_equal(segment.first, 0);
    assert_string_equal(log_loaded(log), "");
}

static void test_a_log_that_is_not_there_is_not_found(void **state)
{
    test_world *world = *state;
    kedge_log_append_result result;
    kedge_log_reader reader;
    kedge_log_place place;
    bool reload;
    kedge_error error = {0};
    const kedge_log *log = journal(world);
    assert_int_equal(log_add_at(log, KEDGE_LOG_AT_END, "1", &result, &error), KEDGE_NOT_FOUND);
    assert_string_equal(error.code, "log-not-found");
    assert_int_equal(kedge_log_load(log, &reader, &error), KEDGE_NOT_FOUND);
    assert_int_equal(kedge_log_update(log, 0, &reader, &reload, &error), KEDGE_NOT_FOUND);
    assert_int_equal(kedge_log_new_segment(log, &place, &error), KEDGE_NOT_FOUND);
    kedge_log wrong = kedge_log_of(log->project, KEDGE_BYTES("a/b"));
    bool created;
    assert_int_equal(kedge_log_create(&wrong, &created, &error), KEDGE_INVALID_ARGUMENT);
}

/* ---- append ---- */

static void test_entries_stand_one_behind_the_other(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    assert_int_equal(log_add(log, "{\"b\":2, \"a\":1}"), 1);
    assert_int_equal(log_add(log, "\"two\""), 2);
    assert_int_equal(log_add(log, ""), 3);
    assert_string_equal(log_all(log),
                        "0 Snapshot|1 set {\"a\":1,\"b\":2}|2 set \"two\"|3 set null");
}

static void test_what_is_no_entry_is_refused(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    kedge_error error = {0};
    kedge_log_append_request request = {.type = KEDGE_BYTES("End Segment"),
                                        .version = 1,
                                        .expected = KEDGE_LOG_AT_END,
                                        .since = -1};
    assert_int_equal(kedge_log_append(log, &request, &result, &error), KEDGE_INVALID_ARGUMENT);
    request.type = KEDGE_BYTES("set");
    request.version = 0;
    assert_int_equal(kedge_log_append(log, &request, &result, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "log-version-invalid");
    request.type = KEDGE_BYTES("Snapshot");
    request.version = 2;
    assert_int_equal(kedge_log_append(log, &request, &result, &error), KEDGE_INVALID_ARGUMENT);
    request.version = 1;
    request.body = KEDGE_BYTES("{\"a\":1,\"a\":2}");
    assert_int_equal(kedge_log_append(log, &request, &result, &error), KEDGE_INVALID_JSON);
    static char large[KEDGE_LOG_BODY_BYTES_MAX + 1];
    request.body = (kedge_bytes){large, sizeof large};
    assert_int_equal(kedge_log_append(log, &request, &result, &error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "log-body-too-large");
    assert_string_equal(log_all(log), "0 Snapshot");
}

/* A number may be longer as canonical JSON than it was sent. What is stored is bounded. */
static void test_a_body_is_bounded_as_canonical_json(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    kedge_error error = {0};
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_log_append_request request = {
        .type = KEDGE_BYTES("set"), .version = 1, .expected = KEDGE_LOG_AT_END, .since = -1};
    kedge_buffer_append_text(&body, "[1e20");
    while (body.size < KEDGE_LOG_BODY_BYTES_MAX / 2)
        kedge_buffer_append_text(&body, ",1e20");
    kedge_buffer_append_text(&body, "]");
    request.body = kedge_buffer_bytes(&body);
    assert_int_equal(kedge_log_append(log, &request, &result, &error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "log-body-too-large");
    assert_string_equal(log_all(log), "0 Snapshot");
    kedge_buffer_clear(&body);
    kedge_buffer_append_byte(&body, '"');
    while (body.size < KEDGE_LOG_BODY_BYTES_MAX - 1)
        kedge_buffer_append_byte(&body, 'x');
    kedge_buffer_append_byte(&body, '"');
    request.body = kedge_buffer_bytes(&body);
    assert_int_equal(kedge_log_append(log, &request, &result, &error), KEDGE_OK);
    kedge_log_reader reader;
    kedge_log_page page = kedge_log_page_make(&kedge_allocator_default);
    kedge_buffer read = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, 1, false, &reader, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_log_read(&reader, 1, &page, NULL), KEDGE_OK);
    assert_int_equal(kedge_log_read_body(log, &page.entries[0], &read, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&read), request.body));
    kedge_buffer_free(&read);
    kedge_buffer_free(&body);
    kedge_log_page_free(&page);
}

static void test_an_expected_number_that_is_taken_is_a_conflict(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    assert_int_equal(log_add_at(log, 1, "1", &result, NULL), KEDGE_OK);
    assert_false(result.conflict);
    assert_int_equal(result.at.number, 1);
    assert_int_equal(log_add_at(log, 1, "2", &result, NULL), KEDGE_OK);
    assert_true(result.conflict);
    assert_int_equal(result.at.number, 2); /* the next one */
    assert_int_equal(log_add_at(log, 7, "2", &result, NULL), KEDGE_OK);
    assert_true(result.conflict);
    assert_int_equal(result.at.number, 2);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1");
}

static void test_entries_of_the_log_itself_are_no_conflict(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    log_add(log, "1");
    log_snap(log, 0, "s0");
    log_roll(log);
    assert_int_equal(log_add_at(log, 2, "2", &result, NULL), KEDGE_OK);
    assert_false(result.conflict);
    assert_int_equal(result.at.number, 4);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|2 End Segment|3 Snapshot|4 set 2");
}

static void test_an_id_makes_an_append_repeatable(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    kedge_log_append_request request = {.type = KEDGE_BYTES("set"),
                                        .version = 1,
                                        .body = KEDGE_BYTES("1"),
                                        .expected = 1,
                                        .since = -1,
                                        .id = {7, 7}};
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    assert_false(result.before);
    log_add(log, "2");
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    assert_true(result.before);
    assert_false(result.conflict);
    assert_int_equal(result.at.number, 1);
    request.expected = KEDGE_LOG_AT_END;
    request.since = 0;
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    assert_true(result.before);
    assert_int_equal(result.at.number, 1);
    request.since = 2; /* says that it cannot stand before */
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    assert_false(result.before);
    assert_int_equal(result.at.number, 3);
}

/* ---- races ---- */

static kedge_backend *other;

static void append_elsewhere(test_world *world)
{
    (void)world;
    log_add(journal_of(other), "\"other\"");
}

static void roll_elsewhere(test_world *world)
{
    (void)world;
    log_roll(journal_of(other));
}

static void test_a_lost_race_at_any_call_appends_behind_the_winner(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    other = world_new_backend(world);
    for (uint64_t at = 1; at <= 3; at++) {
        world_restart(world); /* without a hint: three calls */
        log = journal(world);
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle_at = at;
        world->meddle = append_elsewhere;
        int64_t number = log_add(log, "\"own\"");
        assert_null(world->meddle);
        assert_int_equal(number, 2 * (int64_t)at);
    }
    assert_string_equal(log_all(log), "0 Snapshot|1 set \"other\"|2 set \"own\"|3 set \"other\"|"
                                      "4 set \"own\"|5 set \"other\"|6 set \"own\"");
    kedge_backend_free(other);
}

static void test_a_segment_that_ends_at_any_call_leads_to_the_next_one(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    other = world_new_backend(world);
    log_snap(log, 0, "s0");
    for (uint64_t at = 1; at <= 3; at++) {
        world_restart(world);
        log = journal(world);
        world_arm(world, WORLD_FAULT_NONE, 0, false, false);
        world->meddle_at = at;
        world->meddle = roll_elsewhere;
        log_add(log, "1");
        assert_null(world->meddle);
        log_snap(log, log_segment(log, (int64_t)at).first, "s");
    }
    assert_string_equal(log_all(log),
                        "0 Snapshot|1 End Segment|2 Snapshot|3 set 1|4 End Segment|5 Snapshot|"
                        "6 set 1|7 End Segment|8 Snapshot|9 set 1");
    kedge_backend_free(other);
}

static void test_a_lost_race_is_a_conflict_of_an_expected_number(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    other = world_new_backend(world);
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    world->meddle_at = 3;
    world->meddle = append_elsewhere;
    assert_int_equal(log_add_at(log, 1, "1", &result, NULL), KEDGE_OK);
    assert_true(result.conflict);
    assert_int_equal(result.at.number, 2);
    kedge_backend_free(other);
}

/* ---- stale reads ---- */

static void test_stale_reads_cost_a_try_and_nothing_else(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    world_lag(world); /* nothing but the Snapshot entry is seen */
    assert_int_equal(log_add(log, "1"), 1);
    assert_int_equal(log_add(log, "2"), 2);
    assert_int_equal(world->pauses, 1); /* the second one was put where the first stands */
    log_snap(log, 1, "s1");
    log_roll(log);
    world_restart(world);
    log = journal(world);
    assert_int_equal(log_add(log, "3"), 5); /* the replica shows the old segment, and its start */
    world_lag(world);
    assert_int_equal(log_add(log, "4"), 6);
    world->stale = false;
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|2 set 2|3 End Segment|4 Snapshot|"
                                      "5 set 3|6 set 4");
}

static void test_a_stale_read_is_no_conflict(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    world_lag(world);
    log_add(log, "1");
    log_add(log, "2");
    assert_int_equal(log_add_at(log, 3, "3", &result, NULL), KEDGE_OK);
    assert_false(result.conflict);
    assert_int_equal(log_add_at(log, 2, "4", &result, NULL), KEDGE_OK);
    assert_true(result.conflict);
    assert_int_equal(result.at.number, 4);
}

static void test_a_log_that_a_replica_does_not_know_yet_is_found(void **state)
{
    test_world *world = *state;
    world_lag(world);
    const kedge_log *log = journal_new(world);
    bool created = true;
    assert_int_equal(kedge_log_create(log, &created, NULL), KEDGE_OK);
    assert_false(created);
    assert_int_equal(log_add(log, "1"), 1);
    assert_string_equal(log_loaded(log), ""); /* not yet seen, but no failure */
    world->stale = false;
    assert_string_equal(log_loaded(log), "1 set 1");
}

static void test_a_wrong_hint_leads_to_the_newest_segment(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    log_add(log, "1"); /* this backend now knows segment 0 */
    other = world_new_backend(world);
    log_snap(journal_of(other), 0, "s0");
    log_roll(journal_of(other));
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    assert_int_equal(log_add(log, "2"), 4);
    assert_int_equal(atomic_load(&world->calls), 4); /* the end; again: segment, entry, put */
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    assert_int_equal(log_add(log, "3"), 5);
    assert_int_equal(atomic_load(&world->calls), 2); /* with the right hint: entry, put */
    kedge_backend_free(other);
}

/* ---- faults ---- */

/* One call fails, before or after it took effect; the append goes on by itself. */
static void one_fault(test_world *world, world_fault fault)
{
    const kedge_log *log = journal(world);
    for (uint64_t at = 1; at <= 6; at++) {
        kedge_log_append_request request = {.type = KEDGE_BYTES("set"),
                                            .version = 1,
                                            .body = KEDGE_BYTES("1"),
                                            .expected = KEDGE_LOG_AT_END,
                                            .since = -1,
                                            .id = {1, (uint8_t)at, (uint8_t)fault}};
        kedge_log_append_result result;
        world_restart(world);
        log = journal(world);
        world_arm(world, fault, at, false, false);
        assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
        world_disarm(world);
        assert_int_equal(log_count_id(log, request.id), 1);
    }
}

static void test_an_append_whose_outcome_was_lost_stands_once(void **state)
{
    test_world *world = *state;
    journal_new(world);
    one_fault(world, WORLD_FAULT_BEFORE);
    one_fault(world, WORLD_FAULT_AFTER);
}

/* The put that timed out takes effect only after its place was looked at. */
static kedge_log_entry late;

static void put_late(test_world *world)
{
    log_put_entry(world, journal(world), &late);
}

static void test_a_put_that_takes_effect_late_is_not_doubled(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_request request = {.type = KEDGE_BYTES("set"),
                                        .version = 1,
                                        .body = KEDGE_BYTES("1"),
                                        .expected = KEDGE_LOG_AT_END,
                                        .since = -1,
                                        .id = {9}};
    late = (kedge_log_entry){
        .at = {.num = 1}, .type = request.type, .version = 1, .id = {9}, .body = request.body};
    kedge_log_append_result result;
    world_arm(world, WORLD_FAULT_BEFORE, 3, false, false); /* the put */
    world->meddle_at = 5; /* 4 looks at its place; in front of the second put */
    world->meddle = put_late;
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    assert_int_equal(world->faults, 1);
    assert_null(world->meddle);
    assert_int_equal(result.at.number, 1);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1");
}

static void test_a_store_that_stays_away_ends_the_tries(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    kedge_log_append_result result;
    kedge_error error = {0};
    log_add(log, "1");
    world_arm(world, WORLD_FAULT_BEFORE, 1, true, true); /* writes fail, for ever */
    assert_int_equal(log_add_at(log, KEDGE_LOG_AT_END, "1", &result, &error), KEDGE_UNAVAILABLE);
    assert_int_equal(world->pauses, KEDGE_LOG_TRIES_MAX - 1);
    world_disarm(world);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1");
}

static void test_a_creation_whose_outcome_was_lost_is_one_creation(void **state)
{
    test_world *world = *state;
    for (uint64_t at = 1; at <= 5; at++) {
        char name[16];
        snprintf(name, sizeof name, "log%d", (int)at);
        const kedge_log *log = log_named(world, name);
        bool created = false;
        world_arm(world, at % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, 3 + at / 2, false,
                  false);
        kedge_status status = kedge_log_create(log, &created, NULL);
        world_disarm(world);
        assert_int_equal(status, KEDGE_OK);
        assert_true(created);
        assert_string_equal(log_all(log), "0 Snapshot");
    }
}

/* ---- threads ---- */

#define WRITERS 8
#define ENTRIES 20

static void *write_entries(void *context)
{
    kedge_backend *backend = context;
    kedge_project project = kedge_project_of(backend, &notes);
    kedge_log log = kedge_log_of(&project, KEDGE_BYTES("journal"));
    int64_t last = 0;
    for (int i = 0; i < ENTRIES; i++) {
        kedge_log_append_request request = {
            .type = KEDGE_BYTES("set"), .version = 1, .expected = KEDGE_LOG_AT_END};
        kedge_log_append_result result;
        request.since = last;
        kedge_log_new_id(&log, request.id);
        kedge_status status;
        do /* many writers use up the tries; the id makes it the same entry */
            status = kedge_log_append(&log, &request, &result, NULL);
        while (status == KEDGE_UNAVAILABLE);
        if (status != KEDGE_OK || result.at.number <= last) return context;
        last = result.at.number;
    }
    return NULL;
}

static void test_writers_of_two_processes_leave_no_gap(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    pthread_t threads[WRITERS];
    other = world_new_backend(world);
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_create(&threads[i], NULL, write_entries, i % 2 == 0 ? other : world->backend);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    kedge_log_summary summary = {.snapshot_entry =
                                     kedge_log_page_make(world->environment.allocator)};
    assert_int_equal(kedge_log_summarize(log, true, &summary, NULL), KEDGE_OK);
    assert_int_equal(summary.next, 1 + WRITERS * ENTRIES);
    assert_null(strchr(log_all(log), '!'));
    kedge_backend_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_stand_in_the_order_of_their_keys_and_are_short),
        OVER_MEMORY(test_logs_of_other_names_have_other_keys),
        OVER_BOTH(test_a_log_is_created_once_with_a_segment_and_its_snapshot_entry),
        OVER_BOTH(test_a_log_that_is_not_there_is_not_found),
        OVER_BOTH(test_entries_stand_one_behind_the_other),
        OVER_MEMORY(test_what_is_no_entry_is_refused),
        OVER_MEMORY(test_a_body_is_bounded_as_canonical_json),
        OVER_BOTH(test_an_expected_number_that_is_taken_is_a_conflict),
        OVER_BOTH(test_entries_of_the_log_itself_are_no_conflict),
        OVER_BOTH(test_an_id_makes_an_append_repeatable),
        OVER_BOTH(test_a_lost_race_at_any_call_appends_behind_the_winner),
        OVER_BOTH(test_a_segment_that_ends_at_any_call_leads_to_the_next_one),
        OVER_MEMORY(test_a_lost_race_is_a_conflict_of_an_expected_number),
        OVER_REPLICA(test_stale_reads_cost_a_try_and_nothing_else),
        OVER_REPLICA(test_a_stale_read_is_no_conflict),
        OVER_REPLICA(test_a_log_that_a_replica_does_not_know_yet_is_found),
        OVER_MEMORY(test_a_wrong_hint_leads_to_the_newest_segment),
        OVER_BOTH(test_an_append_whose_outcome_was_lost_stands_once),
        OVER_BOTH(test_a_put_that_takes_effect_late_is_not_doubled),
        OVER_BOTH(test_a_store_that_stays_away_ends_the_tries),
        OVER_BOTH(test_a_creation_whose_outcome_was_lost_is_one_creation),
        OVER_BOTH(test_writers_of_two_processes_leave_no_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
