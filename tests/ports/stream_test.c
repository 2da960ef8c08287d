/* The contract of the stream port, against every implementation. */
#include "tests/ports/stream_table.h"

#include "tests/support/engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READS_MAX 400 /* until all changes that are expected have come */

static const stream_implementation *current;

typedef struct fixture {
    world around;
    stream_ports ports;
    kedge_error error;
    char shard[KEDGE_STREAM_SHARD_BYTES_MAX + 1]; /* the one that was open at the start */
    char start[KEDGE_STREAM_POSITION_BYTES_MAX + 1];
} fixture;

/* ---- short forms ---- */

static void put(fixture *f, const char *partition, const char *sort, int64_t number)
{
    kedge_attribute attribute = {.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = number};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_bytes_of(partition), kedge_bytes_of(sort)}, &attribute, 1}};
    assert_ok(f->ports.records.vtable->write(f->ports.records.self, &write, &f->error));
}

static kedge_status removal(fixture *f, const char *sort, kedge_condition condition)
{
    kedge_record_write write = {
        .kind = KEDGE_WRITE_DELETE,
        .record = {.key = {KEDGE_BYTES("p"), kedge_bytes_of(sort)}},
        .condition = condition,
        .expected = {.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = 99}};
    return f->ports.records.vtable->write(f->ports.records.self, &write, &f->error);
}

static kedge_status list_shards(fixture *f, kedge_bytes after, uint32_t limit,
                                kedge_stream_shards *shards)
{
    return f->ports.stream.vtable->shards(f->ports.stream.self, after, limit, shards, &f->error);
}

static kedge_status read_batch(fixture *f, const kedge_stream_query *query,
                               kedge_stream_batch *batch)
{
    return f->ports.stream.vtable->read(f->ports.stream.self, query, batch, &f->error);
}

static void show_change(const kedge_stream_change *change, char *seen, size_t size)
{
    static const char kinds[] = "imr";
    size_t at = strlen(seen);
    const kedge_attribute *number = kedge_record_attribute(&change->record, "n");
    at +=
        (size_t)snprintf(seen + at, size - at, "%s%c:%.*s", at == 0 ? "" : " ", kinds[change->kind],
                         (int)change->record.key.sort.size, change->record.key.sort.data);
    if (number != NULL) snprintf(seen + at, size - at, "=%lld", (long long)number->number);
}

/* Reads on from `position` until `count` changes have come, which it shows as "i:a=1 m:a=2 r:a";
 * `position` gets where it stopped. */
static void read_changes(fixture *f, kedge_stream_query query, size_t count, char *position,
                         char seen[1024])
{
    size_t came = 0;
    seen[0] = '\0';
    for (int i = 0; i < READS_MAX && came < count; i++) {
        kedge_stream_batch batch = {0};
        query.position = kedge_bytes_of(position);
        kedge_status status = read_batch(f, &query, &batch);
        if (status != KEDGE_OK) print_error("%s\n", f->error.message);
        assert_ok(status);
        assert_true(batch.count <= query.limit);
        for (size_t j = 0; j < batch.count; j++)
            show_change(&batch.changes[j], seen, 1024);
        came += batch.count;
        snprintf(position, KEDGE_STREAM_POSITION_BYTES_MAX + 1, "%.*s", (int)batch.next.size,
                 batch.next.data);
        kedge_stream_batch_free(&batch);
    }
}

/* The changes of the first shard are these, and no more. */
static void assert_changes(fixture *f, const char *from, const char *expected)
{
    char seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1];
    size_t count = expected[0] == '\0' ? 0 : 1;
    for (const char *at = expected; *at != '\0'; at++)
        count += *at == ' ';
    kedge_stream_query query = {.shard = f->shard, .limit = 100};
    snprintf(position, sizeof position, "%s", from);
    read_changes(f, query, count, position, seen);
    assert_string_equal(seen, expected);
    kedge_stream_batch batch = {0};
    query.position = kedge_bytes_of(position);
    assert_ok(read_batch(f, &query, &batch));
    assert_int_equal(batch.count, 0);
    kedge_stream_batch_free(&batch);
}

/* ---- what a change tells ---- */

static void test_inserts_replacements_and_removals_are_told_apart(void **state)
{
    fixture *f = *state;
    put(f, "p", "a", 1);
    put(f, "p", "a", 2);
    assert_ok(removal(f, "a", KEDGE_IF_ANY));
    put(f, "p", "a", 3);
    assert_changes(f, "", "i:a=1 m:a=2 r:a i:a=3");
}

static void test_a_change_has_the_record_as_it_was_written(void **state)
{
    fixture *f = *state;
    kedge_attribute attributes[] = {
        {"t", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("Grüße"), 0},
        {"b", KEDGE_ATTRIBUTE_BINARY, {"\0\xff\x01", 3}, 0},
        {.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = INT64_MIN}};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("part"), KEDGE_BYTES("sort")}, attributes, 3}};
    assert_ok(f->ports.records.vtable->write(f->ports.records.self, &write, &f->error));
    kedge_stream_query query = {.shard = f->shard, .limit = 10};
    kedge_stream_batch batch = {0};
    for (int i = 0; i < READS_MAX && batch.count == 0; i++) {
        kedge_stream_batch_free(&batch);
        assert_ok(read_batch(f, &query, &batch));
    }
    assert_int_equal(batch.count, 1);
    const kedge_record *record = &batch.changes[0].record;
    assert_bytes(record->key.partition, "part");
    assert_bytes(record->key.sort, "sort");
    assert_int_equal(record->attribute_count, 3);
    assert_bytes(kedge_record_attribute(record, "t")->bytes, "Grüße");
    assert_true(kedge_bytes_equal(kedge_record_attribute(record, "b")->bytes,
                                  (kedge_bytes){"\0\xff\x01", 3}));
    assert_true(kedge_record_attribute(record, "n")->number == INT64_MIN);
    assert_true(batch.changes[0].at_ms > 1500000000000);
    assert_true(kedge_bytes_equal(batch.changes[0].position, batch.next));
    kedge_stream_batch_free(&batch);
}

static void test_what_changes_nothing_makes_no_change(void **state)
{
    fixture *f = *state;
    put(f, "p", "a", 1);
    assert_status(removal(f, "a", KEDGE_IF_EQUAL), KEDGE_CONFLICT);
    assert_ok(removal(f, "absent", KEDGE_IF_ANY));
    put(f, "p", "b", 2);
    assert_changes(f, "", "i:a=1 i:b=2");
}

static void test_all_writes_of_a_transaction_make_changes(void **state)
{
    fixture *f = *state;
    kedge_attribute number = {.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = 1};
    kedge_record_write writes[20];
    char sorts[20][4];
    put(f, "p", "old", 5);
    for (int i = 0; i < 20; i++) {
        memcpy(sorts[i], (char[4]){'s', (char)('0' + i / 10), (char)('0' + i % 10), 0}, 4);
        writes[i] = (kedge_record_write){
            .kind = KEDGE_WRITE_PUT,
            .record = {{KEDGE_BYTES("p"), kedge_bytes_of(sorts[i])}, &number, 1}};
    }
    writes[18] = (kedge_record_write){.kind = KEDGE_WRITE_DELETE,
                                      .record = {.key = {KEDGE_BYTES("p"), KEDGE_BYTES("old")}}};
    writes[19] = (kedge_record_write){.kind = KEDGE_WRITE_CHECK,
                                      .record = {.key = {KEDGE_BYTES("p"), KEDGE_BYTES("none")}},
                                      .condition = KEDGE_IF_ABSENT};
    assert_ok(f->ports.records.vtable->transact(f->ports.records.self, writes, 20, &f->error));
    char seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    kedge_stream_query query = {.shard = f->shard, .limit = 100};
    read_changes(f, query, 20, position, seen);
    assert_non_null(strstr(seen, "r:old"));
    for (int i = 0; i < 18; i++) {
        char expected[16];
        snprintf(expected, sizeof expected, "i:%.3s=1", sorts[i]);
        assert_non_null(strstr(seen, expected));
    }
    assert_null(strstr(seen, "none"));
}

/* ---- positions ---- */

static void test_reading_on_gives_each_change_once_and_in_order(void **state)
{
    fixture *f = *state;
    char seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    kedge_stream_query query = {.shard = f->shard, .limit = 1};
    for (int i = 0; i < 6; i++)
        put(f, "p", "a", i);
    read_changes(f, query, 4, position, seen);
    assert_string_equal(seen, "i:a=0 m:a=1 m:a=2 m:a=3");
    put(f, "p", "b", 0);
    query.limit = 2;
    read_changes(f, query, 3, position, seen);
    assert_string_equal(seen, "m:a=4 m:a=5 i:b=0");
    assert_changes(f, position, "");
}

static void test_an_older_position_gives_its_changes_again(void **state)
{
    fixture *f = *state;
    char seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    char first[KEDGE_STREAM_POSITION_BYTES_MAX + 1];
    kedge_stream_query query = {.shard = f->shard, .limit = 1};
    put(f, "p", "a", 1);
    put(f, "p", "b", 2);
    put(f, "p", "c", 3);
    read_changes(f, query, 1, position, seen);
    snprintf(first, sizeof first, "%s", position);
    read_changes(f, query, 2, position, seen);
    assert_string_equal(seen, "i:b=2 i:c=3");
    assert_changes(f, first, "i:b=2 i:c=3");
    assert_changes(f, "", "i:a=1 i:b=2 i:c=3");
    assert_changes(f, position, "");
}

static void test_the_start_of_a_shard_is_in_front_of_its_first_change(void **state)
{
    fixture *f = *state;
    put(f, "p", "a", 1);
    put(f, "p", "b", 2);
    assert_changes(f, current->refuses_starts ? "" : f->start, "i:a=1 i:b=2");
}

static void test_a_reader_of_the_newest_sees_only_what_is_written_later(void **state)
{
    fixture *f = *state;
    char seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    put(f, "p", "a", 1);
    kedge_stream_query query = {.shard = f->shard, .limit = 10, .newest = true};
    kedge_stream_batch batch = {0};
    assert_ok(read_batch(f, &query, &batch));
    assert_int_equal(batch.count, 0);
    assert_true(batch.idle);
    snprintf(position, sizeof position, "%.*s", (int)batch.next.size, batch.next.data);
    kedge_stream_batch_free(&batch);
    put(f, "p", "b", 2);
    query.newest = position[0] == '\0';
    read_changes(f, query, 1, position, seen);
    assert_string_equal(seen, "i:b=2");
    assert_changes(f, position, "");
}

static void test_an_empty_stream_is_idle(void **state)
{
    fixture *f = *state;
    kedge_stream_query query = {.shard = f->shard, .limit = 10};
    kedge_stream_batch batch = {0};
    assert_ok(read_batch(f, &query, &batch));
    assert_int_equal(batch.count, 0);
    assert_true(batch.idle);
    assert_false(batch.ended);
    assert_bytes(batch.next, "");
    kedge_stream_batch_free(&batch);
}

/* ---- patterns ---- */

static void test_changes_that_fit_no_pattern_are_passed_over(void **state)
{
    fixture *f = *state;
    char seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    kedge_stream_pattern patterns[] = {
        {KEDGE_BYTES("log#"), "n"}, {KEDGE_BYTES("other"), "absent"}, {KEDGE_BYTES("q"), NULL}};
    kedge_stream_query query = {
        .shard = f->shard, .limit = 2, .patterns = patterns, .pattern_count = 3};
    put(f, "p", "x", 1);
    put(f, "log#1", "a", 2);
    put(f, "other", "y", 3);
    put(f, "q", "b", 4);
    put(f, "p", "z", 5);
    read_changes(f, query, 2, position, seen);
    assert_string_equal(seen, "i:a=2 i:b=4");
    /* What is passed over is after the position all the same. */
    kedge_stream_batch batch = {0};
    for (int i = 0; i < READS_MAX; i++) {
        kedge_stream_batch_free(&batch);
        query.position = kedge_bytes_of(position);
        assert_ok(read_batch(f, &query, &batch));
        assert_int_equal(batch.count, 0);
        if (batch.idle) break;
        snprintf(position, sizeof position, "%.*s", (int)batch.next.size, batch.next.data);
    }
    assert_true(batch.idle);
    kedge_stream_batch_free(&batch);
    assert_changes(f, position, "");
}

/* ---- sizes ---- */

static void test_large_records_come_in_several_batches(void **state)
{
    fixture *f = *state;
    static char large[350000];
    char sort[8], seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 8; i++) {
        kedge_attribute attribute = {"b", KEDGE_ATTRIBUTE_BINARY, {large, sizeof large}, 0};
        snprintf(sort, sizeof sort, "s%d", i);
        kedge_record_write write = {
            .kind = KEDGE_WRITE_PUT,
            .record = {{KEDGE_BYTES("p"), kedge_bytes_of(sort)}, &attribute, 1}};
        assert_ok(f->ports.records.vtable->write(f->ports.records.self, &write, &f->error));
    }
    kedge_stream_query query = {.shard = f->shard, .limit = 1000};
    read_changes(f, query, 8, position, seen);
    assert_string_equal(seen, "i:s0 i:s1 i:s2 i:s3 i:s4 i:s5 i:s6 i:s7");
}

/* ---- shards ---- */

/* Reads the shard to its end and adds to `seen`; `closed` tells whether it ended. */
static bool read_to_end(fixture *f, const char *shard, char *seen, size_t size)
{
    char position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    kedge_stream_pattern pattern = {KEDGE_BYTES("p"), NULL};
    for (int i = 0; i < READS_MAX; i++) {
        kedge_stream_batch batch = {0};
        kedge_stream_query query = {.shard = shard,
                                    .position = kedge_bytes_of(position),
                                    .limit = 1000,
                                    .patterns = &pattern,
                                    .pattern_count = 1};
        assert_ok(read_batch(f, &query, &batch));
        for (size_t j = 0; j < batch.count; j++)
            show_change(&batch.changes[j], seen, size);
        snprintf(position, sizeof position, "%.*s", (int)batch.next.size, batch.next.data);
        bool ended = batch.ended, idle = batch.idle;
        kedge_stream_batch_free(&batch);
        if (ended || idle) return ended;
    }
    return false;
}

static void test_a_closed_shard_ends_and_its_children_go_on(void **state)
{
    fixture *f = *state;
    char seen[1024] = "";
    if (current->roll == NULL) skip();
    put(f, "p", "a", 1);
    put(f, "p", "b", 2);
    current->roll(&f->around, &f->ports);
    put(f, "p", "a", 3);
    current->roll(&f->around, &f->ports);
    put(f, "p", "a", 4);
    kedge_stream_shards shards = {0};
    assert_ok(list_shards(f, (kedge_bytes){0}, KEDGE_STREAM_SHARDS_MAX, &shards));
    assert_true(shards.count >= 3);
    for (size_t i = 0; i < shards.count; i++) {
        const kedge_stream_shard *shard = &shards.shards[i];
        bool found = shard->parent[0] == '\0';
        for (size_t j = 0; j < i && !found; j++)
            found = strcmp(shard->parent, shards.shards[j].id) == 0 && shards.shards[j].closed;
        assert_true(found);
        assert_true(shard->start[0] != '\0');
        assert_int_equal(read_to_end(f, shard->id, seen, sizeof seen), shard->closed);
    }
    assert_string_equal(seen, "i:a=1 i:b=2 m:a=3 m:a=4");
    kedge_stream_shards_free(&shards);
}

static void test_shards_are_listed_in_pages(void **state)
{
    fixture *f = *state;
    kedge_stream_shards all = {0};
    if (current->roll == NULL) skip();
    put(f, "p", "a", 1);
    current->roll(&f->around, &f->ports);
    assert_ok(list_shards(f, (kedge_bytes){0}, KEDGE_STREAM_SHARDS_MAX, &all));
    assert_false(all.more);
    char after[KEDGE_STREAM_SHARD_BYTES_MAX + 1] = "";
    for (size_t i = 0; i < all.count; i++) {
        kedge_stream_shards page = {0};
        assert_ok(list_shards(f, kedge_bytes_of(after), 1, &page));
        assert_int_equal(page.count, 1);
        assert_int_equal(page.more, i + 1 < all.count);
        assert_string_equal(page.shards[0].id, all.shards[i].id);
        snprintf(after, sizeof after, "%s", page.shards[0].id);
        kedge_stream_shards_free(&page);
    }
    kedge_stream_shards_free(&all);
}

/* ---- trimming ---- */

static void test_a_position_in_front_of_trimmed_changes_is_refused(void **state)
{
    fixture *f = *state;
    char seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    if (current->trim == NULL) skip();
    put(f, "p", "a", 1);
    put(f, "p", "b", 2);
    put(f, "p", "c", 3);
    kedge_stream_query query = {.shard = f->shard, .limit = 1};
    read_changes(f, query, 1, position, seen);
    current->trim(&f->around, &f->ports);
    kedge_stream_batch batch = {0};
    query.position = kedge_bytes_of(position);
    assert_status(read_batch(f, &query, &batch), KEDGE_NOT_FOUND);
    assert_string_equal(f->error.code, KEDGE_STREAM_TRIMMED);
    assert_null(batch.memory);
    query.position = kedge_bytes_of(f->start);
    assert_status(read_batch(f, &query, &batch), KEDGE_NOT_FOUND);
    /* The oldest one that is kept can be had. */
    query.position = (kedge_bytes){0};
    assert_ok(read_batch(f, &query, &batch));
    assert_int_equal(batch.count, 1);
    kedge_stream_batch_free(&batch);
}

static void test_a_position_behind_all_that_is_trimmed_stays_good(void **state)
{
    fixture *f = *state;
    char seen[1024], position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
    if (current->trim == NULL) skip();
    kedge_stream_pattern pattern = {KEDGE_BYTES("p"), NULL};
    kedge_stream_query query = {
        .shard = f->shard, .limit = 1000, .patterns = &pattern, .pattern_count = 1};
    put(f, "p", "a", 1);
    current->trim(&f->around, &f->ports);
    put(f, "p", "b", 2);
    put(f, "p", "c", 3);
    read_changes(f, query, strcmp(current->name, "stream: memory") == 0 ? 3 : 2, position, seen);
    assert_non_null(strstr(seen, "i:b=2 i:c=3"));
    kedge_stream_batch batch = {0};
    query.position = kedge_bytes_of(position);
    assert_ok(read_batch(f, &query, &batch));
    assert_true(batch.idle);
    kedge_stream_batch_free(&batch);
}

/* ---- what is refused ---- */

static void test_queries_outside_the_contract_are_refused(void **state)
{
    fixture *f = *state;
    char long_text[200];
    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    const kedge_stream_query queries[] = {
        {.shard = "", .limit = 1},
        {.shard = NULL, .limit = 1},
        {.shard = long_text, .limit = 1},
        {.shard = f->shard, .limit = 0},
        {.shard = f->shard, .limit = KEDGE_STREAM_READ_MAX + 1},
        {.shard = f->shard, .limit = 1, .position = kedge_bytes_of(long_text)},
        {.shard = f->shard, .limit = 1, .position = KEDGE_BYTES("not one")},
        {.shard = f->shard, .limit = 1, .position = kedge_bytes_of(f->start), .newest = true},
    };
    kedge_stream_batch batch = {0};
    kedge_stream_shards shards = {0};
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        assert_status(read_batch(f, &queries[i], &batch), KEDGE_INVALID_ARGUMENT);
        assert_null(batch.memory);
    }
    kedge_stream_pattern patterns[KEDGE_STREAM_PATTERNS_MAX + 1] = {{{0}, NULL}};
    kedge_stream_query query = {.shard = f->shard,
                                .limit = 1,
                                .patterns = patterns,
                                .pattern_count = KEDGE_STREAM_PATTERNS_MAX + 1};
    assert_status(read_batch(f, &query, &batch), KEDGE_LIMIT_EXCEEDED);
    assert_status(list_shards(f, (kedge_bytes){0}, 0, &shards), KEDGE_INVALID_ARGUMENT);
    assert_status(list_shards(f, (kedge_bytes){0}, KEDGE_STREAM_SHARDS_MAX + 1, &shards),
                  KEDGE_INVALID_ARGUMENT);
    assert_status(list_shards(f, kedge_bytes_of(long_text), 1, &shards), KEDGE_INVALID_ARGUMENT);
}

static void test_an_unknown_shard_is_one_that_is_trimmed(void **state)
{
    fixture *f = *state;
    kedge_stream_batch batch = {0};
    kedge_stream_query query = {.shard = "shardId-00000000000000000000-00000000", .limit = 1};
    assert_status(read_batch(f, &query, &batch), KEDGE_NOT_FOUND);
    assert_string_equal(f->error.code, KEDGE_STREAM_TRIMMED);
}

/* ---- running ---- */

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    *state = &f;
    kedge_status status = current->open(&f.around, &f.ports, &f.error);
    if (status != KEDGE_OK) {
        print_error("%s: %s\n", current->name, f.error.message);
        return -1;
    }
    kedge_stream_shards shards = {0};
    for (int i = 0; i < READS_MAX && shards.count == 0; i++)
        assert_ok(list_shards(&f, (kedge_bytes){0}, KEDGE_STREAM_SHARDS_MAX, &shards));
    assert_int_equal(shards.count, 1);
    assert_string_equal(shards.shards[0].parent, "");
    snprintf(f.shard, sizeof f.shard, "%s", shards.shards[0].id);
    snprintf(f.start, sizeof f.start, "%s", shards.shards[0].start);
    kedge_stream_shards_free(&shards);
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    current->close(&f->ports);
    world_end(&f->around);
    return 0;
}

#define contract(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        contract(test_inserts_replacements_and_removals_are_told_apart),
        contract(test_a_change_has_the_record_as_it_was_written),
        contract(test_what_changes_nothing_makes_no_change),
        contract(test_all_writes_of_a_transaction_make_changes),
        contract(test_reading_on_gives_each_change_once_and_in_order),
        contract(test_an_older_position_gives_its_changes_again),
        contract(test_the_start_of_a_shard_is_in_front_of_its_first_change),
        contract(test_a_reader_of_the_newest_sees_only_what_is_written_later),
        contract(test_an_empty_stream_is_idle),
        contract(test_changes_that_fit_no_pattern_are_passed_over),
        contract(test_large_records_come_in_several_batches),
        contract(test_a_closed_shard_ends_and_its_children_go_on),
        contract(test_shards_are_listed_in_pages),
        contract(test_a_position_in_front_of_trimmed_changes_is_refused),
        contract(test_a_position_behind_all_that_is_trimmed_stays_good),
        contract(test_queries_outside_the_contract_are_refused),
        contract(test_an_unknown_shard_is_one_that_is_trimmed),
    };
    int failed = 0;
    int missing = stream_engine == NULL ? 0 : engines_missing(stream_engine);
    if (missing != 0) return missing;
    for (const stream_implementation *row = stream_implementations; row->name != NULL; row++) {
        current = row;
        failed += _cmocka_run_group_tests(current->name, tests, sizeof tests / sizeof tests[0],
                                          NULL, NULL);
    }
    return failed == 0 ? 0 : 1;
}
