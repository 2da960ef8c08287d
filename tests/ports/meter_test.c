/* What the meter counts, over ports in memory: AWS's rules, worked out by hand. */
#include "backend/ports/meter.h"

#include "backend/memory/memory_ports.h"
#include "tests/ports/world.h"

#include <string.h>

typedef struct bench {
    world around;
    kedge_records store_records;
    kedge_blobs store_blobs;
    kedge_queue store_queue;
    kedge_stream store_stream;
    kedge_meter *meter;
    kedge_records records;
    kedge_blobs blobs;
    kedge_queue queue;
    kedge_stream stream;
    kedge_cost before;
    uint64_t stored; /* bytes, between the last two looks */
} bench;

static int setup(void **state)
{
    static bench self;
    self = (bench){0};
    world_make(&self.around, &kedge_allocator_default);
    const kedge_environment *environment = &self.around.environment;
    assert_ok(kedge_memory_records_open(environment, &self.store_records, NULL));
    assert_ok(kedge_memory_blobs_open(environment, &self.store_blobs, NULL));
    assert_ok(kedge_memory_queue_open(environment, 3, &self.store_queue, NULL));
    assert_ok(kedge_memory_stream_open(environment, &self.store_records, &self.store_stream, NULL));
    assert_ok(kedge_meter_new(environment->allocator, self.store_records, self.store_blobs,
                              self.store_queue, self.store_stream, &self.meter, NULL));
    self.records = kedge_meter_records(self.meter);
    self.blobs = kedge_meter_blobs(self.meter);
    self.queue = kedge_meter_queue(self.meter);
    self.stream = kedge_meter_stream(self.meter);
    self.before = kedge_meter_of_thread();
    *state = &self;
    return 0;
}

static int teardown(void **state)
{
    bench *self = *state;
    kedge_meter_free(self->meter);
    self->store_records.vtable->close(self->store_records.self);
    self->store_blobs.vtable->close(self->store_blobs.self);
    self->store_queue.vtable->close(self->store_queue.self);
    world_end(&self->around);
    return 0;
}

/* What was counted since the last look, of one kind; nothing of any other. */
static uint64_t spent(bench *self, kedge_cost_kind kind)
{
    kedge_cost now = kedge_meter_of_thread();
    kedge_cost rest = kedge_cost_minus(&now, &self->before);
    self->before = now;
    for (size_t i = 0; i < KEDGE_COST_KINDS; i++)
        if (i != (size_t)kind && i != KEDGE_COST_BYTES_STORED) assert_int_equal(rest.of[i], 0);
    self->stored = rest.of[KEDGE_COST_BYTES_STORED];
    return rest.of[kind];
}

/* Keys "p" and `sort` (1 byte) and an attribute "b" make 7 bytes with the names of the keys. */
#define OVERHEAD 7

static char filler[5 * 1024 * 1024 * 4];

static kedge_status put(bench *self, const char *sort, size_t item_bytes, kedge_condition condition)
{
    const kedge_attribute attribute = {
        "b", KEDGE_ATTRIBUTE_BINARY, {filler, item_bytes - OVERHEAD}, 0};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("p"), kedge_bytes_of(sort)}, &attribute, 1},
        .condition = condition};
    return self->records.vtable->write(self->records.self, &write, NULL);
}

static void read_one(bench *self, const char *sort, bool consistent, kedge_status expected)
{
    const kedge_record_key key = {KEDGE_BYTES("p"), kedge_bytes_of(sort)};
    kedge_record_set set = {0};
    assert_status(self->records.vtable->get(self->records.self, &key, consistent, &set, NULL),
                  expected);
    kedge_record_set_free(&set);
}

/* ---- items ---- */

static size_t with_number(int64_t number)
{
    const kedge_attribute attribute = {"n", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, number};
    const kedge_record record = {{KEDGE_BYTES("p"), KEDGE_BYTES("s")}, &attribute, 1};
    return kedge_cost_item_bytes(&record) - OVERHEAD;
}

static void an_item_has_the_bytes_of_its_names_texts_and_digits(void **state)
{
    (void)state;
    const kedge_attribute attributes[] = {
        {"text", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("h\xc3\xa9llo"), 0},
        {"bin", KEDGE_ATTRIBUTE_BINARY, KEDGE_BYTES("\x01\x02"), 0}};
    const kedge_record record = {{KEDGE_BYTES("par"), KEDGE_BYTES("so")}, attributes, 2};
    assert_int_equal(kedge_cost_item_bytes(&record), 2 + 3 + 2 + 2 + (4 + 6) + (3 + 2));
    assert_int_equal(with_number(0), 1);
    assert_int_equal(with_number(7), 2);
    assert_int_equal(with_number(12), 2);
    assert_int_equal(with_number(123), 3);
    assert_int_equal(with_number(123000), 3);
    assert_int_equal(with_number(1795274833000), 7); /* 1 79 52 74 83 30 */
    assert_int_equal(with_number(-12), 3);
    assert_int_equal(with_number(INT64_MIN), 12);
}

/* ---- writes ---- */

static void a_write_costs_a_unit_for_each_kilobyte_that_it_begins(void **state)
{
    bench *self = *state;
    assert_ok(put(self, "a", 8, KEDGE_IF_ANY));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 1);
    assert_ok(put(self, "a", 1024, KEDGE_IF_ANY));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 1);
    assert_ok(put(self, "a", 1025, KEDGE_IF_ANY));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 2);
}

static void a_condition_that_fails_costs_as_much_as_the_write(void **state)
{
    bench *self = *state;
    assert_ok(put(self, "a", 100, KEDGE_IF_ABSENT));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 1);
    assert_status(put(self, "a", 3000, KEDGE_IF_ABSENT), KEDGE_CONFLICT);
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 3);
}

/* Not what a condition refuses, a check or a delete. */
static void what_is_put_is_counted_in_bytes(void **state)
{
    bench *self = *state;
    const kedge_records *records = &self->records;
    const kedge_blobs *blobs = &self->blobs;
    const kedge_attribute attribute = {"b", KEDGE_ATTRIBUTE_BINARY, {filler, 100 - OVERHEAD}, 0};
    kedge_record_write writes[3];
    for (size_t i = 0; i < 3; i++) {
        writes[i] = (kedge_record_write){
            .kind = KEDGE_WRITE_PUT, .record = {{KEDGE_BYTES("p"), {&"abc"[i], 1}}, &attribute, 1}};
    }
    assert_ok(records->vtable->write(records->self, writes, NULL));
    spent(self, KEDGE_COST_WRITE_UNITS);
    assert_int_equal(self->stored, 100);
    writes[0].condition = KEDGE_IF_ABSENT;
    assert_status(records->vtable->write(records->self, writes, NULL), KEDGE_CONFLICT);
    spent(self, KEDGE_COST_WRITE_UNITS);
    assert_int_equal(self->stored, 0);
    writes[0] = (kedge_record_write){.kind = KEDGE_WRITE_DELETE, .record = writes[0].record};
    writes[0].record.attribute_count = 0;
    assert_ok(records->vtable->transact(records->self, writes, 3, NULL));
    spent(self, KEDGE_COST_WRITE_UNITS);
    assert_int_equal(self->stored, 200);
    assert_ok(records->vtable->put_many(records->self, writes + 1, 2, NULL));
    spent(self, KEDGE_COST_WRITE_UNITS);
    assert_int_equal(self->stored, 200);
    const kedge_bytes bytes = {filler, 300};
    const kedge_blob_tag tag = {KEDGE_BYTES("t"), KEDGE_BYTES("v")};
    kedge_cost before = kedge_meter_of_thread();
    assert_ok(blobs->vtable->put_if_absent(blobs->self, KEDGE_BYTES("x"), bytes, NULL));
    assert_ok(blobs->vtable->put_tagged(blobs->self, KEDGE_BYTES("y"), bytes, &tag, NULL));
    assert_status(blobs->vtable->put_if_absent(blobs->self, KEDGE_BYTES("x"), bytes, NULL),
                  KEDGE_CONFLICT);
    kedge_cost after = kedge_meter_of_thread();
    kedge_cost took = kedge_cost_minus(&after, &before);
    assert_int_equal(took.of[KEDGE_COST_BYTES_STORED], 600);
}

static void a_call_that_is_refused_costs_nothing(void **state)
{
    bench *self = *state;
    assert_status(put(self, "a", 500000, KEDGE_IF_ANY), KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 0);
}

static void a_transaction_costs_twice_unless_it_is_one_write(void **state)
{
    bench *self = *state;
    const kedge_attribute attribute = {"b", KEDGE_ATTRIBUTE_BINARY, {filler, 1500}, 0};
    const kedge_record_write writes[] = {
        {.kind = KEDGE_WRITE_PUT, .record = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")}, &attribute, 1}},
        {.kind = KEDGE_WRITE_DELETE, .record = {.key = {KEDGE_BYTES("p"), KEDGE_BYTES("b")}}},
        {.kind = KEDGE_WRITE_CHECK,
         .record = {.key = {KEDGE_BYTES("p"), KEDGE_BYTES("c")}},
         .condition = KEDGE_IF_ABSENT}};
    const kedge_records *records = &self->records;
    assert_ok(records->vtable->transact(records->self, writes, 3, NULL));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 2 * (2 + 1 + 1));
    assert_ok(records->vtable->transact(records->self, writes, 1, NULL));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 2);
    assert_ok(records->vtable->transact(records->self, writes + 2, 1, NULL));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 2);
}

static void many_puts_cost_as_much_as_single_ones(void **state)
{
    bench *self = *state;
    const kedge_attribute attribute = {"b", KEDGE_ATTRIBUTE_BINARY, {filler, 1500}, 0};
    const kedge_record_write writes[] = {
        {.kind = KEDGE_WRITE_PUT, .record = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")}, &attribute, 1}},
        {.kind = KEDGE_WRITE_PUT, .record = {{KEDGE_BYTES("p"), KEDGE_BYTES("b")}, &attribute, 1}}};
    assert_ok(kedge_records_put_all(&self->records, writes, 2, NULL));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 2 * 2);
    assert_ok(kedge_records_put_in_order(&self->records, writes, 2, NULL));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 2 * 2 * 2);
}

static void a_record_of_the_inverted_index_is_paid_for_twice(void **state)
{
    bench *self = *state;
    const kedge_attribute attribute = {KEDGE_RECORDS_INVERTED, KEDGE_ATTRIBUTE_TEXT,
                                       KEDGE_BYTES("v"), 0};
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")}, &attribute, 1},
                                .condition = KEDGE_IF_ABSENT};
    const kedge_records *records = &self->records;
    assert_ok(records->vtable->write(records->self, &write, NULL));
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 2);
    assert_status(records->vtable->write(records->self, &write, NULL), KEDGE_CONFLICT);
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 1); /* the index was not written */
}

/* ---- reads ---- */

static void a_get_costs_a_unit_for_each_4_kilobytes_and_half_of_it_eventually(void **state)
{
    bench *self = *state;
    put(self, "a", 4096, KEDGE_IF_ANY);
    put(self, "b", 4097, KEDGE_IF_ANY);
    spent(self, KEDGE_COST_WRITE_UNITS);
    read_one(self, "a", true, KEDGE_OK);
    assert_int_equal(spent(self, KEDGE_COST_READ_HALVES), 2);
    read_one(self, "a", false, KEDGE_OK);
    assert_int_equal(spent(self, KEDGE_COST_READ_HALVES), 1);
    read_one(self, "b", true, KEDGE_OK);
    assert_int_equal(spent(self, KEDGE_COST_READ_HALVES), 4);
}

static void a_read_of_what_is_not_there_costs_the_least(void **state)
{
    bench *self = *state;
    read_one(self, "x", true, KEDGE_NOT_FOUND);
    assert_int_equal(spent(self, KEDGE_COST_READ_HALVES), 2);
    read_one(self, "x", false, KEDGE_NOT_FOUND);
    assert_int_equal(spent(self, KEDGE_COST_READ_HALVES), 1);
}

static void a_batch_rounds_each_item_and_a_query_their_sum(void **state)
{
    bench *self = *state;
    put(self, "a", 2000, KEDGE_IF_ANY);
    put(self, "b", 2000, KEDGE_IF_ANY);
    put(self, "c", 2000, KEDGE_IF_ANY);
    spent(self, KEDGE_COST_WRITE_UNITS);
    const kedge_records *records = &self->records;
    const kedge_record_key keys[] = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")},
                                     {KEDGE_BYTES("p"), KEDGE_BYTES("b")},
                                     {KEDGE_BYTES("p"), KEDGE_BYTES("c")},
                                     {KEDGE_BYTES("p"), KEDGE_BYTES("none")}};
    kedge_record_set set = {0};
    assert_ok(records->vtable->batch_get(records->self, keys, 4, true, &set, NULL));
    kedge_record_set_free(&set);
    assert_int_equal(spent(self, KEDGE_COST_READ_HALVES), 4 * 2);
    kedge_records_query query = {
        .partition = KEDGE_BYTES("p"), .limit = 10, .consistent = true}; /* 6000 bytes */
    assert_ok(records->vtable->query(records->self, &query, &set, NULL));
    kedge_record_set_free(&set);
    assert_int_equal(spent(self, KEDGE_COST_READ_HALVES), 2 * 2);
    query.partition = KEDGE_BYTES("nobody");
    assert_ok(records->vtable->query(records->self, &query, &set, NULL));
    kedge_record_set_free(&set);
    assert_int_equal(spent(self, KEDGE_COST_READ_HALVES), 2);
}

/* ---- blobs and queue ---- */

static void each_part_of_a_large_blob_is_a_request(void **state)
{
    bench *self = *state;
    const kedge_blobs *blobs = &self->blobs;
    assert_ok(blobs->vtable->put_if_absent(blobs->self, KEDGE_BYTES("a"),
                                           (kedge_bytes){filler, 16777215}, NULL));
    kedge_cost now = kedge_meter_of_thread();
    kedge_cost one = kedge_cost_minus(&now, &self->before);
    assert_int_equal(one.of[KEDGE_COST_BLOB_PUTS], 1);
    assert_int_equal(one.of[KEDGE_COST_BLOB_GETS], 0);
    assert_int_equal(one.of[KEDGE_COST_BLOB_BYTES_PUT], 16777215);
    assert_int_equal(one.of[KEDGE_COST_BYTES_STORED], 16777215);
    assert_ok(blobs->vtable->put_if_absent(blobs->self, KEDGE_BYTES("b"),
                                           (kedge_bytes){filler, 16777217}, NULL));
    kedge_cost then = kedge_meter_of_thread();
    kedge_cost parts = kedge_cost_minus(&then, &now);
    assert_int_equal(parts.of[KEDGE_COST_BLOB_PUTS], 3 + 2);
    assert_int_equal(parts.of[KEDGE_COST_BLOB_GETS], 2);
    self->before = then;
    assert_ok(blobs->vtable->remove(blobs->self, KEDGE_BYTES("b"), NULL));
    assert_int_equal(spent(self, KEDGE_COST_BLOB_PUTS), 0);
}

static kedge_status grant_put(void *self, const kedge_blob_upload *upload, kedge_blob_grant *grant,
                              kedge_error *error)
{
    (void)self;
    (void)upload;
    (void)grant;
    (void)error;
    return KEDGE_OK;
}

/* The meter never sees the upload itself. */
static void an_upload_that_is_granted_counts_as_made(void **state)
{
    bench *self = *state;
    kedge_blobs_vtable granting = *self->store_blobs.vtable;
    granting.presign_put = grant_put;
    kedge_meter *meter;
    assert_ok(kedge_meter_new(self->around.environment.allocator, self->store_records,
                              (kedge_blobs){&granting, self->store_blobs.self}, self->store_queue,
                              self->store_stream, &meter, NULL));
    const kedge_blobs blobs = kedge_meter_blobs(meter);
    const kedge_blob_upload upload = {.key = KEDGE_BYTES("u"), .size_bytes = 5000};
    kedge_blob_grant grant = {.url = kedge_buffer_make(self->around.environment.allocator)};
    assert_ok(blobs.vtable->presign_put(blobs.self, &upload, &grant, NULL));
    kedge_cost total = kedge_meter_totals(meter);
    assert_int_equal(total.of[KEDGE_COST_BLOB_PUTS], 1);
    assert_int_equal(total.of[KEDGE_COST_BLOB_BYTES_PUT], 5000);
    assert_int_equal(total.of[KEDGE_COST_BYTES_STORED], 5000);
    kedge_meter_free(meter);
}

static void a_blob_that_is_there_or_is_not_costs_its_request(void **state)
{
    bench *self = *state;
    const kedge_blobs *blobs = &self->blobs;
    kedge_buffer out = kedge_buffer_make(self->around.environment.allocator);
    assert_status(blobs->vtable->get(blobs->self, KEDGE_BYTES("a"), &out, NULL), KEDGE_NOT_FOUND);
    assert_int_equal(spent(self, KEDGE_COST_BLOB_GETS), 1);
    kedge_blob_list list = {0};
    assert_ok(
        blobs->vtable->list(blobs->self, KEDGE_BYTES("a"), (kedge_bytes){0}, 10, &list, NULL));
    kedge_blob_list_free(&list);
    assert_int_equal(spent(self, KEDGE_COST_BLOB_PUTS), 1);
    kedge_buffer_free(&out);
}

static void each_64_kilobytes_of_a_message_are_a_request(void **state)
{
    bench *self = *state;
    const kedge_queue *queue = &self->queue;
    memset(filler, 'x', 65537);
    assert_ok(queue->vtable->send(queue->self, KEDGE_BYTES("o"), KEDGE_BYTES("g"), KEDGE_BYTES("1"),
                                  (kedge_bytes){filler, 65536}, NULL));
    assert_int_equal(spent(self, KEDGE_COST_QUEUE_REQUESTS), 1);
    assert_ok(queue->vtable->send(queue->self, KEDGE_BYTES("o"), KEDGE_BYTES("g"), KEDGE_BYTES("2"),
                                  (kedge_bytes){filler, 65537}, NULL));
    assert_int_equal(spent(self, KEDGE_COST_QUEUE_REQUESTS), 2);
    memset(filler, 0, 65537);
    assert_ok(queue->vtable->send(queue->self, KEDGE_BYTES("o"), KEDGE_BYTES("h"), KEDGE_BYTES("3"),
                                  (kedge_bytes){filler, 60000}, NULL)); /* 80,000 as base64 */
    assert_int_equal(spent(self, KEDGE_COST_QUEUE_REQUESTS), 2);
    kedge_queue_batch batch = {0};
    assert_ok(queue->vtable->receive(queue->self, 1, 1000, 0, NULL, &batch, NULL));
    assert_int_equal(spent(self, KEDGE_COST_QUEUE_REQUESTS), 1);
    assert_ok(queue->vtable->done(queue->self, batch.messages[0].receipt, NULL));
    kedge_queue_batch_free(&batch);
    assert_int_equal(spent(self, KEDGE_COST_QUEUE_REQUESTS), 1);
}

static void extend_none(void *self, const char *const *receipts, size_t count,
                        int64_t visibility_ms, kedge_error *failures)
{
    const bool *refused = self;
    (void)receipts, (void)visibility_ms;
    for (size_t i = 0; i < count; i++)
        failures[i].status = *refused ? KEDGE_INVALID_ARGUMENT : KEDGE_CONFLICT;
}

static void several_messages_that_are_extended_at_once_are_one_request(void **state)
{
    bench *self = *state;
    static const kedge_queue_vtable of_many = {.extend_all = extend_none};
    static const char *const receipts[] = {"1", "2"};
    bool refused = false;
    kedge_meter *meter;
    assert_null(self->queue.vtable->extend_all); /* the queue has none */
    assert_ok(kedge_meter_new(self->around.environment.allocator, self->store_records,
                              self->store_blobs, (kedge_queue){&of_many, &refused},
                              self->store_stream, &meter, NULL));
    const kedge_queue queue = kedge_meter_queue(meter);
    for (int i = 0; i < 2; i++) {
        kedge_error failures[2] = {{0}};
        queue.vtable->extend_all(queue.self, receipts, 2, 1000, failures);
        assert_int_equal(kedge_meter_totals(meter).of[KEDGE_COST_QUEUE_REQUESTS], 1);
        refused = true; /* before a request */
    }
    kedge_meter_free(meter);
}

/* ---- whose ---- */

static void *put_elsewhere(void *argument)
{
    put(argument, "t", 100, KEDGE_IF_ANY);
    return NULL;
}

static void a_thread_counts_its_own_calls_and_the_meter_all(void **state)
{
    bench *self = *state;
    put(self, "a", 100, KEDGE_IF_ANY);
    world_run_threads(put_elsewhere, self, 3);
    assert_int_equal(spent(self, KEDGE_COST_WRITE_UNITS), 1);
    assert_int_equal(kedge_meter_totals(self->meter).of[KEDGE_COST_WRITE_UNITS], 4);
    kedge_buffer out = kedge_buffer_make(self->around.environment.allocator);
    kedge_meter_write_metrics(self->meter, &out);
    kedge_buffer_append_byte(&out, '\0');
    assert_non_null(strstr(out.data, "\nkedge_store_write_units_total 4\n"));
    assert_non_null(strstr(out.data, "\nkedge_store_dollars_total 0.000002500\n"));
    kedge_buffer_free(&out);
}

static void a_read_of_the_stream_is_a_request_and_a_list_of_shards_is_free(void **state)
{
    bench *self = *state;
    kedge_stream_batch batch = {0};
    kedge_stream_shards shards = {0};
    kedge_stream_query query = {.shard = "shard-0", .limit = 10};
    assert_ok(self->stream.vtable->shards(self->stream.self, (kedge_bytes){0}, 10, &shards, NULL));
    kedge_stream_shards_free(&shards);
    assert_int_equal(spent(self, KEDGE_COST_STREAM_READS), 0);
    assert_ok(self->stream.vtable->read(self->stream.self, &query, &batch, NULL));
    kedge_stream_batch_free(&batch);
    assert_int_equal(spent(self, KEDGE_COST_STREAM_READS), 1);
    query.limit = 0;
    assert_status(self->stream.vtable->read(self->stream.self, &query, &batch, NULL),
                  KEDGE_INVALID_ARGUMENT);
    assert_int_equal(spent(self, KEDGE_COST_STREAM_READS), 0);
    const kedge_cost million = {.of = {[KEDGE_COST_STREAM_READS] = 1000000}};
    assert_true(kedge_cost_dollars(&million) == 0.2);
}

static void a_cost_is_told_in_units_and_dollars(void **state)
{
    bench *self = *state;
    const kedge_cost cost = {.of = {[KEDGE_COST_WRITE_UNITS] = 1000000,
                                    [KEDGE_COST_READ_HALVES] = 3000000,
                                    [KEDGE_COST_BLOB_PUTS] = 1000000,
                                    [KEDGE_COST_BLOB_GETS] = 1000000,
                                    [KEDGE_COST_QUEUE_REQUESTS] = 1000000}};
    kedge_buffer out = kedge_buffer_make(self->around.environment.allocator);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_cost_write(&cost, &writer);
    assert_bytes(kedge_buffer_bytes(&out),
                 "{\"write_units\":1000000,\"read_units\":1500000,\"blob_puts\":1000000,"
                 "\"blob_gets\":1000000,\"queue_requests\":1000000,\"dollars\":6.7125}");
    kedge_buffer_free(&out);
}

int main(void)
{
#define METER(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        METER(an_item_has_the_bytes_of_its_names_texts_and_digits),
        METER(a_write_costs_a_unit_for_each_kilobyte_that_it_begins),
        METER(a_condition_that_fails_costs_as_much_as_the_write),
        METER(what_is_put_is_counted_in_bytes),
        METER(a_call_that_is_refused_costs_nothing),
        METER(a_transaction_costs_twice_unless_it_is_one_write),
        METER(many_puts_cost_as_much_as_single_ones),
        METER(a_record_of_the_inverted_index_is_paid_for_twice),
        METER(a_get_costs_a_unit_for_each_4_kilobytes_and_half_of_it_eventually),
        METER(a_read_of_what_is_not_there_costs_the_least),
        METER(a_batch_rounds_each_item_and_a_query_their_sum),
        METER(each_part_of_a_large_blob_is_a_request),
        METER(an_upload_that_is_granted_counts_as_made),
        METER(a_blob_that_is_there_or_is_not_costs_its_request),
        METER(each_64_kilobytes_of_a_message_are_a_request),
        METER(several_messages_that_are_extended_at_once_are_one_request),
        METER(a_read_of_the_stream_is_a_request_and_a_list_of_shards_is_free),
        METER(a_thread_counts_its_own_calls_and_the_meter_all),
        METER(a_cost_is_told_in_units_and_dollars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
