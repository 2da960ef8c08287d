/* From entries of logs to their effects, by a stream: snapshots are requested, bodies lose their
 * tag; also when a change comes twice, late, or has no log. */
#include "tests/effects/effects_world.h"

#include "common/error.h"

#include <stdio.h>
#include <string.h>

/* Every change of the stream at once, without a reader. */
static size_t handle_all(effects_world *here)
{
    kedge_stream_shards shards = {0};
    size_t handled = 0;
    assert_int_equal(
        here->stream.vtable->shards(here->stream.self, (kedge_bytes){NULL, 0}, 1, &shards, NULL),
        KEDGE_OK);
    const kedge_stream_query query = {.shard = shards.shards[0].id,
                                      .limit = KEDGE_STREAM_READ_MAX,
                                      .patterns = &kedge_effects_pattern,
                                      .pattern_count = 1};
    kedge_stream_batch batch = {0};
    kedge_error error = {0};
    assert_int_equal(here->stream.vtable->read(here->stream.self, &query, &batch, NULL), KEDGE_OK);
    if (kedge_effects_handle(&here->effects, batch.changes, batch.count, &handled, &error) !=
        KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
    assert_int_equal(handled, batch.count);
    kedge_stream_batch_free(&batch);
    kedge_stream_shards_free(&shards);
    return handled;
}

static void test_a_snapshot_entry_gets_its_snapshot(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    log_add(log, "1");
    effects_ask(log);
    effects_read(&here);
    assert_string_equal(effects_text(log), "0 Snapshot|1 set|2 Snapshot pending");
    assert_int_equal(effects_work(&here), 2);
    assert_string_equal(effects_text(log), "0 Snapshot*|1 set|2 Snapshot*");
    assert_int_equal(log_segment(log, 0).last_snapshot, 2);
    log_roll(log);
    effects_read(&here);
    effects_work(&here);
    assert_string_equal(effects_text(log),
                        "0 Snapshot*|1 set|2 Snapshot*|3 End Segment|4 Snapshot*");
    assert_int_equal(here.completed, 3);
    effects_end(&here);
}

/* The changes of a snapshot that was set cause nothing; the first ones, late, find it set. */
static void test_changes_that_come_twice_or_late_change_nothing(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    effects_ask(log);
    assert_int_equal(handle_all(&here), 2);
    assert_int_equal(handle_all(&here), 2);
    effects_work(&here);
    assert_int_equal(here.completed, 2);
    const char *text = effects_text(log);
    assert_string_equal(text, "0 Snapshot*|1 Snapshot*");
    assert_int_equal(handle_all(&here), 4);
    effects_work(&here);
    assert_int_equal(here.completed, 2);
    assert_string_equal(effects_text(log), text);
    effects_read(&here);
    effects_work(&here);
    assert_int_equal(here.completed, 2);
    assert_string_equal(effects_text(log), text);
    effects_end(&here);
}

static void test_only_entries_with_effects_fit_the_pattern(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    for (int i = 0; i < 5; i++)
        log_add(log, "1");
    assert_int_equal(handle_all(&here), 1);
    log_add(log, effects_large());
    assert_int_equal(handle_all(&here), 2);
    effects_end(&here);
}

static void test_the_body_of_an_entry_loses_its_tag(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    kedge_log_append_result result;
    world_arm(here.world, WORLD_FAULT_BEFORE, 5, false, false); /* the removal of the tag */
    assert_int_equal(log_add_at(log, KEDGE_LOG_AT_END, effects_large(), &result, NULL), KEDGE_OK);
    world_disarm(here.world);
    assert_int_equal(effects_tagged(&here), 1);
    effects_read(&here);
    assert_int_equal(effects_tagged(&here), 0);
    handle_all(&here);
    assert_int_equal(effects_tagged(&here), 0);
    effects_end(&here);
}

/* The removal of a body is followed by a change of its entry that comes late. */
static void test_a_body_that_is_gone_is_nothing_to_do(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    int64_t number = log_add(log, effects_large());
    log_snap(log, log_add(log, "1"), "s");
    assert_int_equal(kedge_log_truncate(log, number + 1, NULL), KEDGE_OK);
    handle_all(&here);
    assert_int_equal(effects_tagged(&here), 0);
    effects_end(&here);
}

static void test_a_failure_ends_the_batch_at_its_change(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    kedge_stream_reader *reader;
    kedge_stream_round round;
    kedge_error error = {0};
    for (int i = 0; i < 3; i++)
        effects_ask(log);
    const kedge_stream_reader_options options = effects_reader_options(&here);
    assert_int_equal(kedge_stream_reader_new(&options, &reader, NULL), KEDGE_OK);
    world_arm(here.world, WORLD_FAULT_BEFORE, 6, true, false);
    assert_int_not_equal(kedge_stream_reader_round(reader, &round, &error), KEDGE_OK);
    world_disarm(here.world);
    kedge_stream_reader_free(reader);
    effects_read(&here);
    effects_work(&here);
    assert_string_equal(effects_text(log), "0 Snapshot*|1 Snapshot*|2 Snapshot*|3 Snapshot*");
    effects_end(&here);
}

/* A change that backend/log has not written is reported and passed over, so that it holds up no
 * shard. */
static void test_a_record_that_names_another_log_is_passed_over(void **state)
{
    static const char *const names[] = {"acme/notes/other", "acme/notes", "", "a/b/c/d", "//"};
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    const kedge_records *records = &here.world->store_records;
    kedge_log_key partition = kedge_log_key_entries(log, 0), sort = kedge_log_key_num(9);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const kedge_attribute attributes[] = {
            {"N", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(names[i]), 0},
            {"T", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("Snapshot"), 0}};
        kedge_record_write write = {
            .kind = KEDGE_WRITE_PUT,
            .record = {
                {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}, attributes, 2}};
        if (names[i][0] == '\0') write.record.attributes = &attributes[1];
        if (names[i][0] == '\0') write.record.attribute_count = 1;
        assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    }
    effects_read(&here);
    assert_int_equal(here.passed, 4);
    log_remove_entry(here.world, log, 0, 9);
    effects_work(&here);
    assert_string_equal(effects_text(log), "0 Snapshot*");
    effects_end(&here);
}

/* Nor is one whose body has a name that no blob of a log can have. */
static void test_an_entry_with_an_impossible_body_is_passed_over(void **state)
{
    effects_world here;
    char longest[600];
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    int64_t number = log_add(log, "1");
    kedge_log_entry entry = {.at = {.segment = 0, .num = number + 1},
                             .created_s = 1,
                             .type = KEDGE_BYTES("set"),
                             .version = 1,
                             .id = {1}};
    memset(longest, 'a', sizeof longest);
    entry.external = (kedge_bytes){longest, sizeof longest};
    log_put_entry(here.world, log, &entry);
    entry.external = KEDGE_BYTES("../../other/bodies/x");
    log_put_entry(here.world, log, &entry);
    effects_read(&here);
    assert_int_equal(here.passed, 2);
    log_remove_entry(here.world, log, 0, entry.at.num);
    effects_work(&here);
    assert_string_equal(effects_text(log), "0 Snapshot*|1 set");
    effects_end(&here);
}

static void test_an_item_that_kedge_has_not_written_is_passed_over(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    kedge_log_key partition = kedge_log_key_entries(log, 0);
    const kedge_stream_change changes[] = {
        {.kind = KEDGE_STREAM_FOREIGN, .record.key = {KEDGE_BYTES("other"), KEDGE_BYTES("x")}},
        {.kind = KEDGE_STREAM_FOREIGN,
         .record.key = {kedge_log_key_bytes(&partition), KEDGE_BYTES("x")}}};
    size_t handled;
    assert_int_equal(kedge_effects_handle(&here.effects, changes, 2, &handled, NULL), KEDGE_OK);
    assert_int_equal(handled, 2);
    assert_int_equal(here.passed, 1);
    effects_end(&here);
}

/* The record of its segment says where the log's numbers are. */
static void test_a_log_that_is_damaged_holds_up_no_other(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *damaged = log_named(here.world, "damaged");
    const kedge_log *log = journal_new(here.world);
    const kedge_records *records = &here.world->store_records;
    bool created;
    assert_int_equal(kedge_log_create(damaged, &created, NULL), KEDGE_OK);
    effects_read(&here);
    effects_work(&here);
    effects_ask(damaged);
    effects_ask(log);
    kedge_log_key partition = kedge_log_key_segments(damaged), sort = kedge_log_key_num(0);
    const kedge_attribute nothing = {"C", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("?"), 0};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}, &nothing, 1}};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    effects_read(&here);
    assert_int_equal(here.passed, 1);
    effects_work(&here);
    assert_string_equal(effects_text(log), "0 Snapshot*|1 Snapshot*");
    effects_end(&here);
}

static kedge_status get_damaged(void *self, const kedge_record_key *key, bool consistent,
                                kedge_record_set *set, kedge_error *error)
{
    (void)self, (void)key, (void)consistent, (void)set;
    return kedge_fail(error, KEDGE_CORRUPT, KEDGE_RECORD_CORRUPT, "a fault of the test");
}

/* The store finds the damage, before the log's own code sees the record. */
static void test_a_log_whose_record_no_store_can_read_holds_up_no_other(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    const kedge_log *log = journal_new(here.world);
    effects_read(&here);
    effects_work(&here);
    effects_ask(log);
    kedge_records *records = &here.world->backend->options.records;
    const kedge_records whole = *records;
    const kedge_records_vtable damaged = {.get = get_damaged};
    *records = (kedge_records){&damaged, NULL};
    assert_true(handle_all(&here) > 0);
    *records = whole;
    assert_true(here.passed > 0);
    effects_end(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_snapshot_entry_gets_its_snapshot),
        OVER_BOTH(test_changes_that_come_twice_or_late_change_nothing),
        OVER_BOTH(test_only_entries_with_effects_fit_the_pattern),
        OVER_BOTH(test_the_body_of_an_entry_loses_its_tag),
        OVER_BOTH(test_a_body_that_is_gone_is_nothing_to_do),
        OVER_BOTH(test_a_failure_ends_the_batch_at_its_change),
        OVER_BOTH(test_a_record_that_names_another_log_is_passed_over),
        OVER_BOTH(test_an_entry_with_an_impossible_body_is_passed_over),
        OVER_BOTH(test_an_item_that_kedge_has_not_written_is_passed_over),
        OVER_BOTH(test_a_log_that_is_damaged_holds_up_no_other),
        OVER_BOTH(test_a_log_whose_record_no_store_can_read_holds_up_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
