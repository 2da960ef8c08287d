/* The stream in SQLite beyond its contract: what is noted, by whom, and what is trimmed when. */
#include "tests/ports/world.h"

#include "backend/sqlite/sqlite_ports.h"

#include <stdio.h>
#include <string.h>

typedef struct fixture {
    world around;
    char path[128];
    kedge_records records;
    kedge_stream stream;
} fixture;

static void open_stream(fixture *f, const kedge_sqlite_stream_options *options)
{
    assert_ok(kedge_sqlite_stream_open(&f->records, options, &f->stream, NULL));
}

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    world_path(&f.around, "records.db", f.path);
    assert_ok(kedge_sqlite_records_open(&f.around.environment, f.path, &f.records, NULL));
    *state = &f;
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    f->records.vtable->close(f->records.self);
    world_end(&f->around);
    return 0;
}

static void put(const kedge_records *records, const char *partition, size_t size)
{
    static char large[100000];
    kedge_attribute attribute = {"b", KEDGE_ATTRIBUTE_BINARY, {large, size}, 0};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_bytes_of(partition), KEDGE_BYTES("s")}, &attribute, 1}};
    assert_ok(records->vtable->write(records->self, &write, NULL));
}

/* How many changes there are from the oldest on; the positions of the first and the last. */
static size_t count_changes(fixture *f, char first[32], char last[32])
{
    size_t count = 0;
    kedge_stream_query query = {.shard = "shard-00000000000000000000", .limit = 1000};
    last[0] = '\0';
    for (;;) {
        kedge_stream_batch batch = {0};
        query.position = kedge_bytes_of(last);
        assert_ok(f->stream.vtable->read(f->stream.self, &query, &batch, NULL));
        if (count == 0 && batch.count > 0)
            snprintf(first, 32, "%.*s", (int)batch.changes[0].position.size,
                     batch.changes[0].position.data);
        count += batch.count;
        bool idle = batch.idle;
        snprintf(last, 32, "%.*s", (int)batch.next.size, batch.next.data);
        kedge_stream_batch_free(&batch);
        if (idle) return count;
    }
}

static void test_nothing_is_noted_before_a_stream_was_opened(void **state)
{
    fixture *f = *state;
    char first[32], last[32];
    put(&f->records, "a", 1);
    open_stream(f, &(kedge_sqlite_stream_options){0});
    assert_int_equal(count_changes(f, first, last), 0);
    put(&f->records, "a", 2);
    assert_int_equal(count_changes(f, first, last), 1);
}

static void test_a_process_that_opened_no_stream_notes_its_changes_too(void **state)
{
    fixture *f = *state;
    char first[32], last[32];
    kedge_records other;
    open_stream(f, &(kedge_sqlite_stream_options){0});
    assert_ok(kedge_sqlite_records_open(&f->around.environment, f->path, &other, NULL));
    put(&other, "a", 1);
    other.vtable->close(other.self);
    assert_int_equal(count_changes(f, first, last), 1);
}

static void test_only_partitions_with_the_prefix_are_noted(void **state)
{
    fixture *f = *state;
    char first[32], last[32];
    open_stream(f, &(kedge_sqlite_stream_options){.partition_prefix = "Log#"});
    put(&f->records, "Log#1", 1);
    put(&f->records, "Project#1", 1);
    put(&f->records, "Lo", 1);
    assert_int_equal(count_changes(f, first, last), 1);
}

static void test_changes_that_are_too_old_are_deleted_by_later_writes(void **state)
{
    fixture *f = *state;
    char first[32], last[32];
    open_stream(f, &(kedge_sqlite_stream_options){.keep_ms = 1000});
    for (int i = 0; i < 10; i++)
        put(&f->records, "a", 1);
    f->around.now_ms += 999;
    put(&f->records, "a", 1);
    assert_int_equal(count_changes(f, first, last), 11);
    f->around.now_ms += 1;
    put(&f->records, "a", 1);
    assert_int_equal(count_changes(f, first, last), 2);
    assert_string_equal(first, "00000000000000000011");
    /* The newest one stays, however long nothing is written. */
    f->around.now_ms += 1000000;
    put(&f->records, "a", 1);
    assert_int_equal(count_changes(f, first, last), 1);
    assert_string_equal(last, "00000000000000000013");
}

static void test_the_table_keeps_no_more_bytes_than_it_may(void **state)
{
    fixture *f = *state;
    char first[32], last[32];
    open_stream(f, &(kedge_sqlite_stream_options){.keep_bytes = 1000000});
    for (int i = 0; i < 100; i++)
        put(&f->records, "a", 100000);
    assert_int_equal(count_changes(f, first, last), 10);
    assert_string_equal(last, "00000000000000000100");
}

static void test_a_position_of_changes_that_never_were_is_refused(void **state)
{
    fixture *f = *state;
    kedge_stream_batch batch = {0};
    open_stream(f, &(kedge_sqlite_stream_options){0});
    put(&f->records, "a", 1);
    kedge_stream_query query = {.shard = "shard-00000000000000000000",
                                .limit = 1,
                                .position = KEDGE_BYTES("00000000000000000002")};
    assert_status(f->stream.vtable->read(f->stream.self, &query, &batch, NULL),
                  KEDGE_INVALID_ARGUMENT);
}

static void test_options_below_zero_are_refused(void **state)
{
    fixture *f = *state;
    const kedge_sqlite_stream_options wrong[] = {{.keep_ms = -1}, {.keep_bytes = -1}};
    for (size_t i = 0; i < 2; i++)
        assert_status(kedge_sqlite_stream_open(&f->records, &wrong[i], &f->stream, NULL),
                      KEDGE_INVALID_ARGUMENT);
}

int main(void)
{
#define STREAM(test) cmocka_unit_test_setup_teardown(test, start, end)
    const struct CMUnitTest tests[] = {
        STREAM(test_nothing_is_noted_before_a_stream_was_opened),
        STREAM(test_a_process_that_opened_no_stream_notes_its_changes_too),
        STREAM(test_only_partitions_with_the_prefix_are_noted),
        STREAM(test_changes_that_are_too_old_are_deleted_by_later_writes),
        STREAM(test_the_table_keeps_no_more_bytes_than_it_may),
        STREAM(test_a_position_of_changes_that_never_were_is_refused),
        STREAM(test_options_below_zero_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
