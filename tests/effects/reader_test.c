/* The reader of a stream: order, checkpoints, leases, what is trimmed, and a crash at each call of
 * a port. Over every implementation of the stream that the program was linked with. */
#include "tests/effects/reader_world.h"

#include <stdio.h>
#include <string.h>

/* ---- tests ---- */

static void test_each_change_is_handled_once_while_nothing_fails(void **state)
{
    fixture *f = *state;
    kedge_stream_reader *reader = make_reader(f);
    for (int i = 0; i < 40; i++)
        put(f, i % RECORDS);
    read_all(f, reader);
    put(f, 3);
    read_all(f, reader);
    assert_int_equal(f->seen.handled, 41);
    assert_int_equal(f->seen.repeated, 0);
    kedge_stream_reader_free(reader);
}

/* The checkpoints stand in the table whose changes are read. */
static void test_a_reader_does_not_keep_itself_busy(void **state)
{
    fixture *f = *state;
    kedge_stream_round round;
    kedge_stream_reader *reader = make_reader(f);
    put(f, 0);
    read_all(f, reader);
    for (int i = 0; i < 5; i++)
        assert_ok(kedge_stream_reader_round(reader, &round, &f->error));
    assert_false(round.more);
    f->faults.calls = 0;
    assert_ok(kedge_stream_reader_round(reader, &round, &f->error));
    assert_int_equal(f->faults.calls, 3); /* checkpoints, shards, changes */
    kedge_stream_reader_free(reader);
}

static void test_another_reader_goes_on_behind_the_checkpoint(void **state)
{
    fixture *f = *state;
    kedge_stream_reader *first = make_reader(f);
    for (int i = 0; i < 10; i++)
        put(f, 0);
    read_all(f, first);
    kedge_stream_reader_free(first);
    for (int i = 0; i < 10; i++)
        put(f, 0);
    pass_time(f, 1001);
    kedge_stream_reader *second = make_reader(f);
    read_all(f, second);
    assert_int_equal(f->seen.handled, 20);
    kedge_stream_reader_free(second);
}

static void test_a_shard_has_one_reader_until_its_lease_ends(void **state)
{
    fixture *f = *state;
    kedge_stream_round round;
    kedge_stream_reader *first = make_reader(f), *second = make_reader(f);
    put(f, 0);
    read_all(f, first);
    put(f, 0);
    assert_ok(kedge_stream_reader_round(second, &round, &f->error));
    assert_int_equal(round.shards, 0);
    assert_int_equal(f->seen.handled, 1);
    pass_time(f, 1001);
    read_all(f, second);
    assert_int_equal(f->seen.handled, 2);
    put(f, 0);
    assert_ok(kedge_stream_reader_round(first, &round, &f->error));
    assert_int_equal(round.shards, 0);
    kedge_stream_reader_free(first);
    kedge_stream_reader_free(second);
}

static void test_a_reader_that_leaves_lets_another_one_in_at_once(void **state)
{
    fixture *f = *state;
    kedge_stream_reader *first = make_reader(f), *second = make_reader(f);
    put(f, 0);
    read_all(f, first);
    assert_ok(kedge_stream_reader_leave(first, &f->error));
    put(f, 0);
    read_all(f, second);
    assert_int_equal(f->seen.handled, 2);
    assert_ok(kedge_stream_reader_leave(first, &f->error)); /* what is another's stays so */
    kedge_stream_round round;
    put(f, 0);
    assert_ok(kedge_stream_reader_round(first, &round, &f->error));
    assert_int_equal(round.shards, 0);
    kedge_stream_reader_free(first);
    kedge_stream_reader_free(second);
}

static void test_a_lease_that_a_wrong_clock_set_far_ahead_does_not_hold(void **state)
{
    fixture *f = *state;
    kedge_stream_reader *first = make_reader(f), *second = make_reader(f);
    pass_time(f, 1000000000);
    put(f, 0);
    read_all(f, first);
    pass_time(f, -1000000000);
    put(f, 0);
    read_all(f, second);
    assert_int_equal(f->seen.handled, 2);
    kedge_stream_reader_free(first);
    kedge_stream_reader_free(second);
}

/* The handler lets the other reader in: what it did meanwhile is done again, and the one that lost
 * the shard writes nothing more. */
typedef struct overtaken {
    fixture *f;
    kedge_stream_reader *other;
    bool done;
} overtaken;

static kedge_status handle_slowly(void *context, const kedge_stream_change *changes, size_t count,
                                  size_t *handled, kedge_error *error)
{
    overtaken *work = context;
    if (!work->done) {
        work->done = true;
        pass_time(work->f, 1001);
        read_all(work->f, work->other);
    }
    return handle(&work->f->seen, changes, count, handled, error);
}

static void test_a_reader_that_was_overtaken_moves_no_checkpoint(void **state)
{
    fixture *f = *state;
    kedge_stream_round round;
    kedge_stream_reader *slow, *other = make_reader(f);
    overtaken work = {f, other, false};
    const kedge_stream_reader_options options = {.environment = &f->around.environment,
                                                 .records = &f->records,
                                                 .stream = &f->stream,
                                                 .name = "test",
                                                 .lease_ms = 1000,
                                                 .batch = 3,
                                                 .patterns = &pattern,
                                                 .pattern_count = 1,
                                                 .handle = handle_slowly,
                                                 .context = &work};
    assert_ok(kedge_stream_reader_new(&options, &slow, &f->error));
    for (int i = 0; i < 10; i++)
        put(f, 0);
    size_t lost = 0;
    for (int i = 0; i < ROUNDS_MAX && !work.done; i++) {
        assert_ok(kedge_stream_reader_round(slow, &round, &f->error));
        lost += round.lost;
    }
    assert_int_equal(lost, 1);
    assert_int_equal(f->seen.repeated, 3);
    put(f, 0);
    read_all(f, other);
    assert_int_equal(f->seen.repeated, 3);
    kedge_stream_reader_free(slow);
    kedge_stream_reader_free(other);
}

static void test_what_a_failed_handler_has_done_is_not_given_again(void **state)
{
    fixture *f = *state;
    kedge_stream_round round;
    kedge_stream_reader *reader = make_reader(f);
    for (int i = 0; i < 3; i++)
        put(f, 0);
    f->seen.fail_behind = 3;
    kedge_status status = KEDGE_OK;
    for (int i = 0; i < ROUNDS_MAX && status == KEDGE_OK; i++)
        status = kedge_stream_reader_round(reader, &round, &f->error);
    assert_status(status, KEDGE_UNAVAILABLE);
    assert_string_equal(f->error.code, "fault");
    assert_int_equal(f->seen.handled, 2);
    read_all(f, reader);
    assert_int_equal(f->seen.handled, 3);
    assert_int_equal(f->seen.repeated, 0);
    kedge_stream_reader_free(reader);
}

static void test_parents_are_read_to_their_end_before_their_children(void **state)
{
    fixture *f = *state;
    if (current->roll == NULL) skip();
    f->batch = 1000;
    kedge_stream_reader *reader = make_reader(f);
    for (int i = 0; i < 20; i++)
        put(f, i % RECORDS);
    current->roll(&f->around, &f->ports);
    for (int i = 0; i < 20; i++)
        put(f, i % RECORDS);
    kedge_stream_round round;
    assert_ok(kedge_stream_reader_round(reader, &round, &f->error));
    if (strcmp(current->name, "stream: memory") == 0) current->roll(&f->around, &f->ports);
    for (int i = 0; i < 20; i++)
        put(f, i % RECORDS);
    for (int i = 0; i < ROUNDS_MAX && !all_seen(f); i++)
        assert_ok(kedge_stream_reader_round(reader, &round, &f->error));
    assert_true(all_seen(f));
    assert_int_equal(f->seen.handled, 60);
    kedge_stream_reader_free(reader);
}

static void test_changes_that_were_trimmed_unread_are_reported(void **state)
{
    fixture *f = *state;
    if (current->trim == NULL) skip();
    f->batch = 1000;
    kedge_stream_reader *reader = make_reader(f);
    put(f, 0);
    read_all(f, reader);
    int64_t read_ms = f->around.now_ms;
    pass_time(f, 10);
    for (int i = 0; i < 10; i++)
        put(f, 0);
    current->trim(&f->around, &f->ports);
    put(f, 1);
    kedge_stream_round round;
    for (int i = 0; i < ROUNDS_MAX && f->seen.newest[1] == 0; i++)
        assert_ok(kedge_stream_reader_round(reader, &round, &f->error));
    assert_int_equal(f->seen.newest[1], 1);
    assert_int_equal(f->seen.expired, 1);
    assert_true(f->seen.expired_since_ms <= read_ms && f->seen.expired_since_ms > 0);
    assert_int_equal(count_expired_records(f), 1);
    kedge_stream_reader_free(reader);
}

static void test_a_shard_that_vanished_unread_is_reported(void **state)
{
    fixture *f = *state;
    if (current->trim == NULL) skip();
    f->batch = 1000;
    kedge_stream_reader *reader = make_reader(f);
    put(f, 0);
    read_all(f, reader);
    put(f, 0);
    current->roll(&f->around, &f->ports);
    put(f, 1);
    current->trim(&f->around, &f->ports);
    put(f, 2);
    kedge_stream_round round;
    for (int i = 0; i < ROUNDS_MAX && f->seen.newest[2] == 0; i++)
        assert_ok(kedge_stream_reader_round(reader, &round, &f->error));
    assert_int_equal(f->seen.newest[2], 1);
    assert_true(f->seen.expired >= 1);
    assert_int_equal(count_expired_records(f), f->seen.expired);
    kedge_stream_reader_free(reader);
}

static void test_checkpoints_of_shards_that_are_gone_are_removed(void **state)
{
    fixture *f = *state;
    if (current->trim == NULL) skip();
    f->batch = 1000;
    kedge_stream_reader *reader = make_reader(f);
    kedge_stream_round round;
    put(f, 0);
    current->roll(&f->around, &f->ports);
    for (int i = 0; i < ROUNDS_MAX && (i == 0 || round.more); i++)
        assert_ok(kedge_stream_reader_round(reader, &round, &f->error));
    put(f, 1);
    read_all(f, reader);
    current->trim(&f->around, &f->ports);
    for (int i = 0; i < 3; i++)
        assert_ok(kedge_stream_reader_round(reader, &round, &f->error));
    assert_int_equal(f->seen.expired, 0);
    kedge_record_set set = {0};
    kedge_stream_shards shards = {0};
    kedge_records_query query = {
        .partition = KEDGE_BYTES("Stream#test"), .limit = 100, .consistent = true};
    assert_ok(f->ports.records.vtable->query(f->ports.records.self, &query, &set, &f->error));
    assert_ok(f->ports.stream.vtable->shards(f->ports.stream.self, (kedge_bytes){0}, 100, &shards,
                                             &f->error));
    assert_int_equal(set.count, shards.count);
    kedge_record_set_free(&set);
    kedge_stream_shards_free(&shards);
    kedge_stream_reader_free(reader);
}

/* A reader ends at each call in turn, before the call takes effect or after that; another one
 * takes over. */
static void test_a_crash_at_any_call_loses_no_change(void **state)
{
    fixture *f = *state;
    size_t crashed = 0;
    f->batch = 100; /* the first read has all changes */
    for (size_t point = 1; point <= 60; point++) {
        kedge_stream_reader *reader = make_reader(f);
        kedge_stream_round round;
        for (int i = 0; i < 7; i++)
            put(f, i);
        if (point % 20 == 0 && strcmp(current->name, "stream: memory") == 0)
            current->roll(&f->around, &f->ports);
        f->faults = (faults){&f->ports.records, &f->ports.stream, 0, point / 4 + 1, point % 2 == 0};
        kedge_status status = KEDGE_OK;
        for (int i = 0; i < 4 && status == KEDGE_OK; i++)
            status = kedge_stream_reader_round(reader, &round, &f->error);
        crashed += status != KEDGE_OK;
        f->faults.fail_at = 0;
        kedge_stream_reader_free(reader);
        pass_time(f, 1001);
        reader = make_reader(f);
        read_all(f, reader);
        kedge_stream_reader_free(reader);
        pass_time(f, 1001);
    }
    assert_true(crashed > 30);
    assert_true(f->seen.repeated > 0);
    assert_int_equal(f->seen.expired, 0);
}

static void test_a_name_that_is_no_name_is_refused(void **state)
{
    fixture *f = *state;
    char name[KEDGE_READER_NAME_BYTES_MAX + 2];
    kedge_stream_reader *reader;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    kedge_stream_reader_options options = {.environment = &f->around.environment, .name = ""};
    assert_status(kedge_stream_reader_new(&options, &reader, &f->error), KEDGE_INVALID_ARGUMENT);
    options.name = name;
    assert_status(kedge_stream_reader_new(&options, &reader, &f->error), KEDGE_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER(test_each_change_is_handled_once_while_nothing_fails),
        READER(test_a_reader_does_not_keep_itself_busy),
        READER(test_another_reader_goes_on_behind_the_checkpoint),
        READER(test_a_shard_has_one_reader_until_its_lease_ends),
        READER(test_a_reader_that_leaves_lets_another_one_in_at_once),
        READER(test_a_lease_that_a_wrong_clock_set_far_ahead_does_not_hold),
        READER(test_a_reader_that_was_overtaken_moves_no_checkpoint),
        READER(test_what_a_failed_handler_has_done_is_not_given_again),
        READER(test_parents_are_read_to_their_end_before_their_children),
        READER(test_changes_that_were_trimmed_unread_are_reported),
        READER(test_a_shard_that_vanished_unread_is_reported),
        READER(test_checkpoints_of_shards_that_are_gone_are_removed),
        READER(test_a_crash_at_any_call_loses_no_change),
        READER(test_a_name_that_is_no_name_is_refused),
    };
    return reader_run(tests, sizeof tests / sizeof tests[0]);
}
