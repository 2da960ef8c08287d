/* The meter's units beside those that DynamoDB says it consumed.
 *
 * Compared: single puts, deletes and reads of single records, queries, batches, the inverted index,
 * and a whole workload of the compact cadence, which has no transactions. Not compared: failed
 * conditions, whose responses do not tell what they consumed; transactions, of which DynamoDB Local
 * does not tell what AWS would charge; and queries that find nothing, for which it charges nothing
 * and AWS the least. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/memory/memory_ports.h"
#include "backend/ports/meter.h"
#include "bench/stage.h"
#include "tests/support/dynamodb_table.h"
#include "tests/support/engines.h"

#include <stdio.h>
#include <string.h>

typedef struct engine {
    dynamodb_table table;
    kedge_records store; /* counts the queries that find nothing */
    kedge_blobs blobs;
    kedge_meter *meter;
    kedge_records records;
} engine;

static const kedge_records_vtable *dynamodb;
static kedge_records_vtable counting;
static uint64_t empty_halves; /* what we count for queries that found nothing */
static uint64_t check_units; /* what we count for checks; DynamoDB Local charges nothing for them */

static kedge_status query(void *self, const kedge_records_query *wanted, kedge_record_set *set,
                          kedge_error *error)
{
    kedge_status status = dynamodb->query(self, wanted, set, error);
    if (status == KEDGE_OK && set->count == 0)
        empty_halves += kedge_cost_read_halves(0, wanted->consistent);
    return status;
}

static kedge_status transact(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error)
{
    kedge_status status = dynamodb->transact(self, writes, count, error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        if (writes[i].kind == KEDGE_WRITE_CHECK)
            check_units += 2 * kedge_cost_of_write(&writes[i], true);
    }
    return status;
}

static int start(void **state)
{
    static engine e;
    kedge_error error = {0};
    memset(&e, 0, sizeof e);
    *state = &e;
    kedge_status status = dynamodb_table_make(&e.table, &error);
    if (status == KEDGE_OK)
        status = kedge_dynamodb_records_open(e.table.client, e.table.name, &e.store, &error);
    if (status == KEDGE_OK) {
        dynamodb = e.store.vtable;
        counting = *dynamodb;
        counting.query = query;
        counting.transact = transact;
        e.store.vtable = &counting;
        empty_halves = 0;
        check_units = 0;
    }
    if (status == KEDGE_OK)
        status = kedge_memory_blobs_open(&e.table.environment, &e.blobs, &error);
    if (status == KEDGE_OK)
        status = kedge_meter_new(e.table.environment.allocator, e.store, e.blobs, (kedge_queue){0},
                                 (kedge_stream){0}, &e.meter, &error);
    if (status != KEDGE_OK) {
        print_error("%s: %s\n", error.code, error.message);
        return -1;
    }
    kedge_dynamodb_records_measure(&e.store);
    e.records = kedge_meter_records(e.meter);
    return 0;
}

static int end(void **state)
{
    engine *e = *state;
    kedge_meter_free(e->meter);
    e->blobs.vtable->close(e->blobs.self);
    e->store.vtable->close(e->store.self);
    dynamodb_table_end(&e->table);
    return 0;
}

static void expect_same(engine *e, kedge_meter *meter, const char *what)
{
    kedge_dynamodb_usage theirs;
    kedge_cost ours = kedge_meter_totals(meter);
    kedge_dynamodb_records_usage(&e->store, &theirs);
    double writes = theirs.write_units + theirs.index_write_units + (double)check_units;
    double reads = theirs.read_units + theirs.index_read_units + (double)empty_halves / 2;
    if ((double)ours.of[KEDGE_COST_WRITE_UNITS] == writes && kedge_cost_read_units(&ours) == reads)
        return;
    fail_msg("%s: we count %llu write units and %.1f read units, DynamoDB %.1f and %.1f", what,
             (unsigned long long)ours.of[KEDGE_COST_WRITE_UNITS], kedge_cost_read_units(&ours),
             writes, reads);
}

/* ---- single records ---- */

static char filler[20000];

/* A record with a number and so many bytes of filler that it has `bytes` by our rule. */
static void put_sized(engine *e, int64_t value, size_t bytes, bool inverted)
{
    kedge_attribute attributes[3] = {{"n", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, value},
                                     {"b", KEDGE_ATTRIBUTE_BINARY, {filler, 0}, 0},
                                     {"inverted", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("v"), 0}};
    char sort[64];
    snprintf(sort, sizeof sort, "h\xc3\xa9 %lld %zu %d", (long long)value, bytes, inverted);
    kedge_record_write write = {
        .record = {{KEDGE_BYTES("p"), kedge_bytes_of(sort)}, attributes, inverted ? 3 : 2}};
    attributes[1].bytes.size = bytes - kedge_cost_item_bytes(&write.record);
    assert_int_equal(kedge_cost_item_bytes(&write.record), bytes);
    assert_int_equal(e->records.vtable->write(e->records.self, &write, NULL), KEDGE_OK);
}

static void test_sizes_agree_at_the_border_of_a_unit_for_any_number(void **state)
{
    engine *e = *state;
    static const int64_t numbers[] = {
        0,  7,   10,   12,        100,       123,    1234,    12345,     1200, 1795274833000,
        -1, -12, -123, INT64_MAX, INT64_MIN, 120000, 1000001, 100000001, 99,   5000};
    memset(filler, 'x', sizeof filler);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char what[64];
        snprintf(what, sizeof what, "an item with the number %lld", (long long)numbers[i]);
        put_sized(e, numbers[i], 1024, false);
        expect_same(e, e->meter, what);
        put_sized(e, numbers[i], 1025, false);
        expect_same(e, e->meter, what);
    }
}

static void test_the_index_is_paid_for_as_dynamodb_says(void **state)
{
    engine *e = *state;
    put_sized(e, 5, 3000, true);
    expect_same(e, e->meter, "a put into the index");
    kedge_records_query query = {.partition = KEDGE_BYTES("v"), .inverted = true, .limit = 10};
    kedge_record_set set = {0};
    assert_int_equal(e->records.vtable->query(e->records.self, &query, &set, NULL), KEDGE_OK);
    kedge_record_set_free(&set);
    expect_same(e, e->meter, "a query of the index");
}

static void test_reads_agree(void **state)
{
    engine *e = *state;
    const kedge_records *records = &e->records;
    kedge_record_set set = {0};
    kedge_record_key keys[3] = {{KEDGE_BYTES("p"), KEDGE_BYTES("h\xc3\xa9 5 4096 0")},
                                {KEDGE_BYTES("p"), KEDGE_BYTES("h\xc3\xa9 5 4097 0")},
                                {KEDGE_BYTES("p"), KEDGE_BYTES("none")}};
    put_sized(e, 5, 4096, false);
    put_sized(e, 5, 4097, false);
    for (int consistent = 0; consistent < 2; consistent++) {
        for (size_t i = 0; i < 3; i++) {
            records->vtable->get(records->self, &keys[i], consistent, &set, NULL);
            kedge_record_set_free(&set);
            expect_same(e, e->meter, "a get");
        }
        assert_int_equal(records->vtable->batch_get(records->self, keys, 2, consistent, &set, NULL),
                         KEDGE_OK);
        kedge_record_set_free(&set);
        expect_same(e, e->meter, "a batch");
        kedge_records_query query = {
            .partition = KEDGE_BYTES("p"), .limit = 100, .consistent = consistent};
        assert_int_equal(records->vtable->query(records->self, &query, &set, NULL), KEDGE_OK);
        kedge_record_set_free(&set);
        expect_same(e, e->meter, "a query");
        query.partition = KEDGE_BYTES("nobody");
        assert_int_equal(records->vtable->query(records->self, &query, &set, NULL), KEDGE_OK);
        kedge_record_set_free(&set);
        expect_same(e, e->meter, "a query that finds nothing");
    }
}

static void test_many_puts_and_a_delete_agree(void **state)
{
    engine *e = *state;
    kedge_attribute small = {"b", KEDGE_ATTRIBUTE_BINARY, {filler, 10}, 0};
    kedge_attribute large = {"b", KEDGE_ATTRIBUTE_BINARY, {filler, 1500}, 0};
    kedge_record_write writes[] = {{.record = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")}, &small, 1}},
                                   {.record = {{KEDGE_BYTES("p"), KEDGE_BYTES("b")}, &large, 1}}};
    assert_int_equal(kedge_records_put_all(&e->records, writes, 2, NULL), KEDGE_OK);
    expect_same(e, e->meter, "many puts");
    kedge_record_write removal = {.kind = KEDGE_WRITE_DELETE,
                                  .record = {.key = {KEDGE_BYTES("p"), KEDGE_BYTES("a")}}};
    assert_int_equal(e->records.vtable->write(e->records.self, &removal, NULL), KEDGE_OK);
    expect_same(e, e->meter, "a delete of a small record");
}

/* ---- a workload ---- */

static void test_a_workload_of_the_compact_cadence_agrees(void **state)
{
    engine *e = *state;
    bench_stage stage;
    bench_client client;
    bench_stage_open(&stage, &e->table.environment, e->store, e->blobs, (kedge_queue){0},
                     KEDGE_CADENCE_COMPACT);
    kedge_buffer body = kedge_buffer_make(e->table.environment.allocator);
    kedge_buffer args = kedge_buffer_make(e->table.environment.allocator);
    bench_client_make(&client, 1);
    for (uint32_t push = 0; push < 100; push++) {
        bench_push_begin(&body, &client);
        for (uint32_t i = 0; i < push % 10 + 1; i++) {
            bench_args_put(&args, (push * 7 + i) % 60);
            bench_push_mutation(&body, &client, "kedge.put", args.data);
        }
        bench_push_end(&body, &client);
        bench_push(&stage, "notes", &client, kedge_buffer_bytes(&body));
        if (push % 30 == 29) bench_stage_restart(&stage);
        bench_ask(&stage, "GET", "notes", "/versions?limit=5", (kedge_bytes){0}, NULL);
        expect_same(e, stage.meter, "a push and a look at the versions");
    }
    bench_ask(&stage, "GET", "notes", "/versions/latest?items=1", (kedge_bytes){0}, NULL);
    expect_same(e, stage.meter, "all items");
    kedge_cost total = kedge_meter_totals(stage.meter);
    assert_true(total.of[KEDGE_COST_WRITE_UNITS] > 200);
    kedge_buffer_free(&body);
    kedge_buffer_free(&args);
    bench_stage_close(&stage);
}

int main(void)
{
    int missing = engines_missing("AWS_ENDPOINT_URL_DYNAMODB");
    if (missing != 0) return missing;
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(test_sizes_agree_at_the_border_of_a_unit_for_any_number),
        TEST(test_the_index_is_paid_for_as_dynamodb_says),
        TEST(test_reads_agree),
        TEST(test_many_puts_and_a_delete_agree),
        TEST(test_a_workload_of_the_compact_cadence_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
