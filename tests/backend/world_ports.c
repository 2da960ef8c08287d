/* Faults in front of the ports, counted over records and blobs together. */
#include "tests/backend/world_ports.h"

#include "backend/memory/memory_ports.h"
#include "backend/ports/records_support.h"
#include "common/error.h"
#include "tests/backend/world.h"

world_fault world_next_call(test_world *world, bool is_write)
{
    uint64_t call = atomic_fetch_add(&world->calls, 1) + 1;
    uint64_t write = is_write ? atomic_fetch_add(&world->writes, 1) + 1 : 0;
    if (world->meddle != NULL && call == world->meddle_at) {
        void (*meddle)(struct test_world *) = world->meddle;
        world->meddle = NULL;
        meddle(world);
    }
    if (world->fault == WORLD_FAULT_NONE || (world->fault_writes_only && !is_write)) {
        return WORLD_FAULT_NONE;
    }
    uint64_t at = world->fault_writes_only ? write : call;
    bool now = world->fault_goes_on ? at >= world->fault_at : at == world->fault_at;
    if (!now) return WORLD_FAULT_NONE;
    world->faults++;
    /* After a crash nothing takes effect any more. */
    bool first = at == world->fault_at;
    return first ? world->fault : WORLD_FAULT_BEFORE;
}

static kedge_status refuse_call(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable", "a fault of the test");
}

/* What a read goes to. */
static const kedge_records *read_from(test_world *world, bool consistent)
{
    if (consistent || !world->stale) return &world->store_records;
    return &world->replica;
}

void world_lag(test_world *world)
{
    if (world->replica.vtable == NULL)
        assert_int_equal(kedge_memory_records_open(&world->environment, &world->replica, NULL),
                         KEDGE_OK);
    assert_int_equal(kedge_memory_records_copy(&world->store_records, &world->replica, NULL),
                     KEDGE_OK);
    world->stale = true;
}

/* Around a call that reads into a set, or changes something. */
#define PASS(self, is_write, forget, call)                                                         \
    test_world *world_of_call = (self);                                                            \
    if (world_of_call->stores_away) return refuse_call(error);                                     \
    world_fault fault = world_next_call(world_of_call, is_write);                                  \
    if (fault == WORLD_FAULT_BEFORE) return refuse_call(error);                                    \
    kedge_status status = (call);                                                                  \
    if (fault == WORLD_FAULT_AFTER && status == KEDGE_OK) {                                        \
        forget;                                                                                    \
        return refuse_call(error);                                                                 \
    }                                                                                              \
    return status

#define RECORDS       (world_of_call->store_records)
#define READ(visible) (*read_from(world_of_call, visible))
#define BLOBS         (world_of_call->store_blobs)

static kedge_status get(void *self, const kedge_record_key *key, bool consistent,
                        kedge_record_set *set, kedge_error *error)
{
    PASS(self, false, kedge_record_set_free(set),
         READ(consistent).vtable->get(READ(consistent).self, key, consistent, set, error));
}

static kedge_status batch_get(void *self, const kedge_record_key *keys, size_t count,
                              bool consistent, kedge_record_set *set, kedge_error *error)
{
    PASS(self, false, kedge_record_set_free(set),
         READ(consistent)
             .vtable->batch_get(READ(consistent).self, keys, count, consistent, set, error));
}

static kedge_status query(void *self, const kedge_records_query *wanted, kedge_record_set *set,
                          kedge_error *error)
{
    PASS(self, false, kedge_record_set_free(set),
         READ(wanted->consistent).vtable->query(READ(wanted->consistent).self, wanted, set, error));
}

static kedge_status write(void *self, const kedge_record_write *wanted, kedge_error *error)
{
    PASS(self, true, (void)0, RECORDS.vtable->write(RECORDS.self, wanted, error));
}

/* What a store charges for deleting it. */
static void weigh(test_world *world, const kedge_record_write *writes, size_t count)
{
    const kedge_records *records = &world->store_records;
    size_t sum = 0;
    size_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        kedge_record_set set = {0};
        if (writes[i].kind != KEDGE_WRITE_DELETE) continue;
        if (records->vtable->get(records->self, &writes[i].record.key, true, &set, NULL) !=
            KEDGE_OK) {
            continue;
        }
        size_t bytes = kedge_record_bytes(&set.records[0]);
        sum += bytes;
        if (bytes > largest) largest = bytes;
        kedge_record_set_free(&set);
    }
    if (sum - largest > world->weight_bytes_max) world->weight_bytes_max = sum - largest;
}

static kedge_status transact(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error)
{
    atomic_fetch_add(&((test_world *)self)->transactions, 1);
    if (((test_world *)self)->weighs) weigh(self, writes, count);
    PASS(self, true, (void)0, RECORDS.vtable->transact(RECORDS.self, writes, count, error));
}

/* One by one: a fault may fall between any two of them. */
static kedge_status put_many(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++)
        status = write(self, &writes[i], error);
    return status;
}

static void close_nothing(void *self)
{
    (void)self;
}

#define PASS_BLOBS(self, is_write, forget, call)                                                   \
    if (((test_world *)(self))->blobs_away) return refuse_call(error);                             \
    PASS(self, is_write, forget, call)

static kedge_status put_if_absent(void *self, kedge_bytes key, kedge_bytes bytes,
                                  kedge_error *error)
{
    PASS_BLOBS(self, true, (void)0, BLOBS.vtable->put_if_absent(BLOBS.self, key, bytes, error));
}

static kedge_status put_tagged(void *self, kedge_bytes key, kedge_bytes bytes,
                               const kedge_blob_tag *wanted, kedge_error *error)
{
    PASS_BLOBS(self, true, (void)0,
               BLOBS.vtable->put_tagged(BLOBS.self, key, bytes, wanted, error));
}

static kedge_status get_blob(void *self, kedge_bytes key, kedge_buffer *out, kedge_error *error)
{
    size_t start = out->size;
    PASS_BLOBS(self, false, kedge_buffer_truncate(out, start),
               BLOBS.vtable->get(BLOBS.self, key, out, error));
}

static kedge_status remove_blob(void *self, kedge_bytes key, kedge_error *error)
{
    PASS_BLOBS(self, true, (void)0, BLOBS.vtable->remove(BLOBS.self, key, error));
}

static kedge_status list_blobs(void *self, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                               kedge_blob_list *list, kedge_error *error)
{
    PASS_BLOBS(self, false, kedge_blob_list_free(list),
               BLOBS.vtable->list(BLOBS.self, prefix, after, limit, list, error));
}

static kedge_status tag(void *self, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                        kedge_error *error)
{
    PASS_BLOBS(self, true, (void)0, BLOBS.vtable->tag(BLOBS.self, key, name, value, error));
}

static kedge_status get_tag(void *self, kedge_bytes key, kedge_bytes name, kedge_buffer *value,
                            kedge_error *error)
{
    size_t start = value->size;
    PASS_BLOBS(self, false, kedge_buffer_truncate(value, start),
               BLOBS.vtable->get_tag(BLOBS.self, key, name, value, error));
}

static const kedge_records_vtable faulty_records = {get,      batch_get, query,        write,
                                                    transact, put_many,  close_nothing};
static const kedge_blobs_vtable faulty_blobs = {put_if_absent, put_tagged, get_blob,
                                                tag,           get_tag,    remove_blob,
                                                list_blobs,    NULL,       close_nothing};

void world_wrap_ports(test_world *world)
{
    world->records = (kedge_records){&faulty_records, world};
    world->blobs = (kedge_blobs){&faulty_blobs, world};
}
