/* The records port on a real DynamoDB: races, sizes at the bounds, names, batches that are larger
 * than a response, consumption, and what another program sees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/dynamodb_table.h"
#include "tests/support/engines.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct engine {
    dynamodb_table table;
    kedge_records records;
    kedge_error error;
} engine;

static int start(void **state)
{
    static engine e;
    memset(&e, 0, sizeof e);
    *state = &e;
    kedge_status status = dynamodb_table_make(&e.table, &e.error);
    if (status != KEDGE_OK) {
        print_error("%s: %s\n", e.error.code, e.error.message);
        return -1;
    }
    return kedge_dynamodb_records_open(e.table.client, e.table.name, &e.records, &e.error) ==
                   KEDGE_OK
               ? 0
               : -1;
}

static int end(void **state)
{
    engine *e = *state;
    e->records.vtable->close(e->records.self);
    dynamodb_table_end(&e->table);
    return 0;
}

static void expect_ok(engine *e, kedge_status status)
{
    if (status != KEDGE_OK) fail_msg("%s: %s", e->error.code, e->error.message);
}

static kedge_status write_one(engine *e, const kedge_record_write *write)
{
    return e->records.vtable->write(e->records.self, write, &e->error);
}

static kedge_record_write put_of(kedge_bytes sort, const kedge_attribute *attributes, size_t count)
{
    return (kedge_record_write){.kind = KEDGE_WRITE_PUT,
                                .record = {{KEDGE_BYTES("p"), sort}, attributes, count}};
}

/* ---- races ---- */

#define RACERS 8
#define ROUNDS 200

typedef struct race {
    engine *e;
    pthread_barrier_t line;
    atomic_int wins[ROUNDS];
    atomic_int wrong;
} race;

typedef struct racer {
    race *all;
    int number;
} racer;

static void *run_race(void *argument)
{
    racer *self = argument;
    const kedge_records *records = &self->all->e->records;
    for (int round = 0; round < ROUNDS; round++) {
        char sort[16];
        snprintf(sort, sizeof sort, "%04d", round);
        const kedge_attribute name = {
            .name = "winner", .type = KEDGE_ATTRIBUTE_NUMBER, .number = self->number};
        kedge_record_write write = put_of(kedge_bytes_of(sort), &name, 1);
        write.condition = KEDGE_IF_ABSENT;
        pthread_barrier_wait(&self->all->line);
        kedge_status status = records->vtable->write(records->self, &write, NULL);
        if (status == KEDGE_OK) {
            atomic_fetch_add(&self->all->wins[round], 1 + 100 * self->number);
        } else if (status != KEDGE_CONFLICT) {
            atomic_fetch_add(&self->all->wrong, 1);
        }
    }
    return NULL;
}

static int64_t winner_of(engine *e, int round)
{
    char sort[16];
    snprintf(sort, sizeof sort, "%04d", round);
    kedge_record_key key = {KEDGE_BYTES("p"), kedge_bytes_of(sort)};
    kedge_record_set set = {0};
    expect_ok(e, e->records.vtable->get(e->records.self, &key, true, &set, &e->error));
    int64_t number = kedge_record_attribute(&set.records[0], "winner")->number;
    kedge_record_set_free(&set);
    return number;
}

static void
test_of_8_threads_that_put_one_absent_record_one_wins_in_each_of_200_rounds(void **state)
{
    static race all;
    memset(&all, 0, sizeof all);
    all.e = *state;
    racer racers[RACERS];
    pthread_t threads[RACERS];
    assert_int_equal(pthread_barrier_init(&all.line, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){&all, i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_race, &racers[i]), 0);
    }
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&all.line);
    assert_int_equal(atomic_load(&all.wrong), 0);
    for (int round = 0; round < ROUNDS; round++)
        assert_int_equal(atomic_load(&all.wins[round]), 1 + 100 * winner_of(all.e, round));
}

/* ---- sizes ---- */

static char filler[KEDGE_RECORD_BYTES_MAX];

/* 32 attributes, the keys as long as they may be, and `size` bytes by the port's count. */
static void fill_record(kedge_record_write *write, kedge_attribute attributes[32],
                        char names[32][4], size_t size)
{
    memset(filler, 'x', sizeof filler);
    for (int i = 0; i < 32; i++) {
        snprintf(names[i], 4, "n%d", i);
        attributes[i] = (kedge_attribute){
            .name = names[i], .type = KEDGE_ATTRIBUTE_NUMBER, .number = INT64_MIN + i};
    }
    attributes[30] = (kedge_attribute){names[30], KEDGE_ATTRIBUTE_BINARY, {filler, 0}, 0};
    attributes[31] = (kedge_attribute){names[31], KEDGE_ATTRIBUTE_TEXT, {filler, 0}, 0};
    *write = put_of((kedge_bytes){filler, KEDGE_RECORD_SORT_BYTES_MAX}, attributes, 32);
    write->record.key.partition.size = KEDGE_RECORD_PARTITION_BYTES_MAX;
    write->record.key.partition.data = filler;
    size_t used = KEDGE_RECORD_SORT_BYTES_MAX + KEDGE_RECORD_PARTITION_BYTES_MAX;
    for (int i = 0; i < 32; i++)
        used += strlen(names[i]) + (i < 30 ? KEDGE_RECORD_NUMBER_BYTES : 0);
    attributes[30].bytes.size = (size - used) / 2;
    attributes[31].bytes.size = size - used - attributes[30].bytes.size;
}

static void test_what_is_within_our_count_is_within_that_of_dynamodb(void **state)
{
    engine *e = *state;
    kedge_attribute attributes[32];
    char names[32][4];
    kedge_record_write writes[10];
    char sorts[10][4];
    fill_record(&writes[0], attributes, names, KEDGE_RECORD_BYTES_MAX);
    expect_ok(e, write_one(e, &writes[0]));
    attributes[31].bytes.size++;
    assert_int_equal(write_one(e, &writes[0]), KEDGE_LIMIT_EXCEEDED);
    /* Ten of them, with short keys, are 4,000,000 bytes. */
    fill_record(&writes[0], attributes, names, KEDGE_RECORD_BYTES_MAX);
    attributes[31].bytes.size += KEDGE_RECORD_SORT_BYTES_MAX + KEDGE_RECORD_PARTITION_BYTES_MAX - 4;
    for (int i = 0; i < 10; i++) {
        snprintf(sorts[i], sizeof sorts[i], "%03d", i);
        writes[i] = put_of(kedge_bytes_of(sorts[i]), attributes, 32);
    }
    expect_ok(e, e->records.vtable->transact(e->records.self, writes, 10, &e->error));
}

/* Responses end at 16 MB, so that keys are left over; 50 records of 390,000 bytes are 19.5 MB. */
static void test_a_batch_that_is_larger_than_a_response_comes_whole(void **state)
{
    engine *e = *state;
    memset(filler, 'x', sizeof filler);
    kedge_attribute part = {"b", KEDGE_ATTRIBUTE_BINARY, {filler, 390000}, 0};
    char sorts[50][4];
    kedge_record_key keys[50];
    for (int i = 0; i < 50; i++) {
        snprintf(sorts[i], sizeof sorts[i], "%03d", i);
        kedge_record_write write = put_of(kedge_bytes_of(sorts[i]), &part, 1);
        keys[i] = write.record.key;
        expect_ok(e, write_one(e, &write));
    }
    kedge_dynamodb_records_measure(&e->records);
    kedge_record_set set = {0};
    expect_ok(e, e->records.vtable->batch_get(e->records.self, keys, 50, true, &set, &e->error));
    assert_int_equal(set.count, 50);
    for (size_t i = 0; i < 50; i++)
        assert_true(kedge_bytes_equal(set.records[i].attributes[0].bytes, part.bytes));
    kedge_record_set_free(&set);
    kedge_dynamodb_usage usage;
    kedge_dynamodb_records_usage(&e->records, &usage);
    assert_true(usage.reads > 1);
}

/* ---- names and values ---- */

static void test_any_name_can_stand_in_a_record_and_in_a_condition(void **state)
{
    engine *e = *state;
    static const char *const names[] = {"name",
                                        "size",
                                        "value",
                                        "#n",
                                        ":v",
                                        "a.b",
                                        "a[0]",
                                        "a b",
                                        "\"",
                                        "\\",
                                        "\xc3\xa4",
                                        "\n",
                                        "table",
                                        "0",
                                        "Item",
                                        "TRUE",
                                        "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        kedge_attribute attribute = {
            .name = names[i], .type = KEDGE_ATTRIBUTE_NUMBER, .number = (int64_t)i};
        kedge_record_write write = put_of(KEDGE_BYTES("s"), &attribute, 1);
        expect_ok(e, write_one(e, &write));
        write.condition = KEDGE_IF_EQUAL;
        write.expected = attribute;
        expect_ok(e, write_one(e, &write));
        write.expected.number = -1;
        assert_int_equal(write_one(e, &write), KEDGE_CONFLICT);
    }
}

static void test_empty_and_extreme_values_can_be_conditions(void **state)
{
    engine *e = *state;
    const kedge_attribute values[] = {
        {"v", KEDGE_ATTRIBUTE_TEXT, {"", 0}, 0},
        {"v", KEDGE_ATTRIBUTE_BINARY, {"", 0}, 0},
        {"v", KEDGE_ATTRIBUTE_BINARY, KEDGE_BYTES("\0\xff"), 0},
        {"v", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("\x01\"\\\n\xe2\x80\xa8\xf0\x9f\x98\x80"), 0},
        {"v", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, INT64_MIN},
        {"v", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, INT64_MAX},
        {"v", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, INT64_MAX - 1},
        {"v", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1000000000000000000},
    };
    const size_t count = sizeof values / sizeof values[0];
    for (size_t i = 0; i < count; i++) {
        kedge_record_write write = put_of(KEDGE_BYTES("s"), &values[i], 1);
        expect_ok(e, write_one(e, &write));
        write.condition = KEDGE_IF_EQUAL;
        for (size_t k = 0; k < count; k++) {
            write.expected = values[k];
            assert_int_equal(write_one(e, &write), k == i ? KEDGE_OK : KEDGE_CONFLICT);
        }
    }
}

static void test_another_program_sees_plain_attributes(void **state)
{
    engine *e = *state;
    const kedge_attribute attributes[] = {
        {"t", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("text"), 0},
        {"b", KEDGE_ATTRIBUTE_BINARY, KEDGE_BYTES("\0\1\2"), 0},
        {"n", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, -7},
    };
    kedge_record_write write = put_of(KEDGE_BYTES("s"), attributes, 3);
    expect_ok(e, write_one(e, &write));
    char body[256];
    kedge_aws_response response = {0};
    snprintf(body, sizeof body,
             "{\"TableName\":\"%s\",\"Key\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"s\"}}}",
             e->table.name);
    expect_ok(e, dynamodb_table_run(&e->table, "GetItem", body, &response, &e->error));
    assert_non_null(strstr(response.body.data, "\"t\":{\"S\":\"text\"}"));
    assert_non_null(strstr(response.body.data, "\"b\":{\"B\":\"AAEC\"}"));
    assert_non_null(strstr(response.body.data, "\"n\":{\"N\":\"-7\"}"));
    kedge_aws_response_free(&response);
}

/* ---- consumption ---- */

static void test_what_was_consumed_is_counted_on_request(void **state)
{
    engine *e = *state;
    kedge_dynamodb_usage usage;
    kedge_record_set set = {0};
    kedge_attribute attributes[] = {{"b", KEDGE_ATTRIBUTE_BINARY, {filler, 3500}, 0},
                                    {"inverted", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("i"), 0}};
    kedge_record_write plain = put_of(KEDGE_BYTES("plain"), attributes, 1);
    kedge_record_write both = put_of(KEDGE_BYTES("both"), attributes, 2);
    kedge_record_key key = plain.record.key;
    expect_ok(e, write_one(e, &plain));
    kedge_dynamodb_records_usage(&e->records, &usage);
    assert_int_equal(usage.writes, 0);
    kedge_dynamodb_records_measure(&e->records);
    expect_ok(e, write_one(e, &plain));
    kedge_dynamodb_records_usage(&e->records, &usage);
    assert_int_equal(usage.writes, 1);
    assert_true(usage.write_units == 4 && usage.index_write_units == 0);
    expect_ok(e, write_one(e, &both));
    kedge_dynamodb_records_usage(&e->records, &usage);
    assert_true(usage.write_units == 8 && usage.index_write_units == 4);
    expect_ok(e, e->records.vtable->get(e->records.self, &key, true, &set, &e->error));
    kedge_record_set_free(&set);
    expect_ok(e, e->records.vtable->get(e->records.self, &key, false, &set, &e->error));
    kedge_record_set_free(&set);
    kedge_dynamodb_records_usage(&e->records, &usage);
    assert_int_equal(usage.reads, 2);
    assert_true(usage.read_units == 1.5 && usage.index_read_units == 0);
}

/* ---- the table ---- */

static void test_a_table_can_be_made_twice_and_one_that_is_missing_is_named(void **state)
{
    engine *e = *state;
    kedge_record_set set = {0};
    kedge_record_key key = {KEDGE_BYTES("p"), KEDGE_BYTES("s")};
    expect_ok(e, kedge_dynamodb_create(e->table.client, e->table.name, &e->error));
    expect_ok(e, kedge_dynamodb_check(e->table.client, e->table.name, &e->error));
    assert_int_equal(kedge_dynamodb_check(e->table.client, "kedge-not-there", &e->error),
                     KEDGE_NOT_FOUND);
    kedge_records missing;
    expect_ok(e,
              kedge_dynamodb_records_open(e->table.client, "kedge-not-there", &missing, &e->error));
    assert_int_equal(missing.vtable->get(missing.self, &key, true, &set, &e->error), KEDGE_IO);
    assert_string_equal(e->error.code, "aws-table-missing");
    missing.vtable->close(missing.self);
}

static void test_a_table_of_another_schema_is_refused(void **state)
{
    engine *e = *state;
    char name[80], body[512];
    kedge_aws_response response = {0};
    snprintf(name, sizeof name, "%s-other", e->table.name);
    snprintf(body, sizeof body,
             "{\"TableName\":\"%s\",\"BillingMode\":\"PAY_PER_REQUEST\","
             "\"AttributeDefinitions\":[{\"AttributeName\":\"id\",\"AttributeType\":\"N\"}],"
             "\"KeySchema\":[{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"}]}",
             name);
    expect_ok(e, dynamodb_table_run(&e->table, "CreateTable", body, &response, &e->error));
    assert_int_equal(kedge_dynamodb_check(e->table.client, name, &e->error), KEDGE_UNSUPPORTED);
    assert_int_equal(kedge_dynamodb_create(e->table.client, name, &e->error), KEDGE_UNSUPPORTED);
    assert_string_equal(e->error.code, "aws-table-schema");
    snprintf(body, sizeof body, "{\"TableName\":\"%s\"}", name);
    expect_ok(e, dynamodb_table_run(&e->table, "DeleteTable", body, &response, &e->error));
    kedge_aws_response_free(&response);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_of_8_threads_that_put_one_absent_record_one_wins_in_each_of_200_rounds),
        TEST(test_what_is_within_our_count_is_within_that_of_dynamodb),
        TEST(test_a_batch_that_is_larger_than_a_response_comes_whole),
        TEST(test_any_name_can_stand_in_a_record_and_in_a_condition),
        TEST(test_empty_and_extreme_values_can_be_conditions),
        TEST(test_another_program_sees_plain_attributes),
        TEST(test_what_was_consumed_is_counted_on_request),
        TEST(test_a_table_can_be_made_twice_and_one_that_is_missing_is_named),
        TEST(test_a_table_of_another_schema_is_refused),
    };
    int missing = engines_missing("AWS_ENDPOINT_URL_DYNAMODB");
    return missing != 0 ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
