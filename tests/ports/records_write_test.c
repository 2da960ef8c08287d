/* The contract of the records port: single records, conditions, transactions, limits, threads. */
#include "tests/ports/records_fixture.h"

#include <stdio.h>
#include <string.h>

/* ---- single records ---- */

static void test_a_record_comes_back_as_it_was_put(void **state)
{
    fixture *f = *state;
    kedge_attribute attributes[] = {
        text_of("text", "gr\xc3\xbc\xc3\x9f"),
        {"binary", KEDGE_ATTRIBUTE_BINARY, KEDGE_BYTES("\0\xff\0"), 0},
        text_of("empty", ""),
        number_of("least", INT64_MIN),
        number_of("most", INT64_MAX),
        number_of("zero", 0),
    };
    kedge_record_write write = put_of("p", "s", attributes, 6);
    assert_ok(write_one(f, &write));
    kedge_record_set set = {0};
    assert_ok(get(f, "p", "s", &set));
    assert_int_equal(set.count, 1);
    assert_false(set.more);
    assert_bytes(set.records[0].key.partition, "p");
    assert_bytes(set.records[0].key.sort, "s");
    assert_int_equal(set.records[0].attribute_count, 6);
    for (size_t i = 0; i < 6; i++) {
        const kedge_attribute *found = kedge_record_attribute(&set.records[0], attributes[i].name);
        assert_non_null(found);
        assert_int_equal(found->type, attributes[i].type);
        assert_true(kedge_bytes_equal(found->bytes, attributes[i].bytes));
        assert_true(found->number == attributes[i].number);
    }
    assert_null(kedge_record_attribute(&set.records[0], "other"));
    kedge_record_set_free(&set);
}

static void test_a_record_that_is_not_there_is_not_found(void **state)
{
    fixture *f = *state;
    kedge_record_set set = {0};
    put_number(f, "p", "s", 1);
    assert_status(get(f, "p", "t", &set), KEDGE_NOT_FOUND);
    assert_status(get(f, "q", "s", &set), KEDGE_NOT_FOUND);
    assert_null(set.records);
    assert_string_equal(f->error.code, "record-not-found");
}

static void test_a_put_replaces_the_whole_record(void **state)
{
    fixture *f = *state;
    put_number(f, "p", "s", 1);
    kedge_attribute other = text_of("other", "x");
    kedge_record_write write = put_of("p", "s", &other, 1);
    assert_ok(write_one(f, &write));
    kedge_record_set set = {0};
    assert_ok(get(f, "p", "s", &set));
    assert_int_equal(set.records[0].attribute_count, 1);
    assert_null(kedge_record_attribute(&set.records[0], "n"));
    kedge_record_set_free(&set);
}

static void test_a_delete_removes_and_may_meet_nothing(void **state)
{
    fixture *f = *state;
    kedge_record_write write = delete_of("p", "s");
    put_number(f, "p", "s", 1);
    assert_ok(write_one(f, &write));
    assert_int_equal(number_at(f, "p", "s"), -1);
    assert_ok(write_one(f, &write));
}

static void test_a_record_may_have_no_attributes(void **state)
{
    fixture *f = *state;
    kedge_record_write write = put_of("p", "s", NULL, 0);
    kedge_record_set set = {0};
    assert_ok(write_one(f, &write));
    assert_ok(get(f, "p", "s", &set));
    assert_int_equal(set.records[0].attribute_count, 0);
    kedge_record_set_free(&set);
}

/* ---- conditions ---- */

static void test_if_absent_writes_only_the_first_time(void **state)
{
    fixture *f = *state;
    kedge_attribute first = number_of("n", 1), second = number_of("n", 2);
    kedge_record_write write = put_of("p", "s", &first, 1);
    write.condition = KEDGE_IF_ABSENT;
    assert_ok(write_one(f, &write));
    write.record.attributes = &second;
    assert_status(write_one(f, &write), KEDGE_CONFLICT);
    assert_string_equal(f->error.code, "condition-failed");
    assert_int_equal(number_at(f, "p", "s"), 1);
    kedge_record_write removal = delete_of("p", "s");
    removal.condition = KEDGE_IF_ABSENT;
    assert_status(write_one(f, &removal), KEDGE_CONFLICT);
    assert_int_equal(number_at(f, "p", "s"), 1);
}

static void test_if_equal_needs_the_same_type_and_value(void **state)
{
    fixture *f = *state;
    kedge_attribute fresh = number_of("n", 2);
    kedge_record_write write = put_of("p", "s", &fresh, 1);
    write.condition = KEDGE_IF_EQUAL;
    write.expected = number_of("n", 1);
    assert_status(write_one(f, &write), KEDGE_CONFLICT); /* no record */
    assert_int_equal(number_at(f, "p", "s"), -1);
    put_number(f, "p", "s", 1);
    const kedge_attribute others[] = {number_of("n", 3), text_of("n", "1"), number_of("m", 1)};
    for (size_t i = 0; i < 3; i++) {
        write.expected = others[i];
        assert_status(write_one(f, &write), KEDGE_CONFLICT);
        assert_int_equal(number_at(f, "p", "s"), 1);
    }
    write.expected = number_of("n", 1);
    assert_ok(write_one(f, &write));
    assert_int_equal(number_at(f, "p", "s"), 2);
}

static void test_if_equal_tells_text_from_binary(void **state)
{
    fixture *f = *state;
    kedge_attribute attribute = text_of("t", "abc");
    kedge_record_write write = put_of("p", "s", &attribute, 1);
    assert_ok(write_one(f, &write));
    kedge_record_write removal = delete_of("p", "s");
    removal.condition = KEDGE_IF_EQUAL;
    removal.expected = (kedge_attribute){"t", KEDGE_ATTRIBUTE_BINARY, KEDGE_BYTES("abc"), 0};
    assert_status(write_one(f, &removal), KEDGE_CONFLICT);
    removal.expected = text_of("t", "ab");
    assert_status(write_one(f, &removal), KEDGE_CONFLICT);
    removal.expected = text_of("t", "abc");
    assert_ok(write_one(f, &removal));
    assert_int_equal(number_at(f, "p", "s"), -1);
}

/* ---- transactions ---- */

static void test_a_transaction_writes_all(void **state)
{
    fixture *f = *state;
    kedge_attribute one = number_of("n", 1);
    put_number(f, "q", "gone", 7);
    put_number(f, "q", "kept", 8);
    kedge_record_write writes[4] = {put_of("p", "a", &one, 1),
                                    put_of("r", "b", &one, 1),
                                    delete_of("q", "gone"),
                                    {.kind = KEDGE_WRITE_CHECK,
                                     .record = {.key = key_of("q", "kept")},
                                     .condition = KEDGE_IF_EQUAL,
                                     .expected = number_of("n", 8)}};
    writes[0].condition = KEDGE_IF_ABSENT;
    assert_ok(transact(f, writes, 4));
    assert_int_equal(number_at(f, "p", "a"), 1);
    assert_int_equal(number_at(f, "r", "b"), 1);
    assert_int_equal(number_at(f, "q", "gone"), -1);
    assert_int_equal(number_at(f, "q", "kept"), 8);
    assert_ok(transact(f, writes, 0));
}

static void test_one_failed_condition_leaves_nothing_of_a_transaction(void **state)
{
    fixture *f = *state;
    kedge_attribute one = number_of("n", 1);
    put_number(f, "p", "old", 5);
    for (size_t bad = 0; bad < 3; bad++) {
        kedge_record_write writes[3] = {put_of("p", "a", &one, 1), delete_of("p", "old"),
                                        put_of("p", "c", &one, 1)};
        writes[bad].condition = KEDGE_IF_EQUAL;
        writes[bad].expected = number_of("n", 99);
        assert_status(transact(f, writes, 3), KEDGE_CONFLICT);
        assert_int_equal(number_at(f, "p", "a"), -1);
        assert_int_equal(number_at(f, "p", "old"), 5);
        assert_int_equal(number_at(f, "p", "c"), -1);
    }
}

static void test_a_failed_check_leaves_nothing_of_a_transaction(void **state)
{
    fixture *f = *state;
    kedge_attribute one = number_of("n", 1);
    put_number(f, "p", "guard", 5);
    kedge_record_write writes[2] = {put_of("p", "a", &one, 1),
                                    {.kind = KEDGE_WRITE_CHECK,
                                     .record = {.key = key_of("p", "guard")},
                                     .condition = KEDGE_IF_ABSENT}};
    assert_status(transact(f, writes, 2), KEDGE_CONFLICT);
    assert_int_equal(number_at(f, "p", "a"), -1);
    writes[1].condition = KEDGE_IF_EQUAL;
    writes[1].expected = number_of("n", 6);
    assert_status(transact(f, writes, 2), KEDGE_CONFLICT);
    assert_int_equal(number_at(f, "p", "a"), -1);
    assert_int_equal(number_at(f, "p", "guard"), 5);
}

static void test_a_check_stands_only_in_a_transaction_and_has_a_condition(void **state)
{
    fixture *f = *state;
    kedge_record_write check = {.kind = KEDGE_WRITE_CHECK,
                                .record = {.key = key_of("p", "s")},
                                .condition = KEDGE_IF_ABSENT};
    assert_status(write_one(f, &check), KEDGE_INVALID_ARGUMENT);
    check.condition = KEDGE_IF_ANY;
    assert_status(transact(f, &check, 1), KEDGE_INVALID_ARGUMENT);
}

static void test_a_transaction_names_each_key_once(void **state)
{
    fixture *f = *state;
    kedge_attribute one = number_of("n", 1);
    kedge_record_write writes[2] = {put_of("p", "a", &one, 1), delete_of("p", "a")};
    assert_status(transact(f, writes, 2), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(number_at(f, "p", "a"), -1);
}

static void test_a_transaction_has_at_most_100_writes(void **state)
{
    fixture *f = *state;
    kedge_attribute one = number_of("n", 1);
    kedge_record_write writes[101];
    char sorts[101][8];
    for (int i = 0; i < 101; i++) {
        snprintf(sorts[i], sizeof sorts[i], "%03d", i);
        writes[i] = put_of("p", sorts[i], &one, 1);
    }
    assert_status(transact(f, writes, 101), KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(number_at(f, "p", "000"), -1);
    assert_ok(transact(f, writes, 100));
    assert_int_equal(number_at(f, "p", "099"), 1);
}

static void test_a_transaction_has_at_most_four_million_bytes(void **state)
{
    fixture *f = *state;
    kedge_attribute full = filling(KEDGE_RECORD_BYTES_MAX - 4);
    kedge_record_write writes[11];
    char sorts[11][4];
    for (int i = 0; i < 11; i++) {
        snprintf(sorts[i], sizeof sorts[i], "%02d", i);
        writes[i] = put_of("p", sorts[i], &full, 1);
    }
    assert_status(transact(f, writes, 11), KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(number_at(f, "p", "00"), -1);
    assert_ok(transact(f, writes, 10));
}

/* ---- limits of a record ---- */

/* ---- many puts ---- */

#define MANY 260

static void test_many_puts_are_all_there(void **state)
{
    fixture *f = *state;
    static char names[MANY][16];
    static kedge_attribute values[MANY];
    static kedge_record_write writes[MANY];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            snprintf(names[i], sizeof names[i], "%03d", i);
            values[i] = number_of("n", i + round);
            writes[i] = put_of("many", names[i], &values[i], 1);
        }
        assert_ok(round == 0 ? kedge_records_put_all(&f->records, writes, MANY, &f->error)
                             : kedge_records_put_in_order(&f->records, writes, MANY, &f->error));
        for (int i = 0; i < MANY; i += 37)
            assert_int_equal(number_at(f, "many", names[i]), i + round);
        assert_int_equal(number_at(f, "many", names[MANY - 1]), MANY - 1 + round);
    }
    assert_ok(kedge_records_put_all(&f->records, writes, 0, &f->error));
}

static void test_many_puts_name_each_key_once(void **state)
{
    fixture *f = *state;
    kedge_attribute one = number_of("n", 1);
    kedge_record_write writes[] = {put_of("many", "a", &one, 1), put_of("many", "a", &one, 1)};
    assert_status(kedge_records_put_all(&f->records, writes, 2, &f->error), KEDGE_INVALID_ARGUMENT);
}

static void test_a_record_has_at_most_400000_bytes(void **state)
{
    fixture *f = *state;
    kedge_attribute full = filling(KEDGE_RECORD_BYTES_MAX - 3); /* and "p", "s", "b" */
    kedge_record_write write = put_of("p", "s", &full, 1);
    kedge_record_set set = {0};
    full.bytes.size++;
    assert_status(write_one(f, &write), KEDGE_LIMIT_EXCEEDED);
    assert_status(get(f, "p", "s", &set), KEDGE_NOT_FOUND);
    full.bytes.size--;
    assert_ok(write_one(f, &write));
    assert_ok(get(f, "p", "s", &set));
    assert_true(kedge_bytes_equal(set.records[0].attributes[0].bytes, full.bytes));
    kedge_record_set_free(&set);
}

static void test_keys_and_attributes_outside_the_contract_are_refused(void **state)
{
    fixture *f = *state;
    kedge_attribute attributes[33], invalid = text_of("t", "\xff");
    char names[33][4];
    for (int i = 0; i < 33; i++) {
        snprintf(names[i], sizeof names[i], "a%d", i);
        attributes[i] = number_of(names[i], i);
    }
    kedge_record_write write = put_of("p", "s", attributes, 33);
    assert_status(write_one(f, &write), KEDGE_LIMIT_EXCEEDED);
    write.record.attribute_count = 32;
    assert_ok(write_one(f, &write));
    attributes[1].name = "a0";
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    write = put_of("p", "s", &invalid, 1);
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    write = put_of("", "s", NULL, 0);
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    write = put_of("p", "", NULL, 0);
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    write = put_of("p", "\xff", NULL, 0);
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    const char *large = filling(0).bytes.data;
    write = put_of("p", "s", NULL, 0);
    write.record.key.sort = (kedge_bytes){large, KEDGE_RECORD_SORT_BYTES_MAX + 1};
    assert_status(write_one(f, &write), KEDGE_LIMIT_EXCEEDED);
    write.record.key = (kedge_record_key){{large, KEDGE_RECORD_PARTITION_BYTES_MAX},
                                          {large, KEDGE_RECORD_SORT_BYTES_MAX}};
    assert_ok(write_one(f, &write));
}

static void test_texts_hold_no_nul_and_names_are_utf8_and_not_those_of_the_keys(void **state)
{
    fixture *f = *state;
    kedge_attribute attribute = {"t", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("a\0b"), 0};
    kedge_record_write write = put_of("p", "s", &attribute, 1);
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    static const char *const names[] = {"", "\xff", "pk", "sk"};
    for (size_t i = 0; i < 4; i++) {
        attribute = number_of(names[i], 1);
        assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    }
    attribute = number_of("gr\xc3\xbc\xc3\x9f", 1);
    write.record.key.sort = KEDGE_BYTES("a\0b");
    assert_status(write_one(f, &write), KEDGE_INVALID_ARGUMENT);
    write.record.key.sort = KEDGE_BYTES("s");
    assert_ok(write_one(f, &write));
}

/* ---- threads ---- */

#define THREADS 8
#define ROUNDS  25

typedef struct race {
    fixture *f;
    atomic_int wins;
    atomic_int wrong;
} race;

static void *put_if_absent_in_rounds(void *argument)
{
    race *self = argument;
    const kedge_records *records = &self->f->records;
    for (int i = 0; i < ROUNDS; i++) {
        char sort[8];
        snprintf(sort, sizeof sort, "%03d", i);
        kedge_record_write write = put_of("race", sort, NULL, 0);
        write.condition = KEDGE_IF_ABSENT;
        kedge_status status = records->vtable->write(records->self, &write, NULL);
        if (status == KEDGE_OK)
            atomic_fetch_add(&self->wins, 1);
        else if (status != KEDGE_CONFLICT)
            atomic_fetch_add(&self->wrong, 1);
        kedge_record_set set = {0};
        if (records->vtable->get(records->self, &write.record.key, true, &set, NULL) != KEDGE_OK)
            atomic_fetch_add(&self->wrong, 1); /* a consistent read sees the winner's write */
        kedge_record_set_free(&set);
    }
    return NULL;
}

static void test_of_threads_that_put_the_same_absent_key_one_wins(void **state)
{
    race self = {.f = *state};
    world_run_threads(put_if_absent_in_rounds, &self, THREADS);
    assert_int_equal(atomic_load(&self.wins), ROUNDS);
    assert_int_equal(atomic_load(&self.wrong), 0);
}

/* Adds one to the counter, by a conditional write, until it succeeded `ROUNDS` times. */
static void *count_up(void *argument)
{
    race *self = argument;
    const kedge_records *records = &self->f->records;
    for (int tries = 0, done = 0; done < ROUNDS && tries < 100000; tries++) {
        kedge_record_set set = {0};
        kedge_record_key key = key_of("race", "counter");
        if (records->vtable->get(records->self, &key, true, &set, NULL) != KEDGE_OK) break;
        int64_t now = kedge_record_attribute(&set.records[0], "n")->number;
        kedge_record_set_free(&set);
        kedge_attribute next = number_of("n", now + 1);
        kedge_record_write write = put_of("race", "counter", &next, 1);
        write.condition = KEDGE_IF_EQUAL;
        write.expected = number_of("n", now);
        kedge_status status = records->vtable->write(records->self, &write, NULL);
        if (status == KEDGE_OK) {
            done++;
            atomic_fetch_add(&self->wins, 1);
        } else if (status != KEDGE_CONFLICT) {
            atomic_fetch_add(&self->wrong, 1);
        }
    }
    return NULL;
}

static void test_conditional_writes_of_many_threads_lose_no_update(void **state)
{
    race self = {.f = *state};
    put_number(self.f, "race", "counter", 0);
    world_run_threads(count_up, &self, THREADS);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(atomic_load(&self.wins), THREADS * ROUNDS);
    assert_int_equal(number_at(self.f, "race", "counter"), THREADS * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        contract(test_a_record_comes_back_as_it_was_put),
        contract(test_a_record_that_is_not_there_is_not_found),
        contract(test_a_put_replaces_the_whole_record),
        contract(test_a_delete_removes_and_may_meet_nothing),
        contract(test_a_record_may_have_no_attributes),
        contract(test_if_absent_writes_only_the_first_time),
        contract(test_if_equal_needs_the_same_type_and_value),
        contract(test_if_equal_tells_text_from_binary),
        contract(test_a_transaction_writes_all),
        contract(test_one_failed_condition_leaves_nothing_of_a_transaction),
        contract(test_a_failed_check_leaves_nothing_of_a_transaction),
        contract(test_a_check_stands_only_in_a_transaction_and_has_a_condition),
        contract(test_a_transaction_names_each_key_once),
        contract(test_a_transaction_has_at_most_100_writes),
        contract(test_a_transaction_has_at_most_four_million_bytes),
        contract(test_many_puts_are_all_there),
        contract(test_many_puts_name_each_key_once),
        contract(test_a_record_has_at_most_400000_bytes),
        contract(test_keys_and_attributes_outside_the_contract_are_refused),
        contract(test_texts_hold_no_nul_and_names_are_utf8_and_not_those_of_the_keys),
        contract(test_of_threads_that_put_the_same_absent_key_one_wins),
        contract(test_conditional_writes_of_many_threads_lose_no_update),
    };
    return records_run(tests, sizeof tests / sizeof tests[0]);
}
