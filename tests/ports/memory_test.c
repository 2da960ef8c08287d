/* What the ports in memory promise beyond the contract: a copy of a whole port, for backup and
 * restore; and all ports under a failing allocator. */
#include "backend/memory/memory_ports.h"
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/world.h"
#include "tests/support/failing_allocator.h"

#include <stdio.h>
#include <string.h>

/* ---- copies ---- */

static kedge_status put_record(const kedge_records *records, const char *sort)
{
    kedge_attribute attribute = {KEDGE_RECORDS_INVERTED, KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("v"), 0};
    kedge_record_write write = {
        .record = {{kedge_bytes_of(sort), kedge_bytes_of(sort)}, &attribute, 1},
        .condition = KEDGE_IF_ABSENT};
    return records->vtable->write(records->self, &write, NULL);
}

static size_t count_inverted(const kedge_records *records)
{
    kedge_records_query query = {.partition = KEDGE_BYTES("v"), .inverted = true, .limit = 1000};
    kedge_record_set set = {0};
    assert_ok(records->vtable->query(records->self, &query, &set, NULL));
    size_t count = set.count;
    kedge_record_set_free(&set);
    return count;
}

static void test_records_are_restored_from_a_copy(void **state)
{
    (void)state;
    world around;
    kedge_records living, backup;
    world_make(&around, &kedge_allocator_default);
    assert_ok(kedge_memory_records_open(&around.environment, &living, NULL));
    assert_ok(kedge_memory_records_open(&around.environment, &backup, NULL));
    assert_ok(put_record(&living, "a"));
    assert_ok(put_record(&living, "b"));
    assert_ok(kedge_memory_records_copy(&living, &backup, NULL));
    assert_ok(put_record(&living, "c"));
    assert_int_equal(count_inverted(&living), 3);
    assert_int_equal(count_inverted(&backup), 2);
    assert_ok(kedge_memory_records_copy(&backup, &living, NULL));
    assert_int_equal(count_inverted(&living), 2);
    assert_status(put_record(&living, "a"), KEDGE_CONFLICT);
    assert_ok(put_record(&living, "c"));
    assert_int_equal(count_inverted(&backup), 2);
    assert_ok(kedge_memory_records_copy(&living, &living, NULL));
    assert_int_equal(count_inverted(&living), 3);
    living.vtable->close(living.self);
    backup.vtable->close(backup.self);
    world_end(&around);
}

static void test_blobs_and_their_tags_are_restored_from_a_copy(void **state)
{
    (void)state;
    world around;
    kedge_blobs living, backup;
    kedge_bytes a = KEDGE_BYTES("a"), b = KEDGE_BYTES("b");
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    world_make(&around, &kedge_allocator_default);
    assert_ok(kedge_memory_blobs_open(&around.environment, &living, NULL));
    assert_ok(kedge_memory_blobs_open(&around.environment, &backup, NULL));
    assert_ok(living.vtable->put_if_absent(living.self, a, a, NULL));
    assert_ok(living.vtable->tag(living.self, a, KEDGE_BYTES("t"), KEDGE_BYTES("1"), NULL));
    assert_ok(kedge_memory_blobs_copy(&living, &backup, NULL));
    assert_ok(living.vtable->put_if_absent(living.self, b, b, NULL));
    assert_ok(living.vtable->tag(living.self, a, KEDGE_BYTES("t"), KEDGE_BYTES("2"), NULL));
    assert_ok(kedge_memory_blobs_copy(&backup, &living, NULL));
    assert_status(living.vtable->get(living.self, b, &out, NULL), KEDGE_NOT_FOUND);
    assert_ok(living.vtable->get(living.self, a, &out, NULL));
    assert_ok(living.vtable->get_tag(living.self, a, KEDGE_BYTES("t"), &out, NULL));
    assert_bytes(kedge_buffer_bytes(&out), "a1");
    kedge_buffer_free(&out);
    living.vtable->close(living.self);
    backup.vtable->close(backup.self);
    world_end(&around);
}

static void test_a_queue_is_restored_with_receipts_and_deduplication(void **state)
{
    (void)state;
    world around;
    kedge_queue living, backup;
    kedge_queue_batch batch = {0}, again = {0};
    kedge_bytes a = KEDGE_BYTES("a");
    world_make(&around, &kedge_allocator_default);
    assert_ok(kedge_memory_queue_open(&around.environment, 3, &living, NULL));
    assert_ok(kedge_memory_queue_open(&around.environment, 3, &backup, NULL));
    assert_ok(living.vtable->send(living.self, a, a, a, a, NULL));
    assert_ok(living.vtable->receive(living.self, 1, 1000, 0, NULL, &batch, NULL));
    assert_ok(kedge_memory_queue_copy(&living, &backup, NULL));
    assert_ok(living.vtable->done(living.self, batch.messages[0].receipt, NULL));
    assert_ok(kedge_memory_queue_copy(&backup, &living, NULL));
    assert_ok(living.vtable->send(living.self, a, a, a, a, NULL));
    assert_ok(living.vtable->extend(living.self, batch.messages[0].receipt, 0, NULL));
    assert_ok(living.vtable->receive(living.self, 10, 1000, 0, NULL, &again, NULL));
    assert_int_equal(again.count, 1);
    assert_int_equal(again.messages[0].receive_count, 2);
    kedge_queue_batch_free(&batch);
    kedge_queue_batch_free(&again);
    living.vtable->close(living.self);
    backup.vtable->close(backup.self);
    world_end(&around);
}

/* ---- every allocation fails once ---- */

/* The contract under a failing allocator: every call ends well or with KEDGE_NO_MEMORY, a
 * transaction leaves all or nothing, and nothing leaks. */
typedef struct attempt {
    bool sqlite;
    int run;
    world *around;
} attempt;

static bool all_well(kedge_status status, bool *well)
{
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
    if (status != KEDGE_OK) *well = false;
    return status == KEDGE_OK;
}

static void make_path(attempt *self, const char *what, char path[128])
{
    char name[32];
    snprintf(name, sizeof name, "%s-%d", what, self->run++);
    world_path(self->around, name, path);
}

static kedge_environment with(const attempt *self, const kedge_allocator *allocator)
{
    kedge_environment environment = self->around->environment;
    environment.allocator = allocator;
    return environment;
}

static void use_records(const kedge_records *records, bool *well)
{
    kedge_attribute attribute = {KEDGE_RECORDS_INVERTED, KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("v"), 0};
    kedge_record_write writes[2] = {
        {.record = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")}, &attribute, 1}},
        {.record = {{KEDGE_BYTES("p"), KEDGE_BYTES("b")}, &attribute, 1}}};
    kedge_records_query query = {.partition = KEDGE_BYTES("p"), .limit = 10};
    kedge_record_key key = writes[0].record.key;
    kedge_record_set set = {0};
    bool written = all_well(records->vtable->transact(records->self, writes, 2, NULL), well);
    if (all_well(records->vtable->query(records->self, &query, &set, NULL), well))
        assert_int_equal(set.count, written ? 2 : 0);
    kedge_record_set_free(&set);
    if (written) all_well(records->vtable->get(records->self, &key, true, &set, NULL), well);
    kedge_record_set_free(&set);
}

static bool try_records(const kedge_allocator *allocator, void *context)
{
    attempt *self = context;
    kedge_environment environment = with(self, allocator);
    kedge_records records, copy;
    char path[128];
    bool well = true;
    make_path(self, "records", path);
    if (!all_well(self->sqlite ? kedge_sqlite_records_open(&environment, path, &records, NULL)
                               : kedge_memory_records_open(&environment, &records, NULL),
                  &well))
        return false;
    use_records(&records, &well);
    if (!self->sqlite && all_well(kedge_memory_records_open(&environment, &copy, NULL), &well)) {
        all_well(kedge_memory_records_copy(&records, &copy, NULL), &well);
        copy.vtable->close(copy.self);
    }
    records.vtable->close(records.self);
    return well;
}

static void use_blobs(const kedge_blobs *blobs, const kedge_allocator *allocator, bool *well)
{
    kedge_bytes key = KEDGE_BYTES("a/b"), name = KEDGE_BYTES("t"), value = KEDGE_BYTES("v");
    kedge_buffer out = kedge_buffer_make(allocator);
    kedge_blob_list list = {0};
    bool there = all_well(blobs->vtable->put_if_absent(blobs->self, key, value, NULL), well);
    if (there) all_well(blobs->vtable->tag(blobs->self, key, name, value, NULL), well);
    if (there) all_well(blobs->vtable->get(blobs->self, key, &out, NULL), well);
    kedge_bytes none = {0};
    if (all_well(blobs->vtable->list(blobs->self, none, none, 10, &list, NULL), well))
        assert_int_equal(list.count, there ? 1 : 0);
    kedge_blob_list_free(&list);
    kedge_buffer_free(&out);
}

static bool try_blobs(const kedge_allocator *allocator, void *context)
{
    attempt *self = context;
    kedge_environment environment = with(self, allocator);
    kedge_blobs blobs, copy;
    char path[128];
    bool well = true;
    make_path(self, "blobs", path);
    if (!all_well(self->sqlite ? kedge_folder_blobs_open(&environment, path, &blobs, NULL)
                               : kedge_memory_blobs_open(&environment, &blobs, NULL),
                  &well))
        return false;
    use_blobs(&blobs, allocator, &well);
    if (!self->sqlite && all_well(kedge_memory_blobs_open(&environment, &copy, NULL), &well)) {
        all_well(kedge_memory_blobs_copy(&blobs, &copy, NULL), &well);
        copy.vtable->close(copy.self);
    }
    blobs.vtable->close(blobs.self);
    return well;
}

static void use_queue(const kedge_queue *queue, bool *well)
{
    kedge_bytes text = KEDGE_BYTES("x");
    kedge_queue_batch batch = {0};
    bool sent = all_well(queue->vtable->send(queue->self, text, text, text, text, NULL), well);
    /* A receive that failed delivered nothing: the message's first delivery is still to come. */
    if (!all_well(queue->vtable->receive(queue->self, 10, 1000, 0, NULL, &batch, NULL), well) &&
        queue->vtable->receive(queue->self, 10, 1000, 0, NULL, &batch, NULL) != KEDGE_OK)
        return;
    assert_int_equal(batch.count, sent ? 1 : 0);
    if (sent) assert_int_equal(batch.messages[0].receive_count, 1);
    kedge_queue_batch_free(&batch);
}

static bool try_queue(const kedge_allocator *allocator, void *context)
{
    attempt *self = context;
    kedge_environment environment = with(self, allocator);
    kedge_queue queue, copy;
    char path[128];
    bool well = true;
    make_path(self, "queue", path);
    if (!all_well(self->sqlite ? kedge_sqlite_queue_open(&environment, path, 3, &queue, NULL)
                               : kedge_memory_queue_open(&environment, 3, &queue, NULL),
                  &well))
        return false;
    use_queue(&queue, &well);
    if (!self->sqlite && all_well(kedge_memory_queue_open(&environment, 3, &copy, NULL), &well)) {
        all_well(kedge_memory_queue_copy(&queue, &copy, NULL), &well);
        copy.vtable->close(copy.self);
    }
    queue.vtable->close(queue.self);
    return well;
}

static void try_both(bool (*body)(const kedge_allocator *allocator, void *context))
{
    for (int sqlite = 0; sqlite < 2; sqlite++) {
        world around;
        world_make(&around, &kedge_allocator_default);
        attempt self = {.sqlite = sqlite == 1, .around = &around};
        assert_true(failing_allocator_try_every_call(body, &self, 200) > 0);
        world_end(&around);
    }
}

static void test_records_survive_every_failed_allocation(void **state)
{
    (void)state;
    try_both(try_records);
}

static void test_blobs_survive_every_failed_allocation(void **state)
{
    (void)state;
    try_both(try_blobs);
}

static void test_a_queue_survives_every_failed_allocation(void **state)
{
    (void)state;
    try_both(try_queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_are_restored_from_a_copy),
        cmocka_unit_test(test_blobs_and_their_tags_are_restored_from_a_copy),
        cmocka_unit_test(test_a_queue_is_restored_with_receipts_and_deduplication),
        cmocka_unit_test(test_records_survive_every_failed_allocation),
        cmocka_unit_test(test_blobs_survive_every_failed_allocation),
        cmocka_unit_test(test_a_queue_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("ports: copies and memory", tests, NULL, NULL);
}
